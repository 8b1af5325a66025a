// SPDX-License-Identifier: GPL-2.0
/*
 * Random runs of proto/window.c: one against a model that counts in 64 bits and
 * so never wraps, one over a lossy channel to a standard responder.
 */
#include "proto/window.h"
#include "proto/psn.h"

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/prandom.h>

#define OFF	SROCE_WINDOW_OFF
#define RTO_NS	1000ULL
#define LIMIT	40

/* Numbers of the model start here, so that the PSN soon wraps. */
#define BASE	(0x5000000ULL - 500)

struct model {
	u64 una;
	u64 nxt;
	u64 max;
	u64 deadline;
	u64 rnr_until;
	unsigned int retries;
	unsigned int rnr_retries;
	unsigned int timeouts;
	bool recovering;
};

static void model_fresh(struct model *m)
{
	m->retries = 7;
	m->rnr_retries = 6;
	m->timeouts = 0;
	m->recovering = false;
	m->rnr_until = OFF;
}

static void model_moved(struct model *m, u64 to, u64 now)
{
	if (to <= m->una)
		return;
	m->una = to;
	m->nxt = max(m->nxt, to);
	model_fresh(m);
	m->deadline = m->nxt > m->una ? now + RTO_NS : OFF;
}

static enum sroce_rewind model_retry(struct model *m)
{
	m->deadline = OFF;
	if (!m->retries)
		return SROCE_RW_EXHAUSTED;
	m->retries--;
	m->nxt = m->una;
	return SROCE_RW_RESEND;
}

static enum sroce_rewind model_nak(struct model *m, u64 psn, u64 now)
{
	enum sroce_rewind rw;

	if (psn < m->una || psn >= m->max)
		return SROCE_RW_NONE;
	model_moved(m, psn, now);
	if (m->recovering || m->rnr_until != OFF)
		return SROCE_RW_NONE;
	rw = model_retry(m);
	m->recovering = rw == SROCE_RW_RESEND;
	return rw;
}

static enum sroce_rewind model_rnr(struct model *m, u64 psn, u64 wait, u64 now)
{
	if (psn < m->una || psn >= m->max)
		return SROCE_RW_NONE;
	model_moved(m, psn, now);
	if (m->rnr_until != OFF)
		return SROCE_RW_NONE;
	m->deadline = OFF;
	if (!m->rnr_retries)
		return SROCE_RW_EXHAUSTED;
	m->rnr_retries--;
	m->retries = 7;
	m->timeouts = 0;
	m->nxt = m->una;
	m->recovering = false;
	m->rnr_until = now + wait;
	return SROCE_RW_RESEND;
}

static enum sroce_rewind model_timeout(struct model *m, u64 now)
{
	if (m->deadline == OFF || now < m->deadline)
		return SROCE_RW_NONE;
	m->timeouts++;
	m->recovering = false;
	return model_retry(m);
}

static enum sroce_rewind model_lost(struct model *m, u64 psn)
{
	if (psn < m->una || psn >= m->nxt)
		return SROCE_RW_NONE;
	m->nxt = psn;
	if (m->nxt == m->una)
		m->deadline = OFF;
	return SROCE_RW_RESEND;
}

static void model_sent(struct model *m, u32 n, u64 now)
{
	m->nxt += n;
	m->max = max(m->max, m->nxt);
	if (m->deadline == OFF)
		m->deadline = now + (RTO_NS << min(m->timeouts, 2U));
}

static void model_ack(struct kunit *test, struct sroce_window *w,
		      struct model *m, u64 psn, u64 now)
{
	enum sroce_ack want = SROCE_ACK_ADVANCED;

	if (psn < m->una)
		want = SROCE_ACK_STALE;
	else if (psn >= m->max)
		want = SROCE_ACK_GHOST;
	else
		model_moved(m, psn + 1, now);
	KUNIT_ASSERT_EQ(test, sroce_window_ack(w, psn & SROCE_PSN_MASK, now),
			want);
}

/* One random step of both; the PSN may lie a little outside the window. */
static void model_step(struct kunit *test, struct rnd_state *rnd,
		       struct sroce_window *w, struct model *m, u64 now)
{
	u64 psn = m->una - 3 + prandom_u32_state(rnd) % (m->max - m->una + 6);
	u32 n = 1 + prandom_u32_state(rnd) % 5, p = psn & SROCE_PSN_MASK;
	enum sroce_rewind got = SROCE_RW_NONE, want = SROCE_RW_NONE;

