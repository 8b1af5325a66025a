// SPDX-License-Identifier: GPL-2.0
/*
 * The demultiplexer: from skbs to the roles of QPs.
 *
 * Owns the table of QPs by number and all checks that need no state of the
 * transport: headers, ICRC, QP, addresses, P_Key.  QPNs are unique over all
 * devices of the module, so one lookup finds the QP and with it the device.
 * Runs in softirq under RCU, called by net.c through main.c.  Must not execute
 * anything.
 */
#include "rx.h"

#include "cc.h"
#include "comp.h"
#include "engine.h"
#include "frame.h"
#include "grh.h"
#include "gro.h"
#include "mcast.h"
#include "proto/opcode.h"
#include "proto/wire.h"
#include "resp.h"
#include "trace.h"
#include "ud.h"

#include "compat.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/random.h>
#include <linux/udp.h>
#include <linux/xarray.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>

/* 0 and 1 are management QPs, 0xffffff is multicast. */
#define QPN_MIN	16
#define QPN_MAX	0xfffffe
#define QPN_MCAST	0xffffff

static DEFINE_XARRAY_FLAGS(qp_table, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
static u32 qpn_next;

/**
 * struct batch - the role of a QP a train is being fed to
 * @qp: the QP, or NULL
 * @responder: its rx.lock is held, else its tx.lock
 * @now_ns: time of arrival
 * @in: netdev it came through
 */
struct batch {
	struct sroce_qp *qp;
	bool responder;
	u64 now_ns;
	struct net_device *in;
};

/**
 * struct wire - where a frame lies
 * @net: namespace it arrived in
 * @l3: IP header or GRH
 * @bth: BTH
 * @bytes: BTH to the end of the ICRC
 * @id: IP ID, IPv4 only
 * @kind: which of them, enum sroce_l3
 * @ce: the network marked it; a mark on a train counts once
 */
struct wire {
	struct net *net;
	const void *l3;
	const u8 *bth;
	u32 bytes;
	u16 id;
	u8 kind;
	bool ce;
};

/* The management QP is no part of the table: its number exists once a device. */
static int publish_gsi(struct sroce_qp *qp)
{
	struct sroce_dev *dev = qp->dev;

	qp->qpn = SROCE_QPN_GSI;
	qp->ibqp->qp_num = SROCE_QPN_GSI;
	return unrcu_pointer(cmpxchg(&dev->gsi, NULL, RCU_INITIALIZER(qp))) ?
		-EBUSY : 0;
}

/**
 * sroce_rx_publish() - give a QP its number and let packets find it
 * @qp: the QP, complete
 *
 * Context: Process, may sleep.
 * Return: 0, -ENOMEM, or -EBUSY when all numbers are taken.
 */
int sroce_rx_publish(struct sroce_qp *qp)
{
	int err;

	if (qp->ibqp->qp_type == IB_QPT_GSI)
		return publish_gsi(qp);
	/* stale packets of an earlier QP must not meet its successor */
	if (!READ_ONCE(qpn_next))
		WRITE_ONCE(qpn_next, QPN_MIN + get_random_u32_below(QPN_MAX / 2));
	err = xa_alloc_cyclic_bh(&qp_table, &qp->qpn, qp,
				 XA_LIMIT(QPN_MIN, QPN_MAX), &qpn_next,
				 GFP_KERNEL);
	if (err < 0)
		return err;
	qp->ibqp->qp_num = qp->qpn;
	return 0;
}

/**
 * sroce_rx_unpublish() - no packet finds the QP any more after a grace period
 * @qp: the QP
 *
 * Context: Process.
 */
void sroce_rx_unpublish(struct sroce_qp *qp)
{
	if (qp->ibqp->qp_type == IB_QPT_GSI)
		RCU_INIT_POINTER(qp->dev->gsi, NULL);
	else
		xa_erase_bh(&qp_table, qp->qpn);
}

/**
 * sroce_rx_find() - QP of a number
 * @qpn: the number; management QPs have none of their own
 *
 * Context: RCU read side.
 * Return: the QP, or NULL.
 */
struct sroce_qp *sroce_rx_find(u32 qpn)
{
	return xa_load(&qp_table, qpn);
}

/**
 * sroce_rx_exit() - module end; no QP is left
 *
 * Context: Process.
 */
void sroce_rx_exit(void)
{
	xa_destroy(&qp_table);
}

static void batch_end(struct batch *b)
{
	if (!b->qp)
		return;
	if (b->responder) {
		sroce_resp_pause(b->qp);
		sroce_sched_rx_end(b->qp);
	} else {
		sroce_comp_pause(b->qp);
		sroce_sched_tx_end(b->qp);
	}
	b->qp = NULL;
}

static void batch_enter(struct batch *b, struct sroce_qp *qp, bool responder)
{
	if (b->qp == qp && b->responder == responder)
		return;
	batch_end(b);
	b->qp = qp;
	b->responder = responder;
	if (responder)
		sroce_sched_rx_begin(qp);
	else
		sroce_sched_tx_begin(qp);
}

/* Do the addresses name this connection? */
static bool addr_ok(const struct batch *b, const struct sroce_qp *qp,
		    const struct wire *w)
{
	const struct sroce_av *av = &qp->path.av;
	const struct ipv6hdr *ip6 = w->l3;
	const struct iphdr *iph = w->l3;

	if (!qp->path.hdr_bytes || av->l3 != w->kind)
		return false;
	if (w->kind == SROCE_L3_IPV4)
		return iph->saddr == av->daddr.s6_addr32[3] &&
		       iph->daddr == av->saddr.s6_addr32[3];
	return ipv6_addr_equal(&ip6->saddr, &av->daddr) &&
	       ipv6_addr_equal(&ip6->daddr, &av->saddr) &&
	       (w->kind == SROCE_L3_IPV6 || av->ifindex == b->in->ifindex);
}

static bool is_mcast(const void *l3, enum sroce_l3 kind)
{
	return kind == SROCE_L3_IPV4 ?
		ipv4_is_multicast(((const struct iphdr *)l3)->daddr) :
		ipv6_addr_is_multicast(&((const struct ipv6hdr *)l3)->daddr);
}

/*
 * A datagram may come from anywhere; the Q_Key guards the QP.  That it goes to an
 * address of this host IP has seen to; for RoCEv1 nobody has.
 */
static bool ud_addr_ok(const struct batch *b, const struct sroce_qp *qp,
		       const struct wire *w)
{
	if (is_mcast(w->l3, w->kind))
		return false;
	return w->kind != SROCE_L3_GRH ||
	       sroce_grh_is_ours(qp->dev, w->l3, b->in);
}

/* One end of the connection speaks RoCEv1, the other RoCEv2 (CA17-41). */
static bool is_mixed(const struct sroce_qp *qp, const struct wire *w)
{
	return qp->type != SROCE_QPT_UD && qp->path.hdr_bytes &&
	       (qp->path.av.l3 == SROCE_L3_GRH) != (w->kind == SROCE_L3_GRH);
}

/* P_Keys match when 15 bits do and one side is a full member (IBA 10.9.1.2). */
static bool pkey_ok(u16 a, u16 b)
{
	return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000);
}

