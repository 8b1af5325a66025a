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
#include "mr.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "compat.h"

/* Rights of a region that we can honour; the optional ones are hints. */
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | \
			 IB_ACCESS_FLUSH_GLOBAL | \
			 IB_ACCESS_OPTIONAL)

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
	    access & ~MR_ACCESS || !mr->npages)
		return -EINVAL;

	mr->access = access;
	mr->iova = ibmr->iova;
	mr->length = ibmr->length;
	mr->offset = ibmr->iova & (ibmr->page_size - 1);
	WRITE_ONCE(ibmr->lkey, key);
	WRITE_ONCE(ibmr->rkey, key);
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

static struct ib_mr *publish_or_free(struct sroce_mr *mr, int err)
{
	if (!err)
		err = sroce_mr_publish(mr);
	if (!err)
		return &mr->ibmr;
	sroce_mr_free(mr);
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

	if (access & ~MR_ACCESS)
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
	if (!length || iova + length < iova)
		return ERR_PTR(-EINVAL);
	mr = sroce_mr_new(pd, SROCE_MR_USER, access);
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

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > SROCE_MAX_FRWR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = sroce_mr_new(pd, SROCE_MR_FRWR, 0);
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
	mr->npages = 0;
	mr->page_shift = ilog2(ibmr->page_size);
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
	sroce_mr_free(mr);
	return 0;
}
