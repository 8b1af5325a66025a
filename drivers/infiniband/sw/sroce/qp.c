// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pair verbs: create, modify, query, destroy, post; errors and events.
 *
 * Owns the life of a QP and its state as the user sees it.  Runs in process
 * context, but for the posting calls, which run anywhere.  Called by ib_core.
 * Must not know packets.
 */
#include "qp.h"

#include "comp.h"
#include "compat.h"
#include "engine.h"
#include "net.h"
#include "proto/aeth.h"
#include "resp.h"
#include "rx.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/uverbs_ioctl.h>

/* WQEs flushed before the lock is given a rest. */
#define FLUSH_CHUNK	64

/* How long, at most, a receive WQE posted in ERR waits to be flushed, ms. */
#define FLUSH_POLL_MS	50

/* PSNs in flight: enough for small messages, bounded for 16-bit backlogs. */
#define WINDOW_PSNS_MIN	256
#define WINDOW_PSNS_MAX	2048

/* --- create ---------------------------------------------------------------- */

static int check_init(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->qp_type != IB_QPT_RC || init->create_flags || init->srq)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > SROCE_MAX_QP_WR ||
	    cap->max_recv_wr > SROCE_MAX_QP_WR ||
	    cap->max_send_sge > SROCE_MAX_SGE ||
	    cap->max_recv_sge > SROCE_MAX_SGE ||
	    cap->max_inline_data > SROCE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static int create_queues(struct sroce_qp *qp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata, struct rxe_create_qp_resp *resp)
{
	struct sroce_ucontext *suc =
		rdma_udata_to_drv_context(udata, struct sroce_ucontext, ibuc);
	struct ib_ucontext *uc = suc ? &suc->ibuc : NULL;
	int err;

	err = sroce_wq_create_sq(&qp->tx.sq, uc, &init->cap,
				 init->sq_sig_type == IB_SIGNAL_ALL_WR,
				 &resp->sq_mi);
	if (err)
		return err;
	err = sroce_wq_create_rq(&qp->rx.rq, uc, &init->cap, &resp->rq_mi);
	if (err)
		goto free_sq;
	qp->rx.rwqe = kzalloc(sroce_rwqe_bytes(init->cap.max_recv_sge),
			      GFP_KERNEL);
	if (!qp->rx.rwqe) {
		err = -ENOMEM;
		goto free_rq;
	}
	return 0;

free_rq:
	sroce_wq_destroy_rq(&qp->rx.rq);
free_sq:
	sroce_wq_destroy_sq(&qp->tx.sq);
	return err;
}

static void free_queues(struct sroce_qp *qp)
{
	kvfree(qp->rx.mem);
	kvfree(qp->rx.fifo);
	kfree(qp->rx.rwqe);
	sroce_wq_destroy_rq(&qp->rx.rq);
	sroce_wq_destroy_sq(&qp->tx.sq);
}

static void init_qp(struct sroce_qp *qp, const struct ib_qp_init_attr *init)
{
	qp->dev = to_sroce_dev(qp->ibqp.device);
	qp->type = SROCE_QPT_RC;
	qp->scq = to_sroce_cq(init->send_cq);
	qp->rcq = to_sroce_cq(init->recv_cq);
	qp->pkey = SROCE_DEF_PKEY;
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.path_mtu = IB_MTU_256;
	qp->pmtu = 256;
	qp->pmtu_shift = 8;
	qp->flush_delay = 1;
	mutex_init(&qp->mutex);
	sroce_sched_qp_init(qp);
	sroce_window_init(&qp->tx.window, 0, 1);
}

/**
 * sroce_qp_create() - create_qp verb
 * @ibqp: zeroed by the core but for its own members
 * @init: attributes; capabilities are set to the real ones
 * @udata: user data, NULL for a kernel QP
 *
 * Context: Process, may sleep.
 * Return: 0; -EOPNOTSUPP for a type or flag there is not, -EINVAL for caps over
 *	the limits or a response buffer too short, -ENOMEM.
 */
int sroce_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata)
{
	struct rxe_create_qp_resp resp = {};
	struct sroce_qp *qp = to_sroce_qp(ibqp);
	int err;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	err = udata ? ib_is_udata_in_empty(udata) : 0;
	if (err)
		return err;
	err = check_init(init);
	if (err)
		return err;
	init_qp(qp, init);
	err = create_queues(qp, init, udata, &resp);
	if (err)
		return err;
	qp->attr.cap = init->cap;
	err = sroce_net_path_init(&qp->path, qp->dev, sroce_sched_write_space,
				  qp);
	if (err)
		goto free_queues;
	if (udata) {
		err = ib_respond_udata(udata, resp);
		if (err)
			goto free_path;
	}
	err = sroce_rx_publish(qp);
	if (err)
		goto free_path;
	return 0;

free_path:
	sroce_net_path_stop(&qp->path);
	sroce_net_path_fini(&qp->path);
free_queues:
	free_queues(qp);
	return err;
}