static void count_fault(struct sroce_qp *qp, enum sroce_hdr_fault fault)
{
	switch (fault) {
	case SROCE_HDR_TVER:
		sroce_drop(qp, DROP_TVER);
		break;
	case SROCE_HDR_OPCODE:
		sroce_drop(qp, DROP_OPCODE);
		break;
	case SROCE_HDR_LENGTH:
		sroce_drop(qp, DROP_LENGTH);
		break;
	default:
		sroce_drop(qp, DROP_SHORT);
	}
}

/* A CNP is for whichever role sent the data that was marked. */
static void rx_cnp(struct batch *b, struct sroce_qp *qp)
{
	bool handled;

	batch_enter(b, qp, false);
	handled = sroce_cc_cnp_tx(qp, b->now_ns);
	if (unlikely(sroce_cc_reads_sent(qp, b->now_ns))) {
		batch_enter(b, qp, true);
		handled |= sroce_cc_cnp_rx(qp, b->now_ns);
	}
	if (handled)
		sroce_stat_inc(qp, RP_CNP_HANDLED);
	else
		sroce_stat_inc(qp, RP_CNP_IGNORED);
}

static void deliver(struct batch *b, struct sroce_qp *qp,
		    const struct sroce_frame *f)
{
	if (f->h.info->flags & SROCE_OPF_CNP) {
		/* RoCEv1 has none (IBA A17.9) */
		if (f->kind == SROCE_L3_GRH)
			sroce_drop(qp, DROP_OPCODE);
		else
			rx_cnp(b, qp);
		return;
	}
	if (f->h.info->type != qp->type) {
		sroce_drop(qp, DROP_TYPE);
		return;
	}
	if (unlikely(qp->type == SROCE_QPT_UD)) {
		batch_enter(b, qp, true);
		/* a mark on a multicast would be answered by the whole group */
		if (sroce_ud_consume(qp, f) && unlikely(f->ce) &&
		    !is_mcast(f->l3, f->kind))
			sroce_ud_marked(qp, f, b->in->ifindex, b->now_ns);
		return;
	}
	if (f->h.info->flags & SROCE_OPF_REQ) {
		batch_enter(b, qp, true);
		sroce_resp_consume(qp, f);
	} else {
		batch_enter(b, qp, false);
		sroce_comp_consume(qp, f, b->now_ns);
	}
	if (unlikely(f->ce))
		sroce_cc_marked(qp, &f->h, b->responder, b->now_ns);
}

