// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell: do requests leave at once, or wait for more of them?
 *
 * Owns that decision.  Runs in whatever context posts, polls or arms.  Called by
 * qp.c and verbs.c.  Must not know packets.
 *
 * A program that posts small requests one by one while it has completions to look
 * at is after throughput.  Its requests wait for company, for doorbell_us at the
 * most.  A kernel user's do so only as long as those completions lie there: when
 * it has taken the last of them, or goes to sleep, it may be waiting for just
 * these requests.
 */
#include "doorbell.h"

#include "compat.h"
#include "engine.h"

#include <linux/ktime.h>
#include <linux/rcupdate.h>

/* So many small requests are worth a burst of their own. */
#define BATCH_WQES	16
#define BATCH_BYTES	1024

/* More requests are to be expected soon: in this part of the time they may wait. */
#define SOON	4

/*
 * A few small requests, the last of which may wait?  This looks at the shared ring
 * and at indices that change meanwhile: the answer decides when something is sent,
 * never what.
 */
static bool is_small_user(const struct sroce_sq *sq)
{
	const struct rxe_send_wqe *slot;
	u32 pending, have;

	pending = sroce_ring_pending(&sq->ring);
	have = READ_ONCE(sq->prod) - READ_ONCE(sq->tail);
	if (pending - have > BATCH_WQES)
		return false;
	slot = sroce_ring_slot(&sq->ring,
			       READ_ONCE(sq->ring.index) + pending - 1);
	return READ_ONCE(slot->dma.length) <= BATCH_BYTES;
}

/* The same for kernel users; what asks for an answer does not wait. */
static bool is_small_kernel(const struct sroce_qp *qp)
{
	const struct sroce_sq *sq = &qp->tx.sq;
	u32 prod = READ_ONCE(sq->prod);
	const struct sroce_swqe *w;

	if (prod - READ_ONCE(sq->next) > BATCH_WQES)
		return false;
	w = sroce_sq_wqe(sq, prod - 1);
	return READ_ONCE(w->op) < SROCE_OP_READ &&
	       READ_ONCE(w->length) <= BATCH_BYTES;
}

/* Did the last holds bring no company?  It is not tried again for some doorbells. */
static bool is_alone(struct sroce_tx *tx)
{
	u8 alone = READ_ONCE(tx->alone);

	if (likely(!alone))
		return false;
	WRITE_ONCE(tx->alone, alone - 1);
	return true;
}

/*
 * Would waiting for more requests cost the program nothing, and bring some?  It
 * has completions to look at, the requests are small, so that walking the stack
 * is most of what they cost, and the doorbell was rung just before, too.  Returns
 * the time, or 0: it would not.
 */
static u64 pays_to_wait(struct sroce_qp *qp, u32 wait_ns)
{
	struct sroce_tx *tx = &qp->tx;
	u64 now_ns;

	if (tx->sq.user ? !is_small_user(&tx->sq) : !is_small_kernel(qp))
		return 0;
	if (!sroce_cq_waiting(qp->scq) || is_alone(tx))
		return 0;
	if (!tx->sq.user &&
	    (qp->type != SROCE_QPT_RC ||
	     READ_ONCE(tx->state) != SROCE_QPS_RTS ||
	     in_hardirq() || irqs_disabled()))
		return 0;
	now_ns = ktime_get_ns();
	return now_ns - READ_ONCE(tx->rang_ns) < wait_ns / SOON ? now_ns : 0;
}

/* Is it worth knowing when the doorbell was rung?  What waits by then decides. */
static bool may_hold_next(const struct sroce_qp *qp)
{
	return qp->tx.sq.user ||
	       (READ_ONCE(qp->tx.alone) <= 1 && sroce_cq_waiting(qp->scq));
}

/**
 * sroce_doorbell_ring() - requests were posted
 * @qp: the QP
 *
 * They go out here and now, unless waiting for more pays.  A program in a hurry
 * polls first, and never waits.
 *
 * Context: Any.
 */
void sroce_doorbell_ring(struct sroce_qp *qp)
{
	u32 wait_ns = READ_ONCE(qp->dev->knobs.doorbell_us) * NSEC_PER_USEC;
	u64 now_ns = wait_ns ? pays_to_wait(qp, wait_ns) : 0;

	if (!now_ns || !sroce_sched_hold(qp, now_ns + wait_ns))
		sroce_sched_kick_tx(qp);
	/* behind it: sending, and setting the clock, takes time that is not the user's */
	if (wait_ns && may_hold_next(qp))
		WRITE_ONCE(qp->tx.rang_ns, ktime_get_ns());
}

/**
 * sroce_doorbell_polled() - a kernel user polled or armed a CQ
 * @cq: the CQ
 *
 * What waits goes when no completion is left, or when the user goes to sleep.
 *
 * Context: Any.
 */
void sroce_doorbell_polled(struct sroce_cq *cq)
{
	struct sroce_qp *qp;

	if (likely(!READ_ONCE(cq->parked)))
		return;
	rcu_read_lock();
	qp = sroce_cq_wake(cq);
	if (qp)
		sroce_sched_kick_tx_soon(qp);
	rcu_read_unlock();
}
