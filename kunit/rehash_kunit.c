// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/rehash.c: when a flow takes another port, and which.
 */
#include "proto/rehash.h"

#include <kunit/test.h>
#include <linux/bitops.h>

#define ROUND_NS	SROCE_REHASH_ROUND_NS
#define DRAIN_US	1000U
#define DRAIN_NS	1000000ULL

static const struct sroce_dcqcn_param param = {
	.rehash_rounds = 8,
	.rehash_drain_us = DRAIN_US,
};

/* @n rounds of congestion, and the time then */
static u64 suffer(struct sroce_rehash *r, u32 n, u64 now_ns)
{
	for (; n; n--) {
		now_ns += ROUND_NS;
		sroce_rehash_congested(r, now_ns);
	}
	return now_ns;
}

static void rounds_test(struct kunit *test)
{
	struct sroce_rehash r = {};
	u64 now_ns = suffer(&r, 3, 0);

	KUNIT_EXPECT_EQ(test, r.rounds, 3);
	/* of one round trip all count once */
	sroce_rehash_congested(&r, now_ns + 1);
	sroce_rehash_congested(&r, now_ns + ROUND_NS - 1);
	KUNIT_EXPECT_EQ(test, r.rounds, 3);
	sroce_rehash_congested(&r, now_ns + ROUND_NS);
	KUNIT_EXPECT_EQ(test, r.rounds, 4);
	/* the clock was set back: counted, and from there on */
	sroce_rehash_congested(&r, 10);
	KUNIT_EXPECT_EQ(test, r.rounds, 5);
	sroce_rehash_congested(&r, 11);
	KUNIT_EXPECT_EQ(test, r.rounds, 5);
}

static void empty_test(struct kunit *test)
{
	struct sroce_rehash r = {};
	u64 now_ns = suffer(&r, 7, 0);

	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, true, true, now_ns),
			SROCE_REHASH_STAY);
	now_ns = suffer(&r, 1, now_ns);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_STAY);
	KUNIT_EXPECT_EQ(test, r.draws, 0);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, true, true, now_ns),
			SROCE_REHASH_MOVE);
	KUNIT_EXPECT_EQ(test, r.draws, 1);
	/* the count begins anew */
	KUNIT_EXPECT_EQ(test, r.rounds, 0);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, true, true, now_ns),
			SROCE_REHASH_STAY);
}

static void pause_test(struct kunit *test)
{
	struct sroce_rehash r = {};
	u64 now_ns = suffer(&r, 11, 0);

	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_STAY);
	now_ns = suffer(&r, 1, now_ns);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, false, now_ns),
			SROCE_REHASH_STAY);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_WAIT);
	KUNIT_EXPECT_EQ(test, r.pause_ns, now_ns + DRAIN_NS);
	/* it goes on, whatever a new one would do, and does not move its end */
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, false,
						now_ns + DRAIN_NS - 1),
			SROCE_REHASH_WAIT);
	KUNIT_EXPECT_EQ(test, r.pause_ns, now_ns + DRAIN_NS);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, true, true,
						now_ns + DRAIN_NS - 1),
			SROCE_REHASH_MOVE);
	KUNIT_EXPECT_EQ(test, r.pause_ns, 0ULL);
	KUNIT_EXPECT_EQ(test, r.draws, 1);
}

/* A pause that brought nothing ends, and there is none for as long as before. */
static void vain_test(struct kunit *test)
{
	struct sroce_rehash r = {};
	u64 now_ns = suffer(&r, 12, 0);

	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_WAIT);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true,
						now_ns + DRAIN_NS),
			SROCE_REHASH_STAY);
	KUNIT_EXPECT_EQ(test, r.pause_ns, 0ULL);
	KUNIT_EXPECT_EQ(test, r.draws, 0);
	now_ns = suffer(&r, 11, now_ns + DRAIN_NS);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_STAY);
	now_ns = suffer(&r, 1, now_ns);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_WAIT);
	/* the clock is set back: the pause does not last until it is here again */
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, 5),
			SROCE_REHASH_STAY);
}

