/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory by key: rights, bounds, and copies in and out.
 *
 * Lookups run in softirq under RCU.  A reference taken by a lookup lives for
 * one bottom-half section only, never across packets of a message: so
 * deregistration waits for at most one burst and never for a peer.
 */
#ifndef SROCE_MR_H
#define SROCE_MR_H

#include <linux/completion.h>
#include <linux/iosys-map.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dma_buf;
struct ib_umem;
struct sroce_dev;

/* A key is an index into the table and a byte that makes old keys invalid. */
#define SROCE_KEY_SHIFT	8

enum sroce_mr_type {
	SROCE_MR_USER,		/* pages of a user process */
	SROCE_MR_DMA,		/* all of kernel memory, kernel users only */
	SROCE_MR_FRWR,		/* page list mapped by REG_MR */
	SROCE_MR_ODP,		/* pages of a user process when they are used */
	SROCE_MR_WINDOW,	/* window on the pages of a user region */
};

enum sroce_mr_state {
	SROCE_MR_VALID,
	SROCE_MR_INVALID,	/* allocated but not registered, or invalidated */
};

/**
 * struct sroce_party - on whose behalf memory is accessed
 * @pd: protection domain of the QP
 * @qp_id: number of the QP that no other ever gets, not 0
 */
struct sroce_party {
	struct ib_pd *pd;
	u64 qp_id;
};

/**
 * struct sroce_mr - a memory region, or a window on one
 * @ibmr: the core's part.  Its keys are the owner's, who may already have set
 *	those of the next REG_MR
 * @lkey: key for own work requests; 0: there is none
 * @rkey: key for peers; of a region the same number
 * @dev: the device, for the key table
 * @type: where the pages come from
 * @state: enum sroce_mr_state; changed by REG_MR, BIND_MW, LOCAL_INV, ...
 * @index: key >> SROCE_KEY_SHIFT
 * @qp_id: window of type 2: the QP that bound it; 0: any of the domain
 * @access: IB_ACCESS_* rights
 * @iova: first address as work requests name it
 * @length: bytes
 * @offset: of @iova in the first page, bytes
 * @page_shift: log2 of the page size of @pages
 * @npages: entries of @pages in use
 * @max_pages: entries of @pages allocated
 * @next: page list of the next REG_MR: the owner sets it while the old one may
 *	still be in use
 * @next_npages: entries of @next in use; 0 when no list was set
 * @pages: kernel addresses of the pages; NULL where an ODP region has a hole
 * @umem: pinned user memory, or NULL
 * @dmabuf: buffer of another driver, or NULL
 * @map: where @dmabuf is mapped
 * @lock: one at a time may bind or invalidate; only ever tried
 * @windows: windows bound to this region; negative: no more may be
 * @parent: window: the region it is bound to, or NULL; under @lock
 * @window_type: window: enum ib_mw_type
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
	u32 index;
	u32 lkey;
	u32 rkey;
	u64 qp_id;
	u64 iova;
	u64 length;
	u32 offset;
	u32 page_shift;
	u32 npages;
	u32 max_pages;
	u32 next_npages;
	void **pages;
	void **next;
	struct ib_umem *umem;
	struct dma_buf *dmabuf;
	struct iosys_map map;
	spinlock_t lock;
	atomic_t windows;
	struct sroce_mr *parent;
	enum ib_mw_type window_type;
	refcount_t ref;
	struct completion gone;
	struct rcu_head rcu;
};

/**
 * struct sroce_mr_hold - the region that accesses of a section went to last
 * @mr: the region, held; NULL for none
 * @key: key it was looked up by
 *
 * Bursts of messages use one region, so it is looked up and counted once for a
 * bottom-half section and not for each access.  What an access may do is checked
 * for each.
 */
struct sroce_mr_hold {
	struct sroce_mr *mr;
	u32 key;
};

static inline bool sroce_mr_valid(const struct sroce_mr *mr)
{
	/* pairs with the release where it became valid: the page list is whole */
	return smp_load_acquire(&mr->state) == SROCE_MR_VALID;
}

struct sroce_mr *sroce_mr_get(struct sroce_dev *dev, u32 key);
struct sroce_mr *sroce_mr_use_local(struct sroce_mr_hold *hold,
				    struct sroce_dev *dev,
				    const struct sroce_party *who, u32 lkey,
				    int access, u64 va, u64 bytes);
struct sroce_mr *sroce_mr_use_remote(struct sroce_mr_hold *hold,
				     struct sroce_dev *dev,
				     const struct sroce_party *who, u32 rkey,
				     int access, u64 va, u64 bytes);
void sroce_mr_release(struct sroce_mr_hold *hold);
void sroce_mr_put(struct sroce_mr *mr);
int sroce_mr_read(struct sroce_mr *mr, u64 va, void *dst, u32 bytes);
int sroce_mr_write(struct sroce_mr *mr, u64 va, const void *src, u32 bytes);
int sroce_mr_cas(struct sroce_mr *mr, u64 va, u64 compare, u64 swap, u64 *orig);
int sroce_mr_store(struct sroce_mr *mr, u64 va, u64 value);
int sroce_mr_fadd(struct sroce_mr *mr, u64 va, u64 add, u64 *orig);

void sroce_mr_revoke(struct sroce_mr *mr);
bool sroce_mr_drained(struct sroce_mr *mr);
struct sroce_mr *sroce_mr_new(struct ib_pd *pd, enum sroce_mr_type type,
			      int access);
int sroce_mr_publish(struct sroce_mr *mr);
void sroce_mr_unpublish(struct sroce_mr *mr);
void sroce_mr_free(struct sroce_mr *mr);

#endif /* SROCE_MR_H */
