// SPDX-License-Identifier: GPL-2.0
/*
 * Memory by key: the table of keys, and every access to registered memory.
 *
 * Owns the table, the life of its entries and the copies.  Lookups and copies
 * run in softirq or in a sender's context with bottom halves off.  Called by the
 * QP's two owners, and by reg.c and mw.c, which fill the table.  Must not know
 * packets, QPs or how memory is registered.
 *
 * A region is found under RCU and held by a reference for one bottom-half
 * section at most.  Its page list does not change while it is valid: who makes
 * it valid publishes the list with the state, and who makes it invalid waits for
 * the sections at work.
 */
#include "mr.h"
#include "dev.h"
#include "proto/access.h"

#include <linux/atomic.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_umem.h>

#include "compat.h"

#define KEY_INDEX_MAX	((1U << (32 - SROCE_KEY_SHIFT)) - 1)

/* How long an invalidation waits for the accesses at work, loops. */
#define DRAIN_SPINS	20000

static bool covers(const struct sroce_mr *mr, u64 va, u64 bytes)
{
	return sroce_access_range_ok(mr->iova, mr->length, va, bytes);
}

/* A window bound to a QP serves that one only (IBA 10.6.7.2.2, type 2B). */
static bool permits(const struct sroce_mr *mr, const struct sroce_party *who,
		    int access, u64 va, u64 bytes)
{
	return sroce_mr_valid(mr) && mr->ibmr.pd == who->pd &&
	       (mr->access & access) == access &&
	       (likely(!mr->qp_id) || mr->qp_id == who->qp_id) &&
	       covers(mr, va, bytes);
}

/**
 * sroce_mr_get() - find a region by the index in its key, and hold it
 * @dev: the device
 * @key: its key; the key byte is not looked at
 *
 * Context: Softirq or process, bottom halves off until sroce_mr_put().
 * Return: the region, valid or not, or NULL.
 */
struct sroce_mr *sroce_mr_get(struct sroce_dev *dev, u32 key)
{
	struct sroce_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->keys, key >> SROCE_KEY_SHIFT);
	if (mr && !refcount_inc_not_zero(&mr->ref))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

/* The region of @key, which mostly is the one the section has already. */
static struct sroce_mr *hold_key(struct sroce_mr_hold *hold,
				 struct sroce_dev *dev, u32 key)
{
	if (likely(hold->mr && hold->key == key))
		return hold->mr;
	sroce_mr_release(hold);
	hold->mr = sroce_mr_get(dev, key);
	hold->key = key;
	return hold->mr;
}

/**
 * sroce_mr_use_local() - find the region of a local buffer
 * @hold: region this section used last; the one found from here on
 * @dev: the device
 * @who: QP and protection domain that ask
 * @lkey: its key
 * @access: IB_ACCESS_LOCAL_WRITE to write, 0 to read
 * @va: first byte
 * @bytes: length
 *
 * Context: Softirq or process, bottom halves off until sroce_mr_release().
 * Return: the region, good until @hold is used again or released, or NULL when
 *	the access is not allowed.
 */
struct sroce_mr *sroce_mr_use_local(struct sroce_mr_hold *hold,
				    struct sroce_dev *dev,
				    const struct sroce_party *who, u32 lkey,
				    int access, u64 va, u64 bytes)
{
	struct sroce_mr *mr = hold_key(hold, dev, lkey);

	return mr && permits(mr, who, access, va, bytes) &&
	       READ_ONCE(mr->lkey) == lkey ? mr : NULL;
}

/**
 * sroce_mr_use_remote() - find the region or window a peer wants to reach
 * @hold: region this section used last; the one found from here on
 * @dev: the device
 * @who: QP and protection domain the request came to
 * @rkey: key the peer gave
 * @access: the IB_ACCESS_REMOTE_* right it needs
 * @va: first byte
 * @bytes: length
 *
 * Context: Softirq or process, bottom halves off until sroce_mr_release().
 * Return: the region, good until @hold is used again or released, or NULL when
 *	the access is not allowed.
 */
struct sroce_mr *sroce_mr_use_remote(struct sroce_mr_hold *hold,
				     struct sroce_dev *dev,
				     const struct sroce_party *who, u32 rkey,
				     int access, u64 va, u64 bytes)
{
	struct sroce_mr *mr = hold_key(hold, dev, rkey);

	return mr && permits(mr, who, access, va, bytes) &&
	       READ_ONCE(mr->rkey) == rkey ? mr : NULL;
}

/**
 * sroce_mr_release() - end of a section: let its region go
 * @hold: may be empty; empty afterwards
 *
 * Context: Any.
 */
void sroce_mr_release(struct sroce_mr_hold *hold)
{
	if (hold->mr)
		sroce_mr_put(hold->mr);
	hold->mr = NULL;
}

/**
 * sroce_mr_put() - let a region go
 * @mr: the region, from a lookup
 *
 * Context: Any.
 */