/**
 * sroce_qp_destroy() - destroy_qp verb
 * @ibqp: the QP
 * @udata: user data, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);

	/* 1. no new packet finds it */
	sroce_rx_unpublish(qp);
	/* 2. who is in it already finds it dead: nothing is armed or queued */
	spin_lock_bh(&qp->rx.lock);
	qp->rx.state = SROCE_QPS_RESET;
	WRITE_ONCE(qp->dead, true);
	spin_unlock_bh(&qp->rx.lock);
	spin_lock_bh(&qp->tx.lock);
	qp->tx.state = SROCE_QPS_RESET;
	spin_unlock_bh(&qp->tx.lock);
	/* 3. skbs still queued somewhere stop calling back */
	sroce_net_path_stop(&qp->path);
	/* 4. everybody in softirq is gone; expedited, a thousand QPs may go */
	synchronize_rcu_expedited();
	/* 5. the clock and the work items */
	sroce_sched_qp_stop(qp);
	/* 6. nobody is left */
	sroce_net_path_fini(&qp->path);
	free_queues(qp);
	mutex_destroy(&qp->mutex);
	return 0;
}

/* --- modify ---------------------------------------------------------------- */

static int check_mtu(const struct sroce_qp *qp, enum ib_mtu mtu)
{
	struct ib_port_attr port;

	if (mtu < IB_MTU_256 || mtu > IB_MTU_4096)
		return -EINVAL;
	if (ib_query_port(qp->ibqp.device, 1, &port))
		return -EINVAL;
	return mtu > port.active_mtu ? -EINVAL : 0;
}

static int check_attr(const struct sroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index)
		return -EINVAL;
	if ((mask & IB_QP_AV) &&
	    attr->ah_attr.type != RDMA_AH_ATTR_TYPE_ROCE)
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) && check_mtu(qp, attr->path_mtu))
		return -EINVAL;
	if ((mask & IB_QP_DEST_QPN) && attr->dest_qp_num > 0xffffff)
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > SROCE_MAX_RD_ATOM)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > SROCE_MAX_RD_ATOM)
		return -EINVAL;
	if (((mask & IB_QP_TIMEOUT) && attr->timeout > 31) ||
	    ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7) ||
	    ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7) ||
	    ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31))
		return -EINVAL;
	if ((mask & IB_QP_PATH_MIG_STATE) &&
	    attr->path_mig_state != IB_MIG_MIGRATED)
		return -EINVAL;
	return 0;
}

/* The state as both roles have it: an error either met counts. */
static enum ib_qp_state current_state(const struct sroce_qp *qp)
{
	if (READ_ONCE(qp->tx.state) == SROCE_QPS_ERR ||
	    READ_ONCE(qp->rx.state) == SROCE_QPS_ERR)
		return IB_QPS_ERR;
	return qp->attr.qp_state;
}

static void set_state(struct sroce_qp *qp, enum sroce_qps state)
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
static void set_path(struct sroce_qp *qp, const struct sroce_av *av,
		     const struct rdma_ah_attr *ah)
{
	enum sroce_qps state;
	struct net_device *ndev;
	int ifindex = 0;
	u16 sport;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(ah->grh.sgid_attr);
	if (!IS_ERR(ndev))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	sport = rdma_get_udp_sport(av->flow_label, qp->ibqp.qp_num, qp->dqpn);
	spin_lock_bh(&qp->rx.lock);
	state = qp->rx.state;
	qp->rx.state = SROCE_QPS_INIT;
	spin_unlock_bh(&qp->rx.lock);
	spin_lock_bh(&qp->tx.lock);
	sroce_net_path_set(&qp->path, av, ifindex, sport);
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
	} else if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			   IB_QP_RNR_RETRY)) {
		set_window_config(qp);
	}
	spin_unlock_bh(&qp->tx.lock);
}

