// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 *
 * Owns both kinds: the ring a user polls by itself and the array a kernel user
 * polls through us.  sroce_cq_post() runs in softirq or process context with
 * bottom halves off, called by the QP's two owners; everything else is a verb.
 * Must not know what made a completion.
 *
 * One lock, one publish of the producer index per batch.  No handler runs under
 * the lock: the poster is told that it is due.
 */
#include "cq.h"
#include "dev.h"

#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"

#define CQ_SLOT_BYTES	64

/* libibverbs' number for "a key was invalidated"; ours means checksum there */
#define CQ_USER_WC_WITH_INV	BIT(3)

static_assert(sizeof(struct ib_uverbs_wc) == 48);
static_assert(sizeof(struct ib_uverbs_wc) <= CQ_SLOT_BYTES);

static u32 user_wc_flags(u32 flags)
{
	u32 out = flags & (IB_WC_GRH | IB_WC_WITH_IMM);

	return flags & IB_WC_WITH_INVALIDATE ? out | CQ_USER_WC_WITH_INV : out;
}

static void put_user_wc(void *slot, const struct sroce_wc *wc)
{
	struct ib_uverbs_wc u = {
		.wr_id = wc->wr_id,
		.status = wc->status,
		.opcode = wc->opcode,
		.vendor_err = wc->vendor_err,
		.byte_len = wc->byte_len,
		.qp_num = wc->qp->qp_num,
		.src_qp = wc->src_qp,
		.wc_flags = user_wc_flags(wc->wc_flags),
		.port_num = 1,
	};

	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		u.ex.invalidate_rkey = wc->inv_rkey;
	else
		u.ex.imm_data = wc->imm;
	memcpy(slot, &u, sizeof(u));
}

static u32 push_user(struct sroce_cq *cq, const struct sroce_wc *wc, u32 n)
{
	struct sroce_ring *ring = &cq->ring;
	u32 i;

	n = min(n, sroce_ring_room(ring));
	for (i = 0; i < n; i++)
		put_user_wc(sroce_ring_slot(ring, ring->index + i), &wc[i]);
	if (n)
		sroce_ring_publish(ring, n);
	return n;
}

static u32 push_kernel(struct sroce_cq *cq, const struct sroce_wc *wc, u32 n)
{
	u32 i;

	n = min(n, cq->kmask + 1 - (cq->kprod - cq->kcons));
	for (i = 0; i < n; i++)
		cq->kring[(cq->kprod + i) & cq->kmask] = wc[i];
	WRITE_ONCE(cq->kprod, cq->kprod + n);
	return n;
}

/* An unsuccessful completion always counts as solicited (IBA 11.4.2.2). */
static bool wakes(const struct sroce_cq *cq, const struct sroce_wc *wc, u32 n)
{
	u32 i;

	if (cq->armed == IB_CQ_NEXT_COMP)
		return n > 0;
	for (i = 0; i < n; i++)
		if (wc[i].solicited || wc[i].status != IB_WC_SUCCESS)
			return true;
	return false;
}

