// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: from request packets to memory and completions.
 *
 * Owns the expected PSN and the message in progress.  A request is a list of
 * checks that each return a verdict; one table says what a verdict means.  What
 * has to be answered goes to answer.c.  Runs under rx.lock in softirq, called by
 * rx.c; the flush in process context.  Must not know the requester.
 */
#include "resp.h"

#include "answer.h"
#include "cc.h"
#include "engine.h"
#include "mr.h"
#include "mw.h"
#include "pagein.h"
#include "proto/access.h"
#include "proto/aeth.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/wire.h"
#include "sgl.h"
#include "trace.h"

/* --- completions and verdicts --------------------------------------------- */

static void complete_rwqe(struct sroce_qp *qp, const struct sroce_hdr *h, u8 status)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_wc wc = {
		.wr_id = rx->rwqe->wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.src_qp = qp->dqpn,
		.solicited = true,
		.qp = qp->ibqp,
	};

	rx->rwqe_held = false;
	if (status == IB_WC_SUCCESS) {
		wc.solicited = h->solicited;
		wc.byte_len = rx->rcvd;
		if (h->info->flags & SROCE_OPF_WRITE) {
			wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
			wc.byte_len = rx->wr_total;
		}
		if (h->info->flags & SROCE_OPF_IMM) {
			wc.imm = h->imm;
			wc.wc_flags |= IB_WC_WITH_IMM;
		}
		if (h->info->flags & SROCE_OPF_INV) {
			wc.inv_rkey = h->inv_rkey;
			wc.wc_flags |= IB_WC_WITH_INVALIDATE;
		}
		sroce_stat_inc(qp, RDMA_RECVS);
	} else if (status == IB_WC_WR_FLUSH_ERR) {
		sroce_stat_inc(qp, RESP_CQE_FLUSH);
	} else {
		sroce_stat_inc(qp, RESP_CQE_ERR);
	}
	sroce_sched_complete_rx(qp, &wc);
}

/* Statuses of the fault table, by the core's numbers. */
static const u8 wc_status[SROCE_WC_N] = {
	[SROCE_WC_SUCCESS] = IB_WC_SUCCESS,
	[SROCE_WC_LOC_LEN_ERR] = IB_WC_LOC_LEN_ERR,
	[SROCE_WC_LOC_QP_OP_ERR] = IB_WC_LOC_QP_OP_ERR,
	[SROCE_WC_LOC_PROT_ERR] = IB_WC_LOC_PROT_ERR,
	[SROCE_WC_WR_FLUSH_ERR] = IB_WC_WR_FLUSH_ERR,
	[SROCE_WC_MW_BIND_ERR] = IB_WC_MW_BIND_ERR,
	[SROCE_WC_BAD_RESP_ERR] = IB_WC_BAD_RESP_ERR,
	[SROCE_WC_LOC_ACCESS_ERR] = IB_WC_LOC_ACCESS_ERR,
	[SROCE_WC_REM_INV_REQ_ERR] = IB_WC_REM_INV_REQ_ERR,
	[SROCE_WC_REM_ACCESS_ERR] = IB_WC_REM_ACCESS_ERR,
	[SROCE_WC_REM_OP_ERR] = IB_WC_REM_OP_ERR,
	[SROCE_WC_RETRY_EXC_ERR] = IB_WC_RETRY_EXC_ERR,
	[SROCE_WC_RNR_RETRY_EXC_ERR] = IB_WC_RNR_RETRY_EXC_ERR,
	[SROCE_WC_FATAL_ERR] = IB_WC_FATAL_ERR,
	[SROCE_WC_GENERAL_ERR] = IB_WC_GENERAL_ERR,
};

static void raise(struct sroce_qp *qp, u8 event)
{
	if (event == SROCE_EVENT_QP_REQ_ERR)
		sroce_sched_event(qp, SROCE_EV_REQ_ERR);
	else if (event == SROCE_EVENT_QP_ACCESS_ERR)
		sroce_sched_event(qp, SROCE_EV_ACCESS_ERR);
	else if (event == SROCE_EVENT_QP_FATAL)
		sroce_sched_event(qp, SROCE_EV_QP_FATAL);
}

