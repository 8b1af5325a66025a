// SPDX-License-Identifier: GPL-2.0
/*
 * Send window of a reliable QP: go-back-N; see window.h.
 *
 * Owns the arithmetic of una, nxt and max and the retry counters. Runs under
 * the caller's serialisation, in softirq or in the sender's context. All
 * positions are distances from una, counted forward, so that a wrap of the PSN
 * needs no case of its own.
 */
#include "window.h"

#include <linux/minmax.h>

#include "psn.h"

/* The timeout grows to 4 times its base (IBA 9.7.6.1.3 allows Tr to 4 Tr). */
#define BACKOFF_MAX	2

/* PSNs sent and not acknowledged, whether or not they are to be sent again. */
static u32 unacked(const struct sroce_window *w)
{
	return sroce_psn_dist(w->una, w->max);
}

/* Of these, the PSNs that are on their way, as far as one can know. */
static u32 in_flight(const struct sroce_window *w)
{
	return sroce_psn_dist(w->una, w->nxt);
}

static bool is_unacked(const struct sroce_window *w, u32 psn)
{
	return sroce_psn_dist(w->una, psn) < unacked(w);
}

/*
 * The timer watches over what is in flight. After a rewind nothing is, and the
 * next sroce_window_sent() starts it, however long the sender is held up. What
 * the local stack refuses is another matter: see sroce_window_refused().
 */
static void restart_timer(struct sroce_window *w, u64 now_ns)
{
	if (!in_flight(w) || w->rto_ns == SROCE_WINDOW_OFF)
		w->deadline_ns = SROCE_WINDOW_OFF;
	else
		w->deadline_ns = now_ns + (w->rto_ns << w->backoff);
}

static void progress(struct sroce_window *w)
{
	w->retry_left = w->retry_cnt;
	w->rnr_left = w->rnr_retry;
	w->backoff = 0;
	w->recovering = false;
	w->rnr_until_ns = SROCE_WINDOW_OFF;
	w->refused_ns = SROCE_WINDOW_OFF;
}

/* Everything before @psn is acknowledged; @psn lies in una to max. */
static bool advance(struct sroce_window *w, u32 psn, u64 now_ns)
{
	u32 n = sroce_psn_dist(w->una, psn);

	if (!n)
		return false;
	/* What was to be sent again had arrived after all. */
	if (n > in_flight(w))
		w->nxt = psn;
	w->una = psn;
	progress(w);
	restart_timer(w, now_ns);
	return true;
}

static void rewind_to_una(struct sroce_window *w)
{
	w->nxt = w->una;
	w->deadline_ns = SROCE_WINDOW_OFF;
}

/**
 * sroce_window_init() - start with an empty window
 * @w: window
 * @psn: first PSN to be sent
 * @limit: PSNs that may be in flight, cut to 1 to 2^23
 *
 * No timer and no retries until sroce_window_config().
 *
 * Context: Caller serialises access to @w.
 */
void sroce_window_init(struct sroce_window *w, u32 psn, u32 limit)
{
	psn &= SROCE_PSN_MASK;
	w->una = psn;
	w->nxt = psn;
	w->max = psn;
	w->limit = clamp_t(u32, limit, 1, SROCE_PSN_HALF);
	w->rto_ns = SROCE_WINDOW_OFF;
	w->deadline_ns = SROCE_WINDOW_OFF;
	w->retry_cnt = 0;
	w->rnr_retry = 0;
	progress(w);
}

/**
 * sroce_window_config() - set the retry policy
 * @w: window
 * @retry_cnt: transport retries without progress, 0 to 7; 7 is just 7
 * @rnr_retry: RNR retries without progress, 0 to 6, or
 *	SROCE_WINDOW_RNR_FOREVER
 * @rto_ns: retransmission timeout, ns, at most 2^60; SROCE_WINDOW_OFF: none
 *
 * The counters start afresh. A timer that runs goes on as it is.
 *
 * Context: Caller serialises access to @w.
 */
void sroce_window_config(struct sroce_window *w, u8 retry_cnt, u8 rnr_retry,
			 u64 rto_ns)
{
	w->retry_cnt = retry_cnt & 7;
	w->rnr_retry = rnr_retry & 7;
	w->retry_left = w->retry_cnt;
	w->rnr_left = w->rnr_retry;
	w->rto_ns = rto_ns;
	w->backoff = 0;
	if (rto_ns == SROCE_WINDOW_OFF)
		w->deadline_ns = SROCE_WINDOW_OFF;
}

