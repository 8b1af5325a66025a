// SPDX-License-Identifier: GPL-2.0
/*
 * The knobs of the DCQCN controller: names, units, limits, defaults.
 *
 * Owns the table of knobs and the two sets of values.  Any context; nothing here
 * sleeps, locks or allocates.  Called by cc.c when a device is made and by
 * debugfs.  Must not know the controller's state; see dcqcn.h.
 */
#include "dcqcn.h"

#include <linux/minmax.h>
#include <linux/stddef.h>

#define KBPS_PER_MBPS		1000U

/* Limits of the line rate: 1 Mbit/s to 4 Tbit/s */
#define LINE_MIN_KBPS		1000U
#define LINE_MAX_KBPS		4000000000U

#define KNOB(_id, _name, _member, _unit, _min, _max)			\
	[SROCE_DCQCN_KNOB_##_id] = {					\
		.name = _name,						\
		.unit = _unit,						\
		.offset = offsetof(struct sroce_dcqcn_param, _member),	\
		.min = _min,						\
		.max = _max,						\
	}

const struct sroce_dcqcn_knob sroce_dcqcn_knobs[SROCE_DCQCN_KNOBS] = {
	KNOB(LINE_RATE, "line_rate", line_rate_kbps, "kbit/s", LINE_MIN_KBPS,
	     LINE_MAX_KBPS),
	KNOB(CLAMP_TGT_RATE, "rp_clamp_tgt_rate", clamp_tgt_rate, "bool", 0, 1),
	KNOB(CLAMP_TGT_RATE_ATI, "rp_clamp_tgt_rate_ati", clamp_tgt_rate_ati, "bool", 0, 1),
	KNOB(TIME_RESET, "rp_time_reset", time_reset_us, "us", 1, 131071),
	KNOB(BYTE_RESET, "rp_byte_reset", byte_reset_64b, "64 bytes", 0, 16777215),
	KNOB(THRESHOLD, "rp_threshold", threshold, "stages", 1, 31),
	KNOB(AI_RATE, "rp_ai_rate", ai_rate_mbps, "Mbit/s", 1, 400000),
	KNOB(HAI_RATE, "rp_hai_rate", hai_rate_mbps, "Mbit/s", 1, 400000),
	KNOB(MAX_RATE, "rp_max_rate", max_rate_mbps, "Mbit/s", 0, 4000000),
	KNOB(MIN_DEC_FAC, "rp_min_dec_fac", min_dec_fac_pct, "percent", 0, 100),
	KNOB(MIN_RATE, "rp_min_rate", min_rate_mbps, "Mbit/s", 1, 400000),
	KNOB(FIRST_CNP_RATE, "rp_rate_to_set_on_first_cnp", first_cnp_rate_mbps, "Mbit/s", 0,
	     4000000),
	KNOB(DCE_TCP_G, "rp_dce_tcp_g", dce_tcp_g_q10, "1/1024", 0, 1023),
	KNOB(DCE_TCP_RTT, "rp_dce_tcp_rtt", dce_tcp_rtt_us, "us", 1, 131071),
	KNOB(REDUCE_PERIOD, "rp_rate_reduce_monitor_period", reduce_period_us, "us", 0,
	     1000000),
	KNOB(INITIAL_ALPHA, "rp_initial_alpha_value", initial_alpha_q10, "1/1024", 0, 1023),
	KNOB(GD, "rp_gd", gd_log2, "log2", 0, 15),
	KNOB(MAX_TGT_RATIO, "rp_max_tgt_ratio", max_tgt_ratio, "factor", 0, 1024),
	KNOB(MAX_STEP_DIV, "rp_max_step_div", max_step_div, "divisor", 0, 1024),
	KNOB(CNP_INTERVAL, "np_min_time_between_cnps", cnp_interval_us, "us", 0, 1000000),
	KNOB(CNP_DSCP, "np_cnp_dscp", cnp_dscp, "dscp", 0, 63),
	KNOB(CNP_PRIO_MODE, "np_cnp_prio_mode", cnp_prio_mode, "bool", 0, 1),
	KNOB(CNP_PRIO, "np_cnp_prio", cnp_prio, "priority", 0, 7),
	KNOB(LOSS_IS_MARK, "rp_loss_is_mark", loss_is_mark, "bool", 0, 1),
	KNOB(REHASH_ROUNDS, "rp_rehash_rounds", rehash_rounds, "rounds", 0, 1000000),
	KNOB(REHASH_DRAIN, "rp_rehash_drain_us", rehash_drain_us, "us", 0, 100000),
	KNOB(REHASH_SHARE, "rp_rehash_share", rehash_share_q10, "1/1024", 0, 1024),
};

/**
 * sroce_dcqcn_param_defaults() - this driver's own settings
 * @p: filled in
 * @line_rate_kbps: speed of the link, kbit/s, 0 counts as 1 Mbit/s
 *
 * The paper's constants are absolute and made for 40 Gbit/s.  Steps, byte
 * stage and floor scale with the link instead: the slope stays a fixed share
 * of it per second, a byte stage is 3.2 ms of it, and a packet pair of a QP at
 * the floor takes no more than some 13 ms.
 *
 * Context: any.
 */
