// SPDX-License-Identifier: GPL-2.0
/*
 * DCQCN in integers; see dcqcn.h for who owns and calls what.
 *
 * The controller is the one of Zhu et al., "Congestion Control for Large-Scale
 * RDMA Deployments" (SIGCOMM 2015), with the knobs that ConnectX adds.  What it
 * must do at all is in the IBTA RoCEv2 annex: CA17-44 (a mark makes the
 * receiver send a CNP), CA17-45 (a CNP lowers the rate), CA17-46 (the rate
 * rises again with time or bytes).
 */
#include "dcqcn.h"

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>

/*
 * Two clocks drive it, that of alpha and that of the timer stages, and both run
 * only as the QP sends.  Without a packet there can be no mark, so silence is
 * no sign of a free path: a QP whose packets are rarer than the periods would
 * otherwise forget congestion, and climb, between one packet and the next.
 * Hence one send counts for a bounded part of the time since the last, and
 * time only counts for stages as far as the rate was used.  Nothing happens
 * between sends, so there is no timer and nothing to replay.
 *
 * Two limits are not in the paper (and off in ConnectX's set).  The target is
 * never left above max_tgt_ratio times the rate after a cut: flows that start
 * at ten times the bottleneck would return there from each fast recovery.  And
 * the steps scale with the root of the rate, see scaled_step().
 *
 * Scales and bounds: rates are bytes/s, below 2^40 (line_rate_kbps is a u32);
 * alpha is Q30, at most 2^30; reciprocals are Q32 ns per byte, below 2^63 for
 * 1 byte/s and up.  Products that may pass 64 bits go through
 * mul_u64_u64_shr().
 */

#define NS_PER_US		1000ULL
#define NS_PER_S		1000000000ULL
#define BYTES_PER_S_PER_KBPS	125ULL
#define BYTES_PER_S_PER_MBPS	125000ULL

/* Callers read the clock before they take the lock: older by that is no jump */
#define CLOCK_SKEW_NS		(1000 * NS_PER_US)

/* Quanta per second at full rate: 50 µs each */
#define QUANTA_PER_S		20000

/*
 * Two packets leave together only if they are no longer than this: pairs of
 * 4 KB from each of eight flows fill a queue of 1 Gbit/s beyond its Kmax.
 */
#define PAIR_MOST_BYTES		5000ULL

/* Bounds the hyper step below 2^57 */
#define STAGE_MAX		BIT(16)

/* Scaled steps begin to grow after so many times rp_threshold timer stages */
#define HYPER_AFTER		3

/* Most timer stages one send may finish after fast recovery */
#define STAGES_PER_SEND		16ULL

/* Time that counts for the decay of alpha between two sends, if K is less */
#define ALPHA_NS_PER_SEND	(64 * NS_PER_US)

/* Within 1/1024 of the ceiling counts as reaching it */
#define RELEASE_SHIFT		10

/* Time passed since *last_ns, which moves to now_ns; 0 when it went back */
static u64 clock_step(u64 *last_ns, u64 now_ns)
{
	u64 step_ns;

	if (now_ns >= *last_ns) {
		step_ns = now_ns - *last_ns;
		*last_ns = now_ns;
		return step_ns;
	}
	if (*last_ns - now_ns > CLOCK_SKEW_NS)
		*last_ns = now_ns;
	return 0;
}

static u64 add_sat(u64 a, u64 b)
{
	return a + b < a ? U64_MAX : a + b;
}

static u64 reciprocal_q32(u64 bytes_per_s)
{
	return div64_u64(NS_PER_S << 32, bytes_per_s);
}

static u64 bytes_to_ns(u64 bytes, u64 ns_per_byte_q32)
{
	return mul_u64_u64_shr(bytes, ns_per_byte_q32, 32);
}

static u64 ceiling(const struct sroce_dcqcn_param *p)
{
	u64 line = p->line_rate_kbps * BYTES_PER_S_PER_KBPS;
	u64 max_rate = p->max_rate_mbps * BYTES_PER_S_PER_MBPS;

	line = max(line, BYTES_PER_S_PER_MBPS);
	return max_rate ? min(line, max_rate) : line;
}

static void set_current(struct sroce_dcqcn *cc, u64 bytes_per_s)
{
	if (cc->cur_bytes_per_s == bytes_per_s)
		return;
	cc->cur_bytes_per_s = bytes_per_s;
	cc->ns_per_byte_q32 = reciprocal_q32(bytes_per_s);
}

