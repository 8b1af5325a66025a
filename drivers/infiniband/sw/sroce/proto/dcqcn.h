/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DCQCN: the rate controller of a queue pair, its pacer and the CNP limiter.
 *
 * Owns: the parameters of the controller and their limits, the reaction point
 * (RP) of a sending QP, the pacer that turns a rate into send times, and the
 * part of the notification point (NP) that decides whether a mark is answered.
 *
 * Contexts: any; nothing here sleeps, locks, allocates or prints.  All of one
 * QP's RP and pacer state is guarded by the caller (its transmit lock), its NP
 * state by the lock of the receive side.
 *
 * Callers: the engine on a doorbell, on a pacing deadline, on a CNP and on a
 * congestion mark; debugfs for the knobs.
 *
 * Must not know: packets, sockets, timers, ib_* objects.  Time is a parameter
 * in nanoseconds of one monotonic clock.
 */
#ifndef SROCE_PROTO_DCQCN_H
#define SROCE_PROTO_DCQCN_H

#include <linux/types.h>

/* The congestion estimate 1.0 in fixed point Q30; the knobs have it in Q10 */
#define SROCE_DCQCN_ALPHA_ONE		(1024U << 20)

/* Bytes in one unit of rp_byte_reset */
#define SROCE_DCQCN_BYTE_UNIT		64

/* Most bytes that leave a paced QP at once */
#define SROCE_PACER_MAX_QUANTUM		65536U

/**
 * struct sroce_dcqcn_param - the knobs of one device
 * @line_rate_kbps: speed a flow starts with and returns to, kbit/s
 * @clamp_tgt_rate: rp_clamp_tgt_rate; 1: each cut sets the target to the rate
 *	before the cut
 * @clamp_tgt_rate_ati: rp_clamp_tgt_rate_ati; 1: a cut does so too when only
 *	the timer, not the byte counter, raised the rate since the last cut
 * @time_reset_us: rp_time_reset; a timer stage lasts that long, µs
 * @byte_reset_64b: rp_byte_reset; bytes of a byte stage, 64-byte units,
 *	0: no byte stages
 * @threshold: rp_threshold; stages of fast recovery
 * @ai_rate_mbps: rp_ai_rate; step of additive increase, Mbit/s
 * @hai_rate_mbps: rp_hai_rate; step of hyper increase, Mbit/s
 * @max_rate_mbps: rp_max_rate; ceiling, Mbit/s, 0: the line rate
 * @min_dec_fac_pct: rp_min_dec_fac; a cut keeps at least that much, percent
 * @min_rate_mbps: rp_min_rate; floor, Mbit/s
 * @first_cnp_rate_mbps: rp_rate_to_set_on_first_cnp; rate that an unthrottled
 *	flow falls to on a CNP, Mbit/s, 0: an ordinary cut
 * @dce_tcp_g_q10: rp_dce_tcp_g; share of alpha kept by an update, Q10
 * @dce_tcp_rtt_us: rp_dce_tcp_rtt; alpha decays once per period, µs
 * @reduce_period_us: rp_rate_reduce_monitor_period; least time between cuts, µs
 * @initial_alpha_q10: rp_initial_alpha_value; alpha of a new QP, Q10
 * @gd_log2: rp_gd; a cut takes alpha_q10 / 2^gd of the rate
 * @max_tgt_ratio: rp_max_tgt_ratio (own); after a cut the target is at most
 *	that many times the rate, 0: no such limit
 * @max_step_div: rp_max_step_div (own); steps scale with the rate, and one of
 *	hyper increase is at most that fraction of the target; 0: absolute steps
 * @cnp_interval_us: np_min_time_between_cnps; per QP, µs
 * @cnp_dscp: np_cnp_dscp; DSCP of a CNP
 * @cnp_prio_mode: np_cnp_prio_mode; 0: @cnp_prio is the CNP's priority,
 *	1: the priority follows from @cnp_dscp
 * @cnp_prio: np_cnp_prio; 802.1p priority of a CNP
 * @loss_is_mark: rp_loss_is_mark (own); 1: lost requests of a flow whose peer
 *	never sent a CNP count as one
 * @rehash_rounds: rp_rehash_rounds (own); signs of congestion until a flow takes
 *	another source port, 0: never
 * @rehash_drain_us: rp_rehash_drain_us (own); longest pause for that, µs, 0: it
 *	never pauses
 * @rehash_share_q10: rp_rehash_share (own); only flows with at most this part of
 *	the line pause, Q10
 *
 * Names and units of the knobs are those of mlx5, where it has them.  Shared by all QPs of a
 * device; a reader takes each value as it finds it, so a change needs no lock.
 */
