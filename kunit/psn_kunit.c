// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/psn.h: wrap, half range, antisymmetry, packet counts.
 */
#include "proto/psn.h"

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/prandom.h>

struct diff_case {
	const char *name;
	u32 a;
	u32 b;
	s32 diff;
};

static const struct diff_case diff_cases[] = {
	{ "equal", 5, 5, 0 },
	{ "one ahead", 6, 5, 1 },
	{ "one behind", 5, 6, -1 },
	{ "ahead over the wrap", 0x000002, 0xfffffe, 4 },
	{ "behind over the wrap", 0xfffffe, 0x000002, -4 },
	{ "most ahead", 0x7fffff, 0, 0x7fffff },
	{ "half range counts as behind", 0x800000, 0, -0x800000 },
	{ "half range from the other end", 0, 0x800000, -0x800000 },
	{ "just over half range", 0x800001, 0, -0x7fffff },
	{ "upper bits are ignored", 0xaa000007, 0x55000005, 2 },
};

static void diff_desc(const struct diff_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(diff, diff_cases, diff_desc);

static void diff_test(struct kunit *test)
{
	const struct diff_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, sroce_psn_diff(c->a, c->b), c->diff);
}

static void random_test(struct kunit *test)
{
	struct rnd_state rnd;
	u32 a, b, i;
	s32 d;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 100000; i++) {
		a = prandom_u32_state(&rnd) & SROCE_PSN_MASK;
		b = prandom_u32_state(&rnd) & SROCE_PSN_MASK;
		d = sroce_psn_diff(a, b);
		/* Adding the difference leads back. */
		KUNIT_ASSERT_EQ(test, sroce_psn_add(b, d), a);
		/* Half the range is its own opposite, all else changes sign. */
		if (d != -(s32)SROCE_PSN_HALF)
			KUNIT_ASSERT_EQ(test, sroce_psn_diff(b, a), -d);
		KUNIT_ASSERT_EQ(test, sroce_psn_dist(b, a),
				d < 0 ? (u32)(d + 0x1000000) : (u32)d);
	}
}

static void add_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sroce_psn_add(0xffffff, 1), 0);
	KUNIT_EXPECT_EQ(test, sroce_psn_add(0, -1), 0xffffff);
	KUNIT_EXPECT_EQ(test, sroce_psn_add(0x123456, 0), 0x123456);
	KUNIT_EXPECT_EQ(test, sroce_psn_add(0x900000, 0x800000), 0x100000);
	KUNIT_EXPECT_EQ(test, sroce_psn_add(0xff000003, 1), 4);
}

struct count_case {
	const char *name;
	u32 len_bytes;
	u32 pmtu_bytes;
	u32 count;
};

static const struct count_case count_cases[] = {
	{ "no payload is one packet", 0, 1024, 1 },
	{ "one byte", 1, 256, 1 },
	{ "exactly one", 4096, 4096, 1 },
	{ "one byte more", 4097, 4096, 2 },
	{ "longest message", 0x80000000, 256, 0x800000 },
	{ "longest message, large packets", 0x80000000, 4096, 0x80000 },
	{ "one short of the longest", 0x7fffffff, 256, 0x800000 },
};

static void count_desc(const struct count_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(count, count_cases, count_desc);

static void count_test(struct kunit *test)
{
	const struct count_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, sroce_psn_count(c->len_bytes, c->pmtu_bytes),
			c->count);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(diff_test, diff_gen_params),
	KUNIT_CASE(random_test),
	KUNIT_CASE(add_test),
	KUNIT_CASE_PARAM(count_test, count_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_psn",
	.test_cases = cases,
};

kunit_test_suite(suite);