void sroce_mr_put(struct sroce_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		complete(&mr->gone);
}

/*
 * Kernel address of @va, and how many bytes follow it in one piece; NULL where
 * the page is not there.  A DMA region is all of kernel memory by its own
 * addresses.
 */
static void *mr_ptr(const struct sroce_mr *mr, u64 va, u64 *room)
{
	u64 page_bytes, off;
	void *p;

	if (mr->type == SROCE_MR_DMA) {
		*room = U64_MAX;
		return (void *)(uintptr_t)va;
	}
	page_bytes = 1ULL << mr->page_shift;
	off = va - mr->iova + mr->offset;
	*room = page_bytes - (off & (page_bytes - 1));
	p = READ_ONCE(mr->pages[off >> mr->page_shift]);
	return likely(p) ? p + (off & (page_bytes - 1)) : NULL;
}

/**
 * sroce_mr_read() - copy out of a region
 * @mr: the region, held
 * @va: first byte
 * @dst: kernel memory
 * @bytes: how many
 *
 * Context: Any.
 * Return: 0; -EFAULT outside the region or when it is not valid any more;
 *	-EAGAIN when a page must come first (pagein.h), a part may be copied.
 */
int sroce_mr_read(struct sroce_mr *mr, u64 va, void *dst, u32 bytes)
{
	u64 room;
	void *p;

	if (!bytes)
		return 0;
	if (!sroce_mr_valid(mr) || !covers(mr, va, bytes))
		return -EFAULT;
	p = mr_ptr(mr, va, &room);
	while (unlikely(p && room < bytes)) {
		memcpy(dst, p, room);
		dst += room;
		va += room;
		bytes -= room;
		p = mr_ptr(mr, va, &room);
	}
	if (unlikely(!p))
		return -EAGAIN;
	memcpy(dst, p, bytes);
	return 0;
}

/**
 * sroce_mr_write() - copy into a region
 * @mr: the region, held
 * @va: first byte
 * @src: kernel memory
 * @bytes: how many
 *
 * Context: Any.
 * Return: 0; -EFAULT outside the region or when it is not valid any more;
 *	-EAGAIN when a page must come first (pagein.h), a part may be copied.
 */
int sroce_mr_write(struct sroce_mr *mr, u64 va, const void *src, u32 bytes)
{
	u64 room;
	void *p;

	if (!bytes)
		return 0;
	if (!sroce_mr_valid(mr) || !covers(mr, va, bytes))
		return -EFAULT;
	p = mr_ptr(mr, va, &room);
	while (unlikely(p && room < bytes)) {
		memcpy(p, src, room);
		src += room;
		va += room;
		bytes -= room;
		p = mr_ptr(mr, va, &room);
	}
	if (unlikely(!p))
		return -EAGAIN;
	memcpy(p, src, bytes);
	return 0;
}

/* The eight bytes of an atomic: aligned, so always in one page. */
static int atomic_ptr(struct sroce_mr *mr, u64 va, atomic64_t **out)
{
	u64 room;
	void *p;

	if (!sroce_mr_valid(mr) || !covers(mr, va, sizeof(u64)))
		return -EFAULT;
	p = mr_ptr(mr, va, &room);
	if (!p)
		return -EAGAIN;
	if (!IS_ALIGNED((uintptr_t)p, sizeof(u64)) || !IS_ALIGNED(va, 8))
		return -EINVAL;
	*out = p;
	return 0;
}

/**
 * sroce_mr_cas() - compare and swap, atomic against every CPU and QP
 * @mr: the region, held
 * @va: the 8 bytes
 * @compare: value expected
 * @swap: value to store then
 * @orig: value found
 *
 * Context: Any.
 * Return: 0, -EFAULT outside the region, -EINVAL when @va is not aligned,
 *	-EAGAIN when the page must come first (pagein.h).
 */
int sroce_mr_cas(struct sroce_mr *mr, u64 va, u64 compare, u64 swap, u64 *orig)
{
	atomic64_t *p;
	int err = atomic_ptr(mr, va, &p);

	if (!err)
		*orig = atomic64_cmpxchg(p, compare, swap);
	return err;
}

/**
 * sroce_mr_fadd() - fetch and add, atomic against every CPU and QP
 * @mr: the region, held
 * @va: the 8 bytes
 * @add: value to add, modulo 2^64
 * @orig: value found
 *
 * Context: Any.
 * Return: 0, -EFAULT outside the region, -EINVAL when @va is not aligned,
 *	-EAGAIN when the page must come first (pagein.h).
 */
int sroce_mr_fadd(struct sroce_mr *mr, u64 va, u64 add, u64 *orig)
{
	atomic64_t *p;
	int err = atomic_ptr(mr, va, &p);

	if (!err)
		*orig = atomic64_fetch_add(add, p);
	return err;
}

