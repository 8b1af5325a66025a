/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access rights and ranges.
 *
 * Owns the arithmetic of "may this request touch these bytes": pure functions,
 * any context. Called by mr.c, mw.c and resp.c. Must not know keys, regions or
 * pages; rights are bits with the values of enum ib_access_flags so that no
 * translation is needed.
 */
#ifndef SROCE_PROTO_ACCESS_H
#define SROCE_PROTO_ACCESS_H

#include <linux/bits.h>
#include <linux/types.h>

#include "opcode.h"

/* enum ib_access_flags */
#define SROCE_ACCESS_LOCAL_WRITE	BIT(0)
#define SROCE_ACCESS_REMOTE_WRITE	BIT(1)
#define SROCE_ACCESS_REMOTE_READ	BIT(2)
#define SROCE_ACCESS_REMOTE_ATOMIC	BIT(3)
#define SROCE_ACCESS_MW_BIND		BIT(4)
#define SROCE_ACCESS_ZERO_BASED		BIT(5)
#define SROCE_ACCESS_FLUSH_GLOBAL	BIT(8)
#define SROCE_ACCESS_FLUSH_PERSISTENT	BIT(9)

/* Rights that only make sense on memory that may be written locally. */
#define SROCE_ACCESS_NEEDS_LOCAL_WRITE	(SROCE_ACCESS_REMOTE_WRITE | \
					 SROCE_ACCESS_REMOTE_ATOMIC)

/* FETH placement type, enum ib_flush_type */
#define SROCE_FLUSH_GLOBAL		BIT(0)
#define SROCE_FLUSH_PERSISTENT		BIT(1)

/* FETH selectivity level, enum ib_selectivity_level */
#define SROCE_FLUSH_SEL_RANGE		0
#define SROCE_FLUSH_SEL_MR		1

/**
 * sroce_access_range_ok() - does a request stay within a region
 * @start: first address of the region
 * @size_bytes: size of the region, bytes
 * @va: first address of the request
 * @len_bytes: size of the request, bytes
 *
 * No sum here can overflow, whatever the numbers. A request without bytes
 * touches nothing and is in range everywhere (IBA 9.7.4.1.5).
 *
 * Context: Any.
 * Return: true if all bytes of the request are bytes of the region.
 */
static inline bool sroce_access_range_ok(u64 start, u64 size_bytes, u64 va, u64 len_bytes)
{
	if (!len_bytes)
		return true;
	if (va < start || len_bytes > size_bytes)
		return false;
	/* A region said to reach beyond 2^64 ends there all the same. */
	if (len_bytes - 1 > ~0ULL - va)
		return false;
	return va - start <= size_bytes - len_bytes;
}

/**
 * sroce_access_needed() - rights that a request needs on remote memory
 * @opcode_flags: SROCE_OPF_* of its opcode
 *
 * Context: Any.
 * Return: SROCE_ACCESS_* bits; 0 for requests without remote memory, and for
 * FLUSH, whose rights sroce_access_flush() tells from its header.
 */
static inline u32 sroce_access_needed(u32 opcode_flags)
{
	u32 need = 0;

	if (opcode_flags & (SROCE_OPF_WRITE | SROCE_OPF_ATOMIC_WRITE))
		need |= SROCE_ACCESS_REMOTE_WRITE;
	if (opcode_flags & SROCE_OPF_READ)
		need |= SROCE_ACCESS_REMOTE_READ;
	if (opcode_flags & SROCE_OPF_ATOMIC)
		need |= SROCE_ACCESS_REMOTE_ATOMIC;
	return need;
}

u32 sroce_access_flush(u32 flush_type);

#endif /* SROCE_PROTO_ACCESS_H */
