// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues.
 *
 * Owns the verbs of an SRQ, the taking of its WQEs by the QPs on it, and its
 * limit.  WQEs are taken under the rx.lock of whichever QP needs one, in softirq;
 * kernel clients post from any context; the rest are verbs in process context.
 * Called by the receiving roles and by ib_core.  Must not know QPs.
 *
 * The ring of a user's SRQ is as hostile as that of a receive queue, and goes
 * through the same copy (wq.c).  The core destroys an SRQ only when no QP is on
 * it any more.
 */
#include "srq.h"

#include "dev.h"

#include <linux/atomic.h>
#include <linux/string.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"

static_assert(sizeof(struct rxe_create_srq_resp) == 24);
static_assert(sizeof(struct rxe_modify_srq_cmd) == 8);

/* Tells SRQs apart in user space; nothing is found by it. */
static atomic_t next_num = ATOMIC_INIT(0);

/* --- taking ---------------------------------------------------------------- */

static u32 waiting(const struct sroce_rq *rq)
{
	if (rq->user)
		return sroce_ring_pending(&rq->ring);
	return READ_ONCE(rq->prod) - rq->cons;
}

/**
 * sroce_srq_take() - take the oldest WQE of an SRQ
 * @srq: the SRQ
 * @out: private copy, with room for its max_sge pieces
 *
 * The limit's event is due when fewer WQEs than it are left (IBA 10.2.9.2), also
 * when none was there to be taken: who arms the limit of an empty SRQ hears
 * of the first message that finds nothing.
 *
 * Context: Bottom halves off; a QP's rx.lock is held.
 * Return: as sroce_wq_take().
 */
int sroce_srq_take(struct sroce_srq *srq, struct sroce_rwqe *out)
{
	int got;

	spin_lock(&srq->lock);
	got = sroce_wq_take(&srq->rq, out);
	if (unlikely(srq->limit) && waiting(&srq->rq) < srq->limit) {
		srq->limit = 0;
		queue_work(system_wq, &srq->limit_work);
	}
	spin_unlock(&srq->lock);
	return got;
}

static void limit_work(struct work_struct *work)
{
	struct sroce_srq *srq = container_of(work, struct sroce_srq, limit_work);
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
		.element.srq = &srq->ibsrq,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}

/* --- verbs ----------------------------------------------------------------- */

static int check_init(const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (init->attr.max_wr < 1 || init->attr.max_wr > SROCE_MAX_SRQ_WR ||
	    init->attr.max_sge > SROCE_MAX_SGE ||
	    init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	return 0;
}

/**
 * sroce_srq_create() - create_srq verb
 * @ibsrq: the core's part, zeroed but for its own members
 * @init: attributes; max_wr and max_sge are set to the real ones
 * @udata: user data, NULL for a kernel SRQ
 *
 * Context: Process, may sleep.
 * Return: 0; -EOPNOTSUPP for XRC and tag matching, -EINVAL for values over the
 *	limits or a response buffer too short, -ENOMEM.
 */
int sroce_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct sroce_ucontext *suc =
		rdma_udata_to_drv_context(udata, struct sroce_ucontext, ibuc);
	struct sroce_srq *srq = to_sroce_srq(ibsrq);
	struct rxe_create_srq_resp resp = {};
	struct ib_qp_cap cap = {
		.max_recv_wr = init->attr.max_wr,
		.max_recv_sge = max(init->attr.max_sge, 1U),
	};
	int err;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	err = udata ? ib_is_udata_in_empty(udata) : 0;
	if (!err)
		err = check_init(init);
	if (err)
		return err;
	spin_lock_init(&srq->lock);
	mutex_init(&srq->mutex);
	INIT_WORK(&srq->limit_work, limit_work);
	srq->limit = init->attr.srq_limit;
	srq->who.pd = ibsrq->pd;
	err = sroce_wq_create_rq(&srq->rq, suc ? &suc->ibuc : NULL, &cap,
				 &resp.mi);
	if (err)
		return err;
	init->attr.max_wr = cap.max_recv_wr;
	init->attr.max_sge = cap.max_recv_sge;
	resp.srq_num = (u32)atomic_inc_return(&next_num);
	if (udata) {
		err = ib_respond_udata(udata, resp);
		if (err)
			sroce_wq_destroy_rq(&srq->rq);
	}
	return err;
}

/*
 * Make @to, which is empty, the ring of the SRQ.  The user does not post
 * meanwhile (the provider holds its lock); QPs go on taking.  So what is posted
 * is copied with no lock held, and what was taken in that time is skipped.
 */
