// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/dcqcn.c beside the rate controller: the pacer, the limiter of
 * CNPs and the table of knobs.
 */
#include "proto/dcqcn.h"

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>

#define US		1000ULL
#define MS		1000000ULL
#define SEC		1000000000ULL
#define MBPS		125000ULL
#define GBPS		125000000ULL
#define START		(5 * SEC)

static void expect_within(struct kunit *test, u64 is, u64 want, u64 slack)
{
	KUNIT_EXPECT_GE(test, is + slack, want);
	KUNIT_EXPECT_LE(test, is, want + slack);
}

/* ---- pacer --------------------------------------------------------------- */

struct quantum_case {
	const char *name;
	u64 rate;
	u32 mtu;
	u32 quantum;
};

static const struct quantum_case quantum_cases[] = {
	{ "unlimited", 0, 1100, 65536 },
	{ "1 Mbit/s", MBPS, 1100, 2200 },
	{ "1 Mbit/s, large packets", MBPS, 4200, 5000 },
	{ "1 Gbit/s", GBPS, 1100, 6250 },
	{ "10 Gbit/s", 10 * GBPS, 1100, 62500 },
	{ "11 Gbit/s", 11 * GBPS, 1100, 65536 },
	{ "400 Gbit/s", 400 * GBPS, 1100, 65536 },
	{ "8 kbit/s", 1000, 1100, 2200 },
};

static void quantum_desc(const struct quantum_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(quantum, quantum_cases, quantum_desc);

/* The quantum, and bytes over 1,000 quanta of a sender that is never late */
static void quantum_test(struct kunit *test)
{
	const struct quantum_case *c = test->param_value;
	u64 now = START, span, bytes;
	struct sroce_pacer p;
	unsigned int i;

	sroce_pacer_init(&p);
	sroce_pacer_set_rate(&p, c->rate, c->mtu, now);
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now), c->quantum);
	sroce_pacer_charge(&p, c->quantum, now);
	if (!c->rate) {
		KUNIT_EXPECT_LE(test, sroce_pacer_ready_ns(&p), now);
		KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now),
				c->quantum);
		return;
	}
	/* After rest, a second quantum; then the rate */
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now), c->quantum);
	sroce_pacer_charge(&p, c->quantum, now);
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now), 0U);
	for (i = 0; i < 1000; i++) {
		now = sroce_pacer_ready_ns(&p);
		KUNIT_ASSERT_EQ(test, sroce_pacer_budget_bytes(&p, now - 1),
				0U);
		KUNIT_ASSERT_EQ(test, sroce_pacer_budget_bytes(&p, now),
				c->quantum);
		sroce_pacer_charge(&p, c->quantum, now);
	}
	span = sroce_pacer_ready_ns(&p) - START;
	bytes = mul_u64_u64_div_u64(span, c->rate, SEC);
	/* A charge loses less than 1 ns, which is 50 bytes at 400 Gbit/s */
	KUNIT_EXPECT_LE(test, bytes, 1001ULL * c->quantum);
	KUNIT_EXPECT_GE(test, bytes + 1001 * (div_u64(c->rate, SEC) + 1),
			1001ULL * c->quantum);
}

/* A cut stretches the wait for what is not yet sent; a raise shortens it */
static void pacer_change_test(struct kunit *test)
{
	struct sroce_pacer p;
	u64 now = START;

	sroce_pacer_init(&p);
	sroce_pacer_set_rate(&p, GBPS, 1000, now);
	sroce_pacer_charge(&p, 6250, now);
	sroce_pacer_charge(&p, 6250, now);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), now + 50 * US);
	now += 10 * US;
	sroce_pacer_set_rate(&p, GBPS / 2, 1000, now);
	expect_within(test, sroce_pacer_ready_ns(&p), now + 80 * US, 16);
	sroce_pacer_set_rate(&p, GBPS * 4, 1000, now);
	expect_within(test, sroce_pacer_ready_ns(&p), now + 10 * US, 16);
	sroce_pacer_set_rate(&p, MBPS, 1000, now);
	expect_within(test, sroce_pacer_ready_ns(&p), now + 40 * MS, 20 * US);
	sroce_pacer_set_rate(&p, 0, 1000, now);
	KUNIT_EXPECT_LE(test, sroce_pacer_ready_ns(&p), now);
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now), 65536U);
	/* No change, no effect */
	sroce_pacer_set_rate(&p, GBPS, 1000, now);
	sroce_pacer_charge(&p, 65536, now);
	now = sroce_pacer_ready_ns(&p);
	sroce_pacer_set_rate(&p, GBPS, 1000, now - 5 * US);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), now);
}

