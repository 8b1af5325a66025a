// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions.
 *
 * Owns the key table, the page lists and every access to registered memory.
 * Lookups and copies run in softirq or in a sender's context with bottom halves
 * off; registration and its undoing are verbs in process context.  Called by
 * the QP's two owners and by ib_core.  Must not know packets or QPs.
 *
 * A region is found under RCU and held by a reference for one bottom-half
 * section.  Its page list does not change while it is valid: REG_MR publishes
 * it with the state, and invalidation waits for the sections at work.
 */
#include "mr.h"
#include "dev.h"
#include "proto/access.h"

#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "compat.h"

/* A key is an index into the table and a byte that makes old keys invalid. */
#define KEY_SHIFT	8
#define KEY_INDEX_MAX	((1U << (32 - KEY_SHIFT)) - 1)

/* Rights of a region that we can honour; the optional ones are hints. */
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | \
			 IB_ACCESS_OPTIONAL)

/* Page sizes a page list may have: one page to 1 GiB. */
#define MR_PAGE_SIZES	GENMASK(30, PAGE_SHIFT)

/* How long an invalidation waits for one access at work, loops. */
#define MR_DRAIN_SPINS	1000000

static struct sroce_mr *to_sroce_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct sroce_mr, ibmr);
}

static bool mr_valid(const struct sroce_mr *mr)
{
	/* pairs with the release in sroce_mr_fast_reg(): the page list is whole */
	return smp_load_acquire(&mr->state) == SROCE_MR_VALID;
}

static bool covers(const struct sroce_mr *mr, u64 va, u64 bytes)
{
	return sroce_access_range_ok(mr->iova, mr->length, va, bytes);
}

/* lkey and rkey are one number, so one check serves both sides. */
static bool permits(const struct sroce_mr *mr, struct ib_pd *pd, u32 key,
		    int access, u64 va, u64 bytes)
{
	return mr_valid(mr) && READ_ONCE(mr->ibmr.rkey) == key &&
	       mr->ibmr.pd == pd && (mr->access & access) == access &&
	       covers(mr, va, bytes);
}

/* Find a region by its index and hold it; the key byte is not checked here. */
static struct sroce_mr *get_by_index(struct sroce_dev *dev, u32 key)
{
	struct sroce_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->keys, key >> KEY_SHIFT);
	if (mr && !refcount_inc_not_zero(&mr->ref))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

static struct sroce_mr *get_checked(struct sroce_dev *dev, struct ib_pd *pd,
				    u32 key, int access, u64 va, u64 bytes)
{
	struct sroce_mr *mr = get_by_index(dev, key);

	if (!mr || permits(mr, pd, key, access, va, bytes))
		return mr;
	sroce_mr_put(mr);
	return NULL;
}

/**
 * sroce_mr_get_local() - find the region of a local buffer
 * @dev: the device
 * @pd: protection domain of the QP
 * @lkey: its key
 * @access: IB_ACCESS_LOCAL_WRITE to write, 0 to read
 * @va: first byte
 * @bytes: length
 *
 * Context: Softirq or process, bottom halves off until sroce_mr_put().
 * Return: the region, held, or NULL when the access is not allowed.
 */
struct sroce_mr *sroce_mr_get_local(struct sroce_dev *dev, struct ib_pd *pd,
				    u32 lkey, int access, u64 va, u64 bytes)
{
	return get_checked(dev, pd, lkey, access, va, bytes);
}

/**
 * sroce_mr_get_remote() - find the region a peer wants to reach
 * @dev: the device
 * @pd: protection domain of the QP
 * @rkey: key the peer gave
 * @access: the IB_ACCESS_REMOTE_* right it needs
 * @va: first byte
 * @bytes: length
 *
 * Context: Softirq or process, bottom halves off until sroce_mr_put().
 * Return: the region, held, or NULL when the access is not allowed.
 */
