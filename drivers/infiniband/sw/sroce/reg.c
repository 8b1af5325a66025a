// SPDX-License-Identifier: GPL-2.0
/*
 * Registration: where the memory behind a key comes from.
 *
 * Owns the ways a page list is made: pinned pages of a process, all of kernel
 * memory, lists that kernel users register by REG_MR.  Verbs run in process
 * context, REG_MR with bottom halves off.  Called by ib_core and the requester.
 * Must not know packets or QPs.
 */
#include "reg.h"
#include "dev.h"
#include "dmabuf.h"
#include "mr.h"
#include "odp.h"

#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "compat.h"

/* Rights of a region that we can honour; the optional ones are hints. */
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | \
			 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_ON_DEMAND | \
			 IB_ACCESS_OPTIONAL)

/* Rights REG_MR may give. */
#define FAST_ACCESS	(MR_ACCESS & ~IB_ACCESS_ON_DEMAND)

/* Page sizes a page list may have: one page to 1 GiB. */
#define MR_PAGE_SIZES	GENMASK(30, PAGE_SHIFT)

static struct sroce_mr *to_sroce_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct sroce_mr, ibmr);
}

/**
 * sroce_reg_fast() - execute REG_MR
 * @ibmr: region whose page list was set by ib_map_mr_sg()
 * @pd: protection domain of the QP
 * @key: new key; only its key byte may differ from the old one
 * @access: IB_ACCESS_* rights
 *
 * Context: Softirq or process, bottom halves off.
 * Return: 0, or -EINVAL when the region is in use or the request is malformed.
 */
int sroce_reg_fast(struct ib_mr *ibmr, struct ib_pd *pd, u32 key,
		   int access)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	if (mr->type != SROCE_MR_FRWR || sroce_mr_valid(mr) || ibmr->pd != pd ||
	    key >> SROCE_KEY_SHIFT != mr->index ||
	    access & ~FAST_ACCESS || !(mr->npages | mr->next_npages))
		return -EINVAL;

	/* without a new list the last one is registered again */
	if (mr->next_npages) {
		swap(mr->pages, mr->next);
		mr->npages = mr->next_npages;
		mr->page_shift = ilog2(ibmr->page_size);
		mr->next_npages = 0;
	}
	mr->access = access;
	mr->iova = ibmr->iova;
	mr->length = ibmr->length;
	mr->offset = ibmr->iova & (ibmr->page_size - 1);
	WRITE_ONCE(mr->lkey, key);
	WRITE_ONCE(mr->rkey, key);
	/* pairs with the acquire in sroce_mr_valid() */
	smp_store_release(&mr->state, SROCE_MR_VALID);
	return 0;
}

/* --- verbs ----------------------------------------------------------------- */

static int alloc_pages_list(struct sroce_mr *mr, u32 n)
{
	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL);
	mr->max_pages = n;
	return mr->pages ? 0 : -ENOMEM;
}

static void free_region(struct sroce_mr *mr)
{
	sroce_dmabuf_unmap(mr);
	sroce_mr_free(mr);
}

static struct ib_mr *publish_or_free(struct sroce_mr *mr, int err)
{
	if (!err)
		err = sroce_mr_publish(mr);
	if (!err)
		return &mr->ibmr;
	free_region(mr);
	return ERR_PTR(err);
}

