// SPDX-License-Identifier: GPL-2.0
/*
 * Modify of a queue pair: attributes and states.
 *
 * Owns which attribute may change when, and what a change means for the roles.
 * Runs in process context under the QP's mutex.  Called by ib_core and flush.c.
 * Must not know packets.
 */
#include "qpmod.h"

#include "cc.h"
#include "comp.h"
#include "compat.h"
#include "engine.h"
#include "net.h"
#include "proto/aeth.h"
#include "proto/opcode.h"

#include <linux/log2.h>
#include <linux/slab.h>

/* PSNs in flight: enough for small messages, bounded for 16-bit backlogs. */
#define WINDOW_PSNS_MIN	256
#define WINDOW_PSNS_MAX	2048

/* ACKs of a new connection that show the peer a train; some may get lost. */
#define SHOW_ACKS	4

static int check_mtu(const struct sroce_qp *qp, enum ib_mtu mtu)
{
	struct ib_port_attr port;

	if (mtu < IB_MTU_256 || mtu > IB_MTU_4096)
		return -EINVAL;
	if (ib_query_port(qp->ibqp->device, 1, &port))
		return -EINVAL;
	return mtu > port.active_mtu ? -EINVAL : 0;
}

/* Attributes that are plain numbers, and their largest values. */
static int check_ranges(const struct ib_qp_attr *attr, int mask)
{
	const struct {
		int mask;
		u32 value;
		u32 max;
	} rows[] = {
		{ IB_QP_PKEY_INDEX, attr->pkey_index, 0 },
		{ IB_QP_PORT, attr->port_num - 1U, 0 },
		{ IB_QP_DEST_QPN, attr->dest_qp_num, 0xffffff },
		{ IB_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic,
		  SROCE_MAX_RD_ATOM },
		{ IB_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic,
		  SROCE_MAX_RD_ATOM },
		{ IB_QP_TIMEOUT, attr->timeout, 31 },
		{ IB_QP_RETRY_CNT, attr->retry_cnt, 7 },
		{ IB_QP_RNR_RETRY, attr->rnr_retry, 7 },
		{ IB_QP_MIN_RNR_TIMER, attr->min_rnr_timer, 31 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if ((mask & rows[i].mask) && rows[i].value > rows[i].max)
			return -EINVAL;
	return 0;
}

static int check_attr(const struct sroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if (mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_AV) &&
	    attr->ah_attr.type != RDMA_AH_ATTR_TYPE_ROCE)
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) && check_mtu(qp, attr->path_mtu))
		return -EINVAL;
	if ((mask & IB_QP_PATH_MIG_STATE) &&
	    attr->path_mig_state != IB_MIG_MIGRATED)
		return -EINVAL;
	return check_ranges(attr, mask);
}

/**
 * sroce_qpmod_state() - the state as both roles have it
 * @qp: the QP
 *
 * Context: Process, qp->mutex held.
 * Return: ERR when either role met an error, SQE when the send queue alone did,
 *	else what the user set.
 */
enum ib_qp_state sroce_qpmod_state(const struct sroce_qp *qp)
{
	if (READ_ONCE(qp->tx.state) == SROCE_QPS_ERR ||
	    READ_ONCE(qp->rx.state) == SROCE_QPS_ERR)
		return IB_QPS_ERR;
	if (READ_ONCE(qp->tx.state) == SROCE_QPS_SQE)
		return IB_QPS_SQE;
	return qp->attr.qp_state;
}

/**
 * sroce_qpmod_set_state() - both roles take a new state, in turn
 * @qp: the QP
 * @state: the state
 *
 * Context: Process, qp->mutex held.
 */
void sroce_qpmod_set_state(struct sroce_qp *qp, enum sroce_qps state)
{
	spin_lock_bh(&qp->rx.lock);
	qp->rx.state = state;
	spin_unlock_bh(&qp->rx.lock);
	spin_lock_bh(&qp->tx.lock);
	qp->tx.state = state;
	spin_unlock_bh(&qp->tx.lock);
	qp->attr.qp_state = (enum ib_qp_state)state;
}

/* Room to remember @n READs and atomics, and a queue for their answers. */
static int resize_rd_atomic(struct sroce_qp *qp, u32 n)
{
	u32 fifo_n = roundup_pow_of_two(2 * n + 1);
	struct sroce_rsp *mem, *fifo;
	struct sroce_rx *rx = &qp->rx;

	mem = kvcalloc(max(n, 1U), sizeof(*mem), GFP_KERNEL_ACCOUNT);
	fifo = kvcalloc(fifo_n, sizeof(*fifo), GFP_KERNEL_ACCOUNT);
	if (!mem || !fifo) {
		kvfree(mem);
		kvfree(fifo);
		return -ENOMEM;
	}
	spin_lock_bh(&rx->lock);
	swap(rx->mem, mem);
	swap(rx->fifo, fifo);
	rx->mem_n = n;
	rx->mem_head = 0;
	rx->fifo_n = fifo_n;
	rx->fifo_head = 0;
	rx->fifo_tail = 0;
	spin_unlock_bh(&rx->lock);
	kvfree(mem);
	kvfree(fifo);
	qp->attr.max_dest_rd_atomic = n;
	return 0;
}