struct sroce_dcqcn_param {
	u32 line_rate_kbps;
	u32 clamp_tgt_rate;
	u32 clamp_tgt_rate_ati;
	u32 time_reset_us;
	u32 byte_reset_64b;
	u32 threshold;
	u32 ai_rate_mbps;
	u32 hai_rate_mbps;
	u32 max_rate_mbps;
	u32 min_dec_fac_pct;
	u32 min_rate_mbps;
	u32 first_cnp_rate_mbps;
	u32 dce_tcp_g_q10;
	u32 dce_tcp_rtt_us;
	u32 reduce_period_us;
	u32 initial_alpha_q10;
	u32 gd_log2;
	u32 max_tgt_ratio;
	u32 max_step_div;
	u32 cnp_interval_us;
	u32 cnp_dscp;
	u32 cnp_prio_mode;
	u32 cnp_prio;
	u32 loss_is_mark;
	u32 rehash_rounds;
	u32 rehash_drain_us;
	u32 rehash_share_q10;
};

/**
 * enum sroce_dcqcn_knob_id - index into &sroce_dcqcn_knobs
 * @SROCE_DCQCN_KNOB_LINE_RATE: line_rate
 * @SROCE_DCQCN_KNOB_CLAMP_TGT_RATE: rp_clamp_tgt_rate
 * @SROCE_DCQCN_KNOB_CLAMP_TGT_RATE_ATI: rp_clamp_tgt_rate_ati
 * @SROCE_DCQCN_KNOB_TIME_RESET: rp_time_reset
 * @SROCE_DCQCN_KNOB_BYTE_RESET: rp_byte_reset
 * @SROCE_DCQCN_KNOB_THRESHOLD: rp_threshold
 * @SROCE_DCQCN_KNOB_AI_RATE: rp_ai_rate
 * @SROCE_DCQCN_KNOB_HAI_RATE: rp_hai_rate
 * @SROCE_DCQCN_KNOB_MAX_RATE: rp_max_rate
 * @SROCE_DCQCN_KNOB_MIN_DEC_FAC: rp_min_dec_fac
 * @SROCE_DCQCN_KNOB_MIN_RATE: rp_min_rate
 * @SROCE_DCQCN_KNOB_FIRST_CNP_RATE: rp_rate_to_set_on_first_cnp
 * @SROCE_DCQCN_KNOB_DCE_TCP_G: rp_dce_tcp_g
 * @SROCE_DCQCN_KNOB_DCE_TCP_RTT: rp_dce_tcp_rtt
 * @SROCE_DCQCN_KNOB_REDUCE_PERIOD: rp_rate_reduce_monitor_period
 * @SROCE_DCQCN_KNOB_INITIAL_ALPHA: rp_initial_alpha_value
 * @SROCE_DCQCN_KNOB_GD: rp_gd
 * @SROCE_DCQCN_KNOB_MAX_TGT_RATIO: rp_max_tgt_ratio
 * @SROCE_DCQCN_KNOB_MAX_STEP_DIV: rp_max_step_div
 * @SROCE_DCQCN_KNOB_CNP_INTERVAL: np_min_time_between_cnps
 * @SROCE_DCQCN_KNOB_CNP_DSCP: np_cnp_dscp
 * @SROCE_DCQCN_KNOB_CNP_PRIO_MODE: np_cnp_prio_mode
 * @SROCE_DCQCN_KNOB_CNP_PRIO: np_cnp_prio
 * @SROCE_DCQCN_KNOB_LOSS_IS_MARK: rp_loss_is_mark
 * @SROCE_DCQCN_KNOB_REHASH_ROUNDS: rp_rehash_rounds
 * @SROCE_DCQCN_KNOB_REHASH_DRAIN: rp_rehash_drain_us
 * @SROCE_DCQCN_KNOB_REHASH_SHARE: rp_rehash_share
 * @SROCE_DCQCN_KNOBS: number of knobs
 */