static void off_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = param;
	struct sroce_rehash r = {};
	u64 now_ns = suffer(&r, 100, 0);

	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &p, false, true, now_ns),
			SROCE_REHASH_WAIT);
	/* switched off meanwhile: nothing is left of it */
	p.rehash_rounds = 0;
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &p, true, true, now_ns),
			SROCE_REHASH_STAY);
	KUNIT_EXPECT_EQ(test, r.pause_ns, 0ULL);
	KUNIT_EXPECT_FALSE(test, sroce_rehash_lost(&r, &p, 5));
	/* never a pause */
	p = param;
	p.rehash_drain_us = 0;
	now_ns = suffer(&r, 100, now_ns);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &p, false, true, now_ns),
			SROCE_REHASH_STAY);
	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &p, true, true, now_ns),
			SROCE_REHASH_MOVE);
}

static void share_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = {
		.line_rate_kbps = 4000000000U,
		.rehash_share_q10 = 16,
	};
	u64 line = p.line_rate_kbps * 125ULL;

	KUNIT_EXPECT_TRUE(test, sroce_rehash_is_small(&p, 0));
	KUNIT_EXPECT_TRUE(test, sroce_rehash_is_small(&p, line / 64));
	KUNIT_EXPECT_FALSE(test, sroce_rehash_is_small(&p, line / 64 + 1));
	p.rehash_share_q10 = 1024;
	KUNIT_EXPECT_TRUE(test, sroce_rehash_is_small(&p, line));
	p.rehash_share_q10 = 0;
	KUNIT_EXPECT_FALSE(test, sroce_rehash_is_small(&p, 1));
}

static void lost_test(struct kunit *test)
{
	struct sroce_rehash r = {};
	u64 now_ns = suffer(&r, 12, 0);

	KUNIT_EXPECT_EQ(test, sroce_rehash_step(&r, &param, false, true, now_ns),
			SROCE_REHASH_WAIT);
	/* the first is repeated where it was, and ends what was going on */
	KUNIT_EXPECT_FALSE(test, sroce_rehash_lost(&r, &param, 1));
	KUNIT_EXPECT_EQ(test, r.pause_ns, 0ULL);
	KUNIT_EXPECT_EQ(test, r.rounds, 0);
	KUNIT_EXPECT_TRUE(test, sroce_rehash_lost(&r, &param, 2));
	KUNIT_EXPECT_TRUE(test, sroce_rehash_lost(&r, &param, 3));
	KUNIT_EXPECT_EQ(test, r.draws, 2);
}

/* How far the bins are from even: chi-square, times 1000 */
static u64 unevenness(const u32 *bins, u32 n, u32 sum)
{
	u64 mean = sum / n, total = 0;
	s64 apart;
	u32 i;

	for (i = 0; i < n; i++) {
		apart = (s64)bins[i] - mean;
		total += apart * apart;
	}
	return total * 1000 / mean;
}

static void port_test(struct kunit *test)
{
	struct sroce_rehash r = {};
	u32 lqpn, rqpn, i, same = 0;
	u32 bins[16] = {};
	u16 first, port, last;

	for (lqpn = 2; lqpn < 66; lqpn++) {
		rqpn = lqpn * 3 + 1000;
		last = 0;
		for (r.draws = 1; r.draws <= SROCE_REHASH_PORTS; r.draws++) {
			port = sroce_rehash_port(&r, lqpn, rqpn);
			KUNIT_ASSERT_GE(test, port, 0xc000);
			same += port == last;
			last = port;
			bins[port & 15]++;
		}
		/* then the same ones again */
		first = sroce_rehash_port(&r, lqpn, rqpn);
		r.draws = 1;
		KUNIT_ASSERT_EQ(test, sroce_rehash_port(&r, lqpn, rqpn), first);
	}
	KUNIT_EXPECT_LE(test, same, 4);
	/* 15 degrees of freedom: more than this by chance once in a thousand */
	KUNIT_EXPECT_LE(test, unevenness(bins, 16, 64 * SROCE_REHASH_PORTS),
			37700ULL);
	/* both numbers and the turn count */
	r.draws = 1;
	port = sroce_rehash_port(&r, 17, 18);
	for (i = 0, same = 0; i < 24; i++) {
		same += sroce_rehash_port(&r, 17 ^ BIT(i), 18) == port;
		same += sroce_rehash_port(&r, 17, 18 ^ BIT(i)) == port;
	}
	KUNIT_EXPECT_EQ(test, same, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rounds_test),
	KUNIT_CASE(empty_test),
	KUNIT_CASE(pause_test),
	KUNIT_CASE(vain_test),
	KUNIT_CASE(off_test),
	KUNIT_CASE(share_test),
	KUNIT_CASE(lost_test),
	KUNIT_CASE(port_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_rehash",
	.test_cases = cases,
};

kunit_test_suite(suite);
