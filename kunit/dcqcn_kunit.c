// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the rate controller of proto/dcqcn.c: cuts, each stage of increase,
 * rate that is not earned, limits and clocks, and long runs against the
 * floating-point model of scripts/dcqcn-model. The pacer, the CNP limiter and
 * the knobs are in dcqcn_pacer_kunit.c.
 */
#include "proto/dcqcn.h"
#include "dcqcn_reference.h"

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

/* Knobs for exact sums: 10 Gbit/s, the limits of our own off */
static struct sroce_dcqcn_param plain_param(void)
{
	struct sroce_dcqcn_param p;

	sroce_dcqcn_param_defaults(&p, 10000000);
	p.initial_alpha_q10 = 512;
	p.ai_rate_mbps = 40;
	p.hai_rate_mbps = 200;
	p.min_rate_mbps = 1;
	p.byte_reset_64b = 0;
	p.max_tgt_ratio = 0;
	p.max_step_div = 0;
	p.dce_tcp_g_q10 = 1020;
	p.reduce_period_us = 4;
	return p;
}

/* Sends just what the rate allows in steps of 50 µs, for some time */
static u64 saturate(struct sroce_dcqcn *cc, const struct sroce_dcqcn_param *p,
		    u64 now_ns, u64 for_ns)
{
	u64 end_ns = now_ns + for_ns;

	while (now_ns < end_ns) {
		u64 bytes = div_u64(sroce_dcqcn_rate(cc), 20000);

		sroce_dcqcn_on_sent(cc, p, bytes, now_ns);
		now_ns += 50 * US;
	}
	sroce_dcqcn_on_sent(cc, p, 0, now_ns);
	return now_ns;
}

/* ---- cuts ---------------------------------------------------------------- */

struct cut_case {
	const char *name;
	u32 alpha_q10;
	u32 gd_log2;
	u32 min_dec_fac_pct;
	u32 min_rate_mbps;
	u32 first_cnp_rate_mbps;
	u32 max_tgt_ratio;
	u64 rate;
	u64 target;
};

static const struct cut_case cut_cases[] = {
	{ .name = "half of alpha", .alpha_q10 = 512, .gd_log2 = 11,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 1,
	  .rate = 7500 * MBPS, .target = 10000 * MBPS },
	{ .name = "alpha near one", .alpha_q10 = 1023, .gd_log2 = 11,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 1,
	  .rate = 625610352, .target = 10000 * MBPS },
	{ .name = "alpha zero", .alpha_q10 = 0, .gd_log2 = 11,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 1,
	  .rate = 10000 * MBPS, .target = 10000 * MBPS },
	{ .name = "smaller divisor", .alpha_q10 = 512, .gd_log2 = 10,
	  .min_dec_fac_pct = 10, .min_rate_mbps = 1,
	  .rate = 5000 * MBPS, .target = 10000 * MBPS },
	{ .name = "more than everything", .alpha_q10 = 1023, .gd_log2 = 0,
	  .min_dec_fac_pct = 0, .min_rate_mbps = 1,
	  .rate = MBPS, .target = 10000 * MBPS },
	{ .name = "least part kept", .alpha_q10 = 1023, .gd_log2 = 0,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 1,
	  .rate = 5000 * MBPS, .target = 10000 * MBPS },
	{ .name = "floor", .alpha_q10 = 1023, .gd_log2 = 11,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 6000,
	  .rate = 6000 * MBPS, .target = 10000 * MBPS },
	{ .name = "floor above the line", .alpha_q10 = 1023, .gd_log2 = 11,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 20000,
	  .rate = 10000 * MBPS, .target = 10000 * MBPS },
	{ .name = "rate on first CNP", .alpha_q10 = 512, .gd_log2 = 11,
	  .min_dec_fac_pct = 50, .min_rate_mbps = 1,
	  .first_cnp_rate_mbps = 2000,
	  .rate = 2000 * MBPS, .target = 2000 * MBPS },
	{ .name = "bounded target", .alpha_q10 = 1023, .gd_log2 = 9,
	  .min_dec_fac_pct = 10, .min_rate_mbps = 1, .max_tgt_ratio = 2,
	  .rate = 1000 * MBPS, .target = 2000 * MBPS },
};

static void cut_desc(const struct cut_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cut, cut_cases, cut_desc);