/**
 * sroce_mr_store() - write 8 bytes that everybody sees at once
 * @mr: the region, held
 * @va: the 8 bytes
 * @value: what to store, in memory order
 *
 * Context: Any.
 * Return: 0, -EFAULT outside the region, -EINVAL when @va is not aligned,
 *	-EAGAIN when the page must come first (pagein.h).
 */
int sroce_mr_store(struct sroce_mr *mr, u64 va, u64 value)
{
	atomic64_t *p;
	int err = atomic_ptr(mr, va, &p);

	/* a release: what was written before is there when this is seen */
	if (!err)
		atomic64_set_release(p, value);
	return err;
}

/* --- the life of a key ------------------------------------------------------ */

/**
 * sroce_mr_revoke() - end the use of a key
 * @mr: the region or window
 *
 * The one place where a key stops being good, whatever the reason.  Accesses
 * that began before may still be going on: sroce_mr_drained().
 *
 * Context: Any.
 */
void sroce_mr_revoke(struct sroce_mr *mr)
{
	WRITE_ONCE(mr->state, SROCE_MR_INVALID);
	/* the state before the count: a later lookup sees the state */
	smp_mb();
}

/**
 * sroce_mr_drained() - wait until nobody works on a region that was revoked
 * @mr: the region, held by the caller and by the table
 *
 * Sections are short and on other CPUs, so this spins, and it gives up rather
 * than hang: the caller then comes back later.
 *
 * Context: Softirq or process, bottom halves off, no other region held.
 * Return: true when no access is going on.
 */
bool sroce_mr_drained(struct sroce_mr *mr)
{
	u32 spins = 0;

	while (refcount_read(&mr->ref) > 2) {
		if (spins++ == DRAIN_SPINS)
			return false;
		cpu_relax();
	}
	/* what they read and wrote comes before what the caller does next */
	smp_mb();
	return true;
}

/**
 * sroce_mr_new() - make a region that nobody can find yet
 * @pd: its protection domain
 * @type: where its pages come from
 * @access: IB_ACCESS_* rights
 *
 * Context: Process, may sleep.
 * Return: the region, valid, or NULL.
 */
struct sroce_mr *sroce_mr_new(struct ib_pd *pd, enum sroce_mr_type type,
			      int access)
{
	struct sroce_mr *mr = kzalloc_obj(*mr);

	if (!mr)
		return NULL;
	mr->dev = to_sroce_dev(pd->device);
	mr->type = type;
	mr->state = SROCE_MR_VALID;
	mr->access = access;
	mr->ibmr.device = pd->device;
	mr->ibmr.pd = pd;
	spin_lock_init(&mr->lock);
	refcount_set(&mr->ref, 1);
	init_completion(&mr->gone);
	return mr;
}

/**
 * sroce_mr_publish() - give a region its key and make it visible
 * @mr: the region, complete
 *
 * Regions and windows share one table, so that a key is never both (IBA
 * 10.6.3).
 *
 * Context: Process, may sleep.
 * Return: 0 or a negative errno.
 */
int sroce_mr_publish(struct sroce_mr *mr)
{
	struct sroce_dev *dev = mr->dev;
	u32 index;
	int err;

	/* reserved with NULL first: a lookup must see the key with the region */
	err = xa_alloc_cyclic(&dev->keys, &index, NULL,
			      XA_LIMIT(1, KEY_INDEX_MAX), &dev->next_key,
			      GFP_KERNEL);
	if (err < 0)
		return err;
	mr->index = index;
	mr->rkey = index << SROCE_KEY_SHIFT | get_random_u8();
	/* a window is for peers only; 0 is nobody's key */
	mr->lkey = mr->type == SROCE_MR_WINDOW ? 0 : mr->rkey;
	mr->ibmr.lkey = mr->lkey;
	mr->ibmr.rkey = mr->rkey;
	err = xa_err(xa_store(&dev->keys, index, mr, GFP_KERNEL));
	if (err)
		xa_erase(&dev->keys, index);
	return err;
}

/**
 * sroce_mr_unpublish() - take a region out of use and wait for who is in it
 * @mr: the region
 *
 * Context: Process, may sleep.
 */
void sroce_mr_unpublish(struct sroce_mr *mr)
{
	/* 1. no lookup finds it any more, nor does who remembers it use it */
	xa_erase(&mr->dev->keys, mr->index);
	sroce_mr_revoke(mr);
	/* 2. the table's reference; lookups that came before hold their own */
	sroce_mr_put(mr);
	/* 3. wait for the bottom-half sections that still copy */
	wait_for_completion(&mr->gone);
}

/**
 * sroce_mr_free() - free a region that nobody can find
 * @mr: the region, never published or unpublished
 *
 * Context: Process, may sleep.
 */
void sroce_mr_free(struct sroce_mr *mr)
{
	ib_umem_release(mr->umem);
	if (mr->type != SROCE_MR_WINDOW)
		kvfree(mr->pages);
	kvfree(mr->next);
	/* lookups that saw the pointer fail to get a reference */
	kfree_rcu(mr, rcu);
}