/* Lateness is made up for up to one quantum, rest saves up nothing more */
static void pacer_late_test(struct kunit *test)
{
	struct sroce_pacer p;
	u64 now = START, ready;

	sroce_pacer_init(&p);
	sroce_pacer_set_rate(&p, GBPS, 1000, now);
	sroce_pacer_charge(&p, 6250, now);
	sroce_pacer_charge(&p, 6250, now);
	ready = sroce_pacer_ready_ns(&p);
	sroce_pacer_charge(&p, 6250, ready + 30 * US);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), ready + 50 * US);
	now = ready + SEC;
	sroce_pacer_charge(&p, 6250, now);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), now);
	sroce_pacer_charge(&p, 6250, now);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), now + 50 * US);
}

static void pacer_clock_test(struct kunit *test)
{
	struct sroce_pacer p;
	u64 now = START;

	sroce_pacer_init(&p);
	sroce_pacer_set_rate(&p, GBPS, 1000, now);
	sroce_pacer_charge(&p, 6250, now);
	sroce_pacer_charge(&p, 6250, now);
	/* A slightly old reading changes nothing */
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now - 20 * US), 0U);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), now + 50 * US);
	/* A clock set back takes the deadline along: no long wait */
	now -= 2 * SEC;
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now), 0U);
	KUNIT_EXPECT_EQ(test, sroce_pacer_ready_ns(&p), now + 50 * US);
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, now + 50 * US),
			6250U);
	/* And forward to the end of time */
	sroce_pacer_charge(&p, 6250, U64_MAX - SEC);
	KUNIT_EXPECT_LE(test, sroce_pacer_ready_ns(&p), U64_MAX - SEC);
	KUNIT_EXPECT_EQ(test, sroce_pacer_budget_bytes(&p, 0), 6250U);
}

/* ---- CNP limiter --------------------------------------------------------- */

struct np_case {
	const char *name;
	u32 interval_us;
	u64 gap_ns;
	u32 marks;
	u32 least;
	u32 most;
};

static const struct np_case np_cases[] = {
	{ "every packet, 10 Gbit/s", 50, 870, 1000000, 17400, 17401 },
	{ "every packet, 1 Gbit/s, 4 KB", 50, 33300, 100000, 66600, 66601 },
	{ "every packet, 400 Gbit/s", 50, 22, 1000000, 440, 441 },
	{ "4 us", 4, 870, 100000, 21750, 21751 },
	{ "exactly the interval", 50, 50000, 1000, 1000, 1000 },
	{ "rarer than the interval", 50, 51000, 1000, 1000, 1000 },
	{ "no limit", 0, 1, 1000, 1000, 1000 },
	{ "no limit, all at once", 0, 0, 1000, 1000, 1000 },
	{ "all at once", 50, 0, 1000, 1, 1 },
};