static int swap_rings(struct sroce_srq *srq, struct sroce_ring *to)
{
	struct sroce_ring *from = &srq->rq.ring;
	u32 start, i, n, taken;

	spin_lock_bh(&srq->lock);
	start = from->index;
	n = sroce_ring_pending(from);
	spin_unlock_bh(&srq->lock);
	if (n > to->mask)
		return -EINVAL;
	for (i = 0; i < n; i++)
		memcpy(sroce_ring_slot(to, i), sroce_ring_slot(from, start + i),
		       1UL << to->log2_elem);
	sroce_ring_publish(to, n);

	spin_lock_bh(&srq->lock);
	taken = (from->index - start) & from->mask;
	to->index = 0;
	sroce_ring_consume(to, min(taken, n));
	swap(*from, *to);
	srq->rq.mask = srq->rq.ring.mask;
	srq->rq.max_wr = srq->rq.mask;
	spin_unlock_bh(&srq->lock);
	return 0;
}

/* The provider wants the answer at an address that it sends. */
static int resize(struct sroce_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct sroce_ucontext *uc =
		rdma_udata_to_drv_context(udata, struct sroce_ucontext, ibuc);
	struct rxe_modify_srq_cmd cmd = {};
	struct sroce_ring ring = {};
	struct mminfo mi;
	int err;

	if (!srq->rq.user || !uc)
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in(udata, cmd, mmap_info_addr);
	if (err)
		return err;
	err = sroce_ring_create(&ring, &uc->ibuc, max_wr,
				sroce_rq_slot_bytes(srq->rq.max_sge), &mi);
	if (err)
		return err;
	/* told first: once the rings are swapped nothing may fail */
	if (copy_to_user(u64_to_user_ptr(cmd.mmap_info_addr), &mi, sizeof(mi)))
		err = -EFAULT;
	if (!err)
		err = swap_rings(srq, &ring);
	/* the old ring, or the new one that is not wanted */
	sroce_ring_destroy(&ring);
	return err;
}

static int modify_locked(struct sroce_srq *srq, const struct ib_srq_attr *attr,
			 enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->rq.max_wr;
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit :
					  READ_ONCE(srq->limit);
	int err;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (max_wr < 1 || max_wr > SROCE_MAX_SRQ_WR || limit > max_wr)
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR) {
		err = resize(srq, max_wr, udata);
		if (err)
			return err;
	}
	if (mask & IB_SRQ_LIMIT) {
		spin_lock_bh(&srq->lock);
		srq->limit = limit;
		spin_unlock_bh(&srq->lock);
	}
	return 0;
}

/**
 * sroce_srq_modify() - modify_srq verb: resize, arm the limit
 * @ibsrq: the SRQ
 * @attr: new values
 * @mask: which of them count
 * @udata: user data, NULL for a kernel SRQ
 *
 * Context: Process, may sleep.
 * Return: 0; -EINVAL for a limit over the size, a size over the device's or
 *	under what is posted, -EFAULT, -ENOMEM, -EOPNOTSUPP to resize a kernel
 *	client's; nothing is changed then.
 */
int sroce_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct sroce_srq *srq = to_sroce_srq(ibsrq);
	int err;

	mutex_lock(&srq->mutex);
	err = modify_locked(srq, attr, mask, udata);
	mutex_unlock(&srq->mutex);
	return err;
}

/**
 * sroce_srq_query() - query_srq verb
 * @ibsrq: the SRQ
 * @attr: filled in; srq_limit is 0 when the event was raised
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct sroce_srq *srq = to_sroce_srq(ibsrq);

	mutex_lock(&srq->mutex);
	attr->max_wr = srq->rq.max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	mutex_unlock(&srq->mutex);
	return 0;
}

/**
 * sroce_srq_destroy() - destroy_srq verb
 * @ibsrq: the SRQ; no QP is on it, so nobody takes
 * @udata: user data, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct sroce_srq *srq = to_sroce_srq(ibsrq);

	cancel_work_sync(&srq->limit_work);
	sroce_wq_destroy_rq(&srq->rq);
	mutex_destroy(&srq->mutex);
	return 0;
}

/**
 * sroce_srq_post_recv() - post_srq_recv verb of kernel clients
 * @ibsrq: the SRQ
 * @wr: list of work requests
 * @bad: set to the first request not taken
 *
 * Context: Any.
 * Return: 0; -EINVAL for too many pieces or a user's SRQ, -ENOMEM when the queue
 *	is full.
 */
int sroce_srq_post_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct sroce_rq *rq = &to_sroce_srq(ibsrq)->rq;
	unsigned long irq;
	int err = 0;

	if (rq->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&rq->lock, irq);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = sroce_wq_post_recv(rq, wr);
	spin_unlock_irqrestore(&rq->lock, irq);
	if (err)
		*bad = wr;
	return err;
}
