// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/rtt.c: the first sample, convergence, limits, extreme samples.
 */
#include "proto/rtt.h"

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/prandom.h>

#define FLOOR_NS	200000ULL
#define CEIL_NS		67108864ULL

static void first_test(struct kunit *test)
{
	struct sroce_rtt rtt;

	sroce_rtt_init(&rtt);
	KUNIT_EXPECT_EQ(test, rtt.min_ns, U64_MAX);
	KUNIT_EXPECT_EQ(test, sroce_rtt_rto_ns(&rtt, FLOOR_NS, CEIL_NS),
			CEIL_NS);
	sroce_rtt_sample(&rtt, 1000000);
	KUNIT_EXPECT_EQ(test, rtt.srtt_ns, 1000000ULL);
	KUNIT_EXPECT_EQ(test, rtt.rttvar_ns, 500000ULL);
	KUNIT_EXPECT_EQ(test, rtt.min_ns, 1000000ULL);
	KUNIT_EXPECT_EQ(test, sroce_rtt_rto_ns(&rtt, FLOOR_NS, CEIL_NS),
			3000000ULL);
	sroce_rtt_sample(&rtt, 1800000);
	KUNIT_EXPECT_EQ(test, rtt.rttvar_ns, 575000ULL);
	KUNIT_EXPECT_EQ(test, rtt.srtt_ns, 1100000ULL);
	KUNIT_EXPECT_EQ(test, rtt.min_ns, 1000000ULL);
}

static void converge_test(struct kunit *test)
{
	struct sroce_rtt rtt;
	unsigned int i;

	sroce_rtt_init(&rtt);
	sroce_rtt_sample(&rtt, 10000000);
	for (i = 0; i < 200; i++)
		sroce_rtt_sample(&rtt, 50000);
	/* Integer division leaves at most 7 ns above the true value. */
	KUNIT_EXPECT_GE(test, rtt.srtt_ns, 50000ULL);
	KUNIT_EXPECT_LE(test, rtt.srtt_ns, 50007ULL);
	KUNIT_EXPECT_LE(test, rtt.rttvar_ns, 8ULL);
	KUNIT_EXPECT_EQ(test, rtt.min_ns, 50000ULL);
	KUNIT_EXPECT_EQ(test, sroce_rtt_rto_ns(&rtt, FLOOR_NS, CEIL_NS),
			FLOOR_NS);
}

static void limits_test(struct kunit *test)
{
	struct sroce_rtt rtt;
	unsigned int i;

	sroce_rtt_init(&rtt);
	sroce_rtt_sample(&rtt, 0);
	KUNIT_EXPECT_EQ(test, rtt.srtt_ns, 1ULL);
	for (i = 0; i < 1000; i++)
		sroce_rtt_sample(&rtt, U64_MAX);
	KUNIT_EXPECT_LE(test, rtt.srtt_ns, SROCE_RTT_MAX_NS);
	KUNIT_EXPECT_EQ(test, sroce_rtt_rto_ns(&rtt, FLOOR_NS, CEIL_NS),
			CEIL_NS);
	/* Limits that contradict each other: the ceiling holds. */
	KUNIT_EXPECT_EQ(test, sroce_rtt_rto_ns(&rtt, 10, 5), 5ULL);
	for (i = 0; i < 1000; i++)
		sroce_rtt_sample(&rtt, 0);
	KUNIT_EXPECT_GE(test, rtt.srtt_ns, 1ULL);
}

/* The estimate stays between the extremes of what it was given. */
static void random_test(struct kunit *test)
{
	struct rnd_state rnd;
	struct sroce_rtt rtt;
	unsigned int i;
	u64 rto_ns;

	prandom_seed_state(&rnd, 3);
	sroce_rtt_init(&rtt);
	for (i = 0; i < 10000; i++) {
		sroce_rtt_sample(&rtt, 20000 + prandom_u32_state(&rnd) % 80000);
		KUNIT_ASSERT_GE(test, rtt.srtt_ns, 20000ULL - 8);
		KUNIT_ASSERT_LE(test, rtt.srtt_ns, 100000ULL);
		KUNIT_ASSERT_LE(test, rtt.rttvar_ns, 80000ULL);
		rto_ns = sroce_rtt_rto_ns(&rtt, 1, CEIL_NS);
		KUNIT_ASSERT_GE(test, rto_ns, rtt.srtt_ns);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(first_test),
	KUNIT_CASE(converge_test),
	KUNIT_CASE(limits_test),
	KUNIT_CASE(random_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_rtt",
	.test_cases = cases,
};

kunit_test_suite(suite);