static void count_verdict(struct sroce_qp *qp, enum sroce_verdict v)
{
	if (v == SROCE_V_SEQ_ERR)
		sroce_drop(qp, OUT_OF_SEQ);
	else if (v == SROCE_V_RNR)
		sroce_drop(qp, OUT_OF_BUFFER);
	else if (v == SROCE_V_INV_REQ_LEN)
		sroce_stat_inc(qp, RESP_LOC_LEN);
	else if (v == SROCE_V_ACCESS || v == SROCE_V_ACCESS_TAKEN)
		sroce_stat_inc(qp, RESP_REM_ACCESS);
}

/* Let go of all memory, at the end of a section and before an invalidation. */
static void release_memory(struct sroce_rx *rx)
{
	rx->wr_mr = NULL;
	sroce_mr_release(&rx->hold);
	sroce_sgl_fini(&rx->sgl);
}

/*
 * UC: the message in progress is lost; its receive WQE serves the next one.  The
 * rest of it finds no beginning to follow (IBA 9.8.2.2.2).
 */
static void lose_message(struct sroce_rx *rx, u32 psn)
{
	rx->epsn = psn;
	rx->prev_opcode = SROCE_OPCODE_NONE;
	rx->wr_mr = NULL;
}

/* Do what the fault table says about @v. */
static void reject(struct sroce_qp *qp, const struct sroce_hdr *h,
		   enum sroce_verdict v)
{
	const struct sroce_fault *fault = sroce_fault(v, qp->type);
	struct sroce_rx *rx = &qp->rx;

	count_verdict(qp, v);
	if (fault->syndrome == SROCE_AETH_RNR)
		sroce_answer_nak(rx, SROCE_AETH_RNR | qp->rnr_timer, rx->epsn);
	else if (fault->syndrome != SROCE_AETH_NONE)
		sroce_answer_nak(rx, fault->syndrome, rx->epsn);
	if (fault->wc != SROCE_WC_SUCCESS && rx->rwqe_held)
		complete_rwqe(qp, h, wc_status[fault->wc]);
	else
		raise(qp, fault->event);
	if (fault->action == SROCE_ACTION_FATAL) {
		rx->fatal_after_nak = true;
		sroce_trace_verdict(qp->dev, qp->qpn, v);
	}
	if (qp->type == SROCE_QPT_UC)
		lose_message(rx, sroce_psn_add(h->psn, 1));
}

/* --- checks ---------------------------------------------------------------- */

/*
 * A duplicate is answered and never executed (IBA 9.7.5.1.3): what it wrote may
 * have been overwritten since, an atomic must not happen twice.
 */
static void duplicate(struct sroce_qp *qp, const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;

	sroce_stat_inc(qp, DUP_REQUEST);
	if (!(h->info->flags & SROCE_OPF_ANSWERED)) {
		rx->ack_due = true;
		return;
	}
	if (sroce_answer_full(rx) || sroce_answer_pending(rx, h->psn))
		return;
	if (h->info->flags & SROCE_OPF_READ)
		sroce_answer_replay_read(qp, h);
	else
		sroce_answer_replay(qp, h);
}

/* UC: a gap costs the message it is in, and nobody is told. */
static enum sroce_verdict check_uc_psn(struct sroce_qp *qp,
				       const struct sroce_hdr *h)
{
	if (h->psn == qp->rx.epsn)
		return SROCE_V_OK;
	sroce_drop(qp, OUT_OF_SEQ);
	lose_message(&qp->rx, h->psn);
	return SROCE_V_OK;
}

static enum sroce_verdict check_psn(struct sroce_qp *qp,
				    const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;
	s32 d = sroce_psn_diff(h->psn, rx->epsn);

	if (unlikely(qp->type == SROCE_QPT_UC))
		return check_uc_psn(qp, h);
	if (d < 0)
		return SROCE_V_DUP;
	if (d > 0) {
		/* one NAK a gap; the rest of the burst says nothing new */
		if (!rx->nak_sent)
			return SROCE_V_SEQ_ERR;
		sroce_drop(qp, OUT_OF_SEQ);
		return SROCE_V_DROP;
	}
	rx->nak_sent = false;
	rx->nak_due = false;
	return SROCE_V_OK;
}

/* May the peer do this at all, and does it come in order? */
static enum sroce_verdict check_opcode(const struct sroce_qp *qp,
				       const struct sroce_hdr *h)
{
	u32 need = sroce_access_needed(h->info->flags);
	u32 flags = h->info->flags;

	if (flags & SROCE_OPF_FLUSH)
		need = sroce_access_flush(h->flush_type);

	if (!sroce_opcode_follows(qp->rx.prev_opcode, h->opcode))
		return SROCE_V_INV_REQ;
	if ((qp->access & need) != need)
		return SROCE_V_INV_REQ;
	if ((flags & SROCE_OPF_ANSWERED) && !qp->rx.mem_n)
		return SROCE_V_INV_REQ;
	return SROCE_V_OK;
}