/**
 * sroce_reg_get_dma() - register all of kernel memory (get_dma_mr op)
 * @pd: protection domain of a kernel user
 * @access: IB_ACCESS_* rights
 *
 * Context: Process, may sleep.
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *sroce_reg_get_dma(struct ib_pd *pd, int access)
{
	struct sroce_mr *mr;

	if (access & ~FAST_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = sroce_mr_new(pd, SROCE_MR_DMA, access);
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

static int pin(struct sroce_mr *mr, u64 start, u64 length)
{
	mr->umem = ib_umem_get_va(&mr->dev->ib, start, length, mr->access);
	if (IS_ERR(mr->umem)) {
		int err = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return err;
	}
	return map_umem(mr);
}

/* A region of @length bytes at @iova, its pages still to come. */
static struct sroce_mr *new_user(struct ib_pd *pd, u64 length, u64 iova,
				 int access)
{
	struct sroce_mr *mr;

	if (!length || iova + length < iova)
		return ERR_PTR(-EINVAL);
	mr = sroce_mr_new(pd, SROCE_MR_USER, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = length;
	return mr;
}

/**
 * sroce_reg_user() - register memory of a process (reg_user_mr op)
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
struct ib_mr *sroce_reg_user(struct ib_pd *pd, u64 start, u64 length,
			     u64 iova, int access, struct ib_udata *udata)
{
	struct sroce_mr *mr;
	int err;

	if (access & ~MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if ((access & IB_ACCESS_ON_DEMAND) && !start && length == U64_MAX)
		return ERR_PTR(-EOPNOTSUPP);	/* implicit ODP */
	mr = new_user(pd, length, iova, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	if (access & IB_ACCESS_ON_DEMAND)
		err = sroce_odp_init(mr, start, length, access);
	else
		err = pin(mr, start, length);
	return publish_or_free(mr, err);
}

/**
 * sroce_reg_dmabuf() - register memory of another driver (reg_user_mr_dmabuf op)
 * @pd: protection domain
 * @offset: where it begins in the buffer, bytes
 * @length: bytes, 1 or more
 * @iova: its address in work requests, same offset in a page as @offset
 * @fd: file descriptor of the buffer
 * @access: IB_ACCESS_* rights
 *
 * Context: Process, may sleep.
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *sroce_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
			       u64 iova, int fd, int access)
{
	struct sroce_mr *mr;

	if (access & ~FAST_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = new_user(pd, length, iova, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return publish_or_free(mr, sroce_dmabuf_map(mr, fd, offset, length));
}

/* Put the memory of @fresh into @mr, which nobody uses, and its own into @fresh. */
static void exchange_memory(struct sroce_mr *mr, struct sroce_mr *fresh)
{
	swap(mr->umem, fresh->umem);
	swap(mr->pages, fresh->pages);
	swap(mr->max_pages, fresh->max_pages);
	swap(mr->npages, fresh->npages);
	mr->page_shift = fresh->page_shift;
	mr->offset = fresh->offset;
	mr->iova = fresh->iova;
	mr->length = fresh->length;
}

/* Nobody finds the region valid, and nobody is in it. */
static void stop_region(struct sroce_mr *mr)
{
	refcount_inc(&mr->ref);
	sroce_mr_revoke(mr);
	while (!sroce_mr_drained(mr))
		usleep_range(50, 200);
	sroce_mr_put(mr);
}

/* The memory a region is to have, when that changes; NULL when it does not. */
static struct sroce_mr *fresh_memory(struct sroce_mr *mr, int flags, u64 start,
				     u64 length, u64 iova, int access)
{
	struct sroce_mr *fresh;
	int err;

	if (!(flags & IB_MR_REREG_TRANS)) {
		/* pages that were pinned to be read cannot be written */
		if ((flags & IB_MR_REREG_ACCESS) && ib_access_writable(access) &&
		    !mr->umem->writable)
			return ERR_PTR(-EOPNOTSUPP);
		return NULL;
	}
	if (!length || iova + length < iova)
		return ERR_PTR(-EINVAL);
	fresh = sroce_mr_new(mr->ibmr.pd, SROCE_MR_USER, access);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	fresh->iova = iova;
	fresh->length = length;
	err = pin(fresh, start, length);
	if (!err)
		return fresh;
	sroce_mr_free(fresh);
	return ERR_PTR(err);
}

/**
 * sroce_reg_again() - change a region in its place (rereg_user_mr op)
 * @ibmr: the region, of pinned memory of a process
 * @flags: IB_MR_REREG_*: what changes
 * @start: new address in the process
 * @length: new length, bytes
 * @iova: new address in work requests
 * @access: new IB_ACCESS_* rights
 * @pd: new protection domain
 * @udata: system call
 *
 * The keys stay.  When it fails, the region is as it was.
 *
 * Context: Process, may sleep.
 * Return: NULL; -EOPNOTSUPP for other kinds of region, -EBUSY while windows are
 *	bound to it, or another negative errno.
 */
struct ib_mr *sroce_reg_again(struct ib_mr *ibmr, int flags, u64 start,
			      u64 length, u64 iova, int access,
			      struct ib_pd *pd, struct ib_udata *udata)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);
	struct sroce_mr *fresh;

	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (mr->type != SROCE_MR_USER || !mr->umem || access & ~FAST_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (atomic_cmpxchg(&mr->windows, 0, -1))
		return ERR_PTR(-EBUSY);
	fresh = fresh_memory(mr, flags, start, length, iova, access);
	if (!IS_ERR(fresh)) {
		stop_region(mr);
		if (fresh)
			exchange_memory(mr, fresh);
		mr->access = access;
		if (flags & IB_MR_REREG_PD)
			WRITE_ONCE(ibmr->pd, pd);
		/* pairs with the acquire in sroce_mr_valid() */
		smp_store_release(&mr->state, SROCE_MR_VALID);
	}
	atomic_set(&mr->windows, 0);
	if (!IS_ERR_OR_NULL(fresh))
		sroce_mr_free(fresh);
	return IS_ERR(fresh) ? ERR_CAST(fresh) : NULL;
}

