// SPDX-License-Identifier: GPL-2.0
/*
 * When a flow leaves its path for another one; see rehash.h for who owns and
 * calls what.
 *
 * Routers choose among equal paths by a hash of addresses and ports, so that the
 * packets of a flow do not overtake one another.  A flow may take another port,
 * and with it perhaps another path, when nothing of it is on the old one.
 */
#include "rehash.h"

#include <linux/limits.h>
#include <linux/minmax.h>

#define NS_PER_US	1000ULL
#define BYTES_PER_KBIT	125ULL

/* Source ports of RoCEv2: 14 bits of entropy (IBA A17.9.1) */
#define PORT_FIRST	0xc000U
#define PORT_BITS	14

static void settle(struct sroce_rehash *r)
{
	r->rounds = 0;
	r->pause_ns = 0;
}

/**
 * sroce_rehash_congested() - a CNP was handled, or what stands for one
 * @r: the flow
 * @now_ns: present time, ns
 *
 * Context: any; caller holds the lock that guards @r.
 */
void sroce_rehash_congested(struct sroce_rehash *r, u64 now_ns)
{
	/* of a clock set back the difference is large */
	if (r->rounds && now_ns - r->round_ns < SROCE_REHASH_ROUND_NS)
		return;
	r->round_ns = now_ns;
	if (r->rounds < U32_MAX)
		r->rounds++;
}

/**
 * sroce_rehash_step() - is it time for another path
 * @r: the flow
 * @p: knobs of the device
 * @empty: nothing of it is under way
 * @may_pause: a pause makes it empty, about a round trip from now
 * @now_ns: present time, ns
 *
 * For half as many rounds again as make it due it waits for a moment that comes
 * by itself, as it does for a flow that is slow or waits for its user.
 *
 * Context: any; caller holds the lock that guards @r.
 * Return: what to do.
 */
enum sroce_rehash_step sroce_rehash_step(struct sroce_rehash *r,
					 const struct sroce_dcqcn_param *p,
					 bool empty, bool may_pause,
					 u64 now_ns)
{
	u64 drain_ns = p->rehash_drain_us * NS_PER_US;
	u32 due = p->rehash_rounds;

	if (!due) {
		settle(r);
		return SROCE_REHASH_STAY;
	}
	if (r->rounds < due)
		return SROCE_REHASH_STAY;
	if (empty) {
		settle(r);
		r->draws++;
		return SROCE_REHASH_MOVE;
	}
	if (r->pause_ns) {
		/* of a clock set back the end is too far away */
		if (now_ns < r->pause_ns && r->pause_ns - now_ns <= drain_ns)
			return SROCE_REHASH_WAIT;
		settle(r);
		return SROCE_REHASH_STAY;
	}
	if (!may_pause || !drain_ns || r->rounds < due + (due + 1) / 2)
		return SROCE_REHASH_STAY;
	r->pause_ns = now_ns + drain_ns;
	return SROCE_REHASH_WAIT;
}

/**
 * sroce_rehash_is_small() - is a flow one of many
 * @p: knobs of the device
 * @rate_bytes_per_s: its rate, bytes/s, below 2^40
 *
 * A flow that has much of its line is one of few at its bottleneck.  If it
 * paused, the queue would run empty, and the others would take it for room.
 *
 * Context: any.
 * Return: true when nobody would notice its pause.
 */
bool sroce_rehash_is_small(const struct sroce_dcqcn_param *p,
			   u64 rate_bytes_per_s)
{
	u64 line = p->line_rate_kbps * BYTES_PER_KBIT;

	return rate_bytes_per_s << 10 <= line * p->rehash_share_q10;
}

/**
 * sroce_rehash_lost() - nothing was heard for an ACK timeout
 * @r: the flow
 * @p: knobs of the device
 * @timeouts: timeouts in a row, this one included
 *
 * What was sent is lost, or so late that it arrives as a duplicate.
 *
 * Context: any; caller holds the lock that guards @r.
 * Return: true when the flow is to take its next port.
 */
bool sroce_rehash_lost(struct sroce_rehash *r,
		       const struct sroce_dcqcn_param *p, u32 timeouts)
{
	settle(r);
	if (!p->rehash_rounds || timeouts < SROCE_REHASH_TIMEOUTS)
		return false;
	r->draws++;
	return true;
}

/* Each bit of @x reaches the upper bits of the result. */
static u32 stir(u32 x)
{
	x ^= x >> 16;
	x *= 0x9e3779b1U;	/* 2^32 by the golden ratio, made odd */
	x ^= x >> 15;
	x *= 0x85157af5U;	/* 2^32 by the square root of 3.7, made odd */
	return x ^ x >> 16;
}

/**
 * sroce_rehash_port() - the UDP source port a flow has behind its first
 * @r: the flow, which drew one
 * @lqpn: its queue pair
 * @rqpn: the peer's
 *
 * Context: any.
 * Return: the port, 0xc000 to 0xffff.
 */
u16 sroce_rehash_port(const struct sroce_rehash *r, u32 lqpn, u32 rqpn)
{
	u32 turn = (r->draws - 1) % SROCE_REHASH_PORTS;

	return PORT_FIRST |
	       stir(stir(stir(lqpn) ^ rqpn) + turn) >> (32 - PORT_BITS);
}
