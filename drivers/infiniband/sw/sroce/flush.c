// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair in error: flush and events.
 *
 * Owns what happens to a QP behind an error any role met, and the asynchronous
 * events of QPs.  Runs in process context, as a work item of the QP.  Called
 * through sched.c.  Must not know packets.
 */
#include "flush.h"

#include "comp.h"
#include "compat.h"
#include "engine.h"
#include "qpmod.h"
#include "resp.h"
#include "trace.h"

#include <linux/jiffies.h>
#include <linux/sched.h>

/* WQEs flushed before the lock is given a rest. */
#define FLUSH_CHUNK	64

/* How long, at most, a receive WQE posted in ERR waits to be flushed, ms. */
#define FLUSH_POLL_MS	50

static void flush_sq(struct sroce_qp *qp)
{
	u32 n;

	do {
		local_bh_disable();
		sroce_sched_tx_begin(qp);
		n = sroce_qpstate_flushes_sq(qp->tx.state) ?
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
		local_bh_disable();
		sroce_sched_rx_begin(qp);
		n = qp->rx.state == SROCE_QPS_ERR ?
			sroce_resp_flush(qp, FLUSH_CHUNK) : 0;
		sroce_sched_rx_end(qp);
		local_bh_enable();
		cond_resched();
		total += n;
	} while (n == FLUSH_CHUNK);
	return total;
}

/*
 * The QP takes nothing from its SRQ any more, and what it had taken is
 * completed: its owner may destroy it without losing a WQE (IBA 10.3.1, 11.6.3.2).
 */
static void tell_last_wqe(struct sroce_qp *qp)
{
	if (!qp->rx.srq || qp->rx.last_wqe_told)
		return;
	qp->rx.last_wqe_told = true;
	set_bit(SROCE_EV_LAST_WQE, &qp->events);
}

static void raise(struct sroce_qp *qp, enum sroce_event_bit bit,
		  enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp->device,
		.event = type,
		.element.qp = qp->ibqp,
	};

	if (!test_and_clear_bit(bit, &qp->events))
		return;
	sroce_trace_event(qp->dev, qp->qpn, type);
	if (qp->ibqp->event_handler)
		qp->ibqp->event_handler(&ev, qp->ibqp->qp_context);
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
 * sroce_flush_run() - flush a QP in error and raise its events
 * @qp: the QP
 *
 * User space does not ring for receive WQEs it posts in ERR, so while a user QP
 * stays there its queues are looked at again, ever more slowly.
 *
 * Context: Process, may sleep.
 */
void sroce_flush_run(struct sroce_qp *qp)
{
	bool error;
	u32 n = 0;

	check_overflow(qp, SROCE_EV_SCQ_OVERFLOW, qp->scq);
	check_overflow(qp, SROCE_EV_RCQ_OVERFLOW, qp->rcq);
	mutex_lock(&qp->mutex);
	if (test_and_clear_bit(SROCE_EV_FATAL, &qp->events) &&
	    qp->attr.qp_state != IB_QPS_RESET)
		sroce_qpmod_set_state(qp, SROCE_QPS_ERR);
	error = qp->attr.qp_state == IB_QPS_ERR;
	if (error) {
		flush_sq(qp);
		n = flush_rq(qp);
		tell_last_wqe(qp);
	} else if (READ_ONCE(qp->tx.state) == SROCE_QPS_SQE) {
		flush_sq(qp);
	}
	mutex_unlock(&qp->mutex);

	raise(qp, SROCE_EV_COMM_EST, IB_EVENT_COMM_EST);
	raise(qp, SROCE_EV_DRAINED, IB_EVENT_SQ_DRAINED);
	raise(qp, SROCE_EV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	raise(qp, SROCE_EV_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	raise(qp, SROCE_EV_QP_FATAL, IB_EVENT_QP_FATAL);
	raise(qp, SROCE_EV_LAST_WQE, IB_EVENT_QP_LAST_WQE_REACHED);

	if (!error || !qp->rx.rq.user)
		return;
	qp->flush_delay = n ? 1 : min(2 * qp->flush_delay,
				      msecs_to_jiffies(FLUSH_POLL_MS) + 1);
	if (!delayed_work_pending(&qp->err_work))
		sroce_sched_err_after(qp, qp->flush_delay);
}
