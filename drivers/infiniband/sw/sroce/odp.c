// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: regions whose pages come when they are used.
 *
 * Owns the way between the process's page tables and the page list of such a
 * region. Runs in process context: faults in a work item, advice and
 * registration in the caller; invalidation in whoever changes the page tables.
 * Called by reg.c, by pagein.c and by ib_core. Must not know QPs.
 *
 * An entry of the page list is written under the umem's mutex and read by
 * copies with bottom halves off. Before a page goes, its entry is cleared and
 * one grace period has passed, so that no copy that saw it is still at it.
 */
#include "odp.h"
#include "dev.h"
#include "mr.h"

#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "compat.h"

/* How much is faulted in under one hold of the umem's mutex, bytes. */
#define FAULT_BYTES	(512 * PAGE_SIZE)

static u64 first_page(struct ib_umem_odp *odp, u64 user)
{
	return (user - ib_umem_start(odp)) >> PAGE_SHIFT;
}

/* The pages between two addresses of the process are about to go. */
static bool invalidate(struct mmu_interval_notifier *mni,
		       const struct mmu_notifier_range *range,
		       unsigned long cur_seq)
{
	struct ib_umem_odp *odp =
		container_of(mni, struct ib_umem_odp, notifier);
	struct sroce_mr *mr;
	bool any = false;
	u64 start, end, i;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&odp->umem_mutex);
	mmu_interval_set_seq(mni, cur_seq);
	start = max_t(u64, ib_umem_start(odp), range->start);
	end = min_t(u64, ib_umem_end(odp), range->end);
	mr = odp->private;
	for (i = first_page(odp, start);
	     mr && i < first_page(odp, end + PAGE_SIZE - 1); i++) {
		any |= !!mr->pages[i];
		WRITE_ONCE(mr->pages[i], NULL);
	}
	/* bottom halves are off in a copy, so it is over after this */
	if (any)
		synchronize_rcu_expedited();
	ib_umem_odp_unmap_dma_pages(odp, start, end);
	mutex_unlock(&odp->umem_mutex);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

/* Take over what the page tables have; a page is as writable as its region. */
static void take_pages(struct sroce_mr *mr, struct ib_umem_odp *odp, u64 user,
		       u64 bytes)
{
	const unsigned long *pfns = sroce_compat_odp_pfns(odp);
	u64 need = HMM_PFN_VALID | (odp->umem.writable ? HMM_PFN_WRITE : 0);
	u64 i;

	lockdep_assert_held(&odp->umem_mutex);
	for (i = first_page(odp, user); i <= first_page(odp, user + bytes - 1);
	     i++)
		if ((pfns[i] & need) == need)
			WRITE_ONCE(mr->pages[i],
				   page_address(hmm_pfn_to_page(pfns[i])));
}

/* Bring the pages of one chunk; @fault false takes only what is there. */
static int fault_chunk(struct sroce_mr *mr, u64 user, u64 bytes, bool fault)
{
	struct ib_umem_odp *odp = to_ib_umem_odp(mr->umem);
	u64 access = SROCE_COMPAT_ODP_READ;
	int n;

	if (odp->umem.writable)
		access |= SROCE_COMPAT_ODP_WRITE;
	n = ib_umem_odp_map_dma_and_lock(odp, user, bytes, access, fault);
	if (n < 0)
		return n;
	take_pages(mr, odp, user, bytes);
	mutex_unlock(&odp->umem_mutex);
	return 0;
}

static int fault_range(struct sroce_mr *mr, u64 va, u64 bytes, bool fault)
{
	u64 user = va - mr->iova + mr->umem->address;
	u64 n;
	int err;

	for (; bytes; bytes -= n, user += n) {
		n = min_t(u64, bytes, FAULT_BYTES);
		err = fault_chunk(mr, user, n, fault);
		if (err)
			return err;
	}
	return 0;
}

/**
 * sroce_odp_init() - give a new region its holes
 * @mr: the region, not published
 * @start: address in the process
 * @length: bytes
 * @access: IB_ACCESS_* rights
 *
 * Context: Process, may sleep.
 * Return: 0, -EOPNOTSUPP for all of the process's memory (implicit ODP) and on
 *	kernels without ODP, or another negative errno.
 */