	switch (prandom_u32_state(rnd) % 16) {
	case 0 ... 7:
		if (!sroce_window_admits(w, n))
			break;
		sroce_window_sent(w, n, now);
		model_sent(m, n, now);
		break;
	case 8 ... 10:
		model_ack(test, w, m, psn, now);
		break;
	case 11:
		want = model_nak(m, psn, now);
		got = sroce_window_nak(w, p, now);
		break;
	case 12:
		want = m->max > m->una ? model_nak(m, m->una, now) : want;
		got = sroce_window_implied_nak(w, now);
		break;
	case 13:
		want = model_rnr(m, psn, n * 100, now);
		got = sroce_window_rnr(w, p, n * 100, now);
		break;
	case 14:
		want = model_lost(m, psn);
		got = sroce_window_lost(w, p, now);
		break;
	default:
		want = model_timeout(m, now);
		got = sroce_window_timeout(w, now);
	}
	KUNIT_ASSERT_EQ(test, got, want);
}

static void model_compare(struct kunit *test, const struct sroce_window *w,
			  const struct model *m)
{
	KUNIT_ASSERT_EQ(test, w->una, m->una & SROCE_PSN_MASK);
	KUNIT_ASSERT_EQ(test, w->nxt, m->nxt & SROCE_PSN_MASK);
	KUNIT_ASSERT_EQ(test, w->max, m->max & SROCE_PSN_MASK);
	KUNIT_ASSERT_EQ(test, w->retry_left, m->retries);
	KUNIT_ASSERT_EQ(test, w->rnr_left, m->rnr_retries);
	KUNIT_ASSERT_EQ(test, w->recovering, m->recovering);
	KUNIT_ASSERT_EQ(test, sroce_window_deadline(w),
			min(m->deadline, m->rnr_until));
	KUNIT_ASSERT_EQ(test, sroce_window_has_unacked(w), m->max > m->una);
	KUNIT_ASSERT_EQ(test, sroce_window_resending(w), m->max > m->nxt);
	KUNIT_ASSERT_EQ(test, sroce_window_room(w),
			m->rnr_until != OFF ? 0 :
			(u32)(LIMIT - min_t(u64, LIMIT, m->nxt - m->una)));
}

static void model_test(struct kunit *test)
{
	struct model m = { BASE, BASE, BASE, OFF };
	struct sroce_window w;
	struct rnd_state rnd;
	unsigned int i;
	u64 now = 0;

	prandom_seed_state(&rnd, 4);
	sroce_window_init(&w, BASE & SROCE_PSN_MASK, LIMIT);
	sroce_window_config(&w, 7, 6, RTO_NS);
	model_fresh(&m);
	for (i = 0; i < 200000; i++) {
		now += prandom_u32_state(&rnd) % 100;
		model_step(test, &rnd, &w, &m, now);
		if (m.rnr_until <= now) {
			m.rnr_until = OFF;
			KUNIT_ASSERT_EQ(test, sroce_window_rnr_expired(&w, now),
					SROCE_RW_RESEND);
		}
		model_compare(test, &w, &m);
	}
	/* The run went over the wrap and some way beyond. */
	KUNIT_EXPECT_GT(test, m.una, BASE + 1000);
}

/* What travels: a request or, the other way, an acknowledgment. */
enum what { DATA, ACK, NAK, RNR };

struct packet {
	u64 arrives;
	u32 psn;
	enum what what;
};

#define PIPE_SLOTS	4096

struct pipe {
	struct packet slots[PIPE_SLOTS];
	unsigned int head;
	unsigned int tail;
};

/* A sender, a responder as the specification has it, and two pipes between. */
struct channel {
	struct sroce_window w;
	struct pipe there;
	struct pipe back;
	struct rnd_state rnd;
	u64 now;
	u32 loss;	/* packets of 1000 */
	u32 rnr;	/* requests of 1000 */
	u32 epsn;
	u32 delivered;
	bool nak_sent;
};

static void pipe_put(struct channel *ch, struct pipe *p, u32 psn,
		     enum what what)
{
	struct packet *slot = &p->slots[p->head % PIPE_SLOTS];

	if (prandom_u32_state(&ch->rnd) % 1000 < ch->loss ||
	    p->head - p->tail == PIPE_SLOTS)
		return;
	slot->arrives = ch->now + 100;
	slot->psn = psn;
	slot->what = what;
	p->head++;
}

static struct packet *pipe_get(struct channel *ch, struct pipe *p)
{
	struct packet *slot = &p->slots[p->tail % PIPE_SLOTS];

	if (p->head == p->tail || slot->arrives > ch->now)
		return NULL;
	p->tail++;
	return slot;
}

