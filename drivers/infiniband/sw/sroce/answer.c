// SPDX-License-Identifier: GPL-2.0
/*
 * Answers: what a responder sends, in request order.
 *
 * Owns the memory of READs and atomics that duplicates are answered from, the
 * queue of answers, and the ACK or NAK behind them: while a READ streams, what
 * comes later waits.  Runs under rx.lock with bottom halves off, called by the
 * responder and through sched.c.  Must not know how requests are checked.
 */
#include "answer.h"

#include "cc.h"
#include "engine.h"
#include "frame.h"
#include "mr.h"
#include "pagein.h"
#include "proto/access.h"
#include "proto/aeth.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/wire.h"
#include "trace.h"
#include "train.h"

/**
 * sroce_answer_psns() - PSNs the answer to a READ takes
 * @qp: the QP
 * @bytes: length of the READ
 *
 * Context: Any.
 * Return: number of PSNs, at least 1.
 */
u32 sroce_answer_psns(const struct sroce_qp *qp, u32 bytes)
{
	return bytes ? ((bytes - 1) >> qp->pmtu_shift) + 1 : 1;
}

/**
 * sroce_answer_full() - is there no room for another answer
 * @rx: the responder, rx.lock held
 *
 * Context: Bottom halves off.
 * Return: true when the queue is full.
 */
bool sroce_answer_full(const struct sroce_rx *rx)
{
	return rx->fifo_head - rx->fifo_tail >= rx->fifo_n;
}

static void fifo_add(struct sroce_rx *rx, const struct sroce_rsp *rsp)
{
	rx->fifo[rx->fifo_head++ & (rx->fifo_n - 1)] = *rsp;
}

/**
 * sroce_answer_remember() - queue the answer and keep it for duplicates
 * @rx: the responder, rx.lock held; the queue is not full
 * @rsp: the answer
 *
 * Context: Bottom halves off.
 */
void sroce_answer_remember(struct sroce_rx *rx, const struct sroce_rsp *rsp)
{
	rx->mem[rx->mem_head] = *rsp;
	rx->mem_head = (rx->mem_head + 1) % rx->mem_n;
	fifo_add(rx, rsp);
}

static const struct sroce_rsp *recall(const struct sroce_rx *rx, u32 psn)
{
	const struct sroce_rsp *r;
	u32 i;

	for (i = 0; i < rx->mem_n; i++) {
		r = &rx->mem[i];
		if (r->valid && sroce_psn_dist(r->first_psn, psn) < r->npsn)
			return r;
	}
	return NULL;
}

/**
 * sroce_answer_pending() - is an answer in the queue with nothing of it sent yet
 * @rx: the responder, rx.lock held
 * @psn: PSN of the request
 *
 * Context: Bottom halves off.
 * Return: true when a duplicate of the request needs nothing more.
 */
bool sroce_answer_pending(const struct sroce_rx *rx, u32 psn)
{
	const struct sroce_rsp *r;
	u32 i;

	for (i = rx->fifo_tail; i != rx->fifo_head; i++) {
		r = &rx->fifo[i & (rx->fifo_n - 1)];
		if (r->first_psn == psn && !r->next)
			return true;
	}
	return false;
}

/**
 * sroce_answer_replay_read() - a READ seen before asks for all or the rest of it
 * @qp: the QP, rx.lock held; the queue is not full
 * @h: headers of the duplicate
 *
 * What goes beyond the READ that is remembered is not answered.
 *
 * Context: Bottom halves off.
 */
void sroce_answer_replay_read(struct sroce_qp *qp, const struct sroce_hdr *h)
{
	const struct sroce_rsp *r = recall(&qp->rx, h->psn);
	struct sroce_rsp again;
	u32 npsn, skip;

	if (!r || r->kind != SROCE_RSP_READ || r->rkey != h->rkey)
		return;
	skip = sroce_psn_dist(r->first_psn, h->psn);
	npsn = sroce_answer_psns(qp, h->dmalen);
	if (skip + npsn > r->npsn ||
	    !sroce_access_range_ok(r->va, r->length, h->va, h->dmalen))
		return;
	again = *r;
	again.first_psn = h->psn;
	again.npsn = npsn;
	again.next = 0;
	again.va = h->va;
	again.length = h->dmalen;
	fifo_add(&qp->rx, &again);
}

/**
 * sroce_answer_replay() - repeat the answer to what must not happen twice
 * @qp: the QP, rx.lock held; the queue is not full
 * @h: headers of the duplicate
 *
 * Context: Bottom halves off.
 */
void sroce_answer_replay(struct sroce_qp *qp, const struct sroce_hdr *h)
{
	const struct sroce_rsp *r = recall(&qp->rx, h->psn);

	if (r && r->kind != SROCE_RSP_READ)
		fifo_add(&qp->rx, r);
}