/**
 * sroce_reg_alloc() - make a region for REG_MR (alloc_mr op)
 * @pd: protection domain of a kernel user
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: pages it must be able to hold, 1 to SROCE_MAX_FRWR_PAGES
 *
 * Context: Process, may sleep.
 * Return: the region, invalid until REG_MR, or an ERR_PTR.
 */
struct ib_mr *sroce_reg_alloc(struct ib_pd *pd, enum ib_mr_type type,
			      u32 max_num_sg)
{
	struct sroce_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > SROCE_MAX_FRWR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = sroce_mr_new(pd, SROCE_MR_FRWR, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->state = SROCE_MR_INVALID;
	err = alloc_pages_list(mr, max_num_sg);
	mr->next = kvmalloc_array(max_num_sg, sizeof(*mr->next), GFP_KERNEL);
	if (!mr->next)
		err = -ENOMEM;
	return publish_or_free(mr, err);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	if (mr->next_npages == mr->max_pages)
		return -ENOMEM;
	mr->next[mr->next_npages++] = ib_virt_dma_to_ptr(addr);
	return 0;
}

/**
 * sroce_reg_map_sg() - set the page list of the next REG_MR (map_mr_sg op)
 * @ibmr: region from sroce_reg_alloc(), not valid; its page size is set
 * @sg: the memory, mapped for DMA, which here means kernel addresses
 * @nents: entries of @sg
 * @sg_offset: offset in the first entry, bytes; updated
 *
 * Context: Any.
 * Return: entries mapped or a negative errno.
 */
int sroce_reg_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		     unsigned int *sg_offset)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	if (!is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mr->next_npages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, sg_offset, set_page);
}

/**
 * sroce_reg_dereg() - destroy a region (dereg_mr op)
 * @ibmr: the region
 * @udata: system call, or NULL
 *
 * Context: Process, may sleep.
 * Return: 0, or -EBUSY while windows are bound to it.
 */
int sroce_reg_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct sroce_mr *mr = to_sroce_mr(ibmr);

	/* windows bound to it keep it (IBA 10.6.7.2.6); -1 lets no more come */
	if (atomic_cmpxchg(&mr->windows, 0, -1))
		return -EBUSY;
	sroce_mr_unpublish(mr);
	free_region(mr);
	return 0;
}

static const char *type_name(const struct sroce_mr *mr)
{
	static const char * const names[] = {
		[SROCE_MR_USER] = "user",
		[SROCE_MR_DMA] = "dma",
		[SROCE_MR_FRWR] = "fast",
		[SROCE_MR_ODP] = "on-demand",
		[SROCE_MR_WINDOW] = "window",
	};

	return mr->dmabuf ? "dma-buf" : names[mr->type];
}

static int fill(struct sk_buff *msg, const struct sroce_mr *mr)
{
	bool valid = READ_ONCE(mr->state) == SROCE_MR_VALID;

	if (rdma_nl_put_driver_string(msg, "type", type_name(mr)) ||
	    rdma_nl_put_driver_u32(msg, "valid", valid) ||
	    rdma_nl_put_driver_u32_hex(msg, "access", READ_ONCE(mr->access)) ||
	    rdma_nl_put_driver_u32(msg, "pages", READ_ONCE(mr->npages)) ||
	    rdma_nl_put_driver_u32(msg, "max_pages", mr->max_pages) ||
	    rdma_nl_put_driver_u32(msg, "page_shift",
				   READ_ONCE(mr->page_shift)) ||
	    rdma_nl_put_driver_u32(msg, "windows",
				   max(atomic_read(&mr->windows), 0)))
		return -EMSGSIZE;
	return 0;
}

/**
 * sroce_reg_fill_res() - what "rdma resource show mr -dd" tells about a region
 * @msg: netlink message
 * @ibmr: the region
 *
 * Values may be a moment old and not of the same moment.
 *
 * Context: Process.
 * Return: 0 or -EMSGSIZE.
 */
int sroce_reg_fill_res(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct nlattr *table;
	int err;

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	err = fill(msg, to_sroce_mr(ibmr));
	if (err)
		nla_nest_cancel(msg, table);
	else
		nla_nest_end(msg, table);
	return err;
}
