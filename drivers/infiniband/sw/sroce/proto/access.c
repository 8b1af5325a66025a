// SPDX-License-Identifier: GPL-2.0
/*
 * Access rights and ranges; see access.h.
 *
 * Owns the range check that stands between a peer's numbers and memory, and the
 * rights each kind of request needs. Any context, no state. Must not know keys
 * or regions.
 */
#include "access.h"

#include "opcode.h"

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
bool sroce_access_range_ok(u64 start, u64 size_bytes, u64 va, u64 len_bytes)
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
u32 sroce_access_needed(u32 opcode_flags)
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

/**
 * sroce_access_flush() - rights that a FLUSH needs on remote memory
 * @flush_type: SROCE_FLUSH_* bits of its FETH
 *
 * Context: Any.
 * Return: SROCE_ACCESS_* bits.
 */
u32 sroce_access_flush(u32 flush_type)
{
	return (flush_type & SROCE_FLUSH_GLOBAL ?
		SROCE_ACCESS_FLUSH_GLOBAL : 0) |
	       (flush_type & SROCE_FLUSH_PERSISTENT ?
		SROCE_ACCESS_FLUSH_PERSISTENT : 0);
}