static void np_desc(const struct np_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(np, np_cases, np_desc);

static void np_test(struct kunit *test)
{
	const struct np_case *c = test->param_value;
	struct sroce_dcqcn_np np = {};
	u32 i, sent = 0;

	for (i = 0; i < c->marks; i++)
		sent += sroce_dcqcn_np_mark(&np, c->interval_us * US,
					    START + i * c->gap_ns);
	KUNIT_EXPECT_GE(test, sent, c->least);
	KUNIT_EXPECT_LE(test, sent, c->most);
}

static void np_clock_test(struct kunit *test)
{
	struct sroce_dcqcn_np np = {};

	/* The first mark is answered at once, at any time */
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_np_mark(&np, 50 * US, 0));
	KUNIT_EXPECT_FALSE(test, sroce_dcqcn_np_mark(&np, 50 * US, 49 * US));
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_np_mark(&np, 50 * US, START));
	KUNIT_EXPECT_FALSE(test, sroce_dcqcn_np_mark(&np, 50 * US,
						     START - 10 * US));
	/* Set back by a second: not silent for a second */
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_np_mark(&np, 50 * US,
						    START - SEC));
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_np_mark(&np, 50 * US,
						    U64_MAX - SEC));
	/* A shorter interval holds from the next window on */
	KUNIT_EXPECT_FALSE(test, sroce_dcqcn_np_mark(&np, 4 * US,
						     U64_MAX - SEC + 5 * US));
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_np_mark(&np, 4 * US,
						    U64_MAX - SEC + 50 * US));
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_np_mark(&np, 4 * US,
						    U64_MAX - SEC + 54 * US));
}

/* ---- knobs --------------------------------------------------------------- */

static void knob_names_test(struct kunit *test)
{
	u32 a, b;

	for (a = 0; a < SROCE_DCQCN_KNOBS; a++) {
		const struct sroce_dcqcn_knob *knob = &sroce_dcqcn_knobs[a];

		KUNIT_ASSERT_NOT_NULL(test, knob->name);
		KUNIT_ASSERT_NOT_NULL(test, knob->unit);
		KUNIT_EXPECT_LT(test, knob->min, knob->max);
		KUNIT_EXPECT_LE(test, knob->offset + sizeof(u32),
				sizeof(struct sroce_dcqcn_param));
		for (b = 0; b < a; b++) {
			KUNIT_EXPECT_STRNEQ(test, knob->name,
					    sroce_dcqcn_knobs[b].name);
			KUNIT_EXPECT_NE(test, knob->offset,
					sroce_dcqcn_knobs[b].offset);
		}
	}
	KUNIT_EXPECT_EQ(test, SROCE_DCQCN_KNOBS * sizeof(u32),
			sizeof(struct sroce_dcqcn_param));
}

static const u32 line_kbps[] = {
	1000, 10000, 100000, 1000000, 10000000, 100000000, 400000000,
	4000000000U,
};

static void line_desc(const u32 *kbps, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u kbit/s", *kbps);
}

KUNIT_ARRAY_PARAM(line, line_kbps, line_desc);

/* Both sets lie within the limits; a bad value changes nothing */
static void knob_limits_test(struct kunit *test)
{
	u32 kbps = *(const u32 *)test->param_value;
	struct sroce_dcqcn_param sets[2], old;
	u32 id, i, value;

	sroce_dcqcn_param_defaults(&sets[0], kbps);
	sroce_dcqcn_param_connectx(&sets[1], kbps);
	for (id = 0; id < SROCE_DCQCN_KNOBS; id++) {
		const struct sroce_dcqcn_knob *knob = &sroce_dcqcn_knobs[id];

		for (i = 0; i < 2; i++) {
			old = sets[i];
			value = sroce_dcqcn_knob_get(&sets[i], id);
			KUNIT_EXPECT_TRUE(test, sroce_dcqcn_knob_set(&sets[i],
								     id, value));
			KUNIT_EXPECT_FALSE(test,
					   sroce_dcqcn_knob_set(&sets[i], id,
								knob->max + 1ULL));
			KUNIT_EXPECT_FALSE(test,
					   sroce_dcqcn_knob_set(&sets[i], id,
								U64_MAX));
			if (knob->min)
				KUNIT_EXPECT_FALSE(test,
						   sroce_dcqcn_knob_set(&sets[i], id,
									knob->min - 1));
			KUNIT_EXPECT_MEMEQ(test, &sets[i], &old, sizeof(old));
		}
	}
	KUNIT_EXPECT_FALSE(test, sroce_dcqcn_knob_set(&sets[0],
						      SROCE_DCQCN_KNOBS, 1));
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_knob_get(&sets[0],
						   SROCE_DCQCN_KNOBS), 0U);
}