/* Are a few completions to wait for more of them, or for the timer? */
static bool defers(struct sroce_cq *cq, const struct sroce_wc *wc, u32 n)
{
	struct sroce_cq_mod *m = cq->mod;
	u32 i;

	m->have += n;
	for (i = 0; i < n && wc[i].status == IB_WC_SUCCESS; i++)
		;
	if (i < n || m->have >= m->count) {
		m->have = 0;
		return false;
	}
	if (!m->timing) {
		m->timing = true;
		hrtimer_start(&m->timer,
			      ns_to_ktime((u64)m->period_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	}
	return true;
}

/**
 * sroce_cq_post() - add completions to a CQ
 * @cq: the CQ
 * @wc: the completions, oldest first
 * @n: how many
 *
 * Context: Softirq or process with bottom halves off; takes the CQ lock.
 * Return: what the caller has to do once it holds no lock: bits
 * SROCE_CQ_NOTIFY and SROCE_CQ_OVERFLOW.
 */
unsigned int sroce_cq_post(struct sroce_cq *cq, const struct sroce_wc *wc,
			   unsigned int n)
{
	unsigned int todo = 0;
	unsigned long flags;
	u32 done = 0;

	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->overflowed)
		done = cq->user ? push_user(cq, wc, n) : push_kernel(cq, wc, n);
	if (done < n) {
		cq->overflowed = true;
		todo |= SROCE_CQ_OVERFLOW;
	}
	if (cq->armed && wakes(cq, wc, done) &&
	    (likely(!cq->mod) || !defers(cq, wc, done))) {
		cq->armed = 0;
		todo |= SROCE_CQ_NOTIFY;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return todo;
}

/**
 * sroce_cq_waiting() - has the user completions to look at
 * @cq: the CQ
 *
 * Context: Any; takes the CQ lock.
 * Return: true when it is not empty, as far as the user of a user CQ tells; for
 *	a kernel CQ, as of a moment ago, and unless its user sleeps.
 */
bool sroce_cq_waiting(struct sroce_cq *cq)
{
	unsigned long flags;
	bool waiting;

	if (!cq->user)
		return !READ_ONCE(cq->armed) &&
		       READ_ONCE(cq->kprod) != READ_ONCE(cq->kcons);
	spin_lock_irqsave(&cq->lock, flags);
	waiting = sroce_ring_room(&cq->ring) != cq->ring.mask;
	spin_unlock_irqrestore(&cq->lock, flags);
	return waiting;
}

/**
 * sroce_cq_park() - a QP holds requests back until the CQ's user looks for more
 * @cq: kernel CQ of the QP
 * @qp: the QP, its tx.lock held
 * @waiting: completions must lie in @cq
 *
 * Not while the user sleeps until something completes: maybe that is the answer to
 * these very requests.
 *
 * Context: Bottom halves off; takes the CQ lock.
 * Return: true when sroce_cq_wake() or sroce_cq_unpark() is going to undo it.
 */
bool sroce_cq_park(struct sroce_cq *cq, struct sroce_qp *qp, bool waiting)
{
	unsigned long flags;
	bool parked;

	spin_lock_irqsave(&cq->lock, flags);
	parked = !cq->armed && (!waiting || cq->kprod != cq->kcons) &&
		 (!cq->parked || cq->parked == qp);
	if (parked)
		WRITE_ONCE(cq->parked, qp);
	spin_unlock_irqrestore(&cq->lock, flags);
	return parked;
}

/**
 * sroce_cq_unpark() - a QP holds nothing back any more
 * @cq: kernel CQ of the QP
 * @qp: the QP, its tx.lock held
 *
 * Context: Bottom halves off; takes the CQ lock.
 */
void sroce_cq_unpark(struct sroce_cq *cq, const struct sroce_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->parked == qp)
		WRITE_ONCE(cq->parked, NULL);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * sroce_cq_wake() - the user polled or armed: must what is parked go?
 * @cq: kernel CQ
 *
 * Context: Any, under RCU; takes the CQ lock.
 * Return: the QP that is not parked any more, or NULL: the user has completions
 *	to look at yet, or nothing is parked.
 */
struct sroce_qp *sroce_cq_wake(struct sroce_cq *cq)
{
	struct sroce_qp *qp = NULL;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->armed || cq->kprod == cq->kcons) {
		qp = cq->parked;
		WRITE_ONCE(cq->parked, NULL);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return qp;
}

/**
 * sroce_cq_notify() - run the completion handler
 * @cq: the CQ, held by sroce_cq_hold(), which ends here
 *
 * Context: Softirq or process, no lock held: the handler may post and poll.
 */
void sroce_cq_notify(struct sroce_cq *cq)
{
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	/* pairs with the wait in sroce_cq_destroy() */
	atomic_dec_return_release(&cq->holds);
}

/**
 * sroce_cq_overflow_event() - tell the CQ's owner that completions were lost
 * @cq: the CQ; the event is raised once in its life
 *
 * Context: Process, no lock held.
 */
void sroce_cq_overflow_event(struct sroce_cq *cq)
{
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = &cq->ibcq,
	};
	bool told;

	spin_lock_irq(&cq->lock);
	told = cq->overflow_told;
	cq->overflow_told = true;
	spin_unlock_irq(&cq->lock);
	if (!told && cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

static int create_user(struct sroce_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct sroce_ucontext *uc =
		rdma_udata_to_drv_context(udata, struct sroce_ucontext, ibuc);
	struct rxe_create_cq_resp resp = {};
	int err;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	err = sroce_ring_create(&cq->ring, &uc->ibuc, cqe, CQ_SLOT_BYTES,
				&resp.mi);
	if (err)
		return err;
	err = ib_respond_udata(udata, resp);
	if (err) {
		sroce_ring_destroy(&cq->ring);
		return err;
	}
	cq->user = true;
	cq->ibcq.cqe = cq->ring.mask;
	return 0;
}

static int create_kernel(struct sroce_cq *cq, u32 cqe)
{
	u32 slots = roundup_pow_of_two(cqe);

	cq->kring = kvcalloc(slots, sizeof(*cq->kring), GFP_KERNEL);
	if (!cq->kring)
		return -ENOMEM;
	cq->kmask = slots - 1;
	cq->ibcq.cqe = slots;
	return 0;
}

/**
 * sroce_cq_create() - create a CQ (create_cq op)
 * @ibcq: the core's part, zeroed
 * @attr: wanted entries, 1 to SROCE_MAX_CQE; no flags are supported.  The
 *	vector is checked and means nothing: the handler runs on the CPU that
 *	made the completion, whose caches have it, and what spreads packets over
 *	the CPUs spreads handlers with them
 * @attrs: system call, NULL for a kernel user
 *
 * Context: Process, may sleep.
 * Return: 0 or a negative errno.
 */
int sroce_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);

	if (attr->flags)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > SROCE_MAX_CQE ||
	    attr->comp_vector >= (u32)ibcq->device->num_comp_vectors)
		return -EINVAL;
	spin_lock_init(&cq->lock);
	return attrs ? create_user(cq, attr->cqe, &attrs->driver_udata) :
		       create_kernel(cq, attr->cqe);
}

