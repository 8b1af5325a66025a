/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue shared with user space in the layout of the rxe ABI.
 *
 * The memory is hostile: user space may write any byte at any time.  Sizes and
 * our own index live in struct sroce_ring and are only mirrored out; the peer's
 * index is masked and its distance checked before use.  Slots are copied, never
 * used in place.
 */
#ifndef SROCE_RING_H
#define SROCE_RING_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <rdma/rdma_user_rxe.h>

struct ib_udata;
struct ib_ucontext;
struct sroce_ring_mem;
struct vm_area_struct;
struct rdma_user_mmap_entry;

static_assert(offsetof(struct rxe_queue_buf, producer_index) == 128);
static_assert(offsetof(struct rxe_queue_buf, consumer_index) == 256);
static_assert(offsetof(struct rxe_queue_buf, data) == 384);

/**
 * struct sroce_ring - kernel side of one shared queue
 * @buf: the shared page-aligned memory (vmalloc_user)
 * @mem: owner of the memory and its mmap entry
 * @mask: slots - 1; at most @mask entries are in use
 * @log2_elem: log2 of the slot size in bytes
 * @index: our own index, always masked
 */
struct sroce_ring {
	struct rxe_queue_buf *buf;
	struct sroce_ring_mem *mem;
	u32 mask;
	u32 log2_elem;
	u32 index;
};

int sroce_ring_create(struct sroce_ring *ring, struct ib_ucontext *uc,
		      u32 entries, u32 elem_bytes, struct mminfo *mi);
void sroce_ring_destroy(struct sroce_ring *ring);
int sroce_ring_mmap(struct ib_ucontext *uc, struct vm_area_struct *vma);
void sroce_ring_mmap_free(struct rdma_user_mmap_entry *entry);

/**
 * sroce_ring_slot() - find a slot
 * @ring: the ring
 * @index: its index, masked here
 *
 * Context: Any.
 * Return: the slot, memory that user space can change at any time.
 */
static inline void *sroce_ring_slot(const struct sroce_ring *ring, u32 index)
{
	return ring->buf->data +
	       ((size_t)(index & ring->mask) << ring->log2_elem);
}

/**
 * sroce_ring_pending() - what user space has produced and we have not consumed
 * @ring: the ring
 *
 * Context: Any; the owner of @ring->index.
 * Return: slots, 0 to mask, whatever user space wrote.
 */
static inline u32 sroce_ring_pending(const struct sroce_ring *ring)
{
	/* pairs with the provider's store-release of the producer index */
	u32 prod = smp_load_acquire(&ring->buf->producer_index);

	return (prod - ring->index) & ring->mask;
}

/**
 * sroce_ring_room() - free slots of a ring that user space consumes
 * @ring: the ring
 *
 * Context: Any; the owner of @ring->index.
 * Return: slots, 0 to mask, whatever user space wrote.
 */
static inline u32 sroce_ring_room(const struct sroce_ring *ring)
{
	/* pairs with the provider's store-release of the consumer index */
	u32 cons = smp_load_acquire(&ring->buf->consumer_index);

	return (cons - ring->index - 1) & ring->mask;
}

/**
 * sroce_ring_consume() - give consumed slots back to user space
 * @ring: the ring
 * @n: slots
 *
 * Context: Any; the owner of @ring->index.
 */
static inline void sroce_ring_consume(struct sroce_ring *ring, u32 n)
{
	ring->index = (ring->index + n) & ring->mask;
	/* pairs with the provider's load-acquire: slots are read before this */
	smp_store_release(&ring->buf->consumer_index, ring->index);
}

/**
 * sroce_ring_publish() - show slots we have written to user space
 * @ring: the ring
 * @n: slots
 *
 * Context: Any; the owner of @ring->index.
 */
static inline void sroce_ring_publish(struct sroce_ring *ring, u32 n)
{
	ring->index = (ring->index + n) & ring->mask;
	/* pairs with the provider's load-acquire: slots are written before this */
	smp_store_release(&ring->buf->producer_index, ring->index);
}

#endif /* SROCE_RING_H */