/* IBA 9.7.4.1.6: only the last packet of a message is short. */
static enum sroce_verdict check_length(const struct sroce_qp *qp,
				       const struct sroce_hdr *h)
{
	u32 flags = h->info->flags;

	if (!(flags & SROCE_OPF_PAYLOAD))
		return SROCE_V_OK;
	if (h->payload_bytes > qp->pmtu)
		return SROCE_V_INV_REQ;
	if (!(flags & SROCE_OPF_LAST) && h->payload_bytes != qp->pmtu)
		return SROCE_V_INV_REQ;
	if (!(flags & SROCE_OPF_FIRST) && !h->payload_bytes)
		return SROCE_V_INV_REQ;
	return SROCE_V_OK;
}

/* --- execution ------------------------------------------------------------- */

static enum sroce_verdict take_rwqe(struct sroce_qp *qp)
{
	struct sroce_rx *rx = &qp->rx;
	int got = 1;

	/* UC may have one left from a message it lost */
	if (likely(!rx->rwqe_held))
		got = sroce_srq_or_rq_take(rx->srq, &rx->rq, rx->rwqe);
	if (!got)
		return SROCE_V_RNR;
	rx->rwqe_held = true;
	rx->rcvd = 0;
	sroce_sgl_init(&rx->sgl, qp->dev, rx->who, rx->rwqe->sge,
		       rx->rwqe->num_sge, IB_ACCESS_LOCAL_WRITE);
	return got < 0 ? SROCE_V_RQ_PROT : SROCE_V_OK;
}

/*
 * A request meets a hole: it is as if it and all behind it had been lost, and
 * when the hole is filled the peer is told so. @v when it cannot be filled.
 */
static enum sroce_verdict await_page(struct sroce_rx *rx, bool coming,
				     enum sroce_verdict v)
{
	if (!coming)
		return v;
	rx->page_psn = rx->epsn;
	rx->nak_sent = true;
	return SROCE_V_DROP;
}

static enum sroce_verdict send_failed(struct sroce_rx *rx, int err)
{
	bool coming = err == -EAGAIN &&
		      sroce_pagein_start_sgl(&rx->page, &rx->sgl, true);

	/* the walk may be in the middle of this packet */
	sroce_sgl_seek(&rx->sgl, rx->rcvd);
	return await_page(rx, coming, SROCE_V_RQ_PROT);
}

/* SEND_WITH_INV: end the key before the receive WQE completes (IBA 9.4.1.1.3). */
static enum sroce_verdict invalidate(struct sroce_qp *qp,
				     const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;
	int err;

	/* who works on keys holds none, or two could wait for each other */
	release_memory(rx);
	err = sroce_mw_invalidate(qp->dev, &qp->who, h->inv_rkey);
	if (likely(!err))
		return SROCE_V_OK;
	if (err != -EAGAIN)
		return SROCE_V_ACCESS_TAKEN;
	/* somebody is in that memory: as if this packet had been lost */
	rx->rcvd -= h->payload_bytes;
	sroce_sgl_seek(&rx->sgl, rx->rcvd);
	return SROCE_V_DROP;
}

static enum sroce_verdict do_send(struct sroce_qp *qp,
				  const struct sroce_frame *f)
{
	const struct sroce_hdr *h = &f->h;
	struct sroce_rx *rx = &qp->rx;
	enum sroce_verdict v;
	int err;

	if (h->info->flags & SROCE_OPF_FIRST) {
		v = take_rwqe(qp);
		if (v != SROCE_V_OK)
			return v;
	}
	if (rx->rcvd + (u64)h->payload_bytes > rx->rwqe->length)
		return SROCE_V_INV_REQ_LEN;
	if (h->payload_bytes) {
		err = sroce_sgl_write(&rx->sgl, f->payload, h->payload_bytes);
		if (unlikely(err))
			return send_failed(rx, err);
	}
	rx->rcvd += h->payload_bytes;
	if (!(h->info->flags & SROCE_OPF_LAST))
		return SROCE_V_OK;
	if (h->info->flags & SROCE_OPF_INV) {
		v = invalidate(qp, h);
		if (v != SROCE_V_OK)
			return v;
	}
	complete_rwqe(qp, h, IB_WC_SUCCESS);
	return SROCE_V_OK;
}