/*
 * Both roles read the path.  The responder is silenced for the moment of the
 * change; what it misses the peer sends again.
 */
static void set_path(struct sroce_qp *qp, const struct sroce_av *av)
{
	enum sroce_qps state;
	u16 sport;

	sport = rdma_get_udp_sport(av->flow_label, qp->qpn, qp->dqpn);
	spin_lock_bh(&qp->rx.lock);
	state = qp->rx.state;
	qp->rx.state = SROCE_QPS_INIT;
	spin_unlock_bh(&qp->rx.lock);
	spin_lock_bh(&qp->tx.lock);
	sroce_net_path_set(&qp->path, av, sport);
	spin_unlock_bh(&qp->tx.lock);
	spin_lock_bh(&qp->rx.lock);
	qp->rx.state = state;
	spin_unlock_bh(&qp->rx.lock);
}

static void set_window_config(struct sroce_qp *qp)
{
	const struct ib_qp_attr *a = &qp->attr;

	sroce_window_config(&qp->tx.window, a->retry_cnt, a->rnr_retry,
			    sroce_aeth_timeout_ns(a->timeout));
}

static void start_window(struct sroce_qp *qp)
{
	u32 limit = READ_ONCE(qp->dev->knobs.window_bytes) >> qp->pmtu_shift;

	sroce_rtt_init(&qp->tx.rtt);
	qp->tx.rtt_ns = 0;
	sroce_window_init(&qp->tx.window, qp->attr.sq_psn,
			  clamp_t(u32, limit, WINDOW_PSNS_MIN,
				  WINDOW_PSNS_MAX));
	set_window_config(qp);
}

/* Attributes of the responder, and of both roles. */
static void apply_rx(struct sroce_qp *qp, const struct ib_qp_attr *attr,
		     int mask)
{
	struct ib_qp_attr *a = &qp->attr;

	spin_lock_bh(&qp->rx.lock);
	if (mask & IB_QP_ACCESS_FLAGS) {
		a->qp_access_flags = attr->qp_access_flags;
		qp->access = attr->qp_access_flags;
	}
	if (mask & IB_QP_PATH_MTU) {
		a->path_mtu = attr->path_mtu;
		qp->pmtu = ib_mtu_enum_to_int(attr->path_mtu);
		qp->pmtu_shift = ilog2(qp->pmtu);
	}
	if (mask & IB_QP_DEST_QPN) {
		a->dest_qp_num = attr->dest_qp_num;
		qp->dqpn = attr->dest_qp_num;
	}
	if (mask & IB_QP_RQ_PSN) {
		a->rq_psn = attr->rq_psn & 0xffffff;
		qp->rx.epsn = a->rq_psn;
		qp->rx.msn = 0;
		qp->rx.prev_opcode = SROCE_OPCODE_NONE;
		qp->rx.shows = SHOW_ACKS;
		sroce_cc_start(qp, &qp->rx.cc);
	}
	if (mask & IB_QP_QKEY) {
		a->qkey = attr->qkey;
		qp->qkey = attr->qkey;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		a->min_rnr_timer = attr->min_rnr_timer;
		qp->rnr_timer = attr->min_rnr_timer;
	}
	spin_unlock_bh(&qp->rx.lock);
}

/* Attributes of the requester. */
static void apply_tx(struct sroce_qp *qp, const struct ib_qp_attr *attr,
		     int mask)
{
	struct ib_qp_attr *a = &qp->attr;

	if (mask & IB_QP_TIMEOUT)
		a->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		a->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		a->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		a->max_rd_atomic = attr->max_rd_atomic;
		qp->max_rd_atomic = attr->max_rd_atomic;
	}
	spin_lock_bh(&qp->tx.lock);
	if (mask & IB_QP_SQ_PSN) {
		a->sq_psn = attr->sq_psn & 0xffffff;
		start_window(qp);
		sroce_cc_start(qp, &qp->tx.cc);
		sroce_cc_limit(qp, a->rate_limit);
	} else if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			   IB_QP_RNR_RETRY)) {
		set_window_config(qp);
	}
	if (mask & IB_QP_RATE_LIMIT) {
		a->rate_limit = attr->rate_limit;
		sroce_cc_limit(qp, a->rate_limit);
	}
	spin_unlock_bh(&qp->tx.lock);
	/* it may wait for a slower pacer than it has now */
	if (mask & IB_QP_RATE_LIMIT)
		sroce_sched_kick_tx(qp);
}

/* What the roles reported of the connection that is over, and nobody heard yet. */
static void forget_events(struct sroce_qp *qp)
{
	enum sroce_event_bit bit;

	for (bit = SROCE_EV_FATAL; bit <= SROCE_EV_RCQ_OVERFLOW; bit++)
		clear_bit(bit, &qp->events);
}

