// SPDX-License-Identifier: GPL-2.0
/*
 * Trains: bursts of frames that cross the stack as one skb.
 *
 * Owns the page ring frames are built on and the shape of what goes to IP.  Runs
 * with bottom halves off: in the caller of post_send, in softirq, in BH work.
 * Called by frame.c and the roles.  Must not know what a frame contains behind
 * its UDP header.
 */
#include "train.h"

#include "compat.h"
#include "grh.h"
#include "net.h"
#include "trace.h"

#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp.h>

/*
 * Pages a CPU keeps to build frames on; each holds 32 KB where memory allows, and
 * one for long packs a whole pack.
 */
#define FRAG_PAGES	16
#define PACK_ORDER	get_order(SZ_64K)

/* Ethernet around an IP packet: header, FCS, preamble, gap between frames. */
#define L2_BYTES	38

/* Frames that are packed, and what a page must have room for to begin a pack. */
#define PACK_FRAME_BYTES	1200
#define PACK_LEAST		8U
#define PACK_LEAST_BYTES	4096U

/* A path's headers; constants, so that they are copied in place. */
#define V4_BYTES	(sizeof(struct iphdr) + sizeof(struct udphdr))
#define V6_BYTES	(sizeof(struct ipv6hdr) + sizeof(struct udphdr))

/**
 * struct frag_ring - page fragments of one CPU, recycled once nobody uses them
 * @cur: fragment in use
 * @frag: the fragments
 *
 * Recycling keeps the cost of zeroing fresh pages (init_on_alloc) away and the
 * bytes cache-hot.
 */
struct frag_ring {
	u32 cur;
	struct page_frag frag[FRAG_PAGES];
};

static DEFINE_PER_CPU(struct frag_ring, frag_rings);
static DEFINE_PER_CPU(struct frag_ring, pack_rings);

static struct page_frag *frag_pick(struct frag_ring *r, u32 bytes)
{
	struct page_frag *pf = &r->frag[r->cur];
	u32 i;

	if (pf->page && pf->offset + bytes <= pf->size)
		return pf;
	for (i = 0; i < FRAG_PAGES; i++) {
		pf = &r->frag[i];
		if (!pf->page || page_ref_count(pf->page) == 1) {
			r->cur = i;
			return pf;
		}
	}
	r->cur = (r->cur + 1) % FRAG_PAGES;
	return &r->frag[r->cur];
}

/* @pf with room for @bytes behind its offset, or NULL. */
static struct page_frag *frag_fit(struct page_frag *pf, u32 bytes)
{
	if (!skb_page_frag_refill(bytes, pf, GFP_ATOMIC | __GFP_NOWARN) ||
	    pf->offset + bytes > pf->size)
		return NULL;
	return pf;
}

static struct page_frag *frag_get(u32 bytes)
{
	return frag_fit(frag_pick(this_cpu_ptr(&frag_rings), bytes), bytes);
}

/*
 * The same in pages of their own, each as large as a pack gets.  What is short stays
 * where 32 KB are used again and again: they are in the cache.
 */
static struct page_frag *frag_get_large(u32 bytes)
{
	struct page_frag *pf = frag_pick(this_cpu_ptr(&pack_rings), bytes);
	struct page *page;

	if (pf->page && page_ref_count(pf->page) == 1)
		pf->offset = 0;
	if (!pf->page || pf->offset + bytes > pf->size) {
		page = alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
				   __GFP_NORETRY, PACK_ORDER);
		if (!page)
			return NULL;
		if (pf->page)
			put_page(pf->page);
		*pf = (struct page_frag) {
			.page = page, .size = PAGE_SIZE << PACK_ORDER,
		};
	}
	return pf;
}

static struct sk_buff *frag_build(u32 bytes)
{
	struct page_frag *pf = frag_get(bytes);
	struct sk_buff *skb;

	if (!pf)
		return NULL;
	skb = napi_build_skb(page_address(pf->page) + pf->offset, bytes);
	if (!skb)
		return NULL;
	get_page(pf->page);
	pf->offset += bytes;
	return skb;
}

/* An skb with @room bytes of headroom; without order-3 pages it is a plain one. */
static struct sk_buff *frame_skb(u32 room, u32 bytes)
{
	u32 data = SKB_DATA_ALIGN(room + bytes);
	struct sk_buff *skb;