enum sroce_dcqcn_knob_id {
	SROCE_DCQCN_KNOB_LINE_RATE,
	SROCE_DCQCN_KNOB_CLAMP_TGT_RATE,
	SROCE_DCQCN_KNOB_CLAMP_TGT_RATE_ATI,
	SROCE_DCQCN_KNOB_TIME_RESET,
	SROCE_DCQCN_KNOB_BYTE_RESET,
	SROCE_DCQCN_KNOB_THRESHOLD,
	SROCE_DCQCN_KNOB_AI_RATE,
	SROCE_DCQCN_KNOB_HAI_RATE,
	SROCE_DCQCN_KNOB_MAX_RATE,
	SROCE_DCQCN_KNOB_MIN_DEC_FAC,
	SROCE_DCQCN_KNOB_MIN_RATE,
	SROCE_DCQCN_KNOB_FIRST_CNP_RATE,
	SROCE_DCQCN_KNOB_DCE_TCP_G,
	SROCE_DCQCN_KNOB_DCE_TCP_RTT,
	SROCE_DCQCN_KNOB_REDUCE_PERIOD,
	SROCE_DCQCN_KNOB_INITIAL_ALPHA,
	SROCE_DCQCN_KNOB_GD,
	SROCE_DCQCN_KNOB_MAX_TGT_RATIO,
	SROCE_DCQCN_KNOB_MAX_STEP_DIV,
	SROCE_DCQCN_KNOB_CNP_INTERVAL,
	SROCE_DCQCN_KNOB_CNP_DSCP,
	SROCE_DCQCN_KNOB_CNP_PRIO_MODE,
	SROCE_DCQCN_KNOB_CNP_PRIO,
	SROCE_DCQCN_KNOB_LOSS_IS_MARK,
	SROCE_DCQCN_KNOB_REHASH_ROUNDS,
	SROCE_DCQCN_KNOB_REHASH_DRAIN,
	SROCE_DCQCN_KNOB_REHASH_SHARE,
	SROCE_DCQCN_KNOBS
};

/**
 * struct sroce_dcqcn_knob - name, place and limits of one knob
 * @name: file name, as mlx5 has it
 * @unit: unit of the value, for documentation and messages
 * @offset: place of the u32 in struct sroce_dcqcn_param, bytes
 * @min: least value accepted
 * @max: greatest value accepted
 */
struct sroce_dcqcn_knob {
	const char *name;
	const char *unit;
	u32 offset;
	u32 min;
	u32 max;
};

extern const struct sroce_dcqcn_knob sroce_dcqcn_knobs[SROCE_DCQCN_KNOBS];

/**
 * struct sroce_dcqcn - reaction point of one sending QP
 * @last_ns: latest time seen
 * @cur_bytes_per_s: current rate (Rc)
 * @target_bytes_per_s: target rate (Rt)
 * @ns_per_byte_q32: reciprocal of @cur_bytes_per_s, Q32
 * @since_cut_ns: time since the last cut
 * @alpha_acc_ns: time into the current alpha period
 * @stage_acc_ns: time into the current timer stage, counted while sending
 * @busy_ns: sending time not yet credited to @stage_acc_ns
 * @gap_ns: time since the last send or cut
 * @stage_acc_bytes: bytes into the current byte stage
 * @alpha_q30: congestion estimate, Q30, at most SROCE_DCQCN_ALPHA_ONE
 * @time_stage: timer stages finished since the last cut (T), saturates
 * @byte_stage: byte stages finished since the last cut (BC), saturates
 * @active: the flow is throttled
 * @cut_pending: a CNP came too early after a cut and still has to count
 * @raised_by_time: a timer stage raised the rate since the last cut
 * @raised_by_bytes: a byte stage raised the rate since the last cut
 *
 * No timer belongs to it: periods are made up for when the QP sends, so an idle
 * QP costs nothing.
 */