static enum sroce_verdict begin_write(struct sroce_qp *qp,
				      const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;

	if (h->dmalen > SROCE_MAX_MSG_BYTES)
		return SROCE_V_INV_REQ;
	rx->wr_mr = NULL;
	rx->wr_va = h->va;
	rx->wr_rkey = h->rkey;
	rx->wr_left = h->dmalen;
	rx->wr_total = h->dmalen;
	sroce_stat_inc(qp, RX_WRITE);
	return SROCE_V_OK;
}

static enum sroce_verdict write_payload(struct sroce_qp *qp,
					const struct sroce_frame *f)
{
	struct sroce_rx *rx = &qp->rx;
	u32 n = f->h.payload_bytes;
	int err = -EFAULT;

	if (!rx->wr_left)	/* key and address of nothing are not looked at */
		return SROCE_V_OK;
	if (!rx->wr_mr)
		rx->wr_mr = sroce_mr_use_remote(&rx->hold, qp->dev, &qp->who,
						rx->wr_rkey,
						IB_ACCESS_REMOTE_WRITE,
						rx->wr_va, rx->wr_left);
	if (rx->wr_mr)
		err = sroce_mr_write(rx->wr_mr, rx->wr_va, f->payload, n);
	if (unlikely(err))
		return await_page(rx, err == -EAGAIN &&
				  sroce_pagein_start(&rx->page, rx->wr_rkey,
						     rx->wr_va, rx->wr_left,
						     true),
				  rx->rwqe_held ? SROCE_V_ACCESS_TAKEN :
						  SROCE_V_ACCESS);
	rx->wr_va += n;
	rx->wr_left -= n;
	return SROCE_V_OK;
}

static enum sroce_verdict do_write(struct sroce_qp *qp,
				   const struct sroce_frame *f)
{
	const struct sroce_hdr *h = &f->h;
	struct sroce_rx *rx = &qp->rx;
	enum sroce_verdict v;

	if (h->info->flags & SROCE_OPF_FIRST) {
		v = begin_write(qp, h);
		if (v != SROCE_V_OK)
			return v;
	}
	if (h->payload_bytes > rx->wr_left ||
	    ((h->info->flags & SROCE_OPF_LAST) &&
	     h->payload_bytes != rx->wr_left))
		return SROCE_V_INV_REQ;
	if (h->info->flags & SROCE_OPF_IMM) {
		v = take_rwqe(qp);
		if (v != SROCE_V_OK)
			return v;
	}
	v = write_payload(qp, f);
	if (v != SROCE_V_OK)
		return v;
	if (h->info->flags & SROCE_OPF_LAST)
		rx->wr_mr = NULL;
	if (h->info->flags & SROCE_OPF_IMM)
		complete_rwqe(qp, h, IB_WC_SUCCESS);
	return SROCE_V_OK;
}

static enum sroce_verdict do_read(struct sroce_qp *qp,
				  const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_rsp rsp = {
		.kind = SROCE_RSP_READ,
		.valid = true,
		.first_psn = rx->epsn,
		.va = h->va,
		.length = h->dmalen,
		.rkey = h->rkey,
	};

	if (h->dmalen > SROCE_MAX_MSG_BYTES)
		return SROCE_V_INV_REQ;
	if (sroce_answer_full(rx))
		return SROCE_V_DROP;
	if (h->dmalen &&
	    !sroce_mr_use_remote(&rx->hold, qp->dev, &qp->who, h->rkey,
				 IB_ACCESS_REMOTE_READ, h->va, h->dmalen))
		return SROCE_V_ACCESS;
	sroce_stat_inc(qp, RX_READ);
	rsp.npsn = sroce_answer_psns(qp, h->dmalen);
	rsp.msn = (rx->msn + 1) & SROCE_PSN_MASK;
	sroce_answer_remember(rx, &rsp);
	/* the caller adds one for the request itself */
	rx->epsn = sroce_psn_add(rx->epsn, rsp.npsn - 1);
	return SROCE_V_OK;
}

static enum sroce_verdict atomic_failed(struct sroce_rx *rx,
					const struct sroce_hdr *h, int err)
{
	if (err != -EAGAIN)
		return SROCE_V_INV_REQ;
	return await_page(rx, sroce_pagein_start(&rx->page, h->rkey, h->va,
						 sizeof(u64), true),
			  SROCE_V_ACCESS);
}