	skb = frag_build(data + SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));
	if (!skb)
		skb = alloc_skb(data, GFP_ATOMIC | __GFP_NOWARN);
	if (skb)
		skb_reserve(skb, room);
	return skb;
}

static bool ring_has(const struct frag_ring *r, const struct page *page)
{
	u32 i;

	for (i = 0; i < FRAG_PAGES; i++)
		if (r->frag[i].page == page)
			return true;
	return false;
}

/**
 * sroce_train_is_own() - was an skb built on this CPU
 * @skb: an skb that was received
 *
 * The rings have a reference to each of their pages, so what lies in one of them was
 * built here, and not long ago.  What came from a NIC, what was built on another
 * CPU and handed over, and what was copied on its way lies elsewhere.
 *
 * Context: Bottom halves off.
 * Return: true when it was; false also when its page has left the ring.
 */
bool sroce_train_is_own(const struct sk_buff *skb)
{
	const struct page *page = virt_to_head_page(skb->head);

	return ring_has(this_cpu_ptr(&frag_rings), page) ||
	       ring_has(this_cpu_ptr(&pack_rings), page);
}

static void frag_ring_free(struct frag_ring *r)
{
	int i;

	for (i = 0; i < FRAG_PAGES; i++) {
		if (r->frag[i].page)
			put_page(r->frag[i].page);
		r->frag[i].page = NULL;
	}
}

static void frag_rings_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		frag_ring_free(per_cpu_ptr(&frag_rings, cpu));
		frag_ring_free(per_cpu_ptr(&pack_rings, cpu));
	}
}

/* The network may mark what takes part in congestion control (IBA A17, CA17-14). */
static u8 path_tos(const struct sroce_path *path)
{
	u8 tos = path->av.traffic_class;

	if (READ_ONCE(path->dev->cc.enable) && path->av.l3 != SROCE_L3_GRH)
		tos = (tos & ~INET_ECN_MASK) | INET_ECN_ECT_0;
	return tos;
}

/**
 * sroce_train_init() - begin an empty train
 * @t: the train
 * @path: where its frames go
 *
 * Its lane, size, priority and traffic class may be changed before the first
 * frame.
 *
 * Context: Bottom halves off.
 */
void sroce_train_init(struct sroce_train *t, struct sroce_path *path)
{
	memset(t, 0, sizeof(*t));
	t->path = path;
	t->lane = &path->lane;
	t->max_bytes = SROCE_TRAIN_BYTES;
	t->priority = path->priority;
	t->tos = path_tos(path);
}

/* Small frames to a peer that takes whole trains are packed. */
static bool packs(const struct sroce_train *t, u32 bytes)
{
	const struct sroce_path *path = t->path;

	return bytes <= PACK_FRAME_BYTES && READ_ONCE(path->whole) &&
	       !t->no_pack && t->max_frames > 1 &&
	       READ_ONCE(path->dev->knobs.packs);
}

/* Frames of @bytes that a pack can have. */
static u32 pack_frames(const struct sroce_train *t, u32 bytes)
{
	return max(min(t->max_bytes / bytes, t->max_frames), 1U);
}

/**
 * sroce_train_splits() - should a run of equal frames begin another train
 * @t: the train; its member run is set
 * @bytes: UDP payload of each of them
 *
 * A few more than what fills packs travel with what is in front of the run: an skb
 * of their own costs more.
 *
 * Context: Bottom halves off.
 * Return: true when they could be packed, and not behind what is in the train.
 */
bool sroce_train_splits(struct sroce_train *t, u32 bytes)
{
	u32 rest;

	if (t->run < PACK_LEAST || !t->frames ||
	    (t->buf && t->head_bytes == bytes) || !packs(t, bytes))
		return false;
	/* a pack has no members, so nothing but its own end goes behind it */
	if (t->buf && t->frames > 1)
		return true;
	rest = t->run % pack_frames(t, bytes);
	t->mixed = rest && rest < PACK_LEAST;
	return !t->mixed;
}

/* Can a frame follow the others of a pack? */
static bool pack_takes(const struct sroce_train *t, u32 bytes)
{
	return bytes <= t->head_bytes && !t->short_end && !t->mixed &&
	       t->bytes + bytes <= t->room;
}

/**
 * sroce_train_full() - must the train be sent before another frame
 * @t: the train
 * @bytes: UDP payload of the next frame, exactly
 *
 * A pack of one frame may still become the head of a train.
 *
 * Context: Bottom halves off.
 * Return: true when the frame does not fit any more.
 */
