// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: both roles of a UD QP, management QPs among them.
 *
 * Owns what is different where there is no connection: a WQE is one packet,
 * goes where it says and is done when it is handed to the stack; a packet is one
 * receive WQE, or nothing.  The sender runs under tx.lock with bottom halves
 * off, through sched.c; the receiver under rx.lock in softirq, called by rx.c.
 * Must not know PSN windows, ACKs or remote memory.
 */
#include "ud.h"

#include "cc.h"
#include "engine.h"
#include "pagein.h"
#include "frame.h"
#include "proto/aeth.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/wire.h"
#include "trace.h"
#include "train.h"
#include "txq.h"

#include <linux/ktime.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>

/* A Q_Key with this bit set stands for that of the sender (IBA 10.2.5). */
#define QKEY_OWN	BIT(31)

/* --- sending --------------------------------------------------------------- */

/*
 * Begin a train; false when the pacer has nothing for it.  Management is never
 * slowed down, and a marked multicast would be answered by a whole group, so
 * neither claims to be ECN-capable.
 */
static bool begin_train(struct sroce_qp *qp, struct sroce_train *t, u64 now_ns)
{
	const struct sroce_av *av = &qp->path.av;
	const bool gsi = sroce_qp_is_gsi(qp);

	sroce_train_init(t, &qp->path);
	if (gsi || rdma_is_multicast_addr((struct in6_addr *)&av->daddr))
		t->tos = av->traffic_class;
	if (!gsi)
		t->max_bytes = sroce_cc_budget(&qp->tx.cc, now_ns);
	return t->max_bytes;
}

static void end_train(struct sroce_qp *qp, struct sroce_train *t, u64 now_ns)
{
	u32 bytes = sroce_train_wire_bytes(t);

	if (bytes && !sroce_qp_is_gsi(qp))
		sroce_cc_sent(qp, &qp->tx.cc, bytes, now_ns);
	sroce_train_send(t);
}

/*
 * Point the QP's path at the next datagram's destination.  Frames of a train
 * share a path, so a train ends where the destination changes.  False when the
 * device has to drain first, or the pacer has nothing.
 */
static bool aim(struct sroce_qp *qp, struct sroce_train *t,
		const struct sroce_dest *dest, u32 bytes, u64 now_ns)
{
	u16 sport = rdma_get_udp_sport(dest->av.flow_label, qp->qpn,
				       dest->dqpn);
	struct sroce_path *path = &qp->path;
	bool same = path->hdr_bytes && path->lane.sport == sport &&
		    !memcmp(&path->av, &dest->av, sizeof(path->av));

	if (same && !sroce_train_full(t, bytes))
		return true;
	end_train(qp, t, now_ns);
	if (sroce_sched_tx_blocked(qp))
		return false;
	if (!same)
		sroce_net_path_set(path, &dest->av, sport);
	/* a train takes over class and priority where it begins */
	return begin_train(qp, t, now_ns);
}

static int add_datagram(struct sroce_qp *qp, struct sroce_train *t,
			const struct sroce_swqe *w,
			const struct sroce_dest *dest)
{
	int opcode = sroce_opcode_pick(SROCE_QPT_UD, w->op, true, true);
	struct sroce_tx *tx = &qp->tx;
	struct sroce_src src = {};
	struct sroce_hdr h = {
		.opcode = opcode,
		.mig = true,
		.solicited = w->send_flags & IB_SEND_SOLICITED,
		.pkey = qp->pkey,
		.dqpn = dest->dqpn,
		.psn = tx->window.max,
		.qkey = dest->qkey & QKEY_OWN ? qp->qkey : dest->qkey,
		.src_qpn = qp->qpn,
		.imm = w->imm,
	};
	int err;

	if (w->flags & SROCE_SWQE_INLINE) {
		src.inline_data = w->inline_data;
	} else {
		src.sgl = &tx->sgl;
		sroce_sgl_init(&tx->sgl, qp->dev, &qp->who, w->sge,
			       w->num_sge, 0);
	}
	err = sroce_frame_add(t, &h, sroce_opcode_info(opcode)->hdr_bytes, &src,
			      w->length);
	sroce_sgl_fini(&tx->sgl);
	return err;
}

/* The next WQE has left, or is lost, which is the same to its poster. */
static void sent(struct sroce_qp *qp, struct sroce_swqe *w)
{
	struct sroce_tx *tx = &qp->tx;
	u32 psn = sroce_psn_add(tx->window.max, 1);

	/* nothing is waited for: the window stays empty */
	tx->window.una = psn;
	tx->window.nxt = psn;
	tx->window.max = psn;
	w->npsn = 0;
	w->flags |= SROCE_SWQE_STARTED | SROCE_SWQE_DONE;
	tx->sq.next++;
}