static void cut_test(struct kunit *test)
{
	const struct cut_case *c = test->param_value;
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;

	p.initial_alpha_q10 = c->alpha_q10;
	p.gd_log2 = c->gd_log2;
	p.min_dec_fac_pct = c->min_dec_fac_pct;
	p.min_rate_mbps = c->min_rate_mbps;
	p.first_cnp_rate_mbps = c->first_cnp_rate_mbps;
	p.max_tgt_ratio = c->max_tgt_ratio;
	sroce_dcqcn_init(&cc, &p, START);
	KUNIT_EXPECT_FALSE(test, cc.active);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), 10 * GBPS);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_on_cnp(&cc, &p, START + US),
			c->rate);
	KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s, c->target);
	KUNIT_EXPECT_TRUE(test, cc.active);
}

struct clamp_case {
	const char *name;
	u32 always;
	u32 after_time;
	bool by_time;
	bool by_bytes;
	bool follows;
};

static const struct clamp_case clamp_cases[] = {
	{ "no raise", 0, 1, false, false, false },
	{ "no raise, always", 1, 0, false, false, true },
	{ "timer", 0, 1, true, false, true },
	{ "timer does not count", 0, 0, true, false, false },
	{ "bytes", 0, 0, false, true, true },
	{ "both, timer does not count", 0, 0, true, true, true },
};

static void clamp_desc(const struct clamp_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(clamp, clamp_cases, clamp_desc);

/* Which cuts move the target to the rate before the cut */
static void clamp_test(struct kunit *test)
{
	const struct clamp_case *c = test->param_value;
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 before, now = START;

	p.clamp_tgt_rate = c->always;
	p.clamp_tgt_rate_ati = c->after_time;
	p.time_reset_us = c->by_time ? 300 : 100000;
	p.byte_reset_64b = c->by_bytes ? 5000 : 0;
	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	now = saturate(&cc, &p, now, 700 * US);
	KUNIT_EXPECT_EQ(test, cc.raised_by_time, c->by_time);
	KUNIT_EXPECT_EQ(test, cc.raised_by_bytes, c->by_bytes);
	before = sroce_dcqcn_rate(&cc);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	KUNIT_EXPECT_LT(test, sroce_dcqcn_rate(&cc), before);
	KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s,
			c->follows ? before : 10 * GBPS);
	KUNIT_EXPECT_FALSE(test, cc.raised_by_time || cc.raised_by_bytes);
}

/* CNPs closer than the monitor period: one now, one when the period ends */
static void reduce_period_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 first, second;

	p.reduce_period_us = 50;
	sroce_dcqcn_init(&cc, &p, START);
	first = sroce_dcqcn_on_cnp(&cc, &p, START);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_on_cnp(&cc, &p, START), first);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_on_cnp(&cc, &p, START + 49 * US),
			first);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_on_sent(&cc, &p, 1500,
						  START + 49 * US), first);
	second = sroce_dcqcn_on_sent(&cc, &p, 1500, START + 50 * US);
	KUNIT_EXPECT_LT(test, second, first);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_on_sent(&cc, &p, 1500,
						  START + 101 * US), second);
	KUNIT_EXPECT_LT(test, sroce_dcqcn_on_cnp(&cc, &p, START + 102 * US),
			second);
}

/* ---- alpha --------------------------------------------------------------- */

static void alpha_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 now = START;
	unsigned int i;
	u32 alpha;

	p.initial_alpha_q10 = 0;
	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, 4U << 20);
	/* Growth meets 1 from below, and never passes it */
	for (i = 0; i < 8000; i++) {
		now += 50 * US;
		alpha = cc.alpha_q30;
		sroce_dcqcn_on_cnp(&cc, &p, now);
		KUNIT_ASSERT_GE(test, cc.alpha_q30, alpha);
	}
	KUNIT_EXPECT_LE(test, cc.alpha_q30, SROCE_DCQCN_ALPHA_ONE);
	KUNIT_EXPECT_GE(test, cc.alpha_q30, SROCE_DCQCN_ALPHA_ONE - 1024);
	/* One period less one ns keeps it, one period takes 1/256 */
	alpha = cc.alpha_q30;
	sroce_dcqcn_on_sent(&cc, &p, 0, now + 55 * US - 1);
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, alpha);
	now += 55 * US;
	sroce_dcqcn_on_sent(&cc, &p, 0, now);
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, (u32)((alpha * 1020ULL) >> 10));
	/* No residue: it reaches zero */
	for (i = 0; i < 20000 && cc.alpha_q30; i++) {
		now += 55 * US;
		sroce_dcqcn_on_sent(&cc, &p, 0, now);
	}
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, 0U);
}