/**
 * sroce_window_admits() - may a packet be sent now
 * @w: window
 * @npsn: PSNs it consumes: 1, or the number of responses for a READ
 *
 * A READ may consume more PSNs than the limit. It is admitted when nothing else
 * is in flight, or it never would be.
 *
 * Context: Caller serialises access to @w.
 * Return: true if it may.
 */
bool sroce_window_admits(const struct sroce_window *w, u32 npsn)
{
	u32 room = sroce_window_room(w);

	return npsn <= room ||
	       (room && !in_flight(w) && npsn <= SROCE_PSN_HALF);
}

/**
 * sroce_window_sent() - the packet with PSN nxt goes out
 * @w: window
 * @npsn: PSNs it consumes, 1 to 2^23
 * @now_ns: time, ns
 *
 * Context: Caller serialises access to @w.
 */
void sroce_window_sent(struct sroce_window *w, u32 npsn, u64 now_ns)
{
	u32 sent = in_flight(w) + npsn;

	w->nxt = sroce_psn_add(w->nxt, npsn);
	if (sent > unacked(w))
		w->max = w->nxt;
	if (w->deadline_ns == SROCE_WINDOW_OFF)
		restart_timer(w, now_ns);
}

/**
 * sroce_window_ack() - everything up to and including a PSN has arrived
 * @w: window
 * @psn: PSN of an ACK, or of a READ or atomic response
 * @now_ns: time, ns
 *
 * Context: Caller serialises access to @w.
 * Return: what that meant; only SROCE_ACK_ADVANCED changes the window.
 */
enum sroce_ack sroce_window_ack(struct sroce_window *w, u32 psn, u64 now_ns)
{
	if (!is_unacked(w, psn))
		return sroce_psn_diff(psn, w->una) < 0 ? SROCE_ACK_STALE :
							 SROCE_ACK_GHOST;
	advance(w, sroce_psn_add(psn, 1), now_ns);
	return SROCE_ACK_ADVANCED;
}

/* One transport retry is used up; @w goes back to una if there was one left. */
static enum sroce_rewind retry(struct sroce_window *w)
{
	if (!w->retry_left) {
		w->deadline_ns = SROCE_WINDOW_OFF;
		return SROCE_RW_EXHAUSTED;
	}
	w->retry_left--;
	rewind_to_una(w);
	return SROCE_RW_RESEND;
}

/**
 * sroce_window_nak() - the peer misses a PSN
 * @w: window
 * @psn: PSN of the NAK: the one that the peer waits for
 * @now_ns: time, ns
 *
 * Acknowledges everything before @psn. Once rewound, packets still on their way
 * can provoke the same NAK again; those are ignored until progress or timeout.
 * While an RNR wait lasts, they say nothing new either.
 *
 * Context: Caller serialises access to @w.
 * Return: what to do.
 */
enum sroce_rewind sroce_window_nak(struct sroce_window *w, u32 psn, u64 now_ns)
{
	if (!is_unacked(w, psn))
		return SROCE_RW_NONE;
	advance(w, psn & SROCE_PSN_MASK, now_ns);
	return sroce_window_implied_nak(w, now_ns);
}

/**
 * sroce_window_implied_nak() - responses to the oldest request were lost
 * @w: window
 * @now_ns: time, ns
 *
 * The sign is a response that lies beyond an unanswered READ or atomic
 * (IBA 9.7.5.1.1). The caller has acknowledged what came before it.
 *
 * Context: Caller serialises access to @w.
 * Return: what to do.
 */
enum sroce_rewind sroce_window_implied_nak(struct sroce_window *w, u64 now_ns)
{
	enum sroce_rewind rw;

	if (!unacked(w) || w->recovering ||
	    w->rnr_until_ns != SROCE_WINDOW_OFF)
		return SROCE_RW_NONE;
	rw = retry(w);
	w->recovering = rw == SROCE_RW_RESEND;
	return rw;
}

/**
 * sroce_window_lost() - go back to a PSN, which costs nothing
 * @w: window
 * @psn: the PSN
 * @now_ns: time, ns
 *
 * The peer has no part in it. The caller paces itself.
 *
 * Context: Caller serialises access to @w.
 * Return: SROCE_RW_RESEND, or SROCE_RW_NONE when @psn is not in flight.
 */
enum sroce_rewind sroce_window_lost(struct sroce_window *w, u32 psn, u64 now_ns)
{
	if (sroce_psn_dist(w->una, psn) >= in_flight(w))
		return SROCE_RW_NONE;
	w->nxt = psn & SROCE_PSN_MASK;
	if (!in_flight(w))
		w->deadline_ns = SROCE_WINDOW_OFF;
	else if (w->deadline_ns == SROCE_WINDOW_OFF)
		restart_timer(w, now_ns);
	return SROCE_RW_RESEND;
}