/*
 * The QP of a number the table does not have: a management QP, by address.
 * Trains have one destination, so this is not asked for every frame.
 */
static struct sroce_qp *find_gsi(const struct batch *b, const struct wire *w,
				 u32 qpn, u16 *vlan)
{
	struct sroce_dev *dev;

	if (qpn != SROCE_QPN_GSI)
		return NULL;
	dev = sroce_net_owner(w->net, w->l3, w->kind, b->in, vlan);
	return dev ? rcu_dereference(dev->gsi) : NULL;
}

static void frame_fill(struct sroce_frame *f, const struct wire *w)
{
	f->payload = w->bth + f->h.hdr_bytes;
	f->l3 = w->l3;
	f->kind = w->kind;
	f->ce = w->ce;
}

/**
 * struct fanout - a packet on its way to the members of a group
 * @b: batch
 * @w: where it lies
 * @dev: device of the last member
 * @f: the packet, once it was looked at
 * @seen: it was
 * @good: and is fit for delivery
 */
struct fanout {
	struct batch *b;
	const struct wire *w;
	const struct sroce_dev *dev;
	struct sroce_frame f;
	bool seen;
	bool good;
};

static bool mcast_check(struct fanout *o, struct sroce_qp *qp)
{
	const struct wire *w = o->w;
	enum sroce_hdr_fault fault = sroce_hdr_parse(&o->f.h, w->bth, w->bytes);

	if (fault) {
		count_fault(qp, fault);
		return false;
	}
	if (o->f.h.info->type != SROCE_QPT_UD) {
		sroce_drop(qp, DROP_TYPE);
		return false;
	}
	if (!sroce_frame_icrc_ok(w->l3, w->kind, w->id, w->bth, w->bytes)) {
		sroce_drop(qp, ICRC);
		return false;
	}
	frame_fill(&o->f, w);
	return true;
}

/* One member's turn; the packet itself is checked for the first one only. */
static void mcast_one(struct sroce_qp *qp, void *arg)
{
	struct fanout *o = arg;

	if (o->dev != qp->dev) {
		o->dev = qp->dev;
		sroce_stat_inc(qp, RCVD_PKTS);
		sroce_stat_add(qp, RCVD_BYTES, o->w->bytes);
		sroce_stat_inc(qp, RCVD_MCAST);
	}
	if (!o->seen) {
		o->seen = true;
		o->good = mcast_check(o, qp);
	}
	if (!o->good)
		return;
	if (!pkey_ok(o->f.h.pkey, qp->pkey))
		sroce_drop(qp, DROP_PKEY);
	else
		deliver(o->b, qp, &o->f);
}