struct sroce_dcqcn {
	u64 last_ns;
	u64 cur_bytes_per_s;
	u64 target_bytes_per_s;
	u64 ns_per_byte_q32;
	u64 since_cut_ns;
	u64 alpha_acc_ns;
	u64 stage_acc_ns;
	u64 busy_ns;
	u64 gap_ns;
	u64 stage_acc_bytes;
	u32 alpha_q30;
	u32 time_stage;
	u32 byte_stage;
	bool active;
	bool cut_pending;
	bool raised_by_time;
	bool raised_by_bytes;
};

/**
 * struct sroce_dcqcn_np - CNP limiter of one receiving QP; all zero is new
 * @window_ns: end of the window in which a CNP was sent
 * @armed: @window_ns is valid
 */
struct sroce_dcqcn_np {
	u64 window_ns;
	bool armed;
};

/**
 * struct sroce_pacer - when a QP may send again; all zero is unlimited
 * @next_ns: nothing is sent before
 * @last_ns: latest time seen, to notice a clock that jumped back
 * @rate_bytes_per_s: the rate, 0: unlimited
 * @ns_per_byte_q32: reciprocal of the rate, Q32, 0: unlimited
 * @bytes_per_ns_q32: the rate again, Q32
 * @burst_ns: time of one quantum; so much lateness is made up for
 * @mtu_bytes: MTU the quantum was computed from
 * @quantum_bytes: most bytes to send at once
 */
struct sroce_pacer {
	u64 next_ns;
	u64 last_ns;
	u64 rate_bytes_per_s;
	u64 ns_per_byte_q32;
	u64 bytes_per_ns_q32;
	u64 burst_ns;
	u32 mtu_bytes;
	u32 quantum_bytes;
};

/* Parameters */
void sroce_dcqcn_param_defaults(struct sroce_dcqcn_param *p,
				u32 line_rate_kbps);
void sroce_dcqcn_param_connectx(struct sroce_dcqcn_param *p,
				u32 line_rate_kbps);
bool sroce_dcqcn_knob_set(struct sroce_dcqcn_param *p,
			  enum sroce_dcqcn_knob_id id, u64 value);
u32 sroce_dcqcn_knob_get(const struct sroce_dcqcn_param *p,
			 enum sroce_dcqcn_knob_id id);

/* Reaction point */
void sroce_dcqcn_init(struct sroce_dcqcn *cc,
		      const struct sroce_dcqcn_param *p, u64 now_ns);
u64 sroce_dcqcn_on_cnp(struct sroce_dcqcn *cc,
		       const struct sroce_dcqcn_param *p, u64 now_ns);
u64 sroce_dcqcn_on_sent(struct sroce_dcqcn *cc,
			const struct sroce_dcqcn_param *p, u32 bytes,
			u64 now_ns);
u64 sroce_dcqcn_rate(const struct sroce_dcqcn *cc);
u64 sroce_dcqcn_pacing_rate(const struct sroce_dcqcn *cc, u32 limit_kbps);

/* Notification point */
bool sroce_dcqcn_np_mark(struct sroce_dcqcn_np *np, u32 interval_ns,
			 u64 now_ns);

/* Pacer */
void sroce_pacer_init(struct sroce_pacer *p);
void sroce_pacer_set_rate(struct sroce_pacer *p, u64 rate_bytes_per_s,
			  u32 mtu_bytes, u64 now_ns);
u64 sroce_pacer_ready_ns(const struct sroce_pacer *p);
u32 sroce_pacer_budget_bytes(struct sroce_pacer *p, u64 now_ns);
void sroce_pacer_charge(struct sroce_pacer *p, u32 bytes, u64 now_ns);

#endif /* SROCE_PROTO_DCQCN_H */
