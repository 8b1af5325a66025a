// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pair verbs: create, query, destroy, post.
 *
 * Owns the life of a QP.  Runs in process
 * context, but for the posting calls, which run anywhere.  Called by ib_core.
 * Must not know packets.
 */
#include "qp.h"

#include "cc.h"
#include "compat.h"
#include "doorbell.h"
#include "engine.h"
#include "net.h"
#include "pagein.h"
#include "qpmod.h"
#include "rx.h"

#include <linux/slab.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>

/* --- create ---------------------------------------------------------------- */

static enum sroce_qp_type type_of(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return SROCE_QPT_RC;
	case IB_QPT_UC:
		return SROCE_QPT_UC;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		return SROCE_QPT_UD;
	default:
		return SROCE_QPT_N;
	}
}

static int check_init(const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (type_of(init->qp_type) == SROCE_QPT_N || init->create_flags)
		return -EOPNOTSUPP;
	if (user && init->qp_type == IB_QPT_GSI)
		return -EPERM;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > SROCE_MAX_QP_WR ||
	    cap->max_send_sge > SROCE_MAX_SGE ||
	    cap->max_inline_data > SROCE_MAX_INLINE)
		return -EINVAL;
	/* with an SRQ they have no meaning (IBA 11.2.5.1) */
	if (!init->srq && (cap->max_recv_wr > SROCE_MAX_QP_WR ||
			   cap->max_recv_sge > SROCE_MAX_SGE))
		return -EINVAL;
	return 0;
}

/* The queue receive WQEs come from, and room for the one in use. */
static int create_recv_end(struct sroce_qp *qp, struct ib_ucontext *uc,
			   struct ib_qp_init_attr *init, struct mminfo *mi)
{
	struct sroce_rx *rx = &qp->rx;
	u32 max_sge;
	int err;

	if (init->srq) {
		rx->srq = to_sroce_srq(init->srq);
		rx->who = &rx->srq->who;
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
		max_sge = rx->srq->rq.max_sge;
	} else {
		rx->who = &qp->who;
		err = sroce_wq_create_rq(&rx->rq, uc, &init->cap, mi);
		if (err)
			return err;
		max_sge = rx->rq.max_sge;
	}
	rx->rwqe = kzalloc(sroce_rwqe_bytes(max_sge), GFP_KERNEL);
	if (rx->rwqe)
		return 0;
	sroce_wq_destroy_rq(&rx->rq);
	return -ENOMEM;
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
	if (qp->type == SROCE_QPT_UD) {
		err = sroce_wq_create_dests(&qp->tx.sq, qp->ibqp->pd);
		if (err)
			goto free_sq;
	}
	err = create_recv_end(qp, uc, init, &resp->rq_mi);
	if (err)
		goto free_sq;
	return 0;

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

/* Numbers of QPs by which windows know theirs; QPNs come again. */
static atomic64_t last_id = ATOMIC64_INIT(0);

/* --- the end of the struct -------------------------------------------------- */

static struct workqueue_struct *reap_wq;

/* A grace period after the last reference. */
static void reap(struct work_struct *work)
{
	struct sroce_qp *qp = container_of(to_rcu_work(work), struct sroce_qp,
					   reap);

	/* the last of those who had found it may have queued this */
	cancel_work_sync(&qp->bh_work);
	cancel_work_sync(&qp->tx_work);
	mutex_destroy(&qp->mutex);
	kfree(qp);
}

static void put(struct sroce_qp *qp)
{
	if (refcount_dec_and_test(&qp->ref))
		queue_rcu_work(reap_wq, &qp->reap);
}

/* For reports, which some kernels ask for while or after a QP is destroyed. */
static struct sroce_qp *get(struct ib_qp *ibqp)
{
	struct sroce_qp *qp;