struct sroce_mr *sroce_mr_get_remote(struct sroce_dev *dev, struct ib_pd *pd,
				     u32 rkey, int access, u64 va, u64 bytes)
{
	return get_checked(dev, pd, rkey, access, va, bytes);
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
 * Kernel address of @va, and how many bytes follow it in one piece.  A DMA
 * region is all of kernel memory by its own addresses.
 */
static void *mr_ptr(const struct sroce_mr *mr, u64 va, u64 *room)
{
	u64 page_bytes, off;

	if (mr->type == SROCE_MR_DMA) {
		*room = U64_MAX;
		return (void *)(uintptr_t)va;
	}
	page_bytes = 1ULL << mr->page_shift;
	off = va - mr->iova + mr->offset;
	*room = page_bytes - (off & (page_bytes - 1));
	return mr->pages[off >> mr->page_shift] + (off & (page_bytes - 1));
}

/**
 * sroce_mr_read() - copy out of a region
 * @mr: the region, held
 * @va: first byte
 * @dst: kernel memory
 * @bytes: how many
 *
 * Context: Any.
 * Return: 0, or -EFAULT outside the region or when it is not valid any more.
 */
int sroce_mr_read(struct sroce_mr *mr, u64 va, void *dst, u32 bytes)
{
	u64 room;
	void *p;

	if (!bytes)
		return 0;
	if (!mr_valid(mr) || !covers(mr, va, bytes))
		return -EFAULT;
	p = mr_ptr(mr, va, &room);
	while (unlikely(room < bytes)) {
		memcpy(dst, p, room);
		dst += room;
		va += room;
		bytes -= room;
		p = mr_ptr(mr, va, &room);
	}
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
 * Return: 0, or -EFAULT outside the region or when it is not valid any more.
 */
int sroce_mr_write(struct sroce_mr *mr, u64 va, const void *src, u32 bytes)
{
	u64 room;
	void *p;

	if (!bytes)
		return 0;
	if (!mr_valid(mr) || !covers(mr, va, bytes))
		return -EFAULT;
	p = mr_ptr(mr, va, &room);
	while (unlikely(room < bytes)) {
		memcpy(p, src, room);
		src += room;
		va += room;
		bytes -= room;
		p = mr_ptr(mr, va, &room);
	}
	memcpy(p, src, bytes);
	return 0;
}

/* The eight bytes of an atomic: aligned, so always in one page. */
static int atomic_ptr(struct sroce_mr *mr, u64 va, atomic64_t **out)
{
	u64 room;
	void *p;

	if (!mr_valid(mr) || !covers(mr, va, sizeof(u64)))
		return -EFAULT;
	p = mr_ptr(mr, va, &room);
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
 * Return: 0, -EFAULT outside the region, -EINVAL when @va is not aligned.
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
 * Return: 0, -EFAULT outside the region, -EINVAL when @va is not aligned.
 */
int sroce_mr_fadd(struct sroce_mr *mr, u64 va, u64 add, u64 *orig)
{
	atomic64_t *p;
	int err = atomic_ptr(mr, va, &p);

	if (!err)
		*orig = atomic64_fetch_add(add, p);
	return err;
}

/* --- REG_MR and invalidation ----------------------------------------------- */

/*
 * Wait until nobody but the table and the caller works on @mr.  Sections are
 * short and on other CPUs, so this spins, and it gives up rather than hang.
 */
static void drain_accesses(struct sroce_mr *mr)
{
	u32 spins = 0;

	while (refcount_read(&mr->ref) > 2 && spins++ < MR_DRAIN_SPINS)
		cpu_relax();
}

/**
 * sroce_mr_invalidate() - make a key invalid (LOCAL_INV, SEND_WITH_INV)
 * @dev: the device
 * @pd: protection domain of the QP
 * @key: the key
 *
 * Only regions made for REG_MR can be invalidated (IBA 10.6.5).  When this
 * returns, no access through the key is going on.
 *
 * Context: Softirq or process, bottom halves off, no region held by the caller.
 * Return: 0, or -EINVAL when the key is not one that can be invalidated.
 */
int sroce_mr_invalidate(struct sroce_dev *dev, struct ib_pd *pd, u32 key)
{
	struct sroce_mr *mr = get_by_index(dev, key);
	int err = -EINVAL;

	if (!mr)
		return err;
	if (READ_ONCE(mr->ibmr.rkey) == key && mr->ibmr.pd == pd &&
	    mr->type == SROCE_MR_FRWR) {
		WRITE_ONCE(mr->state, SROCE_MR_INVALID);
		/* order the state before the count: a later lookup sees it */
		smp_mb();
		drain_accesses(mr);
		err = 0;
	}
	sroce_mr_put(mr);
	return err;
}

/**
 * sroce_mr_fast_reg() - execute REG_MR
 * @ibmr: region whose page list was set by ib_map_mr_sg(); the caller has
 *	checked that it belongs to the QP's protection domain
 * @key: new key; only its key byte may differ from the old one
 * @access: IB_ACCESS_* rights
 *
 * Context: Softirq or process, bottom halves off.
 * Return: 0, or -EINVAL when the region is in use or the request is malformed.
 */
int sroce_mr_fast_reg(struct ib_mr *ibmr, u32 key, int access)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	if (mr->type != SROCE_MR_FRWR || mr_valid(mr) ||
	    key >> KEY_SHIFT != ibmr->lkey >> KEY_SHIFT ||
	    access & ~MR_ACCESS || !mr->npages)
		return -EINVAL;

	mr->access = access;
	mr->iova = ibmr->iova;
	mr->length = ibmr->length;
	mr->offset = ibmr->iova & (ibmr->page_size - 1);
	WRITE_ONCE(ibmr->lkey, key);
	WRITE_ONCE(ibmr->rkey, key);
	/* pairs with the acquire in mr_valid() */
	smp_store_release(&mr->state, SROCE_MR_VALID);
	return 0;
}

/* --- verbs ----------------------------------------------------------------- */

static struct sroce_mr *mr_new(struct ib_pd *pd, enum sroce_mr_type type,
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
	refcount_set(&mr->ref, 1);
	init_completion(&mr->gone);
	return mr;
}

static int alloc_pages_list(struct sroce_mr *mr, u32 n)
{
	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL);
	mr->max_pages = n;
	return mr->pages ? 0 : -ENOMEM;
}

/* Give @mr its key and make it visible; the last step of every registration. */
static int publish(struct sroce_mr *mr)
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
	mr->ibmr.lkey = index << KEY_SHIFT | get_random_u8();
	mr->ibmr.rkey = mr->ibmr.lkey;
	err = xa_err(xa_store(&dev->keys, index, mr, GFP_KERNEL));
	if (err)
		xa_erase(&dev->keys, index);
	return err;
}

