// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: from send WQEs to request packets.
 *
 * Owns the order in which WQEs are begun and packets are sent.  Runs under
 * tx.lock with bottom halves off: in the caller of post_send, in softirq behind
 * an ACK or a timer, in BH work.  Called through sched.c.  Must not know
 * responses, CQs or the responder.
 */
#include "req.h"

#include "cc.h"
#include "engine.h"
#include "frame.h"
#include "mw.h"
#include "pagein.h"
#include "proto/aeth.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/wire.h"
#include "reg.h"
#include "trace.h"
#include "train.h"
#include "txq.h"

#include <linux/ktime.h>

/* An ACK is asked for at least this often, in packets (rdma_rxe expects 64). */
#define ACKREQ_PACKETS	32

/* A tail nobody was asked to acknowledge is asked about after this, ns. */
#define TAIL_PROBE_NS	1000000ULL

/* So much under way keeps two CPUs at work, bytes. */
#define DEEP_BYTES	(128 * 1024)

/**
 * enum step - what sending did
 * @STEP_ON: one WQE is done with, look at the next
 * @STEP_STOP: nothing can be sent until something else happens
 * @STEP_AGAIN: the budget is used up
 */
enum step {
	STEP_ON,
	STEP_STOP,
	STEP_AGAIN,
};

/**
 * struct run - one burst
 * @train: what is being filled
 * @now_ns: time of the burst
 * @train_psn: PSN of the train's first frame
 * @frames: frames sent so far
 * @fresh: nothing in it was sent before (Karn: only such PSNs are timed)
 */
struct run {
	struct sroce_train train;
	u64 now_ns;
	u32 train_psn;
	u32 frames;
	bool fresh;
};

static void hold(struct sroce_qp *qp, const struct run *run)
{
	struct sroce_tx *tx = &qp->tx;

	tx->hold_ns = run->now_ns + (SROCE_HOLD_NS << tx->holds);
	if (tx->holds < SROCE_HOLD_DOUBLINGS)
		tx->holds++;
}

/*
 * For who steers: which CPU sends, and whether it has more to do while another
 * receives.  It has when much is under way, or when the program is busy with what
 * was completed before; one that waits for each message is not.
 */
static void note_sender(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	u64 bytes = (u64)sroce_psn_diff(tx->window.nxt, tx->window.una)
		    << qp->pmtu_shift;
	bool deep = bytes >= DEEP_BYTES ||
		    (bytes >= SROCE_TRAIN_BULK && sroce_cq_waiting(qp->scq));

	WRITE_ONCE(tx->cpu, smp_processor_id());
	WRITE_ONCE(tx->deep, deep);
}

/* Send the train; false when the stack dropped it and the window went back. */
static bool flush(struct sroce_qp *qp, struct run *run)
{
	u32 bytes = sroce_train_wire_bytes(&run->train);

	if (bytes) {
		if (num_online_cpus() > 1)
			note_sender(qp);
		sroce_cc_sent(qp, &qp->tx.cc, bytes, run->now_ns);
	}
	if (likely(!sroce_train_send(&run->train))) {
		if (bytes)
			sroce_window_accepted(&qp->tx.window);
		/* where nobody acknowledges, what left is all one hears */
		if (bytes && qp->type != SROCE_QPT_RC)
			qp->tx.holds = 0;
		return true;
	}
	sroce_txq_rewound(qp, sroce_window_refused(&qp->tx.window,
						   run->train_psn,
						   run->now_ns));
	hold(qp, run);
	return false;
}

/* How long may the next train be?  False: the pacer says when there is one. */
static bool get_budget(struct sroce_qp *qp, struct run *run)
{
	run->train.max_bytes = sroce_cc_budget(&qp->tx.cc, run->now_ns);
	return run->train.max_bytes;
}

/*
 * May another packet leave now?  The train is sent before the device is asked.
 * After an RNR NAK a burst would only be refused again, so one packet probes.
 * Where many packets of @bytes follow, @like with this one, they are worth a train
 * of their own.
 */
