/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round-trip time estimate.
 *
 * Owns the smoothed RTT, its variation and its minimum (RFC 6298 in integers).
 * A plain struct; the caller serialises. Called by comp.c with samples taken
 * under Karn's rule: never from a PSN that was sent twice. Must not know PSNs
 * or timers.
 */
#ifndef SROCE_PROTO_RTT_H
#define SROCE_PROTO_RTT_H

#include <linux/types.h>

/* Longer samples are cut to this, so that no sum below can overflow. */
#define SROCE_RTT_MAX_NS	(60ULL * 1000 * 1000 * 1000)

/**
 * struct sroce_rtt - round-trip time estimate
 * @srtt_ns: smoothed RTT, ns; 0: no sample yet
 * @rttvar_ns: mean deviation, ns
 * @min_ns: smallest sample, ns; U64_MAX: no sample yet
 */
struct sroce_rtt {
	u64 srtt_ns;
	u64 rttvar_ns;
	u64 min_ns;
};

void sroce_rtt_init(struct sroce_rtt *rtt);
void sroce_rtt_sample(struct sroce_rtt *rtt, u64 sample_ns);
u64 sroce_rtt_rto_ns(const struct sroce_rtt *rtt, u64 floor_ns, u64 ceil_ns);

#endif /* SROCE_PROTO_RTT_H */