static void mr_free(struct sroce_mr *mr)
{
	ib_umem_release(mr->umem);
	kvfree(mr->pages);
	kfree_rcu(mr, rcu);
}

static struct ib_mr *publish_or_free(struct sroce_mr *mr, int err)
{
	if (!err)
		err = publish(mr);
	if (!err)
		return &mr->ibmr;
	mr_free(mr);
	return ERR_PTR(err);
}

/**
 * sroce_mr_get_dma() - register all of kernel memory (get_dma_mr op)
 * @pd: protection domain of a kernel user
 * @access: IB_ACCESS_* rights
 *
 * Context: Process, may sleep.
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *sroce_mr_get_dma(struct ib_pd *pd, int access)
{
	struct sroce_mr *mr;

	if (access & ~MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_new(pd, SROCE_MR_DMA, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->length = U64_MAX;
	return publish_or_free(mr, 0);
}

/* Take the pinned pages as blocks of the biggest size that fits all of them. */
static int map_umem(struct sroce_mr *mr)
{
	struct ib_block_iter biter;
	unsigned long pgsz;
	size_t n;
	int err;

	pgsz = ib_umem_find_best_pgsz(mr->umem, MR_PAGE_SIZES, mr->iova);
	if (!pgsz)
		return -EINVAL;
	n = ib_umem_num_dma_blocks(mr->umem, pgsz);
	if (n > U32_MAX)
		return -EINVAL;
	err = alloc_pages_list(mr, n);
	if (err)
		return err;
	mr->page_shift = ilog2(pgsz);
	mr->offset = mr->iova & (pgsz - 1);
	rdma_umem_for_each_dma_block(mr->umem, &biter, pgsz)
		mr->pages[mr->npages++] =
			ib_virt_dma_to_ptr(rdma_block_iter_dma_address(&biter));
	return 0;
}

/**
 * sroce_mr_reg_user() - register memory of a process (reg_user_mr op)
 * @pd: protection domain
 * @start: its address in the process
 * @length: bytes, 1 or more
 * @iova: its address in work requests, same offset in a page as @start
 * @access: IB_ACCESS_* rights
 * @udata: system call
 *
 * Context: Process, may sleep.
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *sroce_mr_reg_user(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	struct sroce_mr *mr;
	int err;

	if (access & ~MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || iova + length < iova)
		return ERR_PTR(-EINVAL);
	mr = mr_new(pd, SROCE_MR_USER, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = length;
	mr->umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		mr->umem = NULL;
	} else {
		err = map_umem(mr);
	}
	return publish_or_free(mr, err);
}

/**
 * sroce_mr_alloc() - make a region for REG_MR (alloc_mr op)
 * @pd: protection domain of a kernel user
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: pages it must be able to hold, 1 to SROCE_MAX_FRWR_PAGES
 *
 * Context: Process, may sleep.
 * Return: the region, invalid until REG_MR, or an ERR_PTR.
 */
struct ib_mr *sroce_mr_alloc(struct ib_pd *pd, enum ib_mr_type type,
			     u32 max_num_sg)
{
	struct sroce_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > SROCE_MAX_FRWR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_new(pd, SROCE_MR_FRWR, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->state = SROCE_MR_INVALID;
	return publish_or_free(mr, alloc_pages_list(mr, max_num_sg));
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->npages++] = ib_virt_dma_to_ptr(addr);
	return 0;
}

/**
 * sroce_mr_map_sg() - set the page list of the next REG_MR (map_mr_sg op)
 * @ibmr: region from sroce_mr_alloc(), not valid; its page size is set
 * @sg: the memory, mapped for DMA, which here means kernel addresses
 * @nents: entries of @sg
 * @sg_offset: offset in the first entry, bytes; updated
 *
 * Context: Any.
 * Return: entries mapped or a negative errno.
 */
int sroce_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		    unsigned int *sg_offset)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	if (!is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mr->npages = 0;
	mr->page_shift = ilog2(ibmr->page_size);
	return ib_sg_to_pages(ibmr, sg, nents, sg_offset, set_page);
}

/**
 * sroce_mr_dereg() - destroy a region (dereg_mr op)
 * @ibmr: the region
 * @udata: system call, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	/* 1. unpublish: no lookup finds it any more */
	xa_erase(&mr->dev->keys, ibmr->lkey >> KEY_SHIFT);
	/* 2. the table's reference; lookups that came before hold their own */
	sroce_mr_put(mr);
	/* 3. wait for the bottom-half sections that still copy */
	wait_for_completion(&mr->gone);
	/* 4. unpin, and free after lookups that saw the pointer have failed */
	mr_free(mr);
	return 0;
}