static enum step may_send(struct sroce_qp *qp, struct run *run, u32 bytes,
			  u32 like)
{
	const struct sroce_window *win = &qp->tx.window;

	if (qp->tx.probe && win->nxt != win->una)
		return STEP_STOP;
	if (run->frames >= SROCE_RUN_FRAMES)
		return STEP_AGAIN;
	run->train.run = like;
	if (sroce_train_full(&run->train, bytes) ||
	    sroce_train_splits(&run->train, bytes)) {
		if (!flush(qp, run) || sroce_sched_tx_blocked(qp) ||
		    !get_budget(qp, run))
			return STEP_STOP;
	}
	return STEP_ON;
}

/* Will the next WQE's packets follow this one without waiting for anything? */
static bool more_follows(const struct sroce_qp *qp)
{
	const struct sroce_sq *sq = &qp->tx.sq;
	const struct sroce_swqe *w;

	if (sq->next + 1 == sq->prod || qp->tx.state != SROCE_QPS_RTS)
		return false;
	w = sroce_sq_wqe(sq, sq->next + 1);
	return !w->status && w->op < SROCE_OP_READ &&
	       !(w->send_flags & IB_SEND_FENCE);
}

/*
 * Is this the end of what there is to send, and somebody waits for it?  Nobody
 * does for WQEs that are not signaled, as long as the queue does not fill up.
 */
static bool end_wanted(const struct sroce_qp *qp, const struct sroce_swqe *w)
{
	const struct sroce_sq *sq = &qp->tx.sq;

	if (more_follows(qp))
		return false;
	return (w->flags & SROCE_SWQE_SIGNALED) ||
	       sq->next + 1 != sq->prod || sq->next - sq->tail > sq->max_wr / 4;
}

static bool want_ack(struct sroce_qp *qp, const struct run *run,
		     const struct sroce_swqe *w, bool last, u32 bytes)
{
	const struct sroce_train *t = &run->train;
	struct sroce_tx *tx = &qp->tx;

	/* a READ or atomic is answered without being asked to be */
	if (!tx->probe && !tx->tail_probe &&
	    !(w->flags & SROCE_SWQE_RD_ATOMIC) &&
	    ++tx->since_ackreq < ACKREQ_PACKETS &&
	    sroce_window_room(&tx->window) > 1 &&
	    run->frames + 1 < SROCE_RUN_FRAMES &&
	    !(last && end_wanted(qp, w)) &&
	    !(t->max_frames > 1 && t->frames + 1 >= t->max_frames) &&
	    /* behind a quantum there may be a pause longer than the timeout */
	    t->bytes + 2 * bytes <= t->max_bytes)
		return false;
	tx->since_ackreq = 0;
	tx->tail_ns = 0;
	tx->tail_probe = false;
	if (!tx->rtt_ns && run->fresh) {
		tx->rtt_psn = tx->window.nxt;
		tx->rtt_ns = run->now_ns;
	}
	return true;
}

static void set_headers(const struct sroce_qp *qp, const struct sroce_swqe *w,
			u32 flags, u32 idx, struct sroce_hdr *h)
{
	u64 skip = (u64)idx << qp->pmtu_shift;

	h->dqpn = qp->dqpn;
	h->pkey = qp->pkey;
	h->tver = 0;
	h->mig = true;
	h->fecn = false;
	h->becn = false;
	h->psn = sroce_psn_add(w->first_psn, idx);
	if (flags & SROCE_OPF_RETH) {
		/* a READ begun again asks for the rest only */
		h->va = w->remote_addr + skip;
		h->rkey = w->rkey;
		h->dmalen = w->length - skip;
	}
	if (flags & SROCE_OPF_ATOMICETH) {
		h->va = w->remote_addr;
		h->rkey = w->rkey;
		h->compare = w->compare_add;
		h->swap_add = w->op == SROCE_OP_CAS ? w->swap : w->compare_add;
	}
	if (flags & SROCE_OPF_FETH) {
		h->flush_type = w->flush_type;
		h->flush_sel = w->flush_sel;
	}
	h->imm = w->imm;
	h->inv_rkey = w->inv_rkey;
	h->solicited = (flags & SROCE_OPF_LAST) &&
		       (w->send_flags & IB_SEND_SOLICITED);
}

