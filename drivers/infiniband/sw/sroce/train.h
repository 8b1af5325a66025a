/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trains: bursts of frames that cross the stack as one skb.
 *
 * The head carries the addresses, the members hang in its frag_list
 * (SKB_GSO_FRAGLIST), each complete with its own headers.  Frames are allocated,
 * filled by frame.c and committed one by one; the send function hands the train
 * to IP.
 *
 * A pack is the other shape, for runs of small frames of one size: they lie
 * behind each other in one buffer and share the addresses (SKB_GSO_UDP_L4).  No
 * skb and no IP header is made per frame.  Its UDP checksum is not zero, so it
 * goes to peers only that have shown that they take trains.
 */
#ifndef SROCE_TRAIN_H
#define SROCE_TRAIN_H

#include <linux/types.h>

struct dst_entry;
struct page_frag;
struct sk_buff;
struct sroce_lane;
struct sroce_path;

/* Frames and UDP payload bytes of a train (UDP_MAX_SEGMENTS; 16-bit lengths). */
#define SROCE_TRAIN_FRAMES	128
#define SROCE_TRAIN_BYTES	64000

/* Trains from this size on may be received on another CPU, bytes. */
#define SROCE_TRAIN_BULK	16384U

/**
 * struct sroce_train - frames of one path on their way out
 * @path: where they go
 * @lane: which of its lanes they take
 * @dst: route, referenced while a train is being built
 * @head: first frame, NULL while the train is empty
 * @last: last member of the frag_list
 * @cur: frame allocated and not yet committed; NULL in a pack
 * @run: frames like the next one that follow, that one included, as far as known;
 *	the caller's
 * @cur_bytes: pack: UDP payload of that frame
 * @buf: pack: where it begins, headroom first; NULL for a train
 * @pf: pack: page of this CPU's ring that @buf lies in
 * @room: pack: bytes from the first frame to the end of what may be filled
 * @no_pack: must not become a pack; until it is sent
 * @mixed: more than one unequal frame follows, so the first is no pack's
 * @short_end: pack: the last frame is shorter, and therefore the last
 * @frames: frames committed
 * @bytes: their UDP payload
 * @head_bytes: UDP payload of the first one
 * @max_frames: frames a train may have
 * @max_bytes: UDP payload a train may have
 * @priority: skb->priority
 * @tos: traffic class, ECN bits included
 * @headroom: bytes in front of the transport headers
 * @first_id: IP ID of the first frame; members count on from it
 */
struct sroce_train {
	struct sroce_path *path;
	struct sroce_lane *lane;
	struct dst_entry *dst;
	struct sk_buff *head;
	struct sk_buff *last;
	struct sk_buff *cur;
	u8 *buf;
	struct page_frag *pf;
	u32 room;
	u32 run;
	u32 cur_bytes;
	bool short_end;
	bool no_pack;
	bool mixed;
	u32 frames;
	u32 bytes;
	u32 head_bytes;
	u32 max_frames;
	u32 max_bytes;
	u32 priority;
	u32 headroom;
	u16 first_id;
	u8 tos;
};

/**
 * sroce_train_id() - IP ID of the next frame
 * @t: the train, begun
 *
 * Context: Any.
 * Return: the ID, in host order.
 */
static inline u16 sroce_train_id(const struct sroce_train *t)
{
	return t->first_id + t->frames;
}

void sroce_train_init(struct sroce_train *t, struct sroce_path *path);
bool sroce_train_splits(struct sroce_train *t, u32 bytes);
bool sroce_train_full(const struct sroce_train *t, u32 bytes);
void *sroce_train_alloc(struct sroce_train *t, u32 bytes, u16 id);
void sroce_train_commit(struct sroce_train *t);
void sroce_train_abort(struct sroce_train *t);
u32 sroce_train_wire_bytes(const struct sroce_train *t);
bool sroce_train_is_own(const struct sk_buff *skb);
int sroce_train_send(struct sroce_train *t);
void sroce_train_exit(void);

#endif /* SROCE_TRAIN_H */