static void release(struct sroce_dcqcn *cc, u64 rate)
{
	cc->target_bytes_per_s = rate;
	cc->active = false;
	cc->cut_pending = false;
	set_current(cc, rate);
}

/* alpha * keep^n, keep in Q10, by repeated squaring */
static u32 alpha_decayed(u32 alpha_q30, u32 keep_q10, u64 n)
{
	u64 factor_q30 = (u64)keep_q10 << 20;
	u64 alpha = alpha_q30;

	for (; n && alpha; n >>= 1) {
		if (n & 1)
			alpha = (alpha * factor_q30) >> 30;
		factor_q30 = (factor_q30 * factor_q30) >> 30;
	}
	return alpha;
}

static void run_alpha(struct sroce_dcqcn *cc,
		      const struct sroce_dcqcn_param *p, u64 gap_ns)
{
	u64 period_ns = p->dce_tcp_rtt_us * NS_PER_US;
	u64 n;

	cc->alpha_acc_ns += min(gap_ns, max(period_ns, ALPHA_NS_PER_SEND));
	if (cc->alpha_acc_ns < period_ns)
		return;
	n = div64_u64(cc->alpha_acc_ns, max(period_ns, NS_PER_US));
	cc->alpha_acc_ns -= n * period_ns;
	cc->alpha_q30 = alpha_decayed(cc->alpha_q30, p->dce_tcp_g_q10, n);
}

static bool in_fast_recovery(const struct sroce_dcqcn *cc,
			     const struct sroce_dcqcn_param *p)
{
	return max(cc->time_stage, cc->byte_stage) < p->threshold;
}

/* rate * sqrt(part / whole); part at most whole, below 2^40 */
static u64 scaled_by_root(u64 rate, u64 part, u64 whole)
{
	u64 ratio_q44 = div64_u64(part << 22, whole) << 22;

	return mul_u64_u64_shr(rate, int_sqrt64(ratio_q44), 22);
}

/*
 * Steps that fit the rate.  The root lets a slow flow gain on a fast one, and
 * lets many slow flows together add less than a queue absorbs.  When no CNP
 * came for long there is room, and the steps grow.
 */
static u64 scaled_step(const struct sroce_dcqcn *cc,
		       const struct sroce_dcqcn_param *p)
{
	u32 patience = p->threshold * HYPER_AFTER;
	u64 target = cc->target_bytes_per_s;
	u64 step, most;

	step = scaled_by_root(p->ai_rate_mbps * BYTES_PER_S_PER_MBPS, target,
			      max(ceiling(p), target));
	if (cc->time_stage <= patience)
		return step;
	most = max(div_u64(target, p->max_step_div),
		   p->hai_rate_mbps * BYTES_PER_S_PER_MBPS);
	return max(step, min(step * (cc->time_stage - patience), most));
}

/* What the present stage adds to the target rate, bytes/s */
static u64 stage_step(const struct sroce_dcqcn *cc,
		      const struct sroce_dcqcn_param *p)
{
	u32 lo = min(cc->time_stage, cc->byte_stage);

	if (in_fast_recovery(cc, p))
		return 0;
	if (p->max_step_div)
		return scaled_step(cc, p);
	if (lo > p->threshold)
		return p->hai_rate_mbps * BYTES_PER_S_PER_MBPS *
		       (lo - p->threshold);
	return p->ai_rate_mbps * BYTES_PER_S_PER_MBPS;
}

/* One stage of the timer or of the byte counter has ended (CA17-46) */
static void finish_stage(struct sroce_dcqcn *cc,
			 const struct sroce_dcqcn_param *p, u32 *stage)
{
	u64 top = ceiling(p);
	u64 step;

	*stage = min(*stage + 1, STAGE_MAX);
	step = stage_step(cc, p);
	cc->target_bytes_per_s = min(cc->target_bytes_per_s + step, top);
	set_current(cc, (cc->target_bytes_per_s + cc->cur_bytes_per_s + 1) / 2);
	if (cc->cur_bytes_per_s >= top - (top >> RELEASE_SHIFT))
		release(cc, top);
}

static void run_time_stages(struct sroce_dcqcn *cc,
			    const struct sroce_dcqcn_param *p, u64 gap_ns)
{
	u64 period_ns = max(p->time_reset_us, 1U) * NS_PER_US;
	u64 used_ns = min(gap_ns, cc->busy_ns);
	u64 n;

	cc->busy_ns -= used_ns;
	cc->stage_acc_ns += used_ns;
	if (cc->stage_acc_ns < period_ns)
		return;
	n = div64_u64(cc->stage_acc_ns, period_ns);
	cc->stage_acc_ns -= n * period_ns;
	cc->raised_by_time = true;
	n = in_fast_recovery(cc, p) ? 1 : min(n, STAGES_PER_SEND);
	for (; n && cc->active; n--)
		finish_stage(cc, p, &cc->time_stage);
}

