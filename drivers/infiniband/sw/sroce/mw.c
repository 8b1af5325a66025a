// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows, and the end of keys by request.
 *
 * Owns the states of a window and the rules of BIND_MW, LOCAL_INV and remote
 * invalidation.  Those run with bottom halves off, called by the roles, which
 * hold no region meanwhile; the verbs in process context, called by ib_core.
 * Must not know packets or work queues.
 *
 * Type 1 is bound and bound again, by any QP of its domain; type 2 is bound
 * when it is free, to one QP (2B), and freed by invalidation.  While a window is
 * bound, its region cannot be deregistered.
 */
#include "mw.h"
#include "dev.h"
#include "mr.h"
#include "proto/access.h"

#include <linux/errno.h>

/* Rights a window may have; LOCAL_WRITE is let through and means nothing. */
#define MW_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

/* Rights of a window that its region must allow by being writable. */
#define MW_WRITES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

static struct sroce_mw *to_sroce_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct sroce_mw, ibmw);
}

/* Is the window bound, or not yet free of what was going on through it? */
static bool bound(const struct sroce_mr *win)
{
	return win->parent;
}

/*
 * End the use of @mr by its key.  When somebody is still in it, it stays bound,
 * and this is to be tried again.
 */
static int retire(struct sroce_mr *mr)
{
	sroce_mr_revoke(mr);
	if (!sroce_mr_drained(mr))
		return -EAGAIN;
	if (mr->parent)
		atomic_dec(&mr->parent->windows);
	mr->parent = NULL;
	return 0;
}

/* May the QP bind @win so?  (IBA 10.6.7.2.2 and 10.6.7.2.3) */
static bool window_fits(const struct sroce_mr *win,
			const struct sroce_party *who,
			const struct sroce_bind *b)
{
	if (win->type != SROCE_MR_WINDOW || win->ibmr.pd != who->pd ||
	    b->key >> SROCE_KEY_SHIFT != win->index || b->access & ~MW_ACCESS)
		return false;
	if (win->window_type == IB_MW_TYPE_1)
		return b->old_key == win->rkey &&
		       !(b->access & IB_ZERO_BASED);
	return !bound(win) && b->bytes;
}

/* May a window of @b lie on @mr?  (IBA 10.6.7.2.5) */
static bool region_fits(const struct sroce_mr *mr,
			const struct sroce_party *who,
			const struct sroce_bind *b)
{
	return mr->type == SROCE_MR_USER && sroce_mr_valid(mr) &&
	       mr->lkey == b->lkey && mr->ibmr.pd == who->pd &&
	       (mr->access & IB_ACCESS_MW_BIND) &&
	       (!(b->access & MW_WRITES) ||
		(mr->access & IB_ACCESS_LOCAL_WRITE)) &&
	       sroce_access_range_ok(mr->iova, mr->length, b->addr, b->bytes);
}

/* Count a window on the region of @b, which then stays registered. */
static int claim_region(struct sroce_dev *dev, const struct sroce_party *who,
			const struct sroce_bind *b, struct sroce_mr **out)
{
	struct sroce_mr *mr;
	int err = -EINVAL;

	*out = NULL;
	if (!b->bytes)
		return 0;
	mr = sroce_mr_get(dev, b->lkey);
	if (!mr)
		return err;
	if (region_fits(mr, who, b) &&
	    atomic_inc_unless_negative(&mr->windows)) {
		*out = mr;
		err = 0;
	}
	sroce_mr_put(mr);
	return err;
}

/* Let @win, which nobody uses, show its part of @mr. */
static void show(struct sroce_mr *win, struct sroce_mr *mr,
		 const struct sroce_party *who, const struct sroce_bind *b)
{
	u64 skip = b->addr - mr->iova + mr->offset;

	win->parent = mr;
	win->access = b->access & ~IB_ACCESS_LOCAL_WRITE;
	win->iova = b->access & IB_ZERO_BASED ? 0 : b->addr;
	win->length = b->bytes;
	win->page_shift = mr->page_shift;
	win->pages = mr->pages + (skip >> mr->page_shift);
	win->offset = skip & ((1ULL << mr->page_shift) - 1);
	win->qp_id = win->window_type == IB_MW_TYPE_2 ? who->qp_id : 0;
	/* pairs with the acquire in sroce_mr_valid() */
	smp_store_release(&win->state, SROCE_MR_VALID);
}