/* The line takes along what scales with it, but nothing set by hand */
static void knob_line_test(struct kunit *test)
{
	const enum sroce_dcqcn_knob_id line = SROCE_DCQCN_KNOB_LINE_RATE;
	struct sroce_dcqcn_param p, want;

	sroce_dcqcn_param_defaults(&p, 10000000);
	sroce_dcqcn_param_defaults(&want, 100000000);
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_knob_set(&p, line, 100000000));
	KUNIT_EXPECT_MEMEQ(test, &p, &want, sizeof(p));
	p.ai_rate_mbps = 77;
	KUNIT_EXPECT_TRUE(test, sroce_dcqcn_knob_set(&p, line, 1000000));
	sroce_dcqcn_param_defaults(&want, 1000000);
	want.ai_rate_mbps = 77;
	KUNIT_EXPECT_MEMEQ(test, &p, &want, sizeof(p));
	KUNIT_EXPECT_FALSE(test, sroce_dcqcn_knob_set(&p, line, 1));
	KUNIT_EXPECT_MEMEQ(test, &p, &want, sizeof(p));
}

static void knob_defaults_test(struct kunit *test)
{
	struct sroce_dcqcn_param p;

	sroce_dcqcn_param_defaults(&p, 10000000);
	KUNIT_EXPECT_EQ(test, p.ai_rate_mbps, 10U);
	KUNIT_EXPECT_EQ(test, p.min_rate_mbps, 10U);
	KUNIT_EXPECT_EQ(test, p.byte_reset_64b, 62500U);
	sroce_dcqcn_param_defaults(&p, 100000000);
	KUNIT_EXPECT_EQ(test, p.ai_rate_mbps, 100U);
	KUNIT_EXPECT_EQ(test, p.min_rate_mbps, 100U);
	sroce_dcqcn_param_defaults(&p, 1000000);
	KUNIT_EXPECT_EQ(test, p.ai_rate_mbps, 1U);
	KUNIT_EXPECT_EQ(test, p.min_rate_mbps, 5U);
	sroce_dcqcn_param_defaults(&p, 0);
	KUNIT_EXPECT_EQ(test, p.line_rate_kbps, 1000U);
	KUNIT_EXPECT_EQ(test, p.min_rate_mbps, 1U);
	sroce_dcqcn_param_connectx(&p, 10000000);
	KUNIT_EXPECT_EQ(test, p.threshold, 1U);
	KUNIT_EXPECT_EQ(test, p.ai_rate_mbps, 5U);
	KUNIT_EXPECT_EQ(test, p.min_rate_mbps, 1U);
	KUNIT_EXPECT_EQ(test, p.byte_reset_64b, 32767U);
}

static struct kunit_case dcqcn_pacer_cases[] = {
	KUNIT_CASE_PARAM(quantum_test, quantum_gen_params),
	KUNIT_CASE(pacer_change_test),
	KUNIT_CASE(pacer_late_test),
	KUNIT_CASE(pacer_clock_test),
	KUNIT_CASE_PARAM(np_test, np_gen_params),
	KUNIT_CASE(np_clock_test),
	KUNIT_CASE(knob_names_test),
	KUNIT_CASE_PARAM(knob_limits_test, line_gen_params),
	KUNIT_CASE(knob_defaults_test),
	KUNIT_CASE(knob_line_test),
	{}
};

static struct kunit_suite dcqcn_pacer_suite = {
	.name = "sroce_dcqcn_pacer",
	.test_cases = dcqcn_pacer_cases,
};

kunit_test_suite(dcqcn_pacer_suite);
