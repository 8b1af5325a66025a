// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the queues shared with user space.
 *
 * Owns the pages, their mmap entry and the header the provider reads.  Process
 * context only; called by the queues that embed a ring and by the mmap ops.
 * Indices and slots on the fast path are inlines of ring.h.  Must not know what
 * a slot holds.
 *
 * Lifetime: the queue holds the mmap entry until it is destroyed and an mmap
 * call in progress holds it while it maps.  The last of them frees the memory.
 * A mapping may outlive both: its pages are reference counted one by one, and
 * nothing reads them any more.
 */
#include "ring.h"

#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "compat.h"

/* The provider may not take a slot for less than a cache line, log2 of bytes. */
#define RING_MIN_LOG2_ELEM	6

/**
 * struct sroce_ring_mem - the memory of a ring
 * @entry: what mmap finds it by
 * @buf: the memory (vmalloc_user)
 */
struct sroce_ring_mem {
	struct rdma_user_mmap_entry entry;
	struct rxe_queue_buf *buf;
};

/**
 * sroce_ring_create() - make a ring that user space can map
 * @ring: filled in
 * @uc: user context that may map it
 * @entries: slots that must be usable at the same time, 1 or more
 * @elem_bytes: bytes of a slot; rounded up to a power of two of 64 or more
 * @mi: what to tell user space: file offset and bytes to map
 *
 * Context: Process, may sleep.
 * Return: 0, -EINVAL when the ring would be too big, -ENOMEM.
 */
int sroce_ring_create(struct sroce_ring *ring, struct ib_ucontext *uc,
		      u32 entries, u32 elem_bytes, struct mminfo *mi)
{
	struct sroce_ring_mem *mem;
	u32 log2_elem;
	u64 slots;
	u64 bytes;
	int err;

	log2_elem = max(order_base_2(elem_bytes), RING_MIN_LOG2_ELEM);
	/* one slot stays empty: full and empty must look different */
	slots = roundup_pow_of_two((u64)entries + 1);
	bytes = PAGE_ALIGN(offsetof(struct rxe_queue_buf, data) +
			   (slots << log2_elem));
	if (bytes > U32_MAX)
		return -EINVAL;

	mem = kzalloc_obj(*mem);
	if (!mem)
		return -ENOMEM;
	mem->buf = vmalloc_user(bytes);
	if (!mem->buf) {
		err = -ENOMEM;
		goto free_mem;
	}
	mem->buf->log2_elem_size = log2_elem;
	mem->buf->index_mask = slots - 1;

	err = rdma_user_mmap_entry_insert_range(uc, &mem->entry, bytes, 1,
						U32_MAX);
	if (err)
		goto free_buf;

	ring->buf = mem->buf;
	ring->mem = mem;
	ring->mask = slots - 1;
	ring->log2_elem = log2_elem;
	ring->index = 0;
	mi->offset = rdma_user_mmap_get_offset(&mem->entry);
	mi->size = bytes;
	mi->pad = 0;
	return 0;

free_buf:
	vfree(mem->buf);
free_mem:
	kfree(mem);
	return err;
}

/**
 * sroce_ring_destroy() - give a ring up
 * @ring: the ring; one that was never made is fine
 *
 * The caller has made sure that nothing uses the slots any more.
 *
 * Context: Process, may sleep.
 */
void sroce_ring_destroy(struct sroce_ring *ring)
{
	if (!ring->mem)
		return;
	rdma_user_mmap_entry_remove(&ring->mem->entry);
	ring->mem = NULL;
	ring->buf = NULL;
}

/**
 * sroce_ring_mmap() - map a ring (mmap op of the device)
 * @uc: user context of the file
 * @vma: shared mapping of exactly the bytes and offset that were handed out
 *
 * Context: Process, mmap lock held for writing.
 * Return: 0, -EINVAL when there is no such ring, or the error of the mapping.
 */
int sroce_ring_mmap(struct ib_ucontext *uc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct sroce_ring_mem *mem;
	int err;

	entry = rdma_user_mmap_entry_get(uc, vma);
	if (!entry)
		return -EINVAL;
	mem = container_of(entry, struct sroce_ring_mem, entry);
	err = remap_vmalloc_range(vma, mem->buf, 0);
	rdma_user_mmap_entry_put(entry);
	return err;
}

/**
 * sroce_ring_mmap_free() - the last reference is gone (mmap_free op)
 * @entry: mmap entry of the ring
 *
 * Context: Process, may sleep.
 */
void sroce_ring_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct sroce_ring_mem *mem =
		container_of(entry, struct sroce_ring_mem, entry);

	vfree(mem->buf);
	kfree(mem);
}