int sroce_odp_init(struct sroce_mr *mr, u64 start, u64 length, int access)
{
	struct ib_umem_odp *odp;

	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) ||
	    (!start && length == U64_MAX))
		return -EOPNOTSUPP;
	mr->type = SROCE_MR_ODP;
	/* pages of any size are found as many small ones */
	odp = ib_umem_odp_get(&mr->dev->ib, start, length,
			      access & ~IB_ACCESS_HUGETLB, &notifier_ops);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	mr->umem = &odp->umem;
	mr->page_shift = PAGE_SHIFT;
	mr->offset = start & (PAGE_SIZE - 1);
	mr->pages = kvcalloc(ib_umem_odp_num_pages(odp), sizeof(*mr->pages),
			     GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	mr->npages = ib_umem_odp_num_pages(odp);
	mutex_lock(&odp->umem_mutex);
	odp->private = mr;
	mutex_unlock(&odp->umem_mutex);
	return 0;
}

/**
 * sroce_odp_fault() - fill the holes that an access met
 * @dev: the device
 * @key: key of the region; it was valid when the access failed
 * @va: first byte
 * @bytes: how many the access is going to need; as many come as can be had
 *
 * Context: Process, may sleep, for as long as the process's memory takes.
 * Return: 0 when the first page is there, -EFAULT when it cannot be.
 */
int sroce_odp_fault(struct sroce_dev *dev, u32 key, u64 va, u64 bytes)
{
	struct sroce_mr *mr = sroce_mr_get(dev, key);
	int err = -EFAULT;

	if (!mr)
		return err;
	if (mr->type == SROCE_MR_ODP && va >= mr->iova &&
	    va - mr->iova < mr->length) {
		bytes = clamp_t(u64, bytes, 1, mr->length - (va - mr->iova));
		err = fault_range(mr, va, bytes, true);
		if (err)
			err = fault_range(mr, va, 1, true);
	}
	sroce_mr_put(mr);
	return err ? -EFAULT : 0;
}

/* One piece of an advice; memory that is pinned is there already. */
static int advise_one(struct ib_pd *pd, const struct ib_sge *sge, bool fault)
{
	struct sroce_dev *dev = to_sroce_dev(pd->device);
	struct sroce_mr *mr = sroce_mr_get(dev, sge->lkey);
	int err = -EINVAL;

	if (!mr)
		return err;
	if (mr->lkey == sge->lkey && mr->ibmr.pd == pd &&
	    sge->addr >= mr->iova && sge->length <= mr->length &&
	    sge->addr - mr->iova <= mr->length - sge->length)
		err = mr->type == SROCE_MR_ODP ?
		      fault_range(mr, sge->addr, sge->length, fault) : 0;
	sroce_mr_put(mr);
	return err;
}

/**
 * sroce_odp_advise() - prefetch pages (advise_mr op)
 * @pd: protection domain
 * @advice: prefetch, prefetch to write, or take over only what is in memory
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_*; it is always done before this returns
 * @sg: the memory
 * @num_sge: pieces of it
 * @attrs: system call
 *
 * Context: Process, may sleep.
 * Return: 0, -EOPNOTSUPP for an advice there is not, -EINVAL for memory that is
 *	no region of the domain, -EFAULT when pages cannot be had.
 */
int sroce_odp_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		     u32 flags, struct ib_sge *sg, u32 num_sge,
		     struct uverbs_attr_bundle *attrs)
{
	bool fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	int err = 0;
	u32 i;

	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	for (i = 0; i < num_sge && !err; i++)
		err = advise_one(pd, &sg[i], fault);
	return err;
}

/**
 * sroce_odp_caps() - say what works on demand
 * @attr: attributes of the device
 *
 * A datagram that meets a hole is lost, so receiving them is not offered.
 *
 * Context: Any.
 */
void sroce_odp_caps(struct ib_device_attr *attr)
{
	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		return;
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT;
	attr->odp_caps.per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;
	attr->odp_caps.per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND;
}