static void run_byte_stages(struct sroce_dcqcn *cc,
			    const struct sroce_dcqcn_param *p, u32 bytes)
{
	u64 stage_bytes = (u64)p->byte_reset_64b * SROCE_DCQCN_BYTE_UNIT;

	cc->stage_acc_bytes += bytes;
	if (!stage_bytes || cc->stage_acc_bytes < stage_bytes)
		return;
	cc->stage_acc_bytes -= stage_bytes;
	cc->stage_acc_bytes = min(cc->stage_acc_bytes, stage_bytes);
	cc->raised_by_bytes = true;
	finish_stage(cc, p, &cc->byte_stage);
}

/* The time these bytes take at the present rate is time the rate is used */
static void note_busy(struct sroce_dcqcn *cc,
		      const struct sroce_dcqcn_param *p, u32 bytes)
{
	u64 sending_ns = bytes_to_ns(bytes, cc->ns_per_byte_q32);
	u64 most_ns;

	/* A quarter more: pacing that runs late must not stop the stages */
	sending_ns += sending_ns / 4;
	most_ns = max(sending_ns, p->time_reset_us * NS_PER_US);
	cc->busy_ns = min(cc->busy_ns + sending_ns, most_ns);
}

/* CA17-45; the order of the paper: target, rate with the old alpha, alpha */
static void cut(struct sroce_dcqcn *cc, const struct sroce_dcqcn_param *p)
{
	u64 top = ceiling(p);
	u64 lowest = min(p->min_rate_mbps * BYTES_PER_S_PER_MBPS, top);
	u64 old = min(cc->cur_bytes_per_s, top);
	u64 drop = mul_u64_u64_shr(old, cc->alpha_q30, 20 + p->gd_log2);
	u64 rate = old - min(drop, old);
	u64 target = cc->target_bytes_per_s;

	rate = max3(rate, div_u64(old * p->min_dec_fac_pct, 100), lowest);
	if (!cc->active || p->clamp_tgt_rate || cc->raised_by_bytes ||
	    (p->clamp_tgt_rate_ati && cc->raised_by_time))
		target = old;
	if (!cc->active && p->first_cnp_rate_mbps) {
		rate = clamp(p->first_cnp_rate_mbps * BYTES_PER_S_PER_MBPS,
			     lowest, top);
		target = rate;
	}
	if (p->max_tgt_ratio)
		target = min(target, rate * p->max_tgt_ratio);
	set_current(cc, rate);
	cc->target_bytes_per_s = clamp(target, rate, top);
	cc->alpha_q30 = alpha_decayed(cc->alpha_q30, p->dce_tcp_g_q10, 1) +
			SROCE_DCQCN_ALPHA_ONE - (p->dce_tcp_g_q10 << 20);
	cc->active = true;
	cc->cut_pending = false;
	cc->raised_by_time = false;
	cc->raised_by_bytes = false;
	cc->time_stage = 0;
	cc->byte_stage = 0;
	cc->stage_acc_bytes = 0;
	cc->stage_acc_ns = 0;
	cc->alpha_acc_ns = 0;
	cc->since_cut_ns = 0;
	cc->gap_ns = 0;
}

static void pass_time(struct sroce_dcqcn *cc, u64 now_ns)
{
	u64 step_ns = clock_step(&cc->last_ns, now_ns);

	cc->since_cut_ns = add_sat(cc->since_cut_ns, step_ns);
	cc->gap_ns = add_sat(cc->gap_ns, step_ns);
}

static bool may_cut(const struct sroce_dcqcn *cc,
		    const struct sroce_dcqcn_param *p)
{
	return !cc->active ||
	       cc->since_cut_ns >= p->reduce_period_us * NS_PER_US;
}

/**
 * sroce_dcqcn_init() - reaction point of a new QP, not throttled
 * @cc: filled in
 * @p: knobs of the device
 * @now_ns: present time, ns
 *
 * Context: any; caller owns @cc.
 */
void sroce_dcqcn_init(struct sroce_dcqcn *cc,
		      const struct sroce_dcqcn_param *p, u64 now_ns)
{
	memset(cc, 0, sizeof(*cc));
	cc->last_ns = now_ns;
	cc->alpha_q30 = p->initial_alpha_q10 << 20;
	release(cc, ceiling(p));
}