	rcu_read_lock();
	qp = rcu_dereference(to_sroce_qp_handle(ibqp)->qp);
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/**
 * sroce_qp_init() - module start: prepare for the end of QPs
 *
 * Context: Process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int sroce_qp_init(void)
{
	reap_wq = alloc_workqueue("sroce_reap", WQ_UNBOUND, 0);
	return reap_wq ? 0 : -ENOMEM;
}

/**
 * sroce_qp_wait_reaped() - nothing of the QPs destroyed so far is left
 *
 * Context: Process, may sleep.
 */
void sroce_qp_wait_reaped(void)
{
	rcu_barrier();
	flush_workqueue(reap_wq);
}

/**
 * sroce_qp_exit() - module end; no QP is left
 *
 * Context: Process, may sleep.
 */
void sroce_qp_exit(void)
{
	sroce_qp_wait_reaped();
	destroy_workqueue(reap_wq);
}

static void init_qp(struct sroce_qp *qp, const struct ib_qp_init_attr *init)
{
	qp->dev = to_sroce_dev(qp->ibqp->device);
	qp->stats = qp->dev->stats;
	qp->type = type_of(init->qp_type);
	qp->who.pd = qp->ibqp->pd;
	qp->who.qp_id = atomic64_inc_return(&last_id);
	qp->scq = to_sroce_cq(init->send_cq);
	qp->rcq = to_sroce_cq(init->recv_cq);
	qp->pkey = SROCE_DEF_PKEY;
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.path_mtu = IB_MTU_256;
	qp->pmtu = 256;
	qp->pmtu_shift = 8;
	qp->flush_delay = 1;
	mutex_init(&qp->mutex);
	refcount_set(&qp->ref, 1);
	INIT_RCU_WORK(&qp->reap, reap);
	sroce_sched_qp_init(qp);
	sroce_pagein_qp_init(qp);
	sroce_cc_qp_init(qp);
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
	struct sroce_qp *qp;
	int err;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	err = udata ? ib_is_udata_in_empty(udata) : 0;
	if (err)
		return err;
	err = check_init(init, udata);
	if (err)
		return err;
	qp = kzalloc_obj(*qp);
	if (!qp)
		return -ENOMEM;
	qp->ibqp = ibqp;
	init_qp(qp, init);
	err = create_queues(qp, init, udata, &resp);
	if (err)
		goto free_qp;
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
	rcu_assign_pointer(to_sroce_qp_handle(ibqp)->qp, qp);
	return 0;

free_path:
	sroce_net_path_stop(&qp->path);
	sroce_net_path_fini(&qp->path);
free_queues:
	free_queues(qp);
free_qp:
	mutex_destroy(&qp->mutex);
	kfree(qp);
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
	/* 2. who is in it leaves; who enters later finds it dead, does nothing */
	spin_lock_bh(&qp->rx.lock);
	qp->rx.state = SROCE_QPS_RESET;
	WRITE_ONCE(qp->dead, true);
	spin_unlock_bh(&qp->rx.lock);
	spin_lock_bh(&qp->tx.lock);
	qp->tx.state = SROCE_QPS_RESET;
	sroce_sched_unhold(qp);
	spin_unlock_bh(&qp->tx.lock);
	/* 3. skbs still queued somewhere stop calling back */
	sroce_net_path_stop(&qp->path);
	/* 4. the clock and the work items; the last event is over */
	sroce_pagein_qp_stop(qp);
	sroce_sched_qp_stop(qp);
	/* 5. what is touched under a lock, by the living only */
	sroce_net_path_fini(&qp->path);
	free_queues(qp);
	/* 6. the struct, which packets and callbacks may have found before */
	RCU_INIT_POINTER(to_sroce_qp_handle(ibqp)->qp, NULL);
	put(qp);
	return 0;
}

/* --- query ----------------------------------------------------------------- */

/**
 * sroce_qp_query() - query_qp verb
 * @ibqp: the QP
 * @attr: filled in
 * @mask: ignored, everything is filled in
 * @init: filled in
 *
 * Context: Process, may sleep.
 * Return: 0, or -EINVAL when it is destroyed meanwhile.
 */
int sroce_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct sroce_qp *qp = get(ibqp);

