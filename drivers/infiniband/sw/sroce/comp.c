// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: from responses to completed send WQEs.
 *
 * Owns what an ACK, a NAK, a READ response or an atomic's answer does to the
 * window, where READ data goes, and the order of completions.  Runs under
 * tx.lock in softirq for packets, in any context a role is left in for reaping,
 * in process context for the flush.  Called by rx.c, and through main.c after
 * the requester.  Must not send.
 */
#include "comp.h"

#include "cc.h"
#include "engine.h"
#include "mw.h"
#include "pagein.h"
#include "proto/aeth.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/wire.h"
#include "trace.h"
#include "txq.h"

/* A WQE's READ or atomic is answered, or it was given up. */
static void rd_atomic_done(struct sroce_tx *tx, struct sroce_swqe *w)
{
	if ((w->flags & SROCE_SWQE_RD_ATOMIC) &&
	    (w->flags & SROCE_SWQE_STARTED) && tx->rd_out)
		tx->rd_out--;
}

static void complete_wqe(struct sroce_qp *qp, struct sroce_swqe *w, u8 status)
{
	struct sroce_wc wc __uninitialized;

	rd_atomic_done(&qp->tx, w);
	if (status == IB_WC_SUCCESS && !(w->flags & SROCE_SWQE_SIGNALED))
		return;
	wc = (struct sroce_wc) {
		.wr_id = w->wr_id,
		.status = status,
		.opcode = w->wc_opcode,
		.qp = qp->ibqp,
	};
	if (status == IB_WC_SUCCESS) {
		if (w->flags & SROCE_SWQE_RD_ATOMIC)
			wc.byte_len = w->length;
	} else if (status == IB_WC_WR_FLUSH_ERR) {
		sroce_stat_inc(qp, CQE_FLUSH);
	} else {
		sroce_stat_inc(qp, CQE_ERR);
		sroce_trace_wc(qp->dev, qp->qpn, w->wr_id, status);
	}
	sroce_sched_complete_tx(qp, &wc);
}

static bool is_done(const struct sroce_tx *tx, const struct sroce_swqe *w)
{
	if (!(w->flags & SROCE_SWQE_STARTED))
		return false;
	if (!w->npsn)
		return w->flags & SROCE_SWQE_DONE;
	return sroce_psn_diff(tx->window.una,
			      sroce_psn_add(w->first_psn, w->npsn)) >= 0;
}

static void check_drained(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	struct sroce_swqe *w;

	if (tx->state != SROCE_QPS_SQD || !tx->sqd_event)
		return;
	if (tx->sq.tail != tx->sq.prod) {
		w = sroce_sq_wqe(&tx->sq, tx->sq.tail);
		if (w->flags & SROCE_SWQE_STARTED)
			return;
	}
	tx->sqd_event = false;
	sroce_sched_event(qp, SROCE_EV_DRAINED);
}

/*
 * READ_WITH_INV: the key goes before the completion comes.  False: somebody is
 * in that memory, and the clock brings us back.
 */
static bool end_key(struct sroce_qp *qp, const struct sroce_swqe *w, u32 idx)
{
	int err = sroce_mw_invalidate(qp->dev, &qp->who, w->inv_rkey);

	if (err == -EAGAIN) {
		qp->tx.hold_ns = ktime_get_ns() + SROCE_HOLD_NS;
		return false;
	}
	if (err)
		sroce_txq_fail(qp, idx, IB_WC_LOC_QP_OP_ERR);
	return true;
}

/**
 * sroce_comp_reap() - complete all send WQEs that are done, in order
 * @qp: the QP, tx.lock held
 *
 * The WQE that failed locally or was refused by the peer completes in error when
 * its turn comes; the QP is then in error, or its send queue alone where the
 * peer knows nothing of it (IBA 10.3.1.6).
 *
 * Context: Bottom halves off.
 * Return: true when anything completed.
 */
bool sroce_comp_reap(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	struct sroce_sq *sq = &tx->sq;
	struct sroce_swqe *w;
	u32 i = sq->tail;
	u32 n;

	lockdep_assert_held(&tx->lock);
	if (!sroce_qpstate_can_responses(tx->state))
		return false;
	for (; i != sq->prod; i++) {
		w = sroce_sq_wqe(sq, i);
		if (unlikely(w->flags & SROCE_SWQE_INV) && is_done(tx, w) &&
		    !end_key(qp, w, i))
			break;
		if (tx->fault && i == tx->fault_idx) {
			complete_wqe(qp, w, w->status);
			i++;
			if (qp->type == SROCE_QPT_RC)
				sroce_sched_fatal_tx(qp);
			else
				sroce_sched_sqe_tx(qp);
			break;
		}
		if (!is_done(tx, w))
			break;
		complete_wqe(qp, w, IB_WC_SUCCESS);
	}
	n = i - sq->tail;
	if (n) {
		if ((s32)(sq->next - i) < 0)
			sq->next = i;
		sroce_wq_complete(sq, n);
	}
	check_drained(qp);
	return n;
}