/**
 * sroce_dcqcn_on_cnp() - a CNP for this QP arrived
 * @cc: reaction point
 * @p: knobs of the device
 * @now_ns: present time, ns
 *
 * A CNP within rp_rate_reduce_monitor_period of the last cut takes effect with
 * the first send or CNP after that period; several such count once.
 *
 * Context: any; caller holds the lock that guards @cc.
 * Return: the current rate, bytes/s.
 */
u64 sroce_dcqcn_on_cnp(struct sroce_dcqcn *cc,
		       const struct sroce_dcqcn_param *p, u64 now_ns)
{
	pass_time(cc, now_ns);
	if (may_cut(cc, p))
		cut(cc, p);
	else
		cc->cut_pending = true;
	return cc->cur_bytes_per_s;
}

/**
 * sroce_dcqcn_on_sent() - the QP sends bytes under its congestion control
 * @cc: reaction point
 * @p: knobs of the device
 * @bytes: bytes handed to the network now
 * @now_ns: present time, ns
 *
 * Costs a test of one flag while the QP is not throttled, and divides only
 * when a period or stage has ended.
 *
 * Context: any; caller holds the lock that guards @cc.
 * Return: the current rate, bytes/s.
 */
u64 sroce_dcqcn_on_sent(struct sroce_dcqcn *cc,
			const struct sroce_dcqcn_param *p, u32 bytes,
			u64 now_ns)
{
	u64 gap_ns;

	if (!cc->active)
		return cc->cur_bytes_per_s;
	pass_time(cc, now_ns);
	if (cc->cut_pending && may_cut(cc, p))
		cut(cc, p);
	gap_ns = cc->gap_ns;
	cc->gap_ns = 0;
	run_alpha(cc, p, gap_ns);
	run_time_stages(cc, p, gap_ns);
	note_busy(cc, p, bytes);
	if (cc->active)
		run_byte_stages(cc, p, bytes);
	return cc->cur_bytes_per_s;
}

/**
 * sroce_dcqcn_rate() - current rate as of the last send or CNP
 * @cc: reaction point
 *
 * Context: any; a value read without the lock may be a moment old.
 * Return: the rate, bytes/s; the ceiling while not throttled.
 */
u64 sroce_dcqcn_rate(const struct sroce_dcqcn *cc)
{
	return cc->cur_bytes_per_s;
}

/**
 * sroce_dcqcn_pacing_rate() - the rate to give to the pacer
 * @cc: reaction point
 * @limit_kbps: the user's limit (IB_QP_RATE_LIMIT), kbit/s, 0: none
 *
 * An unthrottled QP is not paced at the line rate: a veth's is fiction.
 *
 * Context: any; caller holds the lock that guards @cc.
 * Return: the rate, bytes/s, 0: unlimited.
 */
u64 sroce_dcqcn_pacing_rate(const struct sroce_dcqcn *cc, u32 limit_kbps)
{
	u64 limit = limit_kbps * BYTES_PER_S_PER_KBPS;

	return min_not_zero(cc->active ? cc->cur_bytes_per_s : 0, limit);
}

/**
 * sroce_dcqcn_np_mark() - is this congestion mark answered with a CNP?
 * @np: limiter of the QP that got the mark
 * @interval_ns: least time between CNPs, ns, 0: answer every mark
 * @now_ns: present time, ns
 *
 * One CNP per window of @interval_ns.  Windows follow one another without a gap
 * while marks keep coming, so that steady marks give exactly one CNP per
 * interval whatever the distance of the packets (CA17-44 lets one CNP stand
 * for many marks); a window without a mark ends the row.
 *
 * Context: any; caller holds the lock that guards @np.
 * Return: true when a CNP is to be sent now.
 */
bool sroce_dcqcn_np_mark(struct sroce_dcqcn_np *np, u32 interval_ns,
			 u64 now_ns)
{
	u64 late_ns = now_ns - np->window_ns;
	/* A window cannot end later than this: then the clock was set back */
	u64 horizon_ns = (u64)interval_ns + CLOCK_SKEW_NS;

	if (np->armed && now_ns < np->window_ns &&
	    np->window_ns - now_ns <= horizon_ns)
		return false;
	if (np->armed && now_ns >= np->window_ns && late_ns < interval_ns)
		np->window_ns += interval_ns;
	else
		np->window_ns = now_ns + interval_ns;
	np->armed = true;
	return true;
}

/**
 * sroce_pacer_init() - a pacer without limit
 * @p: filled in
 *
 * Context: any; caller owns @p.
 */