static enum sroce_verdict do_atomic(struct sroce_qp *qp,
				    const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;
	struct sroce_rsp rsp = {
		.kind = SROCE_RSP_ATOMIC,
		.valid = true,
		.first_psn = rx->epsn,
		.npsn = 1,
		.msn = (rx->msn + 1) & SROCE_PSN_MASK,
	};
	struct sroce_mr *mr;
	int err;

	if (h->va & (sizeof(u64) - 1))
		return SROCE_V_INV_REQ;
	if (sroce_answer_full(rx))
		return SROCE_V_DROP;
	mr = sroce_mr_use_remote(&rx->hold, qp->dev, &qp->who, h->rkey,
				 IB_ACCESS_REMOTE_ATOMIC, h->va, sizeof(u64));
	if (!mr)
		return SROCE_V_ACCESS;
	if (h->opcode == SROCE_OPCODE_RC_CAS)
		err = sroce_mr_cas(mr, h->va, h->compare, h->swap_add,
				   &rsp.orig);
	else
		err = sroce_mr_fadd(mr, h->va, h->swap_add, &rsp.orig);
	if (err)
		return atomic_failed(rx, h, err);
	sroce_stat_inc(qp, RX_ATOMIC);
	sroce_answer_remember(rx, &rsp);
	return SROCE_V_OK;
}

/* The answer to what changes memory and returns nothing (IBA A19). */
static void answer_done(struct sroce_rx *rx)
{
	const struct sroce_rsp rsp = {
		.kind = SROCE_RSP_DONE,
		.valid = true,
		.first_psn = rx->epsn,
		.npsn = 1,
		.msn = (rx->msn + 1) & SROCE_PSN_MASK,
	};

	sroce_answer_remember(rx, &rsp);
}

/* Eight bytes, aligned, seen all at once (IBA oA19-28). */
static enum sroce_verdict do_atomic_write(struct sroce_qp *qp,
					  const struct sroce_frame *f)
{
	const struct sroce_hdr *h = &f->h;
	struct sroce_mr *mr;
	u64 value;
	int err;

	if (h->payload_bytes != sizeof(value) || h->dmalen != sizeof(value) ||
	    (h->va & (sizeof(value) - 1)))
		return SROCE_V_INV_REQ;
	if (sroce_answer_full(&qp->rx))
		return SROCE_V_DROP;
	mr = sroce_mr_use_remote(&qp->rx.hold, qp->dev, &qp->who, h->rkey,
				 IB_ACCESS_REMOTE_WRITE, h->va, sizeof(value));
	if (!mr)
		return SROCE_V_ACCESS;
	memcpy(&value, f->payload, sizeof(value));
	err = sroce_mr_store(mr, h->va, value);
	if (err)
		return atomic_failed(&qp->rx, h, err);
	sroce_stat_inc(qp, RX_WRITE);
	answer_done(&qp->rx);
	return SROCE_V_OK;
}

/*
 * Everything this QP wrote before was copied by the CPU under the same lock, so
 * for global visibility nothing is left to do but to order it.
 */
static enum sroce_verdict do_flush(struct sroce_qp *qp,
				   const struct sroce_hdr *h)
{
	u64 bytes = h->flush_sel == SROCE_FLUSH_SEL_RANGE ? h->dmalen : 0;

	if (h->flush_sel > SROCE_FLUSH_SEL_MR || !h->flush_type ||
	    h->flush_type & ~(SROCE_FLUSH_GLOBAL | SROCE_FLUSH_PERSISTENT))
		return SROCE_V_INV_REQ;
	if (sroce_answer_full(&qp->rx))
		return SROCE_V_DROP;
	if (!sroce_mr_use_remote(&qp->rx.hold, qp->dev, &qp->who, h->rkey,
				 sroce_access_flush(h->flush_type), h->va,
				 bytes))
		return SROCE_V_ACCESS;
	/* what was written before is visible before the answer leaves */
	wmb();
	answer_done(&qp->rx);
	return SROCE_V_OK;
}

