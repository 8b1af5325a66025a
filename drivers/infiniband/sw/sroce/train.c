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
#include "net.h"

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp.h>

/* Pages a CPU keeps to build frames on; each holds 32 KB where memory allows. */
#define FRAG_PAGES	16

/* Ethernet around an IP packet: header, FCS, preamble, gap between frames. */
#define L2_BYTES	38

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

static struct sk_buff *frag_build(u32 bytes)
{
	struct page_frag *pf = frag_pick(this_cpu_ptr(&frag_rings), bytes);
	struct sk_buff *skb;

	if (!skb_page_frag_refill(bytes, pf, GFP_ATOMIC | __GFP_NOWARN) ||
	    pf->offset + bytes > pf->size)
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

static void frag_rings_free(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct frag_ring *r = per_cpu_ptr(&frag_rings, cpu);

		for (i = 0; i < FRAG_PAGES; i++) {
			if (r->frag[i].page)
				put_page(r->frag[i].page);
			r->frag[i].page = NULL;
		}
	}
}

/* The network may mark what takes part in congestion control (IBA A17, CA17-14). */
static u8 path_tos(const struct sroce_path *path)
{
	u8 tos = path->av.traffic_class;

	if (READ_ONCE(path->dev->cc.enable))
		tos = (tos & ~INET_ECN_MASK) | INET_ECN_ECT_0;
	return tos;
}

/**
 * sroce_train_init() - begin an empty train
 * @t: the train
 * @path: where its frames go
 *
 * Its size, priority and traffic class may be changed before the first frame.
 *
 * Context: Bottom halves off.
 */
void sroce_train_init(struct sroce_train *t, struct sroce_path *path)
{
	memset(t, 0, sizeof(*t));
	t->path = path;
	t->max_bytes = SROCE_TRAIN_BYTES;
	t->priority = path->priority;
	t->tos = path_tos(path);
}

/**
 * sroce_train_full() - must the train be sent before another frame
 * @t: the train
 * @bytes: UDP payload of the next frame
 *
 * Context: Bottom halves off.
 * Return: true when the frame does not fit any more.
 */
bool sroce_train_full(const struct sroce_train *t, u32 bytes)
{
	return t->frames && (t->frames >= t->max_frames ||
			     t->bytes + bytes > t->max_bytes);
}

static int train_begin(struct sroce_train *t, u16 id)
{
	const struct sroce_path *path = t->path;

	t->dst = sroce_net_route(t->path);
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

/**
 * sroce_train_alloc() - room for one more frame
 * @t: the train; not full
 * @bytes: UDP payload of the frame, BTH to ICRC
 * @id: IP ID if this is the first frame; later ones count on from it
 *
 * The L3 and UDP headers in front are complete but for the checksum of IPv4.
 *
 * Context: Bottom halves off.
 * Return: where the BTH goes, or an ERR_PTR: -ENETUNREACH without a route,
 *	-ENOMEM.
 */
void *sroce_train_alloc(struct sroce_train *t, u32 bytes, u16 id)
{
	const struct sroce_path *path = t->path;
	struct sk_buff *skb;
	struct udphdr *uh;
	u8 *bth;
	int err;

	if (!t->frames && !t->dst) {
		err = train_begin(t, id);
		if (err)
			return ERR_PTR(err);
	}
	skb = frame_skb(t->headroom, bytes);
	if (!skb)
		return ERR_PTR(-ENOMEM);
	bth = skb_put(skb, bytes);
	uh = (struct udphdr *)(bth - sizeof(*uh));
	if (path->av.l3 == SROCE_L3_IPV6) {
		struct ipv6hdr *ip6 = (struct ipv6hdr *)(bth - V6_BYTES);

		memcpy(ip6, path->hdr, V6_BYTES);
		ip6->payload_len = htons(sizeof(*uh) + bytes);
		ipv6_change_dsfield(ip6, 0, t->tos);
	} else {
		struct iphdr *iph = (struct iphdr *)(bth - V4_BYTES);

		memcpy(iph, path->hdr, V4_BYTES);
		iph->tot_len = htons(V4_BYTES + bytes);
		iph->id = htons((u16)(t->first_id + t->frames));
		iph->tos = t->tos;
	}
	uh->len = htons(sizeof(*uh) + bytes);
	skb_set_transport_header(skb, -(int)sizeof(*uh));
	skb_set_network_header(skb, -(int)path->hdr_bytes);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
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
	u32 bytes = skb->len;

	t->cur = NULL;
	if (!head) {
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
	t->cur = NULL;
}

static void train_gso(const struct sroce_train *t)
{
	struct skb_shared_info *shinfo = skb_shinfo(t->head);

	if (t->frames == 1) {
		t->head->ip_summed = CHECKSUM_NONE;
		return;
	}
	shinfo->gso_type = SKB_GSO_FRAGLIST | SKB_GSO_UDP_L4;
	shinfo->gso_size = t->head_bytes;
	shinfo->gso_segs = t->frames;
	udp_hdr(t->head)->len = htons(sizeof(struct udphdr) + t->bytes);
}

static int train_xmit(struct sroce_train *t)
{
	struct net *net = t->path->dev->ns;
	struct sock *sk = t->path->sock->sk;
	struct sk_buff *skb = t->head;

	train_gso(t);
	__skb_push(skb, t->path->hdr_bytes);
	skb->priority = t->priority;
	skb_dst_set(skb, t->dst);
	skb_set_owner_w(skb, sk);
	if (t->path->av.l3 == SROCE_L3_IPV6) {
		skb->protocol = htons(ETH_P_IPV6);
		memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
		return ip6_local_out(net, sk, skb);
	}
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

/**
 * sroce_train_send() - hand a train to the stack; the train is empty after
 * @t: the train; may be empty
 *
 * Context: Bottom halves off; a QP lock may be held, nothing below takes one.
 * Return: 0, or -ENOBUFS when the stack dropped the train and said so: that is
 *	packet loss, known at once.
 */
int sroce_train_send(struct sroce_train *t)
{
	struct sroce_dev *dev = t->path->dev;
	int err = 0;

	if (t->head) {
		sroce_stat_inc(dev, SENT_TRAINS);
		sroce_stat_add(dev, SENT_PKTS, t->frames);
		sroce_stat_add(dev, SENT_BYTES, t->bytes);
		err = train_xmit(t);
		if (unlikely(net_xmit_eval(err))) {
			sroce_stat_add(dev, TX_DROPPED, t->frames);
			err = -ENOBUFS;
		} else {
			err = 0;
		}
	} else if (t->dst) {
		dst_release(t->dst);
	}
	sroce_train_init(t, t->path);
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
