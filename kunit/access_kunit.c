// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/access.c: ranges at the ends of the address space, against a
 * model that counts bytes, and the rights of every opcode.
 */
#include "proto/access.h"
#include "proto/opcode.h"

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/limits.h>

struct range_case {
	const char *name;
	u64 start;
	u64 size;
	u64 va;
	u64 len;
	bool ok;
};

static const struct range_case range_cases[] = {
	{ "whole region", 0x1000, 0x1000, 0x1000, 0x1000, true },
	{ "last byte", 0x1000, 0x1000, 0x1fff, 1, true },
	{ "one byte before", 0x1000, 0x1000, 0xfff, 1, false },
	{ "one byte behind", 0x1000, 0x1000, 0x2000, 1, false },
	{ "across the end", 0x1000, 0x1000, 0x1fff, 2, false },
	{ "across the begin", 0x1000, 0x1000, 0xfff, 2, false },
	{ "longer than the region", 0x1000, 0x1000, 0x1000, 0x1001, false },
	{ "zero length inside", 0x1000, 0x1000, 0x1800, 0, true },
	{ "zero length outside", 0x1000, 0x1000, U64_MAX, 0, true },
	{ "zero length, empty region", 0, 0, 77, 0, true },
	{ "one byte, empty region", 0, 0, 0, 1, false },
	{ "region up to 2^64", U64_MAX - 0xfff, 0x1000, U64_MAX, 1, true },
	{ "whole region up to 2^64", U64_MAX - 0xfff, 0x1000, U64_MAX - 0xfff,
	  0x1000, true },
	{ "request wraps", 0x1000, 0x1000, U64_MAX, 0x1802, false },
	{ "request wraps out of the last region", U64_MAX - 0xfff, 0x1000,
	  U64_MAX, 2, false },
	{ "region wraps, request with it", U64_MAX - 0xfff, 0x2000, U64_MAX, 2,
	  false },
	{ "region wraps, request before it", 100, U64_MAX, 50, 1, false },
	{ "length near 2^64", 0x1000, 0x1000, 0x1001, U64_MAX, false },
	{ "everything", 0, U64_MAX, 0, U64_MAX, true },
	{ "everything but the last byte", 0, U64_MAX, 1, U64_MAX, false },
};

static void range_desc(const struct range_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(range, range_cases, range_desc);

static void range_test(struct kunit *test)
{
	const struct range_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, sroce_access_range_ok(c->start, c->size, c->va,
						    c->len), c->ok);
}

/* A request @off bytes and a region @skip bytes after @base, below 2^64. */
static void count_one(struct kunit *test, u64 base, u64 skip, u64 size, u64 off)
{
	u64 len;

	if (base + off < base || (size && base + skip + size - 1 < base))
		return;
	for (len = 0; len < 8; len++)
		KUNIT_ASSERT_EQ(test,
				sroce_access_range_ok(base + skip, size,
						      base + off, len),
				!len || (off >= skip &&
					 off + len <= skip + size));
}

/* Small regions and requests around 0, in the middle and up to 2^64. */
static void count_test(struct kunit *test)
{
	static const u64 bases[] = { 0, 100, U64_MAX - 7 };
	u64 i, base, skip, size, off;

	for (i = 0; i < ARRAY_SIZE(bases) * 8 * 8 * 16; i++) {
		base = bases[i / (8 * 8 * 16)];
		skip = i / (8 * 16) % 8;
		size = i / 16 % 8;
		off = i % 16;
		count_one(test, base, skip, size, off);
	}
}

static void needed_test(struct kunit *test)
{
	static const struct {
		u8 opcode;
		u32 need;
	} rows[] = {
		{ SROCE_OPCODE_RC_SEND_ONLY, 0 },
		{ SROCE_OPCODE_RC_WRITE_FIRST, 2 },
		{ SROCE_OPCODE_RC_WRITE_LAST_IMM, 2 },
		{ SROCE_OPCODE_UC_WRITE_ONLY, 2 },
		{ SROCE_OPCODE_RC_READ_REQUEST, 4 },
		{ SROCE_OPCODE_RC_CAS, 8 },
		{ SROCE_OPCODE_RC_FADD, 8 },
		{ SROCE_OPCODE_RC_ATOMIC_WRITE, 2 },
		{ SROCE_OPCODE_RC_FLUSH, 0 },
		{ SROCE_OPCODE_UD_SEND_ONLY, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, rows[i].need, sroce_access_needed
				    (sroce_opcode_info(rows[i].opcode)->flags),
				    "opcode %#x", rows[i].opcode);
	KUNIT_EXPECT_EQ(test, sroce_access_flush(0), 0);
	KUNIT_EXPECT_EQ(test, sroce_access_flush(1), 0x100);
	KUNIT_EXPECT_EQ(test, sroce_access_flush(2), 0x200);
	KUNIT_EXPECT_EQ(test, sroce_access_flush(3), 0x300);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(range_test, range_gen_params),
	KUNIT_CASE(count_test),
	KUNIT_CASE(needed_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_access",
	.test_cases = cases,
};

kunit_test_suite(suite);
