/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory regions: keys, rights, bounds, and copies in and out.
 *
 * Lookups run in softirq under RCU.  A reference taken by a lookup lives for
 * one bottom-half section only, never across packets of a message: so
 * deregistration waits for at most one burst and never for a peer.
 */
#ifndef SROCE_MR_H
#define SROCE_MR_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct ib_umem;
struct sroce_dev;

enum sroce_mr_type {
	SROCE_MR_USER,		/* pages of a user process */
	SROCE_MR_DMA,		/* all of kernel memory, kernel users only */
	SROCE_MR_FRWR,		/* page list mapped by REG_MR */
};

enum sroce_mr_state {
	SROCE_MR_VALID,
	SROCE_MR_INVALID,	/* allocated but not registered, or invalidated */
};

/**
 * struct sroce_mr - a memory region
 * @ibmr: the core's part; lkey and rkey are equal
 * @dev: the device, for the key table
 * @type: where the pages come from
 * @state: enum sroce_mr_state; changed by REG_MR and LOCAL_INV
 * @access: IB_ACCESS_* rights
 * @iova: first address as work requests name it
 * @length: bytes
 * @offset: of @iova in the first page, bytes
 * @page_shift: log2 of the page size of @pages
 * @npages: entries of @pages in use
 * @max_pages: entries of @pages allocated
 * @pages: kernel addresses of the pages
 * @umem: pinned user memory, or NULL
 * @ref: one for the key table, one per bottom-half section at work
 * @gone: completed with the last reference
 * @rcu: delays the free
 */
struct sroce_mr {
	struct ib_mr ibmr;
	struct sroce_dev *dev;
	enum sroce_mr_type type;
	enum sroce_mr_state state;
	int access;
	u64 iova;
	u64 length;
	u32 offset;
	u32 page_shift;
	u32 npages;
	u32 max_pages;
	void **pages;
	struct ib_umem *umem;
	refcount_t ref;
	struct completion gone;
	struct rcu_head rcu;
};

struct sroce_mr *sroce_mr_get_local(struct sroce_dev *dev, struct ib_pd *pd,
				    u32 lkey, int access, u64 va, u64 bytes);
struct sroce_mr *sroce_mr_get_remote(struct sroce_dev *dev, struct ib_pd *pd,
				     u32 rkey, int access, u64 va, u64 bytes);
void sroce_mr_put(struct sroce_mr *mr);
int sroce_mr_read(struct sroce_mr *mr, u64 va, void *dst, u32 bytes);
int sroce_mr_write(struct sroce_mr *mr, u64 va, const void *src, u32 bytes);
int sroce_mr_cas(struct sroce_mr *mr, u64 va, u64 compare, u64 swap, u64 *orig);
int sroce_mr_fadd(struct sroce_mr *mr, u64 va, u64 add, u64 *orig);
int sroce_mr_invalidate(struct sroce_dev *dev, struct ib_pd *pd, u32 key);
int sroce_mr_fast_reg(struct ib_mr *ibmr, u32 key, int access);

struct ib_mr *sroce_mr_get_dma(struct ib_pd *pd, int access);
struct ib_mr *sroce_mr_reg_user(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
struct ib_mr *sroce_mr_alloc(struct ib_pd *pd, enum ib_mr_type type,
			     u32 max_num_sg);
int sroce_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		    unsigned int *sg_offset);
int sroce_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* SROCE_MR_H */
