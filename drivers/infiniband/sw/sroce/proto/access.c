// SPDX-License-Identifier: GPL-2.0
/*
 * Access rights and ranges; see access.h.
 *
 * Owns the rights each kind of request needs. Any context, no state. Must not know keys
 * or regions.
 */
#include "access.h"

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