static void count_sent(struct sroce_qp *qp, const struct sroce_av *av)
{
	sroce_stat_inc(qp, RDMA_SENDS);
	if (rdma_is_multicast_addr((struct in6_addr *)&av->daddr))
		sroce_stat_inc(qp, SENT_MCAST);
}

/* Send the next WQE; false when it cannot be, now or ever. */
static bool send_next(struct sroce_qp *qp, struct sroce_train *t, u64 now_ns)
{
	struct sroce_sq *sq = &qp->tx.sq;
	struct sroce_swqe *w = sroce_sq_wqe(sq, sq->next);
	struct sroce_dest *dest = sroce_sq_dest(sq, sq->next);
	u8 status = w->status;
	int err;

	if (!status && w->length > sroce_net_mtu(qp->dev))
		status = IB_WC_LOC_LEN_ERR;
	if (status) {
		sroce_txq_fail(qp, sq->next, status);
		return false;
	}
	if (!aim(qp, t, dest, sroce_frame_bytes(SROCE_MAX_HDR_BYTES, w->length),
		 now_ns))
		return false;
	err = add_datagram(qp, t, w, dest);
	if (err == -EAGAIN) {
		if (sroce_pagein_start_sgl(&qp->tx.page, &qp->tx.sgl, false))
			return false;
		err = -EFAULT;
	}
	if (err == -EFAULT) {
		sroce_txq_fail(qp, sq->next, IB_WC_LOC_PROT_ERR);
		return false;
	}
	if (err)
		sroce_drop(qp, SEND_ERR);
	else
		count_sent(qp, &dest->av);
	sent(qp, w);
	return true;
}

/**
 * sroce_ud_run() - send the datagrams the send queue has
 * @qp: the QP, tx.lock held
 *
 * Context: Bottom halves off.
 * Return: true when the budget ended before the work did.
 */
bool sroce_ud_run(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	u64 now_ns = ktime_get_ns();
	struct sroce_train train;
	u32 n = 0;

	lockdep_assert_held(&tx->lock);
	/* asked first, so that no wait for the pacer outlives its time */
	if (!begin_train(qp, &train, now_ns) ||
	    !sroce_qpstate_can_transmit_new(tx->state) || tx->fault)
		return false;
	if (sroce_wq_fetch(&tx->sq, qp->type)) {
		sroce_sched_event(qp, SROCE_EV_QP_FATAL);
		sroce_sched_fatal_tx(qp);
		return false;
	}
	sroce_pagein_resume(&tx->page);
	if (sroce_pagein_busy(&tx->page) || sroce_sched_tx_blocked(qp))
		return false;
	while (n < SROCE_RUN_FRAMES && tx->sq.next != tx->sq.prod &&
	       send_next(qp, &train, now_ns))
		n++;
	end_train(qp, &train, now_ns);
	return n == SROCE_RUN_FRAMES;
}

/* --- receiving ------------------------------------------------------------- */

static u8 hdr_type(enum sroce_l3 kind)
{
	switch (kind) {
	case SROCE_L3_IPV4:
		return RDMA_NETWORK_IPV4;
	case SROCE_L3_IPV6:
		return RDMA_NETWORK_IPV6;
	default:
		return RDMA_NETWORK_ROCE_V1;
	}
}

static void complete_rwqe(struct sroce_qp *qp, const struct sroce_frame *f,
			  u8 status)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_wc wc = {
		.wr_id = rx->rwqe->wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = SROCE_GRH_BYTES + f->h.payload_bytes,
		.src_qp = f->h.src_qpn,
		.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
		.hdr_type = hdr_type(f->kind),
		.solicited = f->h.solicited,
		.qp = qp->ibqp,
	};

	rx->rwqe_held = false;
	if (f->h.info->flags & SROCE_OPF_IMM) {
		wc.imm = f->h.imm;
		wc.wc_flags |= IB_WC_WITH_IMM;
	}
	if (f->vlan != SROCE_NO_VLAN) {
		wc.vlan_id = f->vlan;
		wc.wc_flags |= IB_WC_WITH_VLAN;
	}
	if (status == IB_WC_SUCCESS)
		sroce_stat_inc(qp, RDMA_RECVS);
	else
		sroce_stat_inc(qp, RESP_CQE_ERR);
	sroce_sched_complete_rx(qp, &wc);
}