static enum sroce_verdict execute(struct sroce_qp *qp,
				  const struct sroce_frame *f)
{
	u32 flags = f->h.info->flags;

	if (flags & SROCE_OPF_SEND)
		return do_send(qp, f);
	if (flags & SROCE_OPF_WRITE)
		return do_write(qp, f);
	if (flags & SROCE_OPF_READ)
		return do_read(qp, &f->h);
	if (flags & SROCE_OPF_ATOMIC)
		return do_atomic(qp, &f->h);
	if (flags & SROCE_OPF_ATOMIC_WRITE)
		return do_atomic_write(qp, f);
	return do_flush(qp, &f->h);
}

static void executed(struct sroce_qp *qp, const struct sroce_hdr *h)
{
	struct sroce_rx *rx = &qp->rx;

	rx->epsn = sroce_psn_add(rx->epsn, 1);
	rx->prev_opcode = h->opcode;
	if (h->info->flags & SROCE_OPF_LAST)
		rx->msn = (rx->msn + 1) & SROCE_PSN_MASK;
	/* what has an answer is acknowledged by it */
	if (h->ackreq && h->info->type == SROCE_QPT_RC &&
	    !(h->info->flags & SROCE_OPF_ANSWERED))
		rx->ack_due = true;
}

/* Does the answer to this go to where the last one went? */
static void look_at_port(struct sroce_qp *qp, const struct sroce_frame *f)
{
	u16 sport = sroce_net_sport(f->l3, f->kind);

	if (unlikely(sport != qp->rx.cc.peer_sport))
		sroce_cc_follow(qp, sport);
}

/**
 * sroce_resp_consume() - act on one request packet
 * @qp: the QP, rx.lock held
 * @f: the packet, checked as far as it can be without the QP's state
 *
 * Context: Softirq.
 */
void sroce_resp_consume(struct sroce_qp *qp, const struct sroce_frame *f)
{
	struct sroce_rx *rx = &qp->rx;
	enum sroce_verdict v;

	lockdep_assert_held(&rx->lock);
	if (!sroce_qpstate_can_requests(rx->state) || rx->fatal_after_nak) {
		sroce_drop(qp, DROP_STATE);
		return;
	}
	if (rx->state == SROCE_QPS_RTR && !rx->comm_est) {
		rx->comm_est = true;
		sroce_sched_event(qp, SROCE_EV_COMM_EST);
	}
	if (f->h.ackreq)
		look_at_port(qp, f);
	v = check_psn(qp, &f->h);
	if (v == SROCE_V_OK)
		v = check_opcode(qp, &f->h);
	if (v == SROCE_V_OK)
		v = check_length(qp, &f->h);
	if (v == SROCE_V_OK)
		v = execute(qp, f);
	if (likely(v == SROCE_V_OK))
		executed(qp, &f->h);
	else if (v == SROCE_V_DUP)
		duplicate(qp, &f->h);
	else if (v != SROCE_V_DROP)
		reject(qp, &f->h, v);
	if (unlikely(!READ_ONCE(qp->dev->knobs.coalesce_acks)) &&
	    (rx->ack_due || rx->nak_due))
		sroce_answer_run(qp);
}

/**
 * sroce_resp_pause() - end of a train: let go of memory, answer what is due
 * @qp: the QP, rx.lock held
 *
 * Context: Softirq.
 */
void sroce_resp_pause(struct sroce_qp *qp)
{
	struct sroce_rx *rx = &qp->rx;

	release_memory(rx);
	if (rx->ack_due || rx->nak_due || rx->fifo_head != rx->fifo_tail ||
	    rx->fatal_after_nak)
		set_bit(SROCE_EV_RX, &qp->events);
}

/**
 * sroce_resp_flush() - complete receive WQEs as flushed (QP in error)
 * @qp: the QP, rx.lock held, rx.state ERR
 * @budget: most WQEs to complete
 *
 * Context: Bottom halves off.
 * Return: number of WQEs completed; less than @budget when none is left.
 */
u32 sroce_resp_flush(struct sroce_qp *qp, u32 budget)
{
	struct sroce_rx *rx = &qp->rx;
	u32 n = 0;

	lockdep_assert_held(&rx->lock);
	if (rx->rwqe_held) {
		complete_rwqe(qp, NULL, IB_WC_WR_FLUSH_ERR);
		n++;
	}
	/* the WQEs of an SRQ are for the QPs that still work */
	while (!rx->srq && n < budget && sroce_wq_take(&rx->rq, rx->rwqe)) {
		complete_rwqe(qp, NULL, IB_WC_WR_FLUSH_ERR);
		n++;
	}
	rx->fifo_tail = rx->fifo_head;
	return n;
}