/* Stand the payload walk at byte @at of @w, which it mostly already does. */
static int seek_payload(struct sroce_qp *qp, const struct sroce_swqe *w,
			u32 psn, u32 at, struct sroce_src *src)
{
	struct sroce_tx *tx = &qp->tx;

	if (w->flags & SROCE_SWQE_INLINE) {
		src->inline_data = w->inline_data + at;
		return 0;
	}
	src->sgl = &tx->sgl;
	if (tx->sgl.sge == w->sge && tx->sgl_psn == psn)
		return 0;
	sroce_sgl_init(&tx->sgl, qp->dev, &qp->who, w->sge, w->num_sge, 0);
	return at ? sroce_sgl_seek(&tx->sgl, at) : 0;
}

/* What the packet number @idx of @w is, or NULL: the service has no such one. */
static const struct sroce_opcode_info *pick_info(const struct sroce_qp *qp,
						 const struct sroce_swqe *w,
						 u32 idx, u8 *opcode)
{
	/* a READ or atomic is one packet, whatever PSNs its answer takes */
	const bool single = w->flags & SROCE_SWQE_RD_ATOMIC;
	int op = sroce_opcode_pick(qp->type, w->op, single || !idx,
				   single || idx + 1 == w->npsn);

	*opcode = op;
	return op < 0 ? NULL : sroce_opcode_info(op);
}

/* Build and add the packet number @idx of @w, which @info and @opcode tell of. */
static int add_packet(struct sroce_qp *qp, struct run *run,
		      const struct sroce_swqe *w, u32 idx, u32 payload,
		      const struct sroce_opcode_info *info, u8 opcode)
{
	struct sroce_src src = {};
	struct sroce_hdr h __uninitialized;
	int err;

	h.opcode = opcode;
	set_headers(qp, w, info->flags, idx, &h);
	h.ackreq = qp->type == SROCE_QPT_RC &&
		   want_ack(qp, run, w, info->flags & SROCE_OPF_LAST,
			    info->hdr_bytes + payload);
	if (payload) {
		err = seek_payload(qp, w, h.psn, idx << qp->pmtu_shift, &src);
		if (err)
			return err;
		qp->tx.sgl_psn = sroce_psn_add(h.psn, 1);
	}
	if (!run->train.frames)
		run->train_psn = h.psn;
	return sroce_frame_add(&run->train, &h, info->hdr_bytes, &src, payload);
}

/* What a packet that could not be built means; true when it counts as sent. */
static bool build_failed(struct sroce_qp *qp, struct run *run, int err)
{
	/* it does not leave now, so its ACK is not to be timed from now */
	qp->tx.rtt_ns = 0;
	if (err == -EAGAIN &&
	    sroce_pagein_start_sgl(&qp->tx.page, &qp->tx.sgl, false))
		return false;
	if (err == -EFAULT || err == -EAGAIN) {
		sroce_txq_fail(qp, qp->tx.sq.next, IB_WC_LOC_PROT_ERR);
		return false;
	}
	sroce_drop(qp, SEND_ERR);
	hold(qp, run);
	/* no route is like loss: the ACK timeout decides when to give up */
	return err == -ENETUNREACH;
}

static void count_sent(struct sroce_qp *qp, struct run *run, u32 npsn,
		       bool probe)
{
	struct sroce_window *win = &qp->tx.window;

	if (probe)
		sroce_stat_inc(qp, TLP);
	else if (sroce_window_resending(win))
		sroce_stat_inc(qp, RETRANS_PKTS);
	sroce_window_sent(win, npsn, run->now_ns);
	/* UC: nobody answers; sent is done (IBA 9.8.2.1) */
	if (unlikely(qp->type != SROCE_QPT_RC))
		sroce_window_ack(win, sroce_psn_add(win->nxt, -1), run->now_ns);
	run->frames++;
}