/* A silent QP keeps its estimate, however long the silence */
static void alpha_silence_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u32 alpha;

	sroce_dcqcn_init(&cc, &p, START);
	sroce_dcqcn_on_cnp(&cc, &p, START);
	alpha = cc.alpha_q30;
	sroce_dcqcn_on_sent(&cc, &p, 1500, START + 3600 * SEC);
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, (u32)((alpha * 1020ULL) >> 10));
	/* A short period counts for 64 µs */
	p.dce_tcp_rtt_us = 1;
	p.dce_tcp_g_q10 = 512;
	cc.alpha_q30 = SROCE_DCQCN_ALPHA_ONE;
	cc.alpha_acc_ns = 0;
	sroce_dcqcn_on_sent(&cc, &p, 1500, START + 3601 * SEC);
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, 0U);
	cc.alpha_q30 = SROCE_DCQCN_ALPHA_ONE;
	p.dce_tcp_g_q10 = 1023;
	sroce_dcqcn_on_sent(&cc, &p, 1500, START + 3602 * SEC);
	/* (1023/1024)^64 = 0.939385 */
	KUNIT_EXPECT_GT(test, cc.alpha_q30, 1008656000U);
	KUNIT_EXPECT_LT(test, cc.alpha_q30, 1008657000U);
}

/* ---- increase ------------------------------------------------------------ */

/* After the first cut to 7.5 of 10 Gbit/s: stages by the timer alone */
static void timer_stages_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	u64 rate = 7500 * MBPS, target = 10 * GBPS;
	struct sroce_dcqcn cc;
	u64 now = START;
	unsigned int i;

	p.threshold = 3;
	p.line_rate_kbps = 10000000;
	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	/* Leave room above the target */
	p.line_rate_kbps = 20000000;
	now = saturate(&cc, &p, now, 50 * US);
	for (i = 1; i <= 12; i++) {
		now = saturate(&cc, &p, now, 300 * US);
		if (i >= 3)
			target += 40 * MBPS;
		rate = (rate + target + 1) / 2;
		KUNIT_EXPECT_EQ(test, cc.time_stage, i);
		KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s, target);
		KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), rate);
	}
}

/* Stages by the byte counter alone: one per 64 KB sent */
static void byte_stages_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	u64 rate = 7500 * MBPS, target = 10 * GBPS;
	struct sroce_dcqcn cc;
	unsigned int i;

	p.threshold = 3;
	p.byte_reset_64b = 1024;
	sroce_dcqcn_init(&cc, &p, START);
	sroce_dcqcn_on_cnp(&cc, &p, START);
	p.line_rate_kbps = 20000000;
	for (i = 1; i <= 12; i++) {
		sroce_dcqcn_on_sent(&cc, &p, 65535, START);
		KUNIT_EXPECT_EQ(test, cc.byte_stage, i - 1);
		sroce_dcqcn_on_sent(&cc, &p, 1, START);
		if (i >= 3)
			target += 40 * MBPS;
		rate = (rate + target + 1) / 2;
		KUNIT_EXPECT_EQ(test, cc.byte_stage, i);
		KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s, target);
		KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), rate);
	}
}

/* Hyper increase needs both counters beyond the threshold, and grows */
static void hyper_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 target;
	u32 i;

	p.threshold = 2;
	p.byte_reset_64b = 1024;
	sroce_dcqcn_init(&cc, &p, START);
	sroce_dcqcn_on_cnp(&cc, &p, START);
	p.line_rate_kbps = 40000000;
	cc.time_stage = 2;
	cc.byte_stage = 8;
	target = cc.target_bytes_per_s;
	sroce_dcqcn_on_sent(&cc, &p, 65536, START);
	KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s, target + 40 * MBPS);
	cc.time_stage = 100;
	cc.byte_stage = 2;
	for (i = 1; i <= 5; i++) {
		target = cc.target_bytes_per_s;
		sroce_dcqcn_on_sent(&cc, &p, 65536, START);
		KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s,
				target + i * 200 * MBPS);
	}
}

struct scaled_case {
	const char *name;
	u64 target;
	u32 time_stage;
	u64 step;
};

static const struct scaled_case scaled_cases[] = {
	{ "a quarter of it", 2500 * MBPS, 6, 20 * MBPS },
	{ "a hundredth", 100 * MBPS, 6, 4 * MBPS },
	{ "patient still", 100 * MBPS, 15, 4 * MBPS },
	{ "first of hyper increase", 100 * MBPS, 16, 4 * MBPS },
	{ "fourth", 100 * MBPS, 19, 16 * MBPS },
	{ "no more than rp_hai_rate", 100 * MBPS, 1000, 200 * MBPS },
	{ "no more than a share", 6400 * MBPS, 1000, 400 * MBPS },
};