/**
 * sroce_answer_nak() - a NAK goes out behind all answers
 * @rx: the responder, rx.lock held
 * @syndrome: AETH syndrome
 * @psn: PSN of the request it is about
 *
 * Context: Bottom halves off.
 */
void sroce_answer_nak(struct sroce_rx *rx, u8 syndrome, u32 psn)
{
	rx->nak_due = true;
	rx->nak_sent = true;
	rx->nak_syndrome = syndrome;
	rx->nak_psn = psn;
}

/**
 * struct run - one burst of responses
 * @train: what is being filled
 * @now_ns: time of the burst
 * @frames: frames sent so far
 * @data: the train has READ data in it
 * @hold: region read from last; the responder has its own in the middle of a
 *	train, which is where a burst runs when ACKs are not coalesced
 */
struct run {
	struct sroce_train train;
	u64 now_ns;
	u32 frames;
	bool data;
	struct sroce_mr_hold hold;
};

/* Send the train; READ data counts against the rate, the rest is too little. */
static void flush(struct sroce_qp *qp, struct run *run)
{
	if (run->data)
		sroce_cc_sent(qp, &qp->rx.cc,
			      sroce_train_wire_bytes(&run->train), run->now_ns);
	run->data = false;
	/* what the stack drops the peer asks for again */
	sroce_train_send(&run->train);
}

/* How long may the next train be?  False: the pacer says when there is one. */
static bool get_budget(struct sroce_qp *qp, struct run *run)
{
	run->train.max_bytes = sroce_cc_budget(&qp->rx.cc, run->now_ns);
	return run->train.max_bytes;
}

static int add_response(struct sroce_qp *qp, struct run *run,
			struct sroce_hdr *h, const struct sroce_src *src,
			u32 payload)
{
	u32 hdr_bytes = sroce_opcode_info(h->opcode)->hdr_bytes;

	if (sroce_train_full(&run->train,
			     sroce_frame_bytes(hdr_bytes, payload)))
		flush(qp, run);
	h->dqpn = qp->dqpn;
	h->pkey = qp->pkey;
	h->mig = true;
	run->frames++;
	return sroce_frame_add(&run->train, h, hdr_bytes, src, payload);
}

static u8 read_opcode(u32 idx, u32 npsn)
{
	if (npsn == 1)
		return SROCE_OPCODE_RC_READ_RESP_ONLY;
	if (!idx)
		return SROCE_OPCODE_RC_READ_RESP_FIRST;
	if (idx + 1 == npsn)
		return SROCE_OPCODE_RC_READ_RESP_LAST;
	return SROCE_OPCODE_RC_READ_RESP_MIDDLE;
}

/* Stop answering: the memory is gone. */
static void abandon(struct sroce_qp *qp, u32 psn)
{
	struct sroce_rx *rx = &qp->rx;

	rx->fifo_tail = rx->fifo_head;
	sroce_answer_nak(rx, SROCE_AETH_NAK_OP, psn);
	rx->fatal_after_nak = true;
	sroce_sched_event(qp, SROCE_EV_ACCESS_ERR);
}

/* The READ's answer goes on when the page is there. */
static void await_page(struct sroce_qp *qp, const struct sroce_rsp *r, u32 at)
{
	if (!sroce_pagein_start(&qp->rx.page, r->rkey, r->va + at,
				r->length - at, false))
		abandon(qp, sroce_psn_add(r->first_psn, r->next));
}

/* A page came: ask for what was dropped for want of it, if it did not come. */
static void resume(struct sroce_qp *qp)
{
	struct sroce_rx *rx = &qp->rx;

	if (sroce_pagein_resume(&rx->page) && rx->page_psn == rx->epsn &&
	    qp->type == SROCE_QPT_RC)
		sroce_answer_nak(rx, SROCE_AETH_NAK_SEQ, rx->epsn);
}

/* Send packets of a READ's answer; true when all of it is sent. */
static bool stream_read(struct sroce_qp *qp, struct run *run,
			struct sroce_rsp *r)
{
	u32 at = r->next << qp->pmtu_shift;
	struct sroce_src src = {};
	u32 n, bytes;
	int err;

	if (r->length) {
		src.mr = sroce_mr_use_remote(&run->hold, qp->dev, &qp->who,
					     r->rkey,
					     IB_ACCESS_REMOTE_READ, r->va + at,
					     r->length - at);
		if (!src.mr) {
			abandon(qp, sroce_psn_add(r->first_psn, r->next));
			return false;
		}
	}
	for (; r->next < r->npsn && run->frames < SROCE_RUN_FRAMES; r->next++) {
		struct sroce_hdr h = {
			.opcode = read_opcode(r->next, r->npsn),
			.psn = sroce_psn_add(r->first_psn, r->next),
			.syndrome = SROCE_AETH_ACK_NO_CREDITS,
			.msn = r->msn,
		};

		n = min(qp->pmtu, r->length - at);
		src.va = r->va + at;
		bytes = sroce_frame_bytes(sroce_opcode_info(h.opcode)->hdr_bytes,
					  n);
		/* first and last have an AETH more than those between them */
		run->train.run = r->next ? r->npsn - 1 - r->next : 0;
		if (sroce_train_full(&run->train, bytes) ||
		    sroce_train_splits(&run->train, bytes)) {
			flush(qp, run);
			if (sroce_sched_rx_blocked(qp) || !get_budget(qp, run))
				break;
		}
		err = add_response(qp, run, &h, &src, n);
		if (unlikely(err == -EAGAIN)) {
			await_page(qp, r, at);
			break;
		}
		/* a frame that cannot be built is a lost one */
		if (err)
			sroce_drop(qp, SEND_ERR);
		run->data = true;
		at += n;
	}
	return r->next == r->npsn;
}