bool sroce_train_full(const struct sroce_train *t, u32 bytes)
{
	if (!t->frames)
		return false;
	if (t->frames >= t->max_frames || t->bytes + bytes > t->max_bytes)
		return true;
	return t->buf && t->frames > 1 && !pack_takes(t, bytes);
}

/* RoCEv1 has no route, and nobody who would cut a train of it. */
static int grh_begin(struct sroce_train *t)
{
	u32 room = sroce_grh_room(t->path);

	if (!room)
		return -ENETUNREACH;
	t->max_frames = 1;
	t->headroom = ALIGN(room + t->path->hdr_bytes, 16);
	return 0;
}

static int train_begin(struct sroce_train *t, u16 id)
{
	const struct sroce_path *path = t->path;

	if (unlikely(path->av.l3 == SROCE_L3_GRH))
		return grh_begin(t);
	t->dst = sroce_net_route(t->path, t->lane);
	if (!t->dst)
		return -ENETUNREACH;
	t->first_id = id;
	t->max_frames = SROCE_TRAIN_FRAMES;
	/* IPsec works on single packets, as udp_send_skb() has it */
	if (!READ_ONCE(path->dev->knobs.trains) || dst_xfrm(t->dst))
		t->max_frames = 1;
	t->headroom = ALIGN(LL_RESERVED_SPACE(t->dst->dev) + path->hdr_bytes,
			    16);
	return 0;
}

/* The L3 and UDP header of one frame in front of @bth; IPv4's checksum is 0. */
static void put_headers(const struct sroce_train *t, u8 *bth, u32 bytes, u16 id)
{
	const struct sroce_path *path = t->path;
	struct udphdr *uh = (struct udphdr *)(bth - sizeof(*uh));

	if (path->av.l3 == SROCE_L3_IPV6) {
		struct ipv6hdr *ip6 = (struct ipv6hdr *)(bth - V6_BYTES);

		memcpy(ip6, t->lane->hdr, V6_BYTES);
		ip6->payload_len = htons(sizeof(*uh) + bytes);
		ipv6_change_dsfield(ip6, 0, t->tos);
	} else {
		struct iphdr *iph = (struct iphdr *)(bth - V4_BYTES);

		memcpy(iph, t->lane->hdr, V4_BYTES);
		iph->tot_len = htons(V4_BYTES + bytes);
		iph->id = htons(id);
		iph->tos = t->tos;
	}
	uh->len = htons(sizeof(*uh) + bytes);
}

static void put_grh(const struct sroce_train *t, u8 *bth, u32 bytes)
{
	struct ipv6hdr *grh = (struct ipv6hdr *)(bth - sizeof(*grh));

	memcpy(grh, t->lane->hdr, sizeof(*grh));
	grh->payload_len = htons(bytes);
	ipv6_change_dsfield(grh, 0, t->tos);
}

/* Give @skb, whose data begin with a BTH, what the stack looks at. */
static void dress(const struct sroce_train *t, struct sk_buff *skb, u32 bytes,
		  u16 id)
{
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_set_network_header(skb, -(int)t->path->hdr_bytes);
	if (unlikely(t->path->av.l3 == SROCE_L3_GRH)) {
		put_grh(t, skb->data, bytes);
		skb_reset_transport_header(skb);
		return;
	}
	put_headers(t, skb->data, bytes, id);
	skb_set_transport_header(skb, -(int)sizeof(struct udphdr));
}

/*
 * Take what is left of a page for a pack, of one that has room for what is known to
 * follow.  How much of it is used shows when the pack is sent; until then the ring
 * finds the page full.
 */
static u8 *pack_begin(struct sroce_train *t, u32 bytes)
{
	const u32 around = t->headroom + SMP_CACHE_BYTES +
			   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	u32 least = min(PACK_LEAST * bytes, PACK_LEAST_BYTES);
	u32 most = min(t->run, pack_frames(t, bytes)) * bytes;
	struct page_frag *pf = NULL;

	if (most > least)
		pf = frag_get_large(around + most);
	if (!pf)
		pf = frag_get(around + least);
	if (!pf)
		return NULL;
	t->pf = pf;
	t->buf = page_address(pf->page) + pf->offset;
	/* the end is rounded up before the tail follows */
	t->room = pf->size - pf->offset - around;
	pf->offset = pf->size;
	get_page(pf->page);
	return t->buf + t->headroom;
}