static void scaled_desc(const struct scaled_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(scaled, scaled_cases, scaled_desc);

/* Steps with the root of the rate, growing when no CNP comes */
static void scaled_test(struct kunit *test)
{
	const struct scaled_case *c = test->param_value;
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 step;

	p.byte_reset_64b = 1024;
	p.max_step_div = 16;
	sroce_dcqcn_init(&cc, &p, START);
	sroce_dcqcn_on_cnp(&cc, &p, START);
	cc.target_bytes_per_s = c->target;
	cc.time_stage = c->time_stage;
	sroce_dcqcn_on_sent(&cc, &p, 65536, START);
	step = cc.target_bytes_per_s - c->target;
	KUNIT_EXPECT_GE(test, step, c->step - c->step / 500);
	KUNIT_EXPECT_LE(test, step, c->step);
}

/* At the ceiling the limiter ends; the next CNP starts it anew */
static void release_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 now = START;

	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	now = saturate(&cc, &p, now, 300 * US * 7 + 50 * US);
	KUNIT_EXPECT_TRUE(test, cc.active);
	KUNIT_EXPECT_NE(test, sroce_dcqcn_pacing_rate(&cc, 0), 0ULL);
	now = saturate(&cc, &p, now, 600 * US);
	KUNIT_EXPECT_FALSE(test, cc.active);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), 10 * GBPS);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_pacing_rate(&cc, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_pacing_rate(&cc, 8000), MBPS * 8);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	KUNIT_EXPECT_TRUE(test, cc.active);
	KUNIT_EXPECT_EQ(test, cc.target_bytes_per_s, 10 * GBPS);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_pacing_rate(&cc, 0),
			sroce_dcqcn_rate(&cc));
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_pacing_rate(&cc, 8000), MBPS * 8);
	/* A lower ceiling takes hold */
	p.max_rate_mbps = 100;
	sroce_dcqcn_on_cnp(&cc, &p, now + SEC);
	KUNIT_EXPECT_LE(test, sroce_dcqcn_rate(&cc), 100 * MBPS);
	KUNIT_EXPECT_LE(test, cc.target_bytes_per_s, 100 * MBPS);
}

/* ---- no rate for nothing ------------------------------------------------- */

static void idle_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	u64 rate, now = START;
	struct sroce_dcqcn cc;

	sroce_dcqcn_init(&cc, &p, now);
	rate = sroce_dcqcn_on_cnp(&cc, &p, now);
	/* One packet an hour: not even one stage a packet */
	sroce_dcqcn_on_sent(&cc, &p, 1500, now);
	now += 3600 * SEC;
	sroce_dcqcn_on_sent(&cc, &p, 1500, now);
	now += 3600 * SEC;
	sroce_dcqcn_on_sent(&cc, &p, 1500, now);
	KUNIT_EXPECT_EQ(test, cc.time_stage, 0U);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), rate);
}

/* Stages come as often as the rate is used: a tenth of it, a tenth of them */
static void application_limited_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 now = START;
	unsigned int i;

	p.ai_rate_mbps = 1;
	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	p.line_rate_kbps = 100000000;
	for (i = 0; i < 20000; i++) {
		sroce_dcqcn_on_sent(&cc, &p,
				    div_u64(sroce_dcqcn_rate(&cc), 200000),
				    now);
		now += 50 * US;
	}
	/* 1 s of 300 µs stages is 3333; the tenth, and the quarter's grace */
	KUNIT_EXPECT_GE(test, cc.time_stage, 400U);
	KUNIT_EXPECT_LE(test, cc.time_stage, 425U);
}

/* A send finishes one stage of fast recovery, or 16 later ones */
static void rare_packets_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc;
	u64 now = START;
	u32 i;

	p.min_dec_fac_pct = 0;
	p.gd_log2 = 0;
	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), MBPS);
	cc.target_bytes_per_s = 2 * MBPS;
	for (i = 0; i < 5; i++) {
		sroce_dcqcn_on_sent(&cc, &p, 9000, now);
		KUNIT_EXPECT_EQ(test, cc.time_stage, i);
		now += 72 * MS;
	}
	sroce_dcqcn_on_sent(&cc, &p, 65536, now);
	KUNIT_EXPECT_EQ(test, cc.time_stage, 5U);
	sroce_dcqcn_on_sent(&cc, &p, 9000, now + 20 * MS);
	KUNIT_EXPECT_EQ(test, cc.time_stage, 21U);
}