/**
 * sroce_cq_destroy() - destroy a CQ (destroy_cq op)
 * @ibcq: the CQ; no QP uses it any more, so nobody posts; a handler that was due
 *	when the last QP went may still be at work, and is waited for
 * @udata: system call, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);

	spin_lock_irq(&cq->lock);
	cq->dead = true;
	spin_unlock_irq(&cq->lock);
	/* pairs with the release in sroce_cq_notify() */
	while (atomic_read_acquire(&cq->holds))
		usleep_range(10, 50);
	if (cq->mod)
		hrtimer_cancel(&cq->mod->timer);
	kfree(cq->mod);
	sroce_ring_destroy(&cq->ring);
	kvfree(cq->kring);
	return 0;
}

static void copy_slots(struct sroce_ring *to, u32 to_index,
		       const struct sroce_ring *from, u32 from_index, u32 n)
{
	while (n--)
		memcpy(sroce_ring_slot(to, to_index++),
		       sroce_ring_slot(from, from_index++), CQ_SLOT_BYTES);
}

/*
 * Move what the user has not polled to @to and make it the CQ's ring.  The user
 * does not poll meanwhile; completions keep arriving.  Most are copied before
 * the lock is taken, so that interrupts stay off for the late ones only.
 */
static int swap_rings(struct sroce_cq *cq, struct sroce_ring *to)
{
	struct sroce_ring *from = &cq->ring;
	u32 cons, prod, n, late;
	int err = 0;

	spin_lock_irq(&cq->lock);
	prod = from->index;
	spin_unlock_irq(&cq->lock);
	/* pairs with the provider's store-release of the consumer index */
	cons = smp_load_acquire(&from->buf->consumer_index);
	n = (prod - cons) & from->mask;
	if (n > to->mask)
		return -EINVAL;
	copy_slots(to, 0, from, cons, n);

	spin_lock_irq(&cq->lock);
	late = (from->index - prod) & from->mask;
	if (n + late > to->mask) {
		err = -EINVAL;
	} else {
		copy_slots(to, n, from, prod, late);
		sroce_ring_publish(to, n + late);
		swap(*from, *to);
		cq->ibcq.cqe = cq->ring.mask;
	}
	spin_unlock_irq(&cq->lock);
	return err;
}