/* Back to the state after create, but for the QPN and the queues' memory. */
static void reset(struct sroce_qp *qp)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_tx *tx = &qp->tx;

	sroce_qpmod_set_state(qp, SROCE_QPS_RESET);
	forget_events(qp);
	spin_lock_bh(&rx->lock);
	rx->nak_sent = false;
	rx->ack_due = false;
	rx->nak_due = false;
	rx->fatal_after_nak = false;
	rx->comm_est = false;
	rx->rwqe_held = false;
	rx->page.repeat = false;
	rx->fifo_tail = rx->fifo_head;
	rx->mem_n = 0;
	sroce_cc_start(qp, &rx->cc);
	rx->last_wqe_told = false;
	if (!rx->srq)
		sroce_wq_reset_rq(&rx->rq);
	spin_unlock_bh(&rx->lock);
	spin_lock_bh(&tx->lock);
	tx->fault = false;
	tx->sqd_event = false;
	tx->probe = false;
	tx->holds = 0;
	tx->tail_probe = false;
	tx->tail_ns = 0;
	sroce_sched_unhold(qp);
	tx->rtt_ns = 0;
	sroce_rtt_init(&tx->rtt);
	tx->rd_out = 0;
	tx->since_ackreq = 0;
	tx->hold_ns = 0;
	tx->page.repeat = false;
	sroce_cc_start(qp, &tx->cc);
	sroce_window_init(&tx->window, 0, 1);
	sroce_wq_reset_sq(&tx->sq);
	spin_unlock_bh(&tx->lock);
	qp->flush_delay = 1;
	qp->attr.rate_limit = 0;
}

/*
 * The send queue gets another chance; what it had is flushed before.  The
 * completions reach the CQ with the kick that follows.
 */
static void leave_sqe(struct sroce_qp *qp)
{
	spin_lock_bh(&qp->tx.lock);
	sroce_comp_flush(qp, U32_MAX);
	qp->tx.fault = false;
	spin_unlock_bh(&qp->tx.lock);
}

static void enter_state(struct sroce_qp *qp, const struct ib_qp_attr *attr,
			int mask, enum ib_qp_state from)
{
	enum ib_qp_state to = attr->qp_state;

	switch (to) {
	case IB_QPS_RESET:
		reset(qp);
		break;
	case IB_QPS_ERR:
		sroce_qpmod_set_state(qp, SROCE_QPS_ERR);
		sroce_sched_err_after(qp, 0);
		break;
	case IB_QPS_SQD:
		if (from == IB_QPS_SQD)
			break;
		sroce_qpmod_set_state(qp, SROCE_QPS_SQD);
		qp->tx.sqd_event = (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
				   attr->en_sqd_async_notify;
		sroce_sched_kick_tx(qp);
		break;
	default:
		if (from == IB_QPS_SQE)
			leave_sqe(qp);
		sroce_qpmod_set_state(qp, (enum sroce_qps)to);
		if (to == IB_QPS_RTS)
			sroce_sched_kick_tx(qp);
	}
}

/* A connection does not go over from RoCEv1 to RoCEv2, or back (CA17-41). */
static bool changes_version(const struct sroce_qp *qp, const struct sroce_av *av)
{
	return (qp->path.av.l3 == SROCE_L3_GRH) != (av->l3 == SROCE_L3_GRH);
}

static int modify_locked(struct sroce_qp *qp, struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur = sroce_qpmod_state(qp), next = cur;
	struct sroce_av av;
	int err;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	if (mask & IB_QP_STATE)
		next = attr->qp_state;
	/* ib_core knows the limit for raw packet QPs only */
	if (!ib_modify_qp_is_ok(cur, next, qp->ibqp->qp_type,
				mask & ~IB_QP_RATE_LIMIT))
		return -EINVAL;
	err = check_attr(qp, attr, mask);
	if (err)
		return err;
	if (mask & IB_QP_AV) {
		err = sroce_ah_av_init(&av, &attr->ah_attr);
		if (err)
			return err;
		if (cur != IB_QPS_INIT && changes_version(qp, &av))
			return -EINVAL;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		err = resize_rd_atomic(qp, attr->max_dest_rd_atomic);
		if (err)
			return err;
	}
	apply_rx(qp, attr, mask);
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		set_path(qp, &av);
	}
	apply_tx(qp, attr, mask);
	if (mask & IB_QP_STATE)
		enter_state(qp, attr, mask, cur);
	return 0;
}

/**
 * sroce_qpmod_modify() - modify_qp verb
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which of them count, enum ib_qp_attr_mask
 * @udata: user data, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0; -EINVAL for a transition or value IBA 11.2.5.2 forbids, -EOPNOTSUPP
 *	for path migration, -ENOMEM; nothing is changed then.
 */
int sroce_qpmod_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);
	int err;

	mutex_lock(&qp->mutex);
	err = modify_locked(qp, attr, mask);
	mutex_unlock(&qp->mutex);
	return err;
}