/* The answer of one packet: to an atomic, or to what returns nothing. */
static bool send_single(struct sroce_qp *qp, struct run *run,
			const struct sroce_rsp *r)
{
	struct sroce_hdr h = {
		.opcode = r->kind == SROCE_RSP_ATOMIC ?
			  SROCE_OPCODE_RC_ATOMIC_ACK :
			  SROCE_OPCODE_RC_READ_RESP_ONLY,
		.psn = r->first_psn,
		.syndrome = SROCE_AETH_ACK_NO_CREDITS,
		.msn = r->msn,
		.atomic_orig = r->orig,
	};
	struct sroce_src src = {};

	if (add_response(qp, run, &h, &src, 0))
		sroce_drop(qp, SEND_ERR);
	return true;
}

/*
 * The first ACKs of a connection go out twice in one train.  A peer that gets it
 * whole knows that trains pass, and packs its small frames; for any other it is
 * an ACK seen twice.
 */
static bool shows_train(struct sroce_qp *qp, const struct run *run)
{
	struct sroce_rx *rx = &qp->rx;

	if (likely(!rx->shows) || run->train.frames || rx->nak_sent ||
	    qp->path.av.l3 == SROCE_L3_GRH ||
	    !READ_ONCE(qp->dev->knobs.packs) ||
	    !READ_ONCE(qp->dev->knobs.trains))
		return false;
	rx->shows--;
	return true;
}

/* The ACK or NAK behind all answers. */
static void send_aeth(struct sroce_qp *qp, struct run *run)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_hdr h = {
		.opcode = SROCE_OPCODE_RC_ACK,
		.psn = sroce_psn_add(rx->epsn, -1),
		.syndrome = SROCE_AETH_ACK_NO_CREDITS,
		.msn = rx->msn,
	};
	struct sroce_src src = {};

	if (rx->nak_due) {
		h.psn = rx->nak_psn;
		h.syndrome = rx->nak_syndrome;
		if ((h.syndrome & SROCE_AETH_KIND_MASK) == SROCE_AETH_RNR)
			sroce_stat_inc(qp, SENT_RNR);
	}
	rx->ack_due = false;
	rx->nak_due = false;
	run->train.no_pack = shows_train(qp, run);
	if (add_response(qp, run, &h, &src, 0) ||
	    (run->train.no_pack && add_response(qp, run, &h, &src, 0)))
		sroce_drop(qp, SEND_ERR);
}

/**
 * sroce_answer_run() - send the responses that are due, in request order
 * @qp: the QP, rx.lock held
 *
 * Context: Bottom halves off.
 * Return: true when the budget ended before the work did.
 */
bool sroce_answer_run(struct sroce_qp *qp)
{
	struct sroce_rx *rx = &qp->rx;
	struct run run = { .now_ns = ktime_get_ns() };
	struct sroce_rsp *r;
	bool done = true;

	lockdep_assert_held(&rx->lock);
	sroce_train_init(&run.train, &qp->path);
	run.train.lane = sroce_net_path_lane(&qp->path, SROCE_ANSWERS);
	if (!get_budget(qp, &run))
		done = false;
	if (!sroce_qpstate_can_requests(rx->state))
		return false;
	if (unlikely(rx->page.state))
		resume(qp);
	if (rx->fifo_tail != rx->fifo_head && sroce_sched_rx_blocked(qp))
		return false;
	while (done && rx->fifo_tail != rx->fifo_head) {
		r = &rx->fifo[rx->fifo_tail & (rx->fifo_n - 1)];
		if (r->kind == SROCE_RSP_READ)
			done = stream_read(qp, &run, r);
		else
			done = send_single(qp, &run, r);
		if (done)
			rx->fifo_tail++;
	}
	if (rx->fifo_tail == rx->fifo_head && (rx->ack_due || rx->nak_due))
		send_aeth(qp, &run);
	flush(qp, &run);
	sroce_mr_release(&run.hold);
	if (rx->fatal_after_nak && rx->fifo_tail == rx->fifo_head)
		sroce_sched_fatal_rx(qp);
	return run.frames >= SROCE_RUN_FRAMES;
}