static void respond(struct channel *ch, u32 psn)
{
	s32 ahead = sroce_psn_diff(psn, ch->epsn);

	if (ahead < 0) {
		pipe_put(ch, &ch->back, sroce_psn_add(ch->epsn, -1), ACK);
	} else if (ahead > 0) {
		if (!ch->nak_sent)
			pipe_put(ch, &ch->back, ch->epsn, NAK);
		ch->nak_sent = true;
	} else if (prandom_u32_state(&ch->rnd) % 1000 < ch->rnr) {
		ch->nak_sent = false;
		pipe_put(ch, &ch->back, ch->epsn, RNR);
	} else {
		ch->nak_sent = false;
		ch->delivered++;
		ch->epsn = sroce_psn_add(ch->epsn, 1);
		pipe_put(ch, &ch->back, psn, ACK);
	}
}

static enum sroce_rewind handle_ack(struct channel *ch,
				    const struct packet *p)
{
	switch (p->what) {
	case NAK:
		return sroce_window_nak(&ch->w, p->psn, ch->now);
	case RNR:
		return sroce_window_rnr(&ch->w, p->psn, 300, ch->now);
	default:
		sroce_window_ack(&ch->w, p->psn, ch->now);
		return SROCE_RW_NONE;
	}
}

/* One tick of 10 ns; returns false when the sender gave up. */
static bool tick(struct channel *ch, u32 end)
{
	struct packet *p;

	ch->now += 10;
	if (ch->w.nxt != end && sroce_window_admits(&ch->w, 1)) {
		pipe_put(ch, &ch->there, ch->w.nxt, DATA);
		sroce_window_sent(&ch->w, 1, ch->now);
	}
	p = pipe_get(ch, &ch->there);
	if (p)
		respond(ch, p->psn);
	p = pipe_get(ch, &ch->back);
	if (p && handle_ack(ch, p) == SROCE_RW_EXHAUSTED)
		return false;
	sroce_window_rnr_expired(&ch->w, ch->now);
	return sroce_window_timeout(&ch->w, ch->now) != SROCE_RW_EXHAUSTED;
}

struct channel_case {
	const char *name;
	u32 loss;
	u32 rnr;
	u32 limit;
	u32 max_ticks;	/* per PSN delivered */
};

static const struct channel_case channel_cases[] = {
	{ "no loss", 0, 0, 64, 2 },
	{ "0.1 % loss", 1, 0, 64, 2 },
	{ "1 % loss", 10, 0, 64, 4 },
	{ "10 % loss", 100, 0, 64, 40 },
	{ "1 % RNR", 0, 10, 64, 4 },
	{ "5 % loss and 5 % RNR", 50, 50, 64, 40 },
	{ "stop and wait", 20, 0, 1, 30 },
};

static void channel_desc(const struct channel_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(channel, channel_cases, channel_desc);

#define MESSAGES	20000

static void channel_test(struct kunit *test)
{
	const struct channel_case *c = test->param_value;
	u32 first = 0xffff00, end = sroce_psn_add(first, MESSAGES), ticks = 0;
	struct channel *ch;

	ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ch);
	prandom_seed_state(&ch->rnd, 5);
	ch->loss = c->loss;
	ch->rnr = c->rnr;
	ch->epsn = first;
	sroce_window_init(&ch->w, first, c->limit);
	sroce_window_config(&ch->w, 7, 7, RTO_NS);
	while (ch->w.una != end) {
		KUNIT_ASSERT_LT(test, ++ticks, MESSAGES * c->max_ticks);
		KUNIT_ASSERT_TRUE(test, tick(ch, end));
		KUNIT_ASSERT_LE(test, sroce_psn_dist(ch->w.una, ch->w.nxt),
				c->limit);
		KUNIT_ASSERT_GE(test, sroce_psn_diff(ch->epsn, ch->w.una), 0);
	}
	KUNIT_EXPECT_EQ(test, ch->epsn, end);
	KUNIT_EXPECT_EQ(test, ch->delivered, MESSAGES);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&ch->w), OFF);
}

static void blackout_test(struct kunit *test)
{
	struct channel *ch;
	u32 ticks = 0;

	ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ch);
	ch->loss = 1000;
	sroce_window_init(&ch->w, 0, 8);
	sroce_window_config(&ch->w, 7, 7, RTO_NS);
	while (tick(ch, 1000))
		KUNIT_ASSERT_LT(test, ++ticks, 100000);
	/* 1 + 2 + 6 * 4 timeouts, each a little late for the ticks. */
	KUNIT_EXPECT_GE(test, ch->now, 27 * RTO_NS);
	KUNIT_EXPECT_LT(test, ch->now, 29 * RTO_NS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(model_test),
	KUNIT_CASE_PARAM(channel_test, channel_gen_params),
	KUNIT_CASE(blackout_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_window_random",
	.test_cases = cases,
};

kunit_test_suite(suite);