static enum step send_packets(struct sroce_qp *qp, struct run *run,
			      struct sroce_swqe *w)
{
	u32 idx = sroce_psn_dist(w->first_psn, qp->tx.window.nxt);
	const struct sroce_opcode_info *info;
	u32 payload, bytes;
	enum step step;
	bool probe;
	u8 opcode;
	int err;

	for (; idx < w->npsn; idx++) {
		if (!sroce_window_room(&qp->tx.window))
			return STEP_STOP;
		info = pick_info(qp, w, idx, &opcode);
		if (unlikely(!info)) {
			build_failed(qp, run, -EFAULT);
			return STEP_STOP;
		}
		payload = min(qp->pmtu, w->length - (idx << qp->pmtu_shift));
		bytes = sroce_frame_bytes(info->hdr_bytes, payload);
		step = may_send(qp, run, bytes,
				idx ? w->npsn - idx : 0);
		if (step != STEP_ON)
			return step;
		probe = qp->tx.tail_probe;
		err = add_packet(qp, run, w, idx, payload, info, opcode);
		if (unlikely(err) && !build_failed(qp, run, err))
			return STEP_STOP;
		count_sent(qp, run, 1, probe);
		if (unlikely(err))
			return STEP_STOP;
	}
	return STEP_ON;
}

/* What has an answer: one packet that uses up the PSNs of that. */
static enum step send_request(struct sroce_qp *qp, struct run *run,
			      struct sroce_swqe *w)
{
	struct sroce_window *win = &qp->tx.window;
	u32 idx = sroce_psn_dist(w->first_psn, win->nxt);
	u32 flight = sroce_psn_dist(win->una, win->nxt);
	const struct sroce_opcode_info *info;
	u32 payload = 0;
	enum step step;
	u8 opcode;
	int err;

	if (idx >= w->npsn)
		return STEP_ON;
	if (win->rnr_until_ns != SROCE_WINDOW_OFF ||
	    (flight && flight + w->npsn - idx > SROCE_PSN_HALF / 2))
		return STEP_STOP;
	info = pick_info(qp, w, idx, &opcode);
	if (unlikely(!info)) {
		build_failed(qp, run, -EFAULT);
		return STEP_STOP;
	}
	if (sroce_op_info(w->op)->flags & SROCE_OPI_PAYLOAD)
		payload = w->length;	/* ATOMIC WRITE */
	step = may_send(qp, run, sroce_frame_bytes(info->hdr_bytes, payload),
			0);
	if (step != STEP_ON)
		return step;
	/* atomics and whole READs are their own last packet */
	err = add_packet(qp, run, w, idx, payload, info, opcode);
	if (unlikely(err) && !build_failed(qp, run, err))
		return STEP_STOP;
	count_sent(qp, run, w->npsn - idx, false);
	return unlikely(err) ? STEP_STOP : STEP_ON;
}

static int bind_window(struct sroce_qp *qp, const struct sroce_swqe *w)
{
	const struct sroce_bind b = {
		.addr = w->remote_addr,
		.bytes = w->bind_bytes,
		.lkey = w->bind_lkey,
		.old_key = w->rkey,
		.key = w->inv_rkey,
		.access = w->bind_access,
	};

	return sroce_mw_bind(qp->dev, &qp->who, &b);
}

static enum step run_local(struct sroce_qp *qp, struct run *run,
			   struct sroce_swqe *w)
{
	u8 status = IB_WC_LOC_QP_OP_ERR;
	int err;