/**
 * sroce_comp_flush() - complete send WQEs as flushed (QP in error)
 * @qp: the QP, tx.lock held, tx.state ERR or SQE
 * @budget: most WQEs to complete
 *
 * Context: Bottom halves off.
 * Return: number of WQEs completed; less than @budget when none is left.
 */
u32 sroce_comp_flush(struct sroce_qp *qp, u32 budget)
{
	struct sroce_sq *sq = &qp->tx.sq;
	u32 n = 0;

	lockdep_assert_held(&qp->tx.lock);
	if (sroce_wq_fetch(sq, qp->type))
		return 0;
	while (n < budget && sq->tail != sq->prod) {
		complete_wqe(qp, sroce_sq_wqe(sq, sq->tail), IB_WC_WR_FLUSH_ERR);
		sroce_wq_complete(sq, 1);
		n++;
	}
	sq->next = sq->tail;
	return n;
}

/* The oldest READ or atomic that is out and not answered, or NULL. */
static struct sroce_swqe *oldest_rd_atomic(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	struct sroce_sq *sq = &tx->sq;
	struct sroce_swqe *w;
	u32 i;

	if (!tx->rd_out)
		return NULL;
	for (i = sq->tail; i != sq->prod; i++) {
		w = sroce_sq_wqe(sq, i);
		if (!(w->flags & SROCE_SWQE_STARTED))
			break;
		if ((w->flags & SROCE_SWQE_RD_ATOMIC) && !is_done(tx, w))
			return w;
	}
	return NULL;
}

/* Is @psn, or one behind it, the one whose ACK is timed? */
static void time_ack(struct sroce_tx *tx, u32 psn, u64 now_ns)
{
	if (sroce_psn_diff(psn, tx->rtt_psn) < 0)
		return;
	if (now_ns > tx->rtt_ns)
		sroce_rtt_sample(&tx->rtt, now_ns - tx->rtt_ns);
	tx->rtt_ns = 0;
}

/* Acknowledge up to and including @psn; the queue follows the window's jump. */
static enum sroce_ack ack(struct sroce_qp *qp, u32 psn, u64 now_ns)
{
	struct sroce_window *win = &qp->tx.window;
	bool resending = sroce_window_resending(win);
	enum sroce_ack a = sroce_window_ack(win, psn, now_ns);

	if (a == SROCE_ACK_ADVANCED) {
		qp->tx.probe = false;
		qp->tx.holds = 0;
		if (qp->tx.rtt_ns)
			time_ack(&qp->tx, psn, now_ns);
		if (resending)
			sroce_txq_seek(qp);
	}
	return a;
}

/*
 * A response beyond @w, a READ or atomic whose answer has not come: the answer
 * was lost (IBA 9.9.2.4.2, implied NAK).  What is before @w is acknowledged.
 */
static void implied_nak(struct sroce_qp *qp, const struct sroce_swqe *w,
			u64 now_ns)
{
	struct sroce_window *win = &qp->tx.window;

	if (sroce_psn_diff(w->first_psn, win->una) > 0)
		ack(qp, sroce_psn_add(w->first_psn, -1), now_ns);
	sroce_stat_inc(qp, IMPLIED_NAK);
	sroce_txq_rewound(qp, sroce_window_implied_nak(win, now_ns));
}

/*
 * Does a response with @psn step over an unanswered READ or atomic?  Then the
 * window has been dealt with and the response must not be used further.
 */
static bool steps_over(struct sroce_qp *qp, u32 psn, u64 now_ns)
{
	struct sroce_swqe *w = oldest_rd_atomic(qp);

	if (!w || sroce_psn_diff(psn, w->first_psn) < 0)
		return false;
	implied_nak(qp, w, now_ns);
	return true;
}

/* Is @psn among the PSNs sent and not acknowledged? */
static bool in_window(const struct sroce_window *win, u32 psn)
{
	return sroce_psn_dist(win->una, psn) <
	       sroce_psn_dist(win->una, win->max);
}

static void on_ack(struct sroce_qp *qp, const struct sroce_hdr *h, u64 now_ns)
{
	if (!in_window(&qp->tx.window, h->psn)) {
		/* the last one again says nothing new, and is no lie */
		if (sroce_psn_add(h->psn, 1) != qp->tx.window.una)
			sroce_drop(qp, DROP_GHOST);
		return;
	}
	if (!steps_over(qp, h->psn, now_ns))
		ack(qp, h->psn, now_ns);
}