void sroce_pacer_init(struct sroce_pacer *p)
{
	memset(p, 0, sizeof(*p));
	p->quantum_bytes = SROCE_PACER_MAX_QUANTUM;
}

/* A clock set back takes the deadline with it */
static void pacer_step(struct sroce_pacer *p, u64 now_ns)
{
	u64 before_ns = p->last_ns;

	clock_step(&p->last_ns, now_ns);
	if (p->last_ns < before_ns)
		p->next_ns -= min(p->next_ns, before_ns - p->last_ns);
}

/**
 * sroce_pacer_set_rate() - change the rate
 * @p: pacer
 * @rate_bytes_per_s: new rate, bytes/s, 0: unlimited
 * @mtu_bytes: largest packet of the QP, bytes
 * @now_ns: present time, ns
 *
 * The wait still ahead is counted in bytes and takes the new rate, so a cut
 * holds for everything not yet sent and a raise ends a long wait early.  A
 * caller that armed a timer for sroce_pacer_ready_ns() arms it anew.
 *
 * Context: any; caller holds the lock that guards @p.  Cheap when nothing
 * changes, divides otherwise.
 */
void sroce_pacer_set_rate(struct sroce_pacer *p, u64 rate_bytes_per_s,
			  u32 mtu_bytes, u64 now_ns)
{
	u64 quantum, ahead_bytes = 0;

	if (p->rate_bytes_per_s == rate_bytes_per_s &&
	    p->mtu_bytes == mtu_bytes)
		return;
	pacer_step(p, now_ns);
	if (p->next_ns > now_ns)
		ahead_bytes = mul_u64_u64_shr(p->next_ns - now_ns,
					      p->bytes_per_ns_q32, 32);
	p->rate_bytes_per_s = rate_bytes_per_s;
	p->mtu_bytes = mtu_bytes;
	if (!rate_bytes_per_s) {
		p->ns_per_byte_q32 = 0;
		p->bytes_per_ns_q32 = 0;
		p->burst_ns = 0;
		p->next_ns = min(p->next_ns, now_ns);
		p->quantum_bytes = SROCE_PACER_MAX_QUANTUM;
		return;
	}
	p->ns_per_byte_q32 = reciprocal_q32(rate_bytes_per_s);
	/* In two steps: the rate may have 40 bits */
	p->bytes_per_ns_q32 = div64_u64(rate_bytes_per_s << 24, NS_PER_S) << 8;
	quantum = max3(div_u64(rate_bytes_per_s, QUANTA_PER_S),
		       min(2ULL * mtu_bytes, PAIR_MOST_BYTES),
		       (u64)mtu_bytes);
	p->quantum_bytes = min(quantum, SROCE_PACER_MAX_QUANTUM);
	p->burst_ns = bytes_to_ns(p->quantum_bytes, p->ns_per_byte_q32);
	if (p->next_ns > now_ns)
		p->next_ns = now_ns + bytes_to_ns(ahead_bytes,
						  p->ns_per_byte_q32);
}

/**
 * sroce_pacer_ready_ns() - when the QP may send again
 * @p: pacer
 *
 * Context: any; caller holds the lock that guards @p.
 * Return: the time, ns; it may be past.
 */
u64 sroce_pacer_ready_ns(const struct sroce_pacer *p)
{
	return p->next_ns;
}

/**
 * sroce_pacer_budget_bytes() - how much the QP may send now
 * @p: pacer
 * @now_ns: present time, ns
 *
 * Ask again after each charge: a QP that is late may send another quantum.
 *
 * Context: any; caller holds the lock that guards @p.
 * Return: bytes, 0 before sroce_pacer_ready_ns().
 */
u32 sroce_pacer_budget_bytes(struct sroce_pacer *p, u64 now_ns)
{
	pacer_step(p, now_ns);
	return p->next_ns > now_ns ? 0 : p->quantum_bytes;
}

/**
 * sroce_pacer_charge() - account for bytes sent
 * @p: pacer
 * @bytes: bytes handed to the network
 * @now_ns: present time, ns
 *
 * Lateness up to one quantum is made up for, more is lost: an idle QP saves up
 * no burst.
 *
 * Context: any; caller holds the lock that guards @p.
 */
void sroce_pacer_charge(struct sroce_pacer *p, u32 bytes, u64 now_ns)
{
	u64 earliest_ns = now_ns - min(now_ns, p->burst_ns);

	if (!p->rate_bytes_per_s)
		return;
	pacer_step(p, now_ns);
	p->next_ns = max(p->next_ns, earliest_ns) +
		     bytes_to_ns(bytes, p->ns_per_byte_q32);
}