/* Give back what a pack of @bytes in all did not use; 0: there is none. */
static void pack_end(struct sroce_train *t, u32 bytes)
{
	if (!bytes)
		put_page(t->pf->page);
	t->pf->offset = t->buf - (u8 *)page_address(t->pf->page) + bytes;
	t->buf = NULL;
}

/* Make the skb of a pack.  False: without memory its frames are lost. */
static bool pack_close(struct sroce_train *t)
{
	u32 data = SKB_DATA_ALIGN(t->headroom + t->bytes);
	u32 whole = data + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *skb = napi_build_skb(t->buf, whole);

	if (!skb) {
		pack_end(t, 0);
		return false;
	}
	pack_end(t, whole);
	skb_reserve(skb, t->headroom);
	skb_put(skb, t->bytes);
	dress(t, skb, t->head_bytes, t->first_id);
	t->head = skb;
	return true;
}

/* The next frame of a pack, or NULL: it goes another way. */
static u8 *pack_alloc(struct sroce_train *t, u32 bytes)
{
	u8 *bth;

	if (!t->frames)
		bth = packs(t, bytes) ? pack_begin(t, bytes) : NULL;
	else if (t->buf && pack_takes(t, bytes))
		bth = t->buf + t->headroom + t->bytes;
	else
		return NULL;
	t->cur_bytes = bytes;
	return bth;
}

/**
 * sroce_train_alloc() - room for one more frame
 * @t: the train; not full
 * @bytes: UDP payload of the frame, BTH to ICRC
 * @id: IP ID if this is the first frame; later ones count on from it
 *
 * The addresses are complete but for the checksum of IPv4.
 *
 * Context: Bottom halves off.
 * Return: where the BTH goes, or an ERR_PTR: -ENETUNREACH without a route,
 *	-ENOMEM.
 */
void *sroce_train_alloc(struct sroce_train *t, u32 bytes, u16 id)
{
	struct sk_buff *skb;
	u8 *bth;
	int err;

	if (!t->frames && !t->dst) {
		err = train_begin(t, id);
		if (err)
			return ERR_PTR(err);
	}
	bth = pack_alloc(t, bytes);
	if (bth)
		return bth;
	/* a pack of one frame that an unequal one follows: a train after all */
	if (t->buf && !pack_close(t)) {
		t->first_id++;
		t->frames = 0;
		t->bytes = 0;
		return ERR_PTR(-ENOMEM);
	}
	skb = frame_skb(t->headroom, bytes);
	if (!skb)
		return ERR_PTR(-ENOMEM);
	bth = skb_put(skb, bytes);
	dress(t, skb, bytes, sroce_train_id(t));
	t->cur = skb;
	return bth;
}

/**
 * sroce_train_commit() - add the filled frame to its train
 * @t: the train
 *
 * Context: Bottom halves off.
 */
void sroce_train_commit(struct sroce_train *t)
{
	struct sk_buff *skb = t->cur, *head = t->head;
	u32 bytes = skb ? skb->len : t->cur_bytes;

	t->cur = NULL;
	if (!skb) {
		if (!t->frames)
			t->head_bytes = bytes;
		t->short_end = bytes < t->head_bytes;
	} else if (!head) {
		t->head = skb;
		t->head_bytes = bytes;
	} else {
		if (t->last)
			t->last->next = skb;
		else
			skb_shinfo(head)->frag_list = skb;
		t->last = skb;
		head->len += bytes;
		head->data_len += bytes;
		head->truesize += skb->truesize;
	}
	t->frames++;
	t->bytes += bytes;
}

/**
 * sroce_train_abort() - drop the frame that could not be filled
 * @t: the train
 *
 * Context: Bottom halves off.
 */
void sroce_train_abort(struct sroce_train *t)
{
	kfree_skb(t->cur);
	if (!t->cur && !t->frames)
		pack_end(t, 0);
	t->cur = NULL;
}