	/* who works on keys holds none, or two could wait for each other */
	sroce_sgl_fini(&qp->tx.sgl);
	switch (w->op) {
	case SROCE_OP_REG_MR:
		err = sroce_reg_fast(w->reg_mr, qp->ibqp->pd, w->reg_key,
				     w->reg_access);
		break;
	case SROCE_OP_BIND_MW:
		err = bind_window(qp, w);
		status = IB_WC_MW_BIND_ERR;
		break;
	default:
		err = sroce_mw_invalidate(qp->dev, &qp->who, w->inv_rkey);
	}
	if (err == -EAGAIN) {
		hold(qp, run);
		return STEP_STOP;
	}
	if (err) {
		sroce_txq_fail(qp, qp->tx.sq.next, status);
		return STEP_STOP;
	}
	w->flags |= SROCE_SWQE_DONE;
	return STEP_ON;
}

static u32 wqe_psns(const struct sroce_qp *qp, const struct sroce_swqe *w)
{
	if (!w->length ||
	    ((w->flags & SROCE_SWQE_RD_ATOMIC) && w->op != SROCE_OP_READ))
		return 1;
	return ((w->length - 1) >> qp->pmtu_shift) + 1;
}

/* Must @w wait for earlier WQEs to complete? */
static bool must_wait(const struct sroce_qp *qp, const struct sroce_swqe *w)
{
	const struct sroce_tx *tx = &qp->tx;

	if ((w->send_flags & IB_SEND_FENCE) && tx->rd_out)
		return true;
	if (w->flags & SROCE_SWQE_RD_ATOMIC)
		return tx->rd_out >= qp->max_rd_atomic;
	/* packets of earlier WQEs may have to be sent again from that memory */
	return w->op == SROCE_OP_LOCAL_INV && tx->sq.tail != tx->sq.next;
}

static enum step begin(struct sroce_qp *qp, struct sroce_swqe *w)
{
	struct sroce_tx *tx = &qp->tx;

	if (!sroce_qpstate_can_transmit_new(tx->state))
		return STEP_STOP;
	if (w->status || ((w->flags & SROCE_SWQE_RD_ATOMIC) &&
			  !qp->max_rd_atomic)) {
		sroce_txq_fail(qp, tx->sq.next,
			       w->status ?: IB_WC_LOC_QP_OP_ERR);
		return STEP_STOP;
	}
	if (must_wait(qp, w)) {
		tx->waiting = true;
		return STEP_STOP;
	}
	w->first_psn = tx->window.max;
	w->flags |= SROCE_SWQE_STARTED;
	if (sroce_op_info(w->op)->flags & SROCE_OPI_LOCAL)
		return STEP_ON;
	w->npsn = wqe_psns(qp, w);
	if (w->flags & SROCE_SWQE_RD_ATOMIC)
		tx->rd_out++;
	else if (w->op <= SROCE_OP_SEND_INV)
		sroce_stat_inc(qp, RDMA_SENDS);
	return STEP_ON;
}

static enum step send_next(struct sroce_qp *qp, struct run *run)
{
	struct sroce_sq *sq = &qp->tx.sq;
	enum step step = STEP_ON;
	struct sroce_swqe *w;

	if (sq->next == sq->prod ||
	    (qp->tx.fault && sq->next == qp->tx.fault_idx))
		return STEP_STOP;
	w = sroce_sq_wqe(sq, sq->next);
	if (!(w->flags & SROCE_SWQE_STARTED))
		step = begin(qp, w);
	if (step == STEP_ON && w->npsn) {
		if (w->flags & SROCE_SWQE_RD_ATOMIC)
			step = send_request(qp, run, w);
		else
			step = send_packets(qp, run, w);
	} else if (step == STEP_ON && !(w->flags & SROCE_SWQE_DONE)) {
		step = run_local(qp, run, w);
	}
	if (step == STEP_ON)
		sq->next++;
	return step;
}

/*
 * What was sent last did not ask for an ACK and nothing came behind it.  The
 * last packet is sent again, asking: the peer answers a duplicate with an ACK
 * (IBA 9.7.5.1.3), and that is no retry.
 */