static int store(struct sroce_qp *qp, const struct sroce_frame *f)
{
	struct sroce_rx *rx = &qp->rx;
	u32 n = f->h.payload_bytes;
	u8 grh[SROCE_GRH_BYTES];
	int err;

	sroce_frame_grh(grh, f->l3, f->kind,
			sroce_frame_bytes(f->h.hdr_bytes, n));
	sroce_sgl_init(&rx->sgl, qp->dev, rx->who, rx->rwqe->sge,
		       rx->rwqe->num_sge, IB_ACCESS_LOCAL_WRITE);
	err = sroce_sgl_write(&rx->sgl, grh, sizeof(grh));
	if (!err && n)
		err = sroce_sgl_write(&rx->sgl, f->payload, n);
	sroce_sgl_fini(&rx->sgl);
	return err;
}

static enum sroce_verdict receive(struct sroce_qp *qp,
				  const struct sroce_frame *f)
{
	struct sroce_rx *rx = &qp->rx;
	int got = sroce_srq_or_rq_take(rx->srq, &rx->rq, rx->rwqe);

	if (!got)
		return SROCE_V_RNR;
	rx->rwqe_held = true;
	if (got < 0)
		return SROCE_V_RQ_PROT;
	if (rx->rwqe->length < SROCE_GRH_BYTES + f->h.payload_bytes)
		return SROCE_V_INV_REQ_LEN;
	if (store(qp, f))
		return SROCE_V_RQ_PROT;
	complete_rwqe(qp, f, IB_WC_SUCCESS);
	return SROCE_V_OK;
}

/* Nobody is told; the fault table says what it costs here. */
static void reject(struct sroce_qp *qp, const struct sroce_frame *f,
		   enum sroce_verdict v)
{
	const struct sroce_fault *fault = sroce_fault(v, SROCE_QPT_UD);

	if (v == SROCE_V_RNR)
		sroce_drop(qp, OUT_OF_BUFFER);
	else if (v == SROCE_V_INV_REQ_LEN)
		sroce_stat_inc(qp, RESP_LOC_LEN);
	if (qp->rx.rwqe_held)
		complete_rwqe(qp, f, fault->wc == SROCE_WC_LOC_LEN_ERR ?
			      IB_WC_LOC_LEN_ERR : IB_WC_LOC_PROT_ERR);
	if (fault->action == SROCE_ACTION_FATAL) {
		sroce_trace_verdict(qp->dev, qp->qpn, v);
		sroce_sched_fatal_rx(qp);
	}
}

/**
 * sroce_ud_consume() - take in one datagram
 * @qp: the QP, rx.lock held
 * @f: the packet, checked as far as it can be without the QP's state
 *
 * Context: Softirq.
 * Return: false when it is not for this QP.
 */
bool sroce_ud_consume(struct sroce_qp *qp, const struct sroce_frame *f)
{
	enum sroce_verdict v;

	lockdep_assert_held(&qp->rx.lock);
	if (!sroce_qpstate_can_requests(qp->rx.state)) {
		sroce_drop(qp, DROP_STATE);
		return false;
	}
	if (f->h.qkey != qp->qkey) {
		sroce_drop(qp, DROP_QKEY);
		return false;
	}
	v = receive(qp, f);
	if (v != SROCE_V_OK)
		reject(qp, f, v);
	return true;
}

/**
 * sroce_ud_marked() - a datagram came with a congestion mark
 * @qp: the QP, rx.lock held
 * @f: the datagram; not a multicast
 * @ifindex: netdev it came through
 * @now_ns: time of arrival
 *
 * The CNP goes back to where it came from; the QP has no path there.
 *
 * Context: Softirq.
 */
void sroce_ud_marked(struct sroce_qp *qp, const struct sroce_frame *f,
		     int ifindex, u64 now_ns)
{
	struct sroce_path path = {
		.dev = qp->dev,
		.stats = qp->path.stats,
		.sock = qp->path.sock,
	};
	struct sroce_av av = {
		.l3 = f->kind,
		.ifindex = ifindex,
	};

	lockdep_assert_held(&qp->rx.lock);
	if (sroce_qp_is_gsi(qp) || !sroce_cc_mark_due(qp, true, now_ns))
		return;
	if (f->kind != SROCE_L3_IPV4) {
		const struct ipv6hdr *ip6 = f->l3;

		av.daddr = ip6->saddr;
		av.saddr = ip6->daddr;
	} else {
		const struct iphdr *iph = f->l3;

		ipv6_addr_set_v4mapped(iph->saddr, &av.daddr);
		ipv6_addr_set_v4mapped(iph->daddr, &av.saddr);
	}
	sroce_net_path_set(&path, &av,
			   rdma_get_udp_sport(0, qp->qpn, f->h.src_qpn));
	sroce_cc_send_cnp(qp, &path, f->h.src_qpn, f->h.pkey);
}