/**
 * sroce_window_refused() - the local stack refused a packet
 * @w: window
 * @psn: PSN of the packet
 * @now_ns: time, ns
 *
 * Costs no retry by itself, but a stack that has refused everything for as long
 * as an ACK may take has cost one, or a queue that stays full would never be
 * given up. What it takes in the end has its whole time: sroce_window_accepted()
 * ends the count. The caller paces itself, or it will spin on a full queue.
 *
 * Context: Caller serialises access to @w.
 * Return: what to do; SROCE_RW_NONE when @psn is not in flight.
 */
enum sroce_rewind sroce_window_refused(struct sroce_window *w, u32 psn,
				       u64 now_ns)
{
	enum sroce_rewind rw = sroce_window_lost(w, psn, now_ns);

	if (rw != SROCE_RW_RESEND || w->rto_ns == SROCE_WINDOW_OFF)
		return rw;
	if (w->refused_ns == SROCE_WINDOW_OFF)
		w->refused_ns = now_ns;
	if (now_ns - w->refused_ns < w->rto_ns << w->backoff)
		return rw;
	w->refused_ns = now_ns;
	if (w->backoff < BACKOFF_MAX)
		w->backoff++;
	return retry(w);
}

/**
 * sroce_window_rnr() - the peer has no receive WQE for a PSN
 * @w: window
 * @psn: PSN of the RNR NAK
 * @wait_ns: time it asks for, ns
 * @now_ns: time, ns
 *
 * Acknowledges everything before @psn, gives back the transport retries, and
 * holds back all sending until sroce_window_rnr_expired(). Packets on their way
 * can provoke more NAKs meanwhile; those are ignored.
 *
 * Context: Caller serialises access to @w.
 * Return: SROCE_RW_RESEND: send again when the wait is over.
 */
enum sroce_rewind sroce_window_rnr(struct sroce_window *w, u32 psn, u64 wait_ns,
				   u64 now_ns)
{
	if (!is_unacked(w, psn))
		return SROCE_RW_NONE;
	advance(w, psn & SROCE_PSN_MASK, now_ns);
	if (w->rnr_until_ns != SROCE_WINDOW_OFF)
		return SROCE_RW_NONE;
	if (w->rnr_retry != SROCE_WINDOW_RNR_FOREVER) {
		if (!w->rnr_left) {
			w->deadline_ns = SROCE_WINDOW_OFF;
			return SROCE_RW_EXHAUSTED;
		}
		w->rnr_left--;
	}
	/* it is there, and says so each time: what got lost between is no silence */
	w->retry_left = w->retry_cnt;
	w->backoff = 0;
	rewind_to_una(w);
	w->recovering = false;
	w->rnr_until_ns = now_ns + wait_ns;
	return SROCE_RW_RESEND;
}

/**
 * sroce_window_rnr_expired() - end an RNR wait that is over
 * @w: window
 * @now_ns: time, ns
 *
 * Context: Caller serialises access to @w.
 * Return: SROCE_RW_RESEND when a wait ended now.
 */
enum sroce_rewind sroce_window_rnr_expired(struct sroce_window *w, u64 now_ns)
{
	if (w->rnr_until_ns == SROCE_WINDOW_OFF || now_ns < w->rnr_until_ns)
		return SROCE_RW_NONE;
	w->rnr_until_ns = SROCE_WINDOW_OFF;
	return SROCE_RW_RESEND;
}

/**
 * sroce_window_timeout() - act on the ACK timeout if it is due
 * @w: window
 * @now_ns: time, ns
 *
 * NAKs count again afterwards: the head that was sent again may be lost too.
 *
 * Context: Caller serialises access to @w.
 * Return: what to do; SROCE_RW_NONE when it is not due yet.
 */
enum sroce_rewind sroce_window_timeout(struct sroce_window *w, u64 now_ns)
{
	if (w->deadline_ns == SROCE_WINDOW_OFF || now_ns < w->deadline_ns)
		return SROCE_RW_NONE;
	w->recovering = false;
	if (w->backoff < BACKOFF_MAX)
		w->backoff++;
	return retry(w);
}

/**
 * sroce_window_deadline() - when the window next wants to be looked at
 * @w: window
 *
 * Context: Caller serialises access to @w.
 * Return: time, ns, of the ACK timeout or the end of the RNR wait, whichever is
 * earlier; SROCE_WINDOW_OFF for neither.
 */
u64 sroce_window_deadline(const struct sroce_window *w)
{
	return min(w->deadline_ns, w->rnr_until_ns);
}