/**
 * sroce_cq_resize() - change the size of a user's CQ (resize_user_cq op)
 * @ibcq: the CQ
 * @cqe: wanted entries, not fewer than are waiting to be polled
 * @udata: system call
 *
 * Context: Process, may sleep.
 * Return: 0 or a negative errno; on error the CQ is as before.
 */
int sroce_cq_resize(struct ib_cq *ibcq, unsigned int cqe,
		    struct ib_udata *udata)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);
	struct rxe_resize_cq_resp resp = {};
	struct sroce_ring ring = {};
	struct sroce_ucontext *uc;
	int err;

	if (!cq->user || !udata)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > SROCE_MAX_CQE || udata->outlen < sizeof(resp))
		return -EINVAL;
	uc = rdma_udata_to_drv_context(udata, struct sroce_ucontext, ibuc);
	err = sroce_ring_create(&ring, &uc->ibuc, cqe, CQ_SLOT_BYTES, &resp.mi);
	if (err)
		return err;
	/* told first: once the rings are swapped nothing may fail */
	err = ib_respond_udata(udata, resp);
	if (!err)
		err = swap_rings(cq, &ring);
	/* the old ring, or the new one that is not wanted */
	sroce_ring_destroy(&ring);
	return err;
}

static void get_wc(struct ib_wc *out, const struct sroce_wc *wc)
{
	*out = (struct ib_wc) {
		.wr_id = wc->wr_id,
		.status = wc->status,
		.opcode = wc->opcode,
		.vendor_err = wc->vendor_err,
		.byte_len = wc->byte_len,
		.qp = wc->qp,
		.src_qp = wc->src_qp,
		.wc_flags = wc->wc_flags,
		.port_num = 1,
		.vlan_id = wc->vlan_id,
		.network_hdr_type = wc->hdr_type,
	};
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		out->ex.invalidate_rkey = wc->inv_rkey;
	else
		out->ex.imm_data = wc->imm;
}

/**
 * sroce_cq_poll() - take completions of a kernel CQ (poll_cq op)
 * @ibcq: the CQ
 * @n: most completions to take
 * @wc: where they go
 *
 * Context: Any.
 * Return: completions taken, or -EOPNOTSUPP for a CQ its user polls by itself.
 */
int sroce_cq_poll(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);
	unsigned long flags;
	int i;

	if (cq->user)
		return -EOPNOTSUPP;
	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < n && cq->kcons + i != cq->kprod; i++)
		get_wc(&wc[i], &cq->kring[(cq->kcons + i) & cq->kmask]);
	WRITE_ONCE(cq->kcons, cq->kcons + i);
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

/* Completions waiting to be polled. */
static u32 waiting_locked(const struct sroce_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (cq->user)
		return cq->ring.mask - sroce_ring_room(&cq->ring);
	return cq->kprod - cq->kcons;
}

static enum hrtimer_restart mod_fired(struct hrtimer *timer)
{
	struct sroce_cq_mod *m = container_of(timer, struct sroce_cq_mod, timer);
	struct sroce_cq *cq = m->cq;
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&cq->lock, flags);
	m->timing = false;
	due = m->have && cq->armed && waiting_locked(cq);
	m->have = 0;
	if (due)
		cq->armed = 0;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (due && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	return HRTIMER_NORESTART;
}