static void on_rnr(struct sroce_qp *qp, const struct sroce_hdr *h, u64 now_ns)
{
	enum sroce_rewind rw;
	u32 idx;

	sroce_stat_inc(qp, RCVD_RNR);
	if (steps_over(qp, sroce_psn_add(h->psn, -1), now_ns))
		return;
	rw = sroce_window_rnr(&qp->tx.window, h->psn,
			      sroce_aeth_rnr_ns(h->syndrome), now_ns);
	if (rw == SROCE_RW_RESEND) {
		qp->tx.probe = true;
		sroce_txq_seek(qp);
	} else if (rw == SROCE_RW_EXHAUSTED) {
		sroce_stat_inc(qp, RNR_EXC);
		if (sroce_txq_find(qp, h->psn, &idx))
			sroce_txq_fail(qp, idx, IB_WC_RNR_RETRY_EXC_ERR);
	}
}

static u8 nak_status(struct sroce_qp *qp, u8 syndrome)
{
	switch (syndrome) {
	case SROCE_AETH_NAK_INV_REQ:
		sroce_stat_inc(qp, REQ_REM_INV);
		return IB_WC_REM_INV_REQ_ERR;
	case SROCE_AETH_NAK_ACCESS:
		sroce_stat_inc(qp, REQ_REM_ACCESS);
		return IB_WC_REM_ACCESS_ERR;
	case SROCE_AETH_NAK_OP:
		return IB_WC_REM_OP_ERR;
	default:
		return IB_WC_BAD_RESP_ERR;
	}
}

static void on_nak(struct sroce_qp *qp, const struct sroce_hdr *h, u64 now_ns)
{
	struct sroce_window *win = &qp->tx.window;
	u32 idx;

	if (!in_window(win, h->psn)) {
		sroce_drop(qp, DROP_GHOST);
		return;
	}
	if (h->syndrome == SROCE_AETH_NAK_SEQ) {
		sroce_stat_inc(qp, SEQ_ERR);
		sroce_cc_loss(qp, now_ns);
		if (!steps_over(qp, sroce_psn_add(h->psn, -1), now_ns))
			sroce_txq_rewound(qp, sroce_window_nak(win, h->psn, now_ns));
		return;
	}
	/* a READ may be refused in the middle of its answer */
	if (!sroce_txq_find(qp, h->psn, &idx))
		return;
	if (sroce_psn_diff(h->psn, win->una) > 0 &&
	    steps_over(qp, sroce_psn_add(h->psn, -1), now_ns) &&
	    sroce_sq_wqe(&qp->tx.sq, idx) != oldest_rd_atomic(qp))
		return;
	if (sroce_psn_diff(h->psn, win->una) > 0)
		ack(qp, sroce_psn_add(h->psn, -1), now_ns);
	if (sroce_txq_find(qp, h->psn, &idx))
		sroce_txq_fail(qp, idx, nak_status(qp, h->syndrome));
}

/* Stand the walk over a READ's buffer at the byte @psn's payload goes to. */
static int seek_buffer(struct sroce_qp *qp, const struct sroce_swqe *w, u32 psn)
{
	struct sroce_tx *tx = &qp->tx;
	u32 at = sroce_psn_dist(w->first_psn, psn) << qp->pmtu_shift;

	if (tx->rd_sgl.sge == w->sge && tx->rd_psn == psn)
		return 0;
	sroce_sgl_init(&tx->rd_sgl, qp->dev, &qp->who, w->sge, w->num_sge,
		       IB_ACCESS_LOCAL_WRITE);
	return at ? sroce_sgl_seek(&tx->rd_sgl, at) : 0;
}

/*
 * The WQE that @f answers, when it is the one whose answer is due next; older
 * requests are acknowledged by it.  NULL: stale, lost ones before it, or a lie.
 */
static struct sroce_swqe *answered(struct sroce_qp *qp,
				   const struct sroce_frame *f, u64 now_ns)
{
	struct sroce_window *win = &qp->tx.window;
	struct sroce_swqe *w, *oldest;
	u32 idx;

	w = in_window(win, f->h.psn) ? sroce_txq_find(qp, f->h.psn, &idx) : NULL;
	if (!w || !(w->flags & SROCE_SWQE_RD_ATOMIC)) {
		sroce_drop(qp, DROP_GHOST);
		return NULL;
	}
	oldest = oldest_rd_atomic(qp);
	if (w != oldest) {
		if (oldest)
			implied_nak(qp, oldest, now_ns);
		return NULL;
	}
	if (sroce_psn_diff(w->first_psn, win->una) > 0)
		ack(qp, sroce_psn_add(w->first_psn, -1), now_ns);
	if (f->h.psn != win->una) {
		implied_nak(qp, w, now_ns);
		return NULL;
	}
	return w;
}

