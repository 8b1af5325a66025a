// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue seen through the window: WQEs by PSN.
 *
 * Owns the way from a PSN to the WQE that has it, and what a rewind or a failure
 * means for the queue's indices.  Runs under tx.lock, called by the requester
 * and the completer.  Must not know packets.
 */
#include "txq.h"

#include "engine.h"
#include "proto/psn.h"

/**
 * sroce_txq_find() - find the WQE a PSN belongs to
 * @qp: the QP, tx.lock held
 * @psn: 24-bit PSN
 * @idx: set to the free-running index of the WQE
 *
 * Context: Bottom halves off.
 * Return: the WQE, or NULL when no started WQE has that PSN.
 */
struct sroce_swqe *sroce_txq_find(struct sroce_qp *qp, u32 psn, u32 *idx)
{
	struct sroce_sq *sq = &qp->tx.sq;
	struct sroce_swqe *w;
	u32 i;

	for (i = sq->tail; i != sq->prod; i++) {
		w = sroce_sq_wqe(sq, i);
		if (!(w->flags & SROCE_SWQE_STARTED))
			break;
		if (sroce_psn_diff(psn, w->first_psn) < 0)
			break;
		if (sroce_psn_diff(psn, sroce_psn_add(w->first_psn,
						      w->npsn)) < 0) {
			*idx = i;
			return w;
		}
	}
	return NULL;
}

/**
 * sroce_txq_seek() - point the queue at the WQE the window sends from
 * @qp: the QP, tx.lock held; the window was rewound or jumped ahead
 *
 * Context: Bottom halves off.
 */
void sroce_txq_seek(struct sroce_qp *qp)
{
	struct sroce_sq *sq = &qp->tx.sq;
	u32 i;

	/* whichever copy of a packet its ACK is for, nobody knows (Karn) */
	qp->tx.rtt_ns = 0;
	if (!sroce_txq_find(qp, qp->tx.window.nxt, &i)) {
		/* nothing to send again: the first WQE not begun */
		for (i = sq->tail; i != sq->prod; i++) {
			if (!(sroce_sq_wqe(sq, i)->flags & SROCE_SWQE_STARTED))
				break;
		}
	}
	sq->next = i;
	qp->tx.since_ackreq = 0;
}

/**
 * sroce_txq_fail() - a WQE failed; it ends when all before it are done
 * @qp: the QP, tx.lock held
 * @idx: free-running index of the WQE
 * @status: enum ib_wc_status
 *
 * The earliest failure wins.  Nothing is sent from that WQE on.
 *
 * Context: Bottom halves off.
 */
void sroce_txq_fail(struct sroce_qp *qp, u32 idx, u8 status)
{
	struct sroce_tx *tx = &qp->tx;

	if (tx->fault && (s32)(idx - tx->fault_idx) >= 0)
		return;
	tx->fault = true;
	tx->fault_idx = idx;
	sroce_sq_wqe(&tx->sq, idx)->status = status;
}

/**
 * sroce_txq_fail_oldest() - the oldest WQE not acknowledged failed
 * @qp: the QP, tx.lock held
 * @status: enum ib_wc_status
 *
 * Context: Bottom halves off.
 */
void sroce_txq_fail_oldest(struct sroce_qp *qp, u8 status)
{
	u32 idx;

	if (sroce_txq_find(qp, qp->tx.window.una, &idx))
		sroce_txq_fail(qp, idx, status);
}

/**
 * sroce_txq_rewound() - what the window said of a loss
 * @qp: the QP, tx.lock held
 * @rw: that
 *
 * Context: Bottom halves off.
 */
void sroce_txq_rewound(struct sroce_qp *qp, enum sroce_rewind rw)
{
	if (rw == SROCE_RW_RESEND) {
		sroce_txq_seek(qp);
	} else if (rw == SROCE_RW_EXHAUSTED) {
		sroce_stat_inc(qp, RETRY_EXC);
		sroce_txq_fail_oldest(qp, IB_WC_RETRY_EXC_ERR);
	}
}