static int create_mod(struct sroce_cq *cq)
{
	struct sroce_cq_mod *m = kzalloc_obj(*m);

	if (!m)
		return -ENOMEM;
	m->cq = cq;
	hrtimer_setup(&m->timer, mod_fired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	spin_lock_irq(&cq->lock);
	if (!cq->mod)
		swap(cq->mod, m);
	spin_unlock_irq(&cq->lock);
	kfree(m);
	return 0;
}

/**
 * sroce_cq_modify() - moderate the completion handler (modify_cq op)
 * @ibcq: the CQ
 * @count: completions that make the handler due
 * @period_us: how long fewer may wait, us; 0, or a @count below 2, ends moderation
 *
 * Only when the handler runs changes, not when completions can be polled.  Errors
 * do not wait.
 *
 * Context: Process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int sroce_cq_modify(struct ib_cq *ibcq, u16 count, u16 period_us)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);
	int err;

	if (!READ_ONCE(cq->mod)) {
		err = create_mod(cq);
		if (err)
			return err;
	}
	spin_lock_irq(&cq->lock);
	cq->mod->count = period_us ? count : 0;
	cq->mod->period_us = period_us;
	spin_unlock_irq(&cq->lock);
	return 0;
}

/**
 * sroce_cq_peek() - count completions (peek_cq op)
 * @ibcq: the CQ
 * @n: enough to know
 *
 * Context: Any.
 * Return: completions waiting, at most @n.
 */
int sroce_cq_peek(struct ib_cq *ibcq, int n)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);
	unsigned long flags;
	u32 have;

	spin_lock_irqsave(&cq->lock, flags);
	have = waiting_locked(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return have > n ? n : have;
}

/**
 * sroce_cq_arm() - ask for the handler at the next completion (req_notify_cq)
 * @ibcq: the CQ
 * @flags: IB_CQ_SOLICITED or IB_CQ_NEXT_COMP, and IB_CQ_REPORT_MISSED_EVENTS
 *
 * A request for any completion is not weakened by a later one for solicited
 * completions (IBA 11.4.2.2).
 *
 * Context: Any.
 * Return: 1 when asked for and completions are already waiting, 0 otherwise.
 */
int sroce_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && waiting_locked(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static int fill_locked(struct sk_buff *msg, const struct sroce_cq *cq)
{
	const struct sroce_cq_mod *mod = cq->mod;

	if (cq->dead)
		return -ENOENT;
	if (rdma_nl_put_driver_u32(msg, "waiting", waiting_locked(cq)) ||
	    rdma_nl_put_driver_u32(msg, "armed", cq->armed) ||
	    rdma_nl_put_driver_u32(msg, "overflowed", cq->overflowed) ||
	    rdma_nl_put_driver_u32(msg, "moderation_count",
				   mod ? mod->count : 0) ||
	    rdma_nl_put_driver_u32(msg, "moderation_us",
				   mod ? mod->period_us : 0))
		return -EMSGSIZE;
	return 0;
}

/**
 * sroce_cq_fill_res() - what "rdma resource show cq -dd" tells about a CQ
 * @msg: netlink message
 * @ibcq: the CQ
 *
 * Context: Process.
 * Return: 0 or -EMSGSIZE.
 */
int sroce_cq_fill_res(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct sroce_cq *cq = to_sroce_cq(ibcq);
	struct nlattr *table;
	unsigned long flags;
	int err;

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	spin_lock_irqsave(&cq->lock, flags);
	err = fill_locked(msg, cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (err)
		nla_nest_cancel(msg, table);
	else
		nla_nest_end(msg, table);
	/* a CQ that is being destroyed is shown without details */
	return err == -ENOENT ? 0 : err;
}