static void probe_tail(struct sroce_qp *qp, u64 now_ns)
{
	struct sroce_window *win = &qp->tx.window;

	qp->tx.tail_ns = 0;
	if (!qp->tx.since_ackreq || sroce_window_resending(win))
		return;
	if (sroce_window_lost(win, sroce_psn_add(win->nxt, -1), now_ns) !=
	    SROCE_RW_RESEND)
		return;
	qp->tx.tail_probe = true;
	sroce_txq_seek(qp);
}

/* Remember to ask for an ACK when the last packet did not. */
static void arm_tail(struct sroce_qp *qp, u64 now_ns)
{
	struct sroce_tx *tx = &qp->tx;

	if (!tx->since_ackreq || !sroce_window_has_unacked(&tx->window))
		tx->tail_ns = 0;
	else if (!tx->tail_ns)
		tx->tail_ns = now_ns + TAIL_PROBE_NS;
}

/* A page came; the answers that were dropped for want of it are asked for again. */
static void resume(struct sroce_qp *qp, u64 now_ns)
{
	struct sroce_window *win = &qp->tx.window;

	if (sroce_pagein_resume(&qp->tx.page) &&
	    sroce_window_lost(win, win->una, now_ns) == SROCE_RW_RESEND)
		sroce_txq_seek(qp);
}

/* The clock struck, or might have: retransmit, give up, or go on. */
static void check_clock(struct sroce_qp *qp, u64 now_ns)
{
	struct sroce_tx *tx = &qp->tx;
	enum sroce_rewind rw;

	if (tx->hold_ns && now_ns >= tx->hold_ns)
		tx->hold_ns = 0;
	if (tx->tail_ns && now_ns >= tx->tail_ns)
		probe_tail(qp, now_ns);
	if (sroce_window_rnr_expired(&tx->window, now_ns) == SROCE_RW_RESEND)
		sroce_txq_seek(qp);
	if (now_ns < tx->window.deadline_ns)
		return;
	rw = sroce_window_timeout(&tx->window, now_ns);
	if (rw == SROCE_RW_NONE)
		return;
	sroce_stat_inc(qp, ACK_TIMEOUT);
	sroce_cc_loss(qp, now_ns);
	if (rw == SROCE_RW_RESEND)
		sroce_cc_timeout(qp);
	sroce_txq_rewound(qp, rw);
}

/**
 * sroce_req_run() - send what the send queue has and the window admits
 * @qp: the QP, tx.lock held
 *
 * Context: Bottom halves off.
 * Return: true when the budget ended before the work did.
 */
bool sroce_req_run(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	enum step step = STEP_ON;
	struct run run;

	lockdep_assert_held(&tx->lock);
	tx->waiting = false;
	if (!sroce_qpstate_can_transmit(tx->state))
		return false;
	run.now_ns = ktime_get_ns();
	run.frames = 0;
	if (unlikely(tx->page.state))
		resume(qp, run.now_ns);
	check_clock(qp, run.now_ns);
	if (sroce_wq_fetch(&tx->sq, qp->type)) {
		sroce_sched_event(qp, SROCE_EV_QP_FATAL);
		sroce_sched_fatal_tx(qp);
		return false;
	}
	run.fresh = !sroce_window_resending(&tx->window);
	sroce_cc_pick_path(qp, run.now_ns);
	sroce_train_init(&run.train, &qp->path);
	run.train.lane = sroce_net_path_lane(&qp->path, SROCE_REQUESTS);
	/* asked first, so that no wait for the pacer outlives its time */
	if (!get_budget(qp, &run) || tx->hold_ns ||
	    sroce_pagein_busy(&tx->page) || sroce_sched_tx_blocked(qp))
		return false;
	while (step == STEP_ON)
		step = send_next(qp, &run);
	if (!flush(qp, &run))
		step = STEP_STOP;
	arm_tail(qp, run.now_ns);
	sroce_sgl_fini(&tx->sgl);
	tx->sgl.sge = NULL;
	return step == STEP_AGAIN;
}