/* Back to the state after create, but for the QPN and the queues' memory. */
static void reset(struct sroce_qp *qp)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_tx *tx = &qp->tx;

	set_state(qp, SROCE_QPS_RESET);
	spin_lock_bh(&rx->lock);
	rx->nak_sent = false;
	rx->ack_due = false;
	rx->nak_due = false;
	rx->fatal_after_nak = false;
	rx->comm_est = false;
	rx->rwqe_held = false;
	rx->fifo_tail = rx->fifo_head;
	rx->mem_n = 0;
	sroce_wq_reset_rq(&rx->rq);
	spin_unlock_bh(&rx->lock);
	spin_lock_bh(&tx->lock);
	tx->fault = false;
	tx->sqd_event = false;
	tx->rd_out = 0;
	tx->since_ackreq = 0;
	tx->hold_ns = 0;
	sroce_window_init(&tx->window, 0, 1);
	sroce_wq_reset_sq(&tx->sq);
	spin_unlock_bh(&tx->lock);
	qp->flush_delay = 1;
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
		set_state(qp, SROCE_QPS_ERR);
		sroce_sched_err_after(qp, 0);
		break;
	case IB_QPS_SQD:
		if (from == IB_QPS_SQD)
			break;
		set_state(qp, SROCE_QPS_SQD);
		qp->tx.sqd_event = (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
				   attr->en_sqd_async_notify;
		sroce_sched_kick_tx(qp);
		break;
	default:
		set_state(qp, (enum sroce_qps)to);
		if (to == IB_QPS_RTS)
			sroce_sched_kick_tx(qp);
	}
}

static int modify_locked(struct sroce_qp *qp, struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur = current_state(qp), next = cur;
	struct sroce_av av;
	int err;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	if (mask & IB_QP_STATE)
		next = attr->qp_state;
	if (!ib_modify_qp_is_ok(cur, next, IB_QPT_RC, mask))
		return -EINVAL;
	err = check_attr(qp, attr, mask);
	if (err)
		return err;
	if (mask & IB_QP_AV) {
		err = sroce_ah_av_init(&av, &attr->ah_attr);
		if (err)
			return err;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		err = resize_rd_atomic(qp, attr->max_dest_rd_atomic);
		if (err)
			return err;
	}
	apply_rx(qp, attr, mask);
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		set_path(qp, &av, &attr->ah_attr);
	}
	apply_tx(qp, attr, mask);
	if (mask & IB_QP_STATE)
		enter_state(qp, attr, mask, cur);
	return 0;
}

/**
 * sroce_qp_modify() - modify_qp verb
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which of them count, enum ib_qp_attr_mask
 * @udata: user data, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0; -EINVAL for a transition or value IBA 11.2.5.2 forbids, -EOPNOTSUPP
 *	for path migration and rate limits, -ENOMEM; nothing is changed then.
 */
int sroce_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);
	int err;

	mutex_lock(&qp->mutex);
	err = modify_locked(qp, attr, mask);
	mutex_unlock(&qp->mutex);
	return err;
}

/**
 * sroce_qp_query() - query_qp verb
 * @ibqp: the QP
 * @attr: filled in
 * @mask: ignored, everything is filled in
 * @init: filled in
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);

	mutex_lock(&qp->mutex);
	*attr = qp->attr;
	attr->qp_state = current_state(qp);
	mutex_unlock(&qp->mutex);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->port_num = 1;
	spin_lock_bh(&qp->rx.lock);
	attr->rq_psn = qp->rx.epsn;
	spin_unlock_bh(&qp->rx.lock);
	spin_lock_bh(&qp->tx.lock);
	attr->sq_psn = qp->tx.window.max;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD && qp->tx.sqd_event;
	spin_unlock_bh(&qp->tx.lock);
	if (qp->path.hdr_bytes)
		sroce_ah_av_fill(&qp->path.av, &attr->ah_attr);

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->attr.cap;
	init->sq_sig_type = qp->tx.sq.sig_all ? IB_SIGNAL_ALL_WR :
						IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	return 0;
}

/* --- post ------------------------------------------------------------------ */

/**
 * sroce_qp_post_send() - post_send verb, and the doorbell of a user QP
 * @ibqp: the QP
 * @wr: list of work requests; NULL: look at the shared ring
 * @bad: set to the first request not taken
 *
 * Context: Any.
 * Return: 0; -EINVAL in a state or for a request that forbids it, -ENOMEM when
 *	the queue is full.
 */
int sroce_qp_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);
	struct sroce_sq *sq = &qp->tx.sq;
	enum sroce_qps state = READ_ONCE(qp->tx.state);
	unsigned long irq;
	int err = 0;

	if (!sroce_qpstate_can_post_send(state)) {
		*bad = wr;
		return -EINVAL;
	}
	if (!sq->user) {
		spin_lock_irqsave(&sq->lock, irq);
		for (; wr && !err; wr = err ? wr : wr->next)
			err = sroce_wq_post_send(sq, qp->type, wr);
		spin_unlock_irqrestore(&sq->lock, irq);
		if (err)
			*bad = wr;
	}
	if (state == SROCE_QPS_ERR)
		sroce_sched_err_after(qp, 0);
	else
		sroce_sched_kick_tx(qp);
	return err;
}

