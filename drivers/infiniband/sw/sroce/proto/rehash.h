/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a flow leaves its path through the network for another one.
 *
 * Owns: how long a flow has been under congestion, whether it waits for what it
 * sent to arrive, and which UDP source port is its next one.
 *
 * Contexts: any; nothing here sleeps, locks, allocates or prints.  The caller
 * guards the state (transmit lock) and brings the time.
 *
 * Callers: cc.c, for the requester.
 *
 * Must not know: packets, windows, sockets.  Time is a parameter in nanoseconds
 * of one monotonic clock.
 */
#ifndef SROCE_PROTO_REHASH_H
#define SROCE_PROTO_REHASH_H

#include <linux/types.h>

#include "dcqcn.h"

/* Signs of congestion closer than this are one, ns: some round trips */
#define SROCE_REHASH_ROUND_NS	300000ULL

/* Ports a flow takes in turn: what keeps state per port knows them all soon */
#define SROCE_REHASH_PORTS	64U

/* Repeated for want of an ACK so often in a row, a path is taken for dead */
#define SROCE_REHASH_TIMEOUTS	2U

/**
 * struct sroce_rehash - where a flow is between two paths; all zero is a new one
 * @round_ns: time of the last sign of congestion that counted
 * @pause_ns: nothing new is sent until then; 0: no pause
 * @rounds: signs of congestion since the flow took its port
 * @draws: ports drawn so far; 0: it has its first
 */
struct sroce_rehash {
	u64 round_ns;
	u64 pause_ns;
	u32 rounds;
	u32 draws;
};

/**
 * enum sroce_rehash_step - what a flow is to do
 * @SROCE_REHASH_STAY: go on
 * @SROCE_REHASH_WAIT: send nothing new before &sroce_rehash.pause_ns
 * @SROCE_REHASH_MOVE: take the next port, then go on
 */
enum sroce_rehash_step {
	SROCE_REHASH_STAY,
	SROCE_REHASH_WAIT,
	SROCE_REHASH_MOVE,
};

void sroce_rehash_congested(struct sroce_rehash *r, u64 now_ns);
enum sroce_rehash_step sroce_rehash_step(struct sroce_rehash *r,
					 const struct sroce_dcqcn_param *p,
					 bool empty, bool may_pause,
					 u64 now_ns);
bool sroce_rehash_is_small(const struct sroce_dcqcn_param *p,
			   u64 rate_bytes_per_s);
bool sroce_rehash_lost(struct sroce_rehash *r,
		       const struct sroce_dcqcn_param *p, u32 timeouts);
u16 sroce_rehash_port(const struct sroce_rehash *r, u32 lqpn, u32 rqpn);

#endif /* SROCE_PROTO_REHASH_H */