static int bind_locked(struct sroce_dev *dev, struct sroce_mr *win,
		       const struct sroce_party *who,
		       const struct sroce_bind *b)
{
	struct sroce_mr *mr;
	int err;

	if (!window_fits(win, who, b))
		return -EINVAL;
	err = claim_region(dev, who, b, &mr);
	if (err)
		return err;
	err = retire(win);
	if (err) {
		if (mr)
			atomic_dec(&mr->windows);
		return err;
	}
	WRITE_ONCE(win->rkey, b->key);
	if (mr)
		show(win, mr, who, b);
	return 0;
}

/**
 * sroce_mw_bind() - execute BIND_MW
 * @dev: the device
 * @who: the QP that binds, and its protection domain
 * @b: what to bind to what
 *
 * Context: Bottom halves off, no region held by the caller.
 * Return: 0, -EINVAL when it is not allowed, -EAGAIN when the window is in use
 *	at this moment.
 */
int sroce_mw_bind(struct sroce_dev *dev, const struct sroce_party *who,
		  const struct sroce_bind *b)
{
	struct sroce_mr *win = sroce_mr_get(dev, b->old_key);
	int err;

	if (!win)
		return -EINVAL;
	/* who waits for the lock would hold up the one who drains */
	if (!spin_trylock(&win->lock)) {
		sroce_mr_put(win);
		return -EAGAIN;
	}
	err = bind_locked(dev, win, who, b);
	spin_unlock(&win->lock);
	sroce_mr_put(win);
	return err;
}

/*
 * Only regions made for REG_MR, and windows of type 2 by the QP they are bound
 * to (IBA 10.6.5, 10.6.7.2.6).
 */
static bool may_invalidate(const struct sroce_mr *mr,
			   const struct sroce_party *who, u32 key)
{
	if (mr->rkey != key || mr->ibmr.pd != who->pd)
		return false;
	if (mr->type == SROCE_MR_WINDOW)
		return mr->window_type == IB_MW_TYPE_2 && bound(mr) &&
		       mr->qp_id == who->qp_id;
	return mr->type == SROCE_MR_FRWR;
}

/**
 * sroce_mw_invalidate() - make a key invalid (LOCAL_INV, SEND_WITH_INV)
 * @dev: the device
 * @who: the QP that was told to, and its protection domain
 * @key: the key
 *
 * When this returns 0, no access through the key is going on.
 *
 * Context: Bottom halves off, no region held by the caller.
 * Return: 0, -EINVAL when the key is not one that can be invalidated, -EAGAIN
 *	when it is in use at this moment; it is not good any more then.
 */
int sroce_mw_invalidate(struct sroce_dev *dev, const struct sroce_party *who,
			u32 key)
{
	struct sroce_mr *mr = sroce_mr_get(dev, key);
	int err;

	if (!mr)
		return -EINVAL;
	if (!spin_trylock(&mr->lock)) {
		sroce_mr_put(mr);
		return -EAGAIN;
	}
	err = may_invalidate(mr, who, key) ? retire(mr) : -EINVAL;
	spin_unlock(&mr->lock);
	sroce_mr_put(mr);
	return err;
}

/**
 * sroce_mw_alloc() - alloc_mw verb
 * @ibmw: zeroed by the core but for its own members; its rkey is set
 * @udata: system call
 *
 * Context: Process, may sleep.
 * Return: 0; -EINVAL for a type there is not, -ENOMEM.
 */
int sroce_mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct sroce_mw *mw = to_sroce_mw(ibmw);
	struct sroce_mr *win;
	int err;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	win = sroce_mr_new(ibmw->pd, SROCE_MR_WINDOW, 0);
	if (!win)
		return -ENOMEM;
	win->state = SROCE_MR_INVALID;
	win->window_type = ibmw->type;
	err = sroce_mr_publish(win);
	if (err) {
		sroce_mr_free(win);
		return err;
	}
	mw->mr = win;
	ibmw->rkey = win->rkey;
	return 0;
}

/**
 * sroce_mw_dealloc() - dealloc_mw verb, bound or not
 * @ibmw: the window
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_mw_dealloc(struct ib_mw *ibmw)
{
	struct sroce_mr *win = to_sroce_mw(ibmw)->mr;

	sroce_mr_unpublish(win);
	/* nobody is in it and nobody can bind it: it may let its region go */
	if (win->parent)
		atomic_dec(&win->parent->windows);
	sroce_mr_free(win);
	return 0;
}