/**
 * sroce_qp_post_recv() - post_recv verb of kernel clients
 * @ibqp: the QP
 * @wr: list of work requests
 * @bad: set to the first request not taken
 *
 * Context: Any.
 * Return: 0; -EINVAL in RESET or for too many pieces, -ENOMEM when the queue is
 *	full.
 */
int sroce_qp_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);
	struct sroce_rq *rq = &qp->rx.rq;
	enum sroce_qps state = READ_ONCE(qp->rx.state);
	unsigned long irq;
	int err = 0;

	if (!sroce_qpstate_can_post_recv(state) || rq->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&rq->lock, irq);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = sroce_wq_post_recv(rq, wr);
	spin_unlock_irqrestore(&rq->lock, irq);
	if (err)
		*bad = wr;
	if (state == SROCE_QPS_ERR)
		sroce_sched_err_after(qp, 0);
	return err;
}

/* --- errors and events ----------------------------------------------------- */

static void flush_sq(struct sroce_qp *qp)
{
	u32 n;

	do {
		spin_lock_bh(&qp->tx.lock);
		n = qp->tx.state == SROCE_QPS_ERR ?
			sroce_comp_flush(qp, FLUSH_CHUNK) : 0;
		sroce_sched_tx_end(qp);
		local_bh_enable();
		cond_resched();
	} while (n == FLUSH_CHUNK);
}

static u32 flush_rq(struct sroce_qp *qp)
{
	u32 n, total = 0;

	do {
		spin_lock_bh(&qp->rx.lock);
		n = qp->rx.state == SROCE_QPS_ERR ?
			sroce_resp_flush(qp, FLUSH_CHUNK) : 0;
		sroce_sched_rx_end(qp);
		local_bh_enable();
		cond_resched();
		total += n;
	} while (n == FLUSH_CHUNK);
	return total;
}

static void raise(struct sroce_qp *qp, enum sroce_event_bit bit,
		  enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.event = type,
		.element.qp = &qp->ibqp,
	};

	if (test_and_clear_bit(bit, &qp->events) && qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

static void check_overflow(struct sroce_qp *qp, enum sroce_event_bit bit,
			   struct sroce_cq *cq)
{
	if (!test_and_clear_bit(bit, &qp->events))
		return;
	sroce_cq_overflow_event(cq);
	set_bit(SROCE_EV_QP_FATAL, &qp->events);
	set_bit(SROCE_EV_FATAL, &qp->events);
}

/**
 * sroce_qp_error_work() - flush a QP in error and raise its events
 * @qp: the QP
 *
 * User space does not ring for receive WQEs it posts in ERR, so while a user QP
 * stays there its queues are looked at again, ever more slowly.
 *
 * Context: Process, may sleep.
 */
void sroce_qp_error_work(struct sroce_qp *qp)
{
	bool error;
	u32 n = 0;

	check_overflow(qp, SROCE_EV_SCQ_OVERFLOW, qp->scq);
	check_overflow(qp, SROCE_EV_RCQ_OVERFLOW, qp->rcq);
	mutex_lock(&qp->mutex);
	if (test_and_clear_bit(SROCE_EV_FATAL, &qp->events) &&
	    qp->attr.qp_state != IB_QPS_RESET)
		set_state(qp, SROCE_QPS_ERR);
	error = qp->attr.qp_state == IB_QPS_ERR;
	if (error) {
		flush_sq(qp);
		n = flush_rq(qp);
	}
	mutex_unlock(&qp->mutex);

	raise(qp, SROCE_EV_COMM_EST, IB_EVENT_COMM_EST);
	raise(qp, SROCE_EV_DRAINED, IB_EVENT_SQ_DRAINED);
	raise(qp, SROCE_EV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	raise(qp, SROCE_EV_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	raise(qp, SROCE_EV_QP_FATAL, IB_EVENT_QP_FATAL);

	if (!error || !qp->rx.rq.user)
		return;
	qp->flush_delay = n ? 1 : min(2 * qp->flush_delay,
				      msecs_to_jiffies(FLUSH_POLL_MS) + 1);
	if (!delayed_work_pending(&qp->err_work))
		sroce_sched_err_after(qp, qp->flush_delay);
}