/* The checksum of a pack is left to whoever splits it; mostly nobody does. */
static void pack_gso(const struct sroce_train *t)
{
	struct udphdr *uh = udp_hdr(t->head);
	const void *l3 = skb_network_header(t->head);
	u32 len = sizeof(*uh) + t->bytes;

	if (t->path->av.l3 == SROCE_L3_IPV6) {
		const struct ipv6hdr *ip6 = l3;

		uh->check = ~udp_v6_check(len, &ip6->saddr, &ip6->daddr, 0);
	} else {
		const struct iphdr *iph = l3;

		uh->check = ~udp_v4_check(len, iph->saddr, iph->daddr, 0);
	}
	t->head->ip_summed = CHECKSUM_PARTIAL;
	t->head->csum_start = skb_transport_header(t->head) - t->head->head;
	t->head->csum_offset = offsetof(struct udphdr, check);
}

static void train_gso(const struct sroce_train *t, bool pack)
{
	struct skb_shared_info *shinfo = skb_shinfo(t->head);

	if (t->frames == 1) {
		t->head->ip_summed = CHECKSUM_NONE;
		return;
	}
	shinfo->gso_type = pack ? SKB_GSO_UDP_L4 :
				  SKB_GSO_FRAGLIST | SKB_GSO_UDP_L4;
	shinfo->gso_size = t->head_bytes;
	shinfo->gso_segs = t->frames;
	udp_hdr(t->head)->len = htons(sizeof(struct udphdr) + t->bytes);
	if (pack)
		pack_gso(t);
}

static int train_xmit(struct sroce_train *t, bool pack)
{
	struct net *net = t->path->dev->ns;
	struct sock *sk = t->path->sock->sk;
	struct sk_buff *skb = t->head;

	train_gso(t, pack);
	__skb_push(skb, t->path->hdr_bytes);
	skb->priority = t->priority;
	skb_dst_set(skb, t->dst);
	skb_set_owner_w(skb, sk);
	if (t->path->av.l3 == SROCE_L3_IPV6) {
		skb->protocol = htons(ETH_P_IPV6);
		memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
		return ip6_local_out(net, sk, skb);
	}
	if (unlikely(t->path->av.l3 == SROCE_L3_GRH))
		return sroce_grh_xmit(t->path, skb);
	skb->protocol = htons(ETH_P_IP);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	return ip_local_out(net, sk, skb);
}

/**
 * sroce_train_wire_bytes() - what a train takes of the link
 * @t: the train
 *
 * Context: Bottom halves off.
 * Return: bytes, all headers and Ethernet's overhead included.
 */
u32 sroce_train_wire_bytes(const struct sroce_train *t)
{
	return t->bytes + t->frames * (t->path->hdr_bytes + L2_BYTES);
}

/* Is this a drop that sending again soon may help, as where a queue is full? */
static bool is_shortage(int err)
{
	return err > 0 || err == -ENOBUFS || err == -ENOMEM || err == -EAGAIN;
}

/**
 * sroce_train_send() - hand a train to the stack; the train is empty after
 * @t: the train; may be empty; keeps its path and lane
 *
 * What a firewall, an MTU or a dead link refuses is lost like on any other hop,
 * and counted: the next packet would fare no better.
 *
 * Context: Bottom halves off; a QP lock may be held, nothing below takes one.
 * Return: 0, or -ENOBUFS when the stack dropped the train for want of room: that
 *	is packet loss, known at once.
 */
int sroce_train_send(struct sroce_train *t)
{
	const struct sroce_path *path = t->path;
	struct sroce_lane *lane = t->lane;
	const bool pack = t->buf;
	const u32 run = t->run;
	int err = 0;

	if (pack && !pack_close(t)) {
		dst_release(t->dst);
		err = -ENOBUFS;
	} else if (t->head) {
		sroce_stat_inc(path, SENT_TRAINS);
		if (pack && t->frames > 1)
			sroce_stat_inc(path, SENT_PACKS);
		sroce_stat_add(path, SENT_PKTS, t->frames);
		sroce_stat_add(path, SENT_BYTES, t->bytes);
		err = train_xmit(t, pack);
		err = net_xmit_eval(err);
		if (unlikely(err)) {
			sroce_stat_add(path, TX_DROPPED, t->frames);
			sroce_trace_drop(path->dev, 0,
					 SROCE_STAT_TX_DROPPED);
			err = is_shortage(err) ? -ENOBUFS : 0;
		}
	} else if (t->dst) {
		dst_release(t->dst);
	}
	sroce_train_init(t, t->path);
	t->lane = lane;
	t->run = run;
	return err;
}

/**
 * sroce_train_exit() - module end: give the pages back
 *
 * Context: Process; nothing is sent any more.
 */
void sroce_train_exit(void)
{
	frag_rings_free();
}