/* ---- clocks and limits --------------------------------------------------- */

static void clock_test(struct kunit *test)
{
	struct sroce_dcqcn_param p = plain_param();
	struct sroce_dcqcn cc, before;
	u64 now = START;

	sroce_dcqcn_init(&cc, &p, now);
	sroce_dcqcn_on_cnp(&cc, &p, now);
	now = saturate(&cc, &p, now, 200 * US);
	before = cc;
	/* A reading from before the lock: no time, and the clock stays */
	sroce_dcqcn_on_sent(&cc, &p, 0, now - 500 * US);
	KUNIT_EXPECT_EQ(test, cc.last_ns, now);
	KUNIT_EXPECT_EQ(test, cc.stage_acc_ns, before.stage_acc_ns);
	/* Set back by a second: no time, and it goes on from there */
	now -= SEC;
	sroce_dcqcn_on_sent(&cc, &p, 0, now);
	KUNIT_EXPECT_EQ(test, cc.last_ns, now);
	KUNIT_EXPECT_EQ(test, cc.alpha_q30, before.alpha_q30);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), sroce_dcqcn_rate(&before));
	now = saturate(&cc, &p, now, 300 * US);
	KUNIT_EXPECT_EQ(test, cc.time_stage, 1U);
	/* To the end of time and back to its beginning */
	sroce_dcqcn_on_sent(&cc, &p, 1500, U64_MAX);
	KUNIT_EXPECT_LE(test, cc.time_stage, 2U);
	sroce_dcqcn_on_cnp(&cc, &p, U64_MAX);
	sroce_dcqcn_on_sent(&cc, &p, 1500, 0);
	sroce_dcqcn_on_cnp(&cc, &p, 0);
	KUNIT_EXPECT_LT(test, sroce_dcqcn_rate(&cc), sroce_dcqcn_rate(&before));
	KUNIT_EXPECT_GE(test, sroce_dcqcn_rate(&cc), MBPS);
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

/* Down to the floor, and back to the line, at every speed */
static void range_test(struct kunit *test)
{
	u32 kbps = *(const u32 *)test->param_value;
	struct sroce_dcqcn_param p;
	u64 now = START, floor;
	struct sroce_dcqcn cc;
	unsigned int i;

	sroce_dcqcn_param_defaults(&p, kbps);
	floor = min(p.min_rate_mbps * MBPS, kbps * 125ULL);
	sroce_dcqcn_init(&cc, &p, now);
	for (i = 0; i < 100; i++) {
		now += 50 * US;
		sroce_dcqcn_on_cnp(&cc, &p, now);
		KUNIT_ASSERT_GE(test, sroce_dcqcn_rate(&cc), floor);
		KUNIT_ASSERT_LE(test, sroce_dcqcn_rate(&cc),
				cc.target_bytes_per_s);
		KUNIT_ASSERT_LE(test, cc.target_bytes_per_s, kbps * 125ULL);
	}
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), floor);
	for (i = 0; i < 1000000 && cc.active; i++) {
		u64 bytes = clamp(div_u64(sroce_dcqcn_rate(&cc), 20000),
				  2200ULL, 65536ULL);

		now += div64_u64(bytes * SEC, sroce_dcqcn_rate(&cc));
		sroce_dcqcn_on_sent(&cc, &p, bytes, now);
		KUNIT_ASSERT_LE(test, sroce_dcqcn_rate(&cc), kbps * 125ULL);
	}
	KUNIT_EXPECT_FALSE(test, cc.active);
	KUNIT_EXPECT_EQ(test, sroce_dcqcn_rate(&cc), kbps * 125ULL);
}