/* To QPN 0xffffff: each member of the group gets a copy (IBA 9.8.1, 10.5). */
static void rx_mcast(struct batch *b, const struct wire *w)
{
	struct fanout o = { .b = b, .w = w, .f.vlan = SROCE_NO_VLAN };
	union ib_gid gid;

	sroce_net_dgid(&gid, w->l3, w->kind);
	if (!sroce_mcast_each(w->net, &gid, b->in, mcast_one, &o))
		sroce_net_count_drop(w->net, w->bytes, SROCE_STAT_DROP_QPN);
}

/* All checks of one frame, cheapest first; the CRC last, it reads every byte. */
static void rx_frame(struct batch *b, const struct wire *w)
{
	struct sroce_frame f __uninitialized;
	enum sroce_hdr_fault fault;
	struct sroce_qp *qp;
	u32 qpn;

	if (w->bytes < sizeof(struct sroce_bth) + SROCE_ICRC_BYTES) {
		sroce_net_count_drop(w->net, w->bytes, SROCE_STAT_DROP_SHORT);
		return;
	}
	f.vlan = SROCE_NO_VLAN;
	qpn = sroce_hdr_dqpn(w->bth);
	qp = b->qp && b->qp->qpn == qpn && qpn != SROCE_QPN_GSI ?
		b->qp : xa_load(&qp_table, qpn);
	if (unlikely(!qp)) {
		if (qpn == QPN_MCAST) {
			rx_mcast(b, w);
			return;
		}
		qp = find_gsi(b, w, qpn, &f.vlan);
	}
	if (!qp || qp->dev->ns != w->net) {
		sroce_net_count_drop(w->net, w->bytes, SROCE_STAT_DROP_QPN);
		return;
	}
	sroce_stat_inc(qp, RCVD_PKTS);
	sroce_stat_add(qp, RCVD_BYTES, w->bytes);
	fault = sroce_hdr_parse(&f.h, w->bth, w->bytes);
	if (unlikely(fault)) {
		count_fault(qp, fault);
		return;
	}
	if (unlikely(qp->type == SROCE_QPT_UD ? !ud_addr_ok(b, qp, w) :
					       !addr_ok(b, qp, w))) {
		if (is_mixed(qp, w))
			sroce_drop(qp, DROP_GID_TYPE);
		else
			sroce_drop(qp, DROP_ADDR);
		return;
	}
	if (unlikely(!sroce_frame_icrc_ok(w->l3, w->kind, w->id, w->bth,
					  w->bytes))) {
		sroce_drop(qp, ICRC);
		return;
	}
	if (unlikely(!pkey_ok(f.h.pkey, qp->pkey))) {
		sroce_drop(qp, DROP_PKEY);
		return;
	}
	frame_fill(&f, w);
	deliver(b, qp, &f);
}

static bool is_ce(const void *l3, enum sroce_l3 kind)
{
	return kind == SROCE_L3_IPV4 ?
		INET_ECN_is_ce(((const struct iphdr *)l3)->tos) :
		INET_ECN_is_ce(ipv6_get_dsfield(l3));
}

static void wire_init(struct wire *w, struct net *net,
		      const struct sk_buff *skb)
{
	w->net = net;
	w->l3 = skb_network_header(skb);
	w->bth = (const u8 *)(udp_hdr(skb) + 1);
	w->kind = ((const struct iphdr *)w->l3)->version == 6 ? SROCE_L3_IPV6 :
							      SROCE_L3_IPV4;
	w->id = w->kind == SROCE_L3_IPV4 ?
		ntohs(((const struct iphdr *)w->l3)->id) : 0;
	w->ce = is_ce(w->l3, w->kind);
}

