/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send window of a reliable QP: go-back-N.
 *
 * Owns which PSNs are unacknowledged, which one is sent next, when to send
 * again and when to give up. A plain struct; the caller serialises (the tx
 * owner) and brings the time. Called by req.c, comp.c and the QP's clock. Must
 * not know WQEs, packets or RTT; a selective-repeat window can replace it
 * behind the same calls.
 *
 *	una <= nxt <= max	in PSN order, at most 2^23 from una to max
 *	[una, max)		sent at least once, not acknowledged
 *	[nxt, max)		to be sent again after a rewind
 */
#ifndef SROCE_PROTO_WINDOW_H
#define SROCE_PROTO_WINDOW_H

#include <linux/types.h>

#include "psn.h"

/* A deadline that is not set. */
#define SROCE_WINDOW_OFF	(~0ULL)	/* U64_MAX */

/* rnr_retry of this value never gives up (IBA 9.7.5.2.8). */
#define SROCE_WINDOW_RNR_FOREVER	7

/**
 * struct sroce_window - state of the send window
 * @una: oldest unacknowledged PSN
 * @nxt: PSN to be sent next; before @max while sending again
 * @max: one beyond the highest PSN ever sent
 * @limit: PSNs that may be in flight, 1 to 2^23
 * @retry_cnt: transport retries without progress before giving up, 0 to 7
 * @retry_left: of these, how many are left
 * @rnr_retry: RNR retries, 0 to 6, or SROCE_WINDOW_RNR_FOREVER
 * @rnr_left: of these, how many are left
 * @backoff: timeouts in a row, capped; the timeout is @rto_ns << @backoff
 * @recovering: rewound to @una by a NAK and no progress since
 * @rto_ns: retransmission timeout, ns; SROCE_WINDOW_OFF: none
 * @deadline_ns: when the ACK timeout strikes; SROCE_WINDOW_OFF: not running
 * @rnr_until_ns: nothing is sent before this; SROCE_WINDOW_OFF: no RNR wait
 * @refused_ns: since when the local stack has refused everything, or since the
 *	last retry that cost; SROCE_WINDOW_OFF: it has not
 */
struct sroce_window {
	u32 una;
	u32 nxt;
	u32 max;
	u32 limit;
	u8 retry_cnt;
	u8 retry_left;
	u8 rnr_retry;
	u8 rnr_left;
	u8 backoff;
	bool recovering;
	u64 rto_ns;
	u64 deadline_ns;
	u64 rnr_until_ns;
	u64 refused_ns;
};

/**
 * enum sroce_ack - what an acknowledgment did
 * @SROCE_ACK_ADVANCED: @una moved
 * @SROCE_ACK_STALE: acknowledges nothing new
 * @SROCE_ACK_GHOST: acknowledges what was never sent
 */
enum sroce_ack {
	SROCE_ACK_ADVANCED,
	SROCE_ACK_STALE,
	SROCE_ACK_GHOST,
};

/**
 * enum sroce_rewind - what to do after trouble
 * @SROCE_RW_NONE: nothing
 * @SROCE_RW_RESEND: @nxt was set back, send from there
 * @SROCE_RW_EXHAUSTED: no retries left, fail the oldest WQE
 */
enum sroce_rewind {
	SROCE_RW_NONE,
	SROCE_RW_RESEND,
	SROCE_RW_EXHAUSTED,
};

/**
 * sroce_window_room() - how much may be sent now
 * @w: window
 *
 * Context: Caller serialises access to @w.
 * Return: PSNs; 0 while the window is full or the peer asked to wait.
 */
static inline u32 sroce_window_room(const struct sroce_window *w)
{
	u32 used = sroce_psn_dist(w->una, w->nxt);

	if (w->rnr_until_ns != SROCE_WINDOW_OFF || used >= w->limit)
		return 0;
	return w->limit - used;
}

/**
 * sroce_window_has_unacked() - is anything sent and not acknowledged
 * @w: window
 *
 * Context: Caller serialises access to @w.
 * Return: true if so, also when all of it is still to be sent again.
 */
static inline bool sroce_window_has_unacked(const struct sroce_window *w)
{
	return w->una != w->max;
}

/**
 * sroce_window_resending() - is the next PSN one that was sent before
 * @w: window
 *
 * Such a PSN gives no RTT sample (Karn's rule), and is sent even in SQD.
 *
 * Context: Caller serialises access to @w.
 * Return: true if so.
 */
static inline bool sroce_window_resending(const struct sroce_window *w)
{
	return w->nxt != w->max;
}

/**
 * sroce_window_accepted() - the local stack took a packet
 * @w: window
 *
 * Context: Caller serialises access to @w.
 */
static inline void sroce_window_accepted(struct sroce_window *w)
{
	w->refused_ns = SROCE_WINDOW_OFF;
}

void sroce_window_init(struct sroce_window *w, u32 psn, u32 limit);
void sroce_window_config(struct sroce_window *w, u8 retry_cnt, u8 rnr_retry,
			 u64 rto_ns);
bool sroce_window_admits(const struct sroce_window *w, u32 npsn);
void sroce_window_sent(struct sroce_window *w, u32 npsn, u64 now_ns);
enum sroce_ack sroce_window_ack(struct sroce_window *w, u32 psn, u64 now_ns);
enum sroce_rewind sroce_window_nak(struct sroce_window *w, u32 psn, u64 now_ns);
enum sroce_rewind sroce_window_implied_nak(struct sroce_window *w, u64 now_ns);
enum sroce_rewind sroce_window_lost(struct sroce_window *w, u32 psn, u64 now_ns);
enum sroce_rewind sroce_window_refused(struct sroce_window *w, u32 psn,
				       u64 now_ns);
enum sroce_rewind sroce_window_rnr(struct sroce_window *w, u32 psn, u64 wait_ns,
				   u64 now_ns);
enum sroce_rewind sroce_window_rnr_expired(struct sroce_window *w, u64 now_ns);
enum sroce_rewind sroce_window_timeout(struct sroce_window *w, u64 now_ns);
u64 sroce_window_deadline(const struct sroce_window *w);

#endif /* SROCE_PROTO_WINDOW_H */
