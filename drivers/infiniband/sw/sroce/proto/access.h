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

bool sroce_access_range_ok(u64 start, u64 size_bytes, u64 va, u64 len_bytes);
u32 sroce_access_needed(u32 opcode_flags);
u32 sroce_access_flush(u32 flush_type);

#endif /* SROCE_PROTO_ACCESS_H */