static void fail_at(struct sroce_qp *qp, u32 psn, u8 status)
{
	u32 idx;

	if (sroce_txq_find(qp, psn, &idx))
		sroce_txq_fail(qp, idx, status);
}

/*
 * What was read could not be stored. Where a page is missing, all answers are
 * dropped until it is there, and then asked for again.
 */
static void store_failed(struct sroce_qp *qp, u32 psn, int err)
{
	struct sroce_tx *tx = &qp->tx;

	if (err == -EAGAIN &&
	    sroce_pagein_start_sgl(&tx->page, &tx->rd_sgl, true)) {
		sroce_sgl_fini(&tx->rd_sgl);
		tx->rd_sgl.sge = NULL;
		return;
	}
	fail_at(qp, psn, IB_WC_LOC_PROT_ERR);
}

static void on_read_response(struct sroce_qp *qp, const struct sroce_frame *f,
			     u64 now_ns)
{
	struct sroce_swqe *w = answered(qp, f, now_ns);
	u32 at, want;
	int err;

	if (!w)
		return;
	at = sroce_psn_dist(w->first_psn, f->h.psn) << qp->pmtu_shift;
	want = min(qp->pmtu, w->length - at);
	/* ATOMIC WRITE and FLUSH are answered by a READ response without data */
	if (w->op == SROCE_OP_ATOMIC_WRITE || w->op == SROCE_OP_FLUSH)
		want = 0;
	else if (w->op != SROCE_OP_READ)
		want = U32_MAX;
	if (f->h.payload_bytes != want) {
		fail_at(qp, f->h.psn, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (want) {
		err = seek_buffer(qp, w, f->h.psn);
		if (!err)
			err = sroce_sgl_write(&qp->tx.rd_sgl, f->payload, want);
		if (err) {
			store_failed(qp, f->h.psn, err);
			return;
		}
		qp->tx.rd_psn = sroce_psn_add(f->h.psn, 1);
	}
	ack(qp, f->h.psn, now_ns);
}

static void on_atomic_ack(struct sroce_qp *qp, const struct sroce_frame *f,
			  u64 now_ns)
{
	struct sroce_swqe *w = answered(qp, f, now_ns);
	int err;

	if (!w)
		return;
	if (w->op != SROCE_OP_CAS && w->op != SROCE_OP_FADD) {
		fail_at(qp, f->h.psn, IB_WC_BAD_RESP_ERR);
		return;
	}
	err = seek_buffer(qp, w, f->h.psn);
	if (!err)
		err = sroce_sgl_write(&qp->tx.rd_sgl, &f->h.atomic_orig,
				      sizeof(f->h.atomic_orig));
	if (err) {
		store_failed(qp, f->h.psn, err);
		return;
	}
	qp->tx.rd_sgl.sge = NULL;
	ack(qp, f->h.psn, now_ns);
}

/**
 * sroce_comp_consume() - act on one response packet
 * @qp: the QP, tx.lock held
 * @f: the packet, checked as far as it can be without the QP's window
 * @now_ns: time of arrival
 *
 * Context: Softirq.
 */
void sroce_comp_consume(struct sroce_qp *qp, const struct sroce_frame *f,
			u64 now_ns)
{
	const u32 flags = f->h.info->flags;

	lockdep_assert_held(&qp->tx.lock);
	if (!sroce_qpstate_can_responses(qp->tx.state)) {
		sroce_drop(qp, DROP_STATE);
		return;
	}
	if (unlikely(qp->tx.page.repeat))
		return;		/* all of it comes again */
	if (flags & SROCE_OPF_READ) {
		on_read_response(qp, f, now_ns);
	} else if (flags & SROCE_OPF_ATOMIC) {
		on_atomic_ack(qp, f, now_ns);
	} else {
		switch (f->h.syndrome & SROCE_AETH_KIND_MASK) {
		case SROCE_AETH_ACK:
			on_ack(qp, &f->h, now_ns);
			break;
		case SROCE_AETH_RNR:
			on_rnr(qp, &f->h, now_ns);
			break;
		case SROCE_AETH_NAK:
			on_nak(qp, &f->h, now_ns);
			break;
		default:
			sroce_drop(qp, DROP_OPCODE);
		}
	}
}

/**
 * sroce_comp_pause() - end of a train: let go of the memory held for it
 * @qp: the QP, tx.lock held
 *
 * Context: Softirq.
 */
void sroce_comp_pause(struct sroce_qp *qp)
{
	sroce_sgl_fini(&qp->tx.rd_sgl);
	qp->tx.rd_sgl.sge = NULL;
	/* what the train acknowledged is reaped behind the requester's run */
	set_bit(SROCE_EV_TX, &qp->events);
}