	if (!qp)
		return -EINVAL;
	mutex_lock(&qp->mutex);
	*attr = qp->attr;
	attr->qp_state = sroce_qpmod_state(qp);
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
	if (qp->type != SROCE_QPT_UD && qp->path.hdr_bytes)
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
	put(qp);
	return 0;
}

static int put_rates(struct sk_buff *msg, const char * const names[3],
		     const struct sroce_dcqcn *rp)
{
	if (rdma_nl_put_driver_u64(msg, names[0],
				   READ_ONCE(rp->cur_bytes_per_s)) ||
	    rdma_nl_put_driver_u64(msg, names[1],
				   READ_ONCE(rp->target_bytes_per_s)) ||
	    rdma_nl_put_driver_u32(msg, names[2],
				   READ_ONCE(rp->alpha_q30) >> 20))
		return -EMSGSIZE;
	return 0;
}

static int fill(struct sk_buff *msg, struct sroce_qp *qp)
{
	static const char * const tx_names[] = {
		"cc_rate", "cc_target", "cc_alpha",
	};
	static const char * const rx_names[] = {
		"cc_read_rate", "cc_read_target", "cc_read_alpha",
	};
	const struct sroce_lane *lane =
		sroce_net_path_lane(&qp->path, SROCE_REQUESTS);

	if (put_rates(msg, tx_names, &qp->tx.cc.rp) ||
	    rdma_nl_put_driver_u32(msg, "cc_throttled",
				   READ_ONCE(qp->tx.cc.rp.active)) ||
	    put_rates(msg, rx_names, &qp->rx.cc.rp) ||
	    rdma_nl_put_driver_u64(msg, "srtt_ns",
				   READ_ONCE(qp->tx.rtt.srtt_ns)) ||
	    rdma_nl_put_driver_u64(msg, "rttvar_ns",
				   READ_ONCE(qp->tx.rtt.rttvar_ns)) ||
	    rdma_nl_put_driver_u32(msg, "rate_limit",
				   READ_ONCE(qp->tx.cc.limit_kbps)) ||
	    rdma_nl_put_driver_u32(msg, "udp_sport",
				   READ_ONCE(lane->sport)))
		return -EMSGSIZE;
	return 0;
}

/**
 * sroce_qp_fill_res() - what "rdma resource show qp -dd" tells about a QP
 * @msg: netlink message
 * @ibqp: the QP
 *
 * Rates are in bytes/s, the limit in kbit/s, alpha in 1/1024; values may be a
 * moment old and not of the same moment.
 *
 * Context: Process.
 * Return: 0 or -EMSGSIZE.
 */
int sroce_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct sroce_qp *qp = get(ibqp);
	struct nlattr *table;
	int err = -EMSGSIZE;

	if (!qp)
		return 0;
	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (table)
		err = fill(msg, qp);
	if (!err)
		nla_nest_end(msg, table);
	else if (table)
		nla_nest_cancel(msg, table);
	put(qp);
	return err;
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
	if (sroce_qpstate_flushes_sq(state))
		sroce_sched_err_after(qp, 0);
	else
		sroce_doorbell_ring(qp);
	return err;
}

/**
 * sroce_qp_post_recv() - post_recv verb of kernel clients
 * @ibqp: the QP
 * @wr: list of work requests
 * @bad: set to the first request not taken
 *
 * Context: Any.
 * Return: 0; -EINVAL in RESET, on an SRQ or for too many pieces, -ENOMEM when
 *	the queue is full.
 */
int sroce_qp_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);
	struct sroce_rq *rq = &qp->rx.rq;
	enum sroce_qps state = READ_ONCE(qp->rx.state);
	unsigned long irq;
	int err = 0;

	if (!sroce_qpstate_can_post_recv(state) || rq->user || qp->rx.srq) {
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