void sroce_dcqcn_param_defaults(struct sroce_dcqcn_param *p,
				u32 line_rate_kbps)
{
	u32 line_mbps, floor_mbps;

	line_rate_kbps = clamp(line_rate_kbps, LINE_MIN_KBPS, LINE_MAX_KBPS);
	line_mbps = line_rate_kbps / KBPS_PER_MBPS;
	floor_mbps = max(line_mbps / 1000, 5U);
	*p = (struct sroce_dcqcn_param) {
		.line_rate_kbps = line_rate_kbps,
		.clamp_tgt_rate = 0,
		.clamp_tgt_rate_ati = 1,
		.time_reset_us = 300,
		.byte_reset_64b = clamp(line_rate_kbps / 160, 512U, 16777215U),
		.threshold = 5,
		.ai_rate_mbps = max(line_mbps / 1000, 1U),
		.hai_rate_mbps = max(line_mbps / 8000, 1U),
		.max_rate_mbps = 0,
		.min_dec_fac_pct = 50,
		.min_rate_mbps = clamp(line_mbps / 20, 1U, floor_mbps),
		.first_cnp_rate_mbps = 0,
		.dce_tcp_g_q10 = 1012,
		.dce_tcp_rtt_us = 55,
		.reduce_period_us = 100,
		.initial_alpha_q10 = 1023,
		.gd_log2 = 11,
		.max_tgt_ratio = 2,
		.max_step_div = 64,
		.cnp_interval_us = 50,
		.cnp_dscp = 48,
		.cnp_prio_mode = 0,
		.cnp_prio = 6,
		.loss_is_mark = 0,
		.rehash_rounds = 4,
		.rehash_drain_us = 1000,
		.rehash_share_q10 = 16,
	};
}

/**
 * sroce_dcqcn_param_connectx() - what ConnectX adapters ship with
 * @p: filled in
 * @line_rate_kbps: speed of the link, kbit/s, 0 counts as 1 Mbit/s
 *
 * Context: any.
 */
void sroce_dcqcn_param_connectx(struct sroce_dcqcn_param *p,
				u32 line_rate_kbps)
{
	sroce_dcqcn_param_defaults(p, line_rate_kbps);
	p->time_reset_us = 300;
	p->byte_reset_64b = 32767;
	p->threshold = 1;
	p->ai_rate_mbps = 5;
	p->hai_rate_mbps = 50;
	p->min_rate_mbps = 1;
	p->dce_tcp_g_q10 = 1019;
	p->dce_tcp_rtt_us = 1;
	p->reduce_period_us = 4;
	p->max_tgt_ratio = 0;
	p->max_step_div = 0;
	p->cnp_interval_us = 4;
}

static u32 *knob_place(struct sroce_dcqcn_param *p,
		       enum sroce_dcqcn_knob_id id)
{
	return (u32 *)((u8 *)p + sroce_dcqcn_knobs[id].offset);
}

/* Knobs that still have what their old line gave them follow the new one */
static void set_line(struct sroce_dcqcn_param *p, u32 line_rate_kbps)
{
	struct sroce_dcqcn_param before, after;
	enum sroce_dcqcn_knob_id id;

	sroce_dcqcn_param_defaults(&before, p->line_rate_kbps);
	sroce_dcqcn_param_defaults(&after, line_rate_kbps);
	for (id = 0; id < SROCE_DCQCN_KNOBS; id++)
		if (*knob_place(p, id) == *knob_place(&before, id))
			*knob_place(p, id) = *knob_place(&after, id);
}

/**
 * sroce_dcqcn_knob_set() - change one knob
 * @p: parameters to change
 * @id: which knob
 * @value: new value, in the knob's unit
 *
 * The line rate takes along the knobs that scale with it, unless they were
 * changed.
 *
 * Context: any.
 * Return: false, and nothing changed, when @value is outside the limits.
 */
bool sroce_dcqcn_knob_set(struct sroce_dcqcn_param *p,
			  enum sroce_dcqcn_knob_id id, u64 value)
{
	if (id >= SROCE_DCQCN_KNOBS || value < sroce_dcqcn_knobs[id].min ||
	    value > sroce_dcqcn_knobs[id].max)
		return false;
	if (id == SROCE_DCQCN_KNOB_LINE_RATE)
		set_line(p, value);
	*knob_place(p, id) = value;
	return true;
}

/**
 * sroce_dcqcn_knob_get() - read one knob
 * @p: parameters
 * @id: which knob
 *
 * Context: any.
 * Return: the value in the knob's unit, 0 for an unknown @id.
 */
u32 sroce_dcqcn_knob_get(const struct sroce_dcqcn_param *p,
			 enum sroce_dcqcn_knob_id id)
{
	if (id >= SROCE_DCQCN_KNOBS)
		return 0;
	return *(const u32 *)((const u8 *)p + sroce_dcqcn_knobs[id].offset);
}