/* Every knob at its least and at its greatest: nothing overflows or hangs */
static void extreme_knobs_test(struct kunit *test)
{
	struct sroce_dcqcn_param p;
	struct sroce_dcqcn cc;
	u64 now = START;
	u32 i, which;

	for (which = 0; which < 2 * SROCE_DCQCN_KNOBS; which++) {
		const struct sroce_dcqcn_knob *knob;

		knob = &sroce_dcqcn_knobs[which / 2];
		sroce_dcqcn_param_defaults(&p, 10000000);
		KUNIT_ASSERT_TRUE(test, sroce_dcqcn_knob_set(&p, which / 2,
							     which & 1 ? knob->max : knob->min));
		sroce_dcqcn_init(&cc, &p, now);
		for (i = 0; i < 3000; i++) {
			now += 10 * US;
			if (i % 100 < 3)
				sroce_dcqcn_on_cnp(&cc, &p, now);
			sroce_dcqcn_on_sent(&cc, &p, i * 20, now);
			KUNIT_ASSERT_LE(test, cc.cur_bytes_per_s,
					cc.target_bytes_per_s);
			KUNIT_ASSERT_LE(test, cc.target_bytes_per_s,
					p.line_rate_kbps * 125ULL);
			KUNIT_ASSERT_LE(test, cc.alpha_q30,
					SROCE_DCQCN_ALPHA_ONE);
			KUNIT_ASSERT_NE(test, cc.cur_bytes_per_s, 0ULL);
		}
	}
}

/* ---- the long run -------------------------------------------------------- */

static void reference_desc(const struct reference_run *run, char *desc)
{
	strscpy(desc, run->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(reference, reference_runs, reference_desc);

static u32 lcg_below(u64 *state, u32 limit)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(*state >> 32) % limit;
}

/*
 * Within 1 in 100,000 and a little: rates are rounded to bytes/s, and alpha,
 * rounded down at each decay, stays below the model by up to 1 / (1 - keep).
 */
static void expect_near(struct kunit *test, u64 is, u64 want)
{
	u64 slack = div_u64(want, 100000) + 256;

	KUNIT_EXPECT_GE(test, is + slack, want);
	KUNIT_EXPECT_LE(test, is, want + slack);
}

static void reference_test(struct kunit *test)
{
	const struct reference_run *run = test->param_value;
	const struct reference_row *row;
	struct sroce_dcqcn_param p;
	u64 state = run->seed;
	struct sroce_dcqcn cc;
	u64 now = 0;
	u32 i, step;

	if (run->connectx)
		sroce_dcqcn_param_connectx(&p, run->line_rate_kbps);
	else
		sroce_dcqcn_param_defaults(&p, run->line_rate_kbps);
	sroce_dcqcn_init(&cc, &p, now);
	for (i = 0; i < REFERENCE_ROWS; i++) {
		for (step = 0; step < REFERENCE_STEPS_PER_ROW; step++) {
			u32 kind = lcg_below(&state, 1000);

			now += 1 + lcg_below(&state, kind < 2 ?
					     REFERENCE_IDLE_NS : run->gap_ns);
			if (i % 4 != 3 && !lcg_below(&state, run->cnp_in))
				sroce_dcqcn_on_cnp(&cc, &p, now);
			else
				sroce_dcqcn_on_sent(&cc, &p, 64 +
						    lcg_below(&state, 65000),
						    now);
		}
		row = &run->rows[i];
		expect_near(test, cc.cur_bytes_per_s, row->rate_bytes_per_s);
		expect_near(test, cc.target_bytes_per_s,
			    row->target_bytes_per_s);
		expect_near(test, cc.alpha_q30, row->alpha_q30);
		KUNIT_EXPECT_EQ(test, cc.time_stage, row->time_stage);
		KUNIT_EXPECT_EQ(test, cc.byte_stage, row->byte_stage);
		KUNIT_EXPECT_EQ(test, (u32)cc.active, row->active);
	}
}

static struct kunit_case dcqcn_cases[] = {
	KUNIT_CASE_PARAM(cut_test, cut_gen_params),
	KUNIT_CASE_PARAM(clamp_test, clamp_gen_params),
	KUNIT_CASE(reduce_period_test),
	KUNIT_CASE(alpha_test),
	KUNIT_CASE(alpha_silence_test),
	KUNIT_CASE(timer_stages_test),
	KUNIT_CASE(byte_stages_test),
	KUNIT_CASE(hyper_test),
	KUNIT_CASE_PARAM(scaled_test, scaled_gen_params),
	KUNIT_CASE(release_test),
	KUNIT_CASE(idle_test),
	KUNIT_CASE(application_limited_test),
	KUNIT_CASE(rare_packets_test),
	KUNIT_CASE(clock_test),
	KUNIT_CASE_PARAM(range_test, line_gen_params),
	KUNIT_CASE(extreme_knobs_test),
	KUNIT_CASE_PARAM(reference_test, reference_gen_params),
	{}
};

static struct kunit_suite dcqcn_suite = {
	.name = "sroce_dcqcn",
	.test_cases = dcqcn_cases,
};

kunit_test_suite(dcqcn_suite);
