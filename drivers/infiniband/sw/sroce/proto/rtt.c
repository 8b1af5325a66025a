// SPDX-License-Identifier: GPL-2.0
/*
 * Round-trip time estimate; see rtt.h.
 *
 * Owns the arithmetic of RFC 6298 on nanoseconds: gains 1/8 and 1/4, no
 * floating point. Any context; the caller serialises.
 */
#include "rtt.h"

#include <linux/minmax.h>

/**
 * sroce_rtt_init() - forget all samples
 * @rtt: estimate
 *
 * Context: Caller serialises access to @rtt.
 */
void sroce_rtt_init(struct sroce_rtt *rtt)
{
	rtt->srtt_ns = 0;
	rtt->rttvar_ns = 0;
	rtt->min_ns = ~0ULL;
}

/**
 * sroce_rtt_sample() - take one measurement
 * @rtt: estimate
 * @sample_ns: time from a packet to its acknowledgment, ns; 0 counts as 1,
 *	and anything above SROCE_RTT_MAX_NS as that
 *
 * The deviation is updated before the mean, as RFC 6298 2.3 wants it.
 *
 * Context: Caller serialises access to @rtt.
 */
void sroce_rtt_sample(struct sroce_rtt *rtt, u64 sample_ns)
{
	u64 dev_ns;

	sample_ns = clamp_t(u64, sample_ns, 1, SROCE_RTT_MAX_NS);
	rtt->min_ns = min(rtt->min_ns, sample_ns);
	if (!rtt->srtt_ns) {
		rtt->srtt_ns = sample_ns;
		rtt->rttvar_ns = sample_ns / 2;
		return;
	}
	dev_ns = sample_ns > rtt->srtt_ns ? sample_ns - rtt->srtt_ns :
					    rtt->srtt_ns - sample_ns;
	rtt->rttvar_ns = (3 * rtt->rttvar_ns + dev_ns) / 4;
	rtt->srtt_ns = max((7 * rtt->srtt_ns + sample_ns) / 8, 1ULL);
}

/**
 * sroce_rtt_rto_ns() - retransmission timeout
 * @rtt: estimate
 * @floor_ns: smallest timeout to return, ns
 * @ceil_ns: largest timeout to return, ns; wins over @floor_ns
 *
 * Context: Caller serialises access to @rtt.
 * Return: SRTT + 4 * RTTVAR within the limits, ns; @ceil_ns without a sample.
 */
u64 sroce_rtt_rto_ns(const struct sroce_rtt *rtt, u64 floor_ns, u64 ceil_ns)
{
	if (!rtt->srtt_ns)
		return ceil_ns;
	return min(max(rtt->srtt_ns + 4 * rtt->rttvar_ns, floor_ns), ceil_ns);
}