/* One skb of a train, or the only one; its head may claim the train's length. */
static void rx_one(struct batch *b, struct net *net, const struct sk_buff *skb,
		   bool gso)
{
	const u8 *end = skb->data + skb_headlen(skb);
	struct wire w __uninitialized;
	u32 udp_bytes;

	wire_init(&w, net, skb);
	if (w.bth > end)
		return;
	w.bytes = end - w.bth;
	if (!gso) {
		/* Ethernet pads short packets: UDP says where this one ends */
		udp_bytes = ntohs(udp_hdr(skb)->len);
		if (udp_bytes < sizeof(struct udphdr) ||
		    udp_bytes - sizeof(struct udphdr) > w.bytes) {
			sroce_net_count_drop(net, w.bytes, SROCE_STAT_DROP_LENGTH);
			return;
		}
		w.bytes = udp_bytes - sizeof(struct udphdr);
	}
	rx_frame(b, &w);
}

/* A pack: slices of one size, but for the last, that share the headers. */
static void rx_pack(struct batch *b, struct net *net, const struct sk_buff *skb)
{
	const u8 *end = skb->data + skb_headlen(skb);
	u32 slice = skb_shinfo(skb)->gso_size;
	struct wire w __uninitialized;

	wire_init(&w, net, skb);
	for (; w.bth < end; w.bth += w.bytes, w.id++) {
		w.bytes = min_t(u32, slice, end - w.bth);
		rx_frame(b, &w);
		w.ce = false;
	}
}

/*
 * Only somebody like us sends trains without a checksum, and this one came
 * whole: the peer takes trains and packs, as long as the connection lasts.  Unless
 * the packets came one by one.
 */
static void note_train(const struct batch *b, const struct sk_buff *skb)
{
	if (!b->qp)
		return;
	if (sroce_gro_made(skb)) {
		sroce_stat_inc(b->qp->dev, RCVD_CHAINS);
		return;
	}
	sroce_stat_inc(b->qp->dev, RCVD_TRAINS);
	if (b->qp->type == SROCE_QPT_RC && !udp_hdr(skb)->check &&
	    !READ_ONCE(b->qp->path.whole))
		WRITE_ONCE(b->qp->path.whole, true);
}

/**
 * sroce_rx_skb() - take in a packet or a train for UDP port 4791
 * @net: namespace it arrived in
 * @skb: linear packet or pack (SKB_GSO_UDP_L4), or SKB_GSO_FRAGLIST train of
 *	linear members; network and transport headers are set; stays with the
 *	caller
 *
 * Context: Softirq or bottom halves off.
 */
void sroce_rx_skb(struct net *net, struct sk_buff *skb)
{
	struct batch b = { .now_ns = ktime_get_ns(), .in = skb->dev };
	struct sk_buff *m;

	rcu_read_lock();
	if (skb_is_gso(skb) && !skb_has_frag_list(skb))
		rx_pack(&b, net, skb);
	else
		rx_one(&b, net, skb, skb_is_gso(skb));
	if (skb_is_gso(skb))
		note_train(&b, skb);
	skb_walk_frags(skb, m)
		rx_one(&b, net, m, false);
	batch_end(&b);
	rcu_read_unlock();
}

/**
 * sroce_rx_grh() - take in a packet of RoCEv1
 * @skb: the packet, linear, from its GRH to its ICRC; the network header is set;
 *	stays with the caller
 *
 * Nothing marks it: switches look at IP.
 *
 * Context: Softirq or bottom halves off.
 */
void sroce_rx_grh(struct sk_buff *skb)
{
	struct batch b = { .now_ns = ktime_get_ns(), .in = skb->dev };
	struct wire w = {
		.net = dev_net(skb->dev),
		.l3 = skb->data,
		.bth = skb->data + SROCE_GRH_BYTES,
		.bytes = skb->len - SROCE_GRH_BYTES,
		.kind = SROCE_L3_GRH,
	};

	rcu_read_lock();
	rx_frame(&b, &w);
	batch_end(&b);
	rcu_read_unlock();
}
