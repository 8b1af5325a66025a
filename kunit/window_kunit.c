// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/window.c: traces of one kind of trouble each. The random runs
 * are in window_random_kunit.c.
 */
#include "proto/window.h"
#include "proto/psn.h"

#include <kunit/test.h>

#define OFF	SROCE_WINDOW_OFF
#define RTO_NS	1000ULL
#define LIMIT	16

/* Every trace starts 3 PSNs before the wrap, with 2 retries of each kind. */
#define START	0xfffffdU

static struct sroce_window start(void)
{
	struct sroce_window w;

	sroce_window_init(&w, START, LIMIT);
	sroce_window_config(&w, 2, 2, RTO_NS);
	return w;
}

static u32 psn(s32 n)
{
	return sroce_psn_add(START, n);
}

/* Where the window stands, counted from the first PSN. */
static void expect(struct kunit *test, const struct sroce_window *w, u32 una,
		   u32 nxt, u32 max)
{
	KUNIT_EXPECT_EQ(test, sroce_psn_dist(START, w->una), una);
	KUNIT_EXPECT_EQ(test, sroce_psn_dist(START, w->nxt), nxt);
	KUNIT_EXPECT_EQ(test, sroce_psn_dist(START, w->max), max);
	KUNIT_EXPECT_EQ(test, w->una | w->nxt | w->max,
			(w->una | w->nxt | w->max) & SROCE_PSN_MASK);
}

static void send_n(struct sroce_window *w, unsigned int n, u64 now_ns)
{
	while (n--)
		sroce_window_sent(w, 1, now_ns);
}

static void no_loss_test(struct kunit *test)
{
	struct sroce_window w = start();

	KUNIT_EXPECT_FALSE(test, sroce_window_has_unacked(&w));
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), LIMIT);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
	sroce_window_sent(&w, 1, 100);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 100 + RTO_NS);
	send_n(&w, 4, 200);
	/* The timer runs for the oldest packet. */
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 100 + RTO_NS);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), LIMIT - 5);
	expect(test, &w, 0, 5, 5);

	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(3), 300),
			SROCE_ACK_ADVANCED);
	expect(test, &w, 4, 5, 5);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 300 + RTO_NS);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(4), 400),
			SROCE_ACK_ADVANCED);
	KUNIT_EXPECT_FALSE(test, sroce_window_has_unacked(&w));
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
}

static void stale_and_ghost_test(struct kunit *test)
{
	struct sroce_window w = start();

	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(-1), 1),
			SROCE_ACK_STALE);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(0), 1),
			SROCE_ACK_GHOST);
	send_n(&w, 5, 1);
	sroce_window_ack(&w, psn(2), 2);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(2), 3),
			SROCE_ACK_STALE);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(5), 3),
			SROCE_ACK_GHOST);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(0x7fffff), 3),
			SROCE_ACK_GHOST);
	KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(2), 3), SROCE_RW_NONE);
	KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(5), 3), SROCE_RW_NONE);
	KUNIT_EXPECT_EQ(test, sroce_window_rnr(&w, psn(2), 9, 3),
			SROCE_RW_NONE);
	KUNIT_EXPECT_EQ(test, sroce_window_rnr(&w, psn(5), 9, 3),
			SROCE_RW_NONE);
	expect(test, &w, 3, 5, 5);
	KUNIT_EXPECT_EQ(test, w.retry_left, 2);
	KUNIT_EXPECT_EQ(test, w.rnr_left, 2);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 2 + RTO_NS);
}

static void nak_mid_message_test(struct kunit *test)
{
	struct sroce_window w = start();

	send_n(&w, 8, 10);
	KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(4), 20),
			SROCE_RW_RESEND);
	expect(test, &w, 4, 4, 8);
	KUNIT_EXPECT_TRUE(test, sroce_window_has_unacked(&w));
	KUNIT_EXPECT_TRUE(test, sroce_window_resending(&w));
	KUNIT_EXPECT_EQ(test, w.retry_left, 1);
	/* Nothing is in flight until it is sent again. */
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), LIMIT);

	/* The packets behind the gap provoke more of the same. */
	sroce_window_sent(&w, 1, 30);
	KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(4), 40), SROCE_RW_NONE);
	expect(test, &w, 4, 5, 8);
	KUNIT_EXPECT_EQ(test, w.retry_left, 1);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 30 + RTO_NS);

	/* Another gap is another matter. */
	send_n(&w, 5, 50);
	expect(test, &w, 4, 10, 10);
	KUNIT_EXPECT_FALSE(test, sroce_window_resending(&w));
	KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(6), 60),
			SROCE_RW_RESEND);
	expect(test, &w, 6, 6, 10);
	KUNIT_EXPECT_EQ(test, w.retry_left, 1);
}

static void ack_beyond_rewind_test(struct kunit *test)
{
	struct sroce_window w = start();

	send_n(&w, 8, 10);
	sroce_window_nak(&w, psn(2), 20);
	sroce_window_sent(&w, 1, 20);
	/* Only one packet was lost in truth: the rest need not be repeated. */
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(6), 30),
			SROCE_ACK_ADVANCED);
	expect(test, &w, 7, 7, 8);
	KUNIT_EXPECT_FALSE(test, w.recovering);
	KUNIT_EXPECT_EQ(test, w.retry_left, 2);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
	sroce_window_sent(&w, 1, 40);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 40 + RTO_NS);
}

static void nak_exhausts_test(struct kunit *test)
{
	struct sroce_window w = start();
	unsigned int i;

	send_n(&w, 3, 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, sroce_window_implied_nak(&w, i),
				SROCE_RW_RESEND);
		KUNIT_EXPECT_EQ(test, sroce_window_implied_nak(&w, i),
				SROCE_RW_NONE);
		expect(test, &w, 0, 0, 3);
		w.recovering = false;
		send_n(&w, 3, i);
	}
	KUNIT_EXPECT_EQ(test, sroce_window_implied_nak(&w, 9),
			SROCE_RW_EXHAUSTED);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
	expect(test, &w, 0, 3, 3);
}

static void timeout_test(struct kunit *test)
{
	static const u64 waits[] = { RTO_NS, 2 * RTO_NS, 4 * RTO_NS,
				     4 * RTO_NS, 4 * RTO_NS, 4 * RTO_NS,
				     4 * RTO_NS };
	struct sroce_window w = start();
	unsigned int i;
	u64 now = 50;

	/* 7 retries are 7, not endless. */
	sroce_window_config(&w, 7, 7, RTO_NS);
	send_n(&w, 4, now);
	for (i = 0; i < 7; i++) {
		KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w),
				now + waits[i]);
		now += waits[i];
		KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, now - 1),
				SROCE_RW_NONE);
		KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, now),
				SROCE_RW_RESEND);
		expect(test, &w, 0, 0, 4);
		/* However long the sender takes, the timer waits for it. */
		KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, now + 99999),
				SROCE_RW_NONE);
		now += 7;
		send_n(&w, 4, now);
	}
	KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, now + 4 * RTO_NS),
			SROCE_RW_EXHAUSTED);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
}

static void timeout_reset_test(struct kunit *test)
{
	struct sroce_window w = start();

	send_n(&w, 4, 0);
	sroce_window_timeout(&w, RTO_NS);
	send_n(&w, 4, RTO_NS);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 3 * RTO_NS);
	/* After a timeout a NAK counts again. */
	KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(0), RTO_NS + 5),
			SROCE_RW_RESEND);
	KUNIT_EXPECT_EQ(test, w.retry_left, 0);
	send_n(&w, 4, RTO_NS + 5);
	/* Progress gives all retries and the short timeout back. */
	sroce_window_ack(&w, psn(0), RTO_NS + 10);
	KUNIT_EXPECT_EQ(test, w.retry_left, 2);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 2 * RTO_NS + 10);

	/* No timeout at all. */
	sroce_window_config(&w, 0, 0, OFF);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
	sroce_window_sent(&w, 1, RTO_NS + 20);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
	KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, U64_MAX - 1),
			SROCE_RW_NONE);
	/* No retries: the first trouble is the last. */
	KUNIT_EXPECT_EQ(test, sroce_window_implied_nak(&w, RTO_NS + 30),
			SROCE_RW_EXHAUSTED);
}

static void rnr_test(struct kunit *test)
{
	struct sroce_window w = start();
	unsigned int i;

	send_n(&w, 6, 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, sroce_window_rnr(&w, psn(2), 500, 100),
				SROCE_RW_RESEND);
		expect(test, &w, 2, 2, 6);
		KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 600);
		KUNIT_EXPECT_EQ(test, sroce_window_room(&w), 0);
		KUNIT_EXPECT_FALSE(test, sroce_window_admits(&w, 1));
		/* What was still on its way changes nothing. */
		KUNIT_EXPECT_EQ(test, sroce_window_rnr(&w, psn(2), 500, 200),
				SROCE_RW_NONE);
		KUNIT_EXPECT_EQ(test, sroce_window_nak(&w, psn(2), 200),
				SROCE_RW_NONE);
		KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, 700),
				SROCE_RW_NONE);
		KUNIT_EXPECT_EQ(test, sroce_window_rnr_expired(&w, 599),
				SROCE_RW_NONE);
		KUNIT_EXPECT_EQ(test, sroce_window_rnr_expired(&w, 600),
				SROCE_RW_RESEND);
		KUNIT_EXPECT_EQ(test, sroce_window_rnr_expired(&w, 600),
				SROCE_RW_NONE);
		KUNIT_EXPECT_EQ(test, w.rnr_left, 1 - i);
		KUNIT_EXPECT_EQ(test, w.retry_left, 2);
		send_n(&w, 4, 600);
		/* A lost packet between two of them: the next is a sign of life. */
		KUNIT_EXPECT_EQ(test, sroce_window_timeout(&w, 600 + RTO_NS),
				SROCE_RW_RESEND);
		KUNIT_EXPECT_EQ(test, w.retry_left, 1);
		send_n(&w, 4, 600);
	}
	KUNIT_EXPECT_EQ(test, sroce_window_rnr(&w, psn(2), 500, 700),
			SROCE_RW_EXHAUSTED);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
}

static void rnr_limits_test(struct kunit *test)
{
	struct sroce_window w = start();
	unsigned int i;

	sroce_window_config(&w, 0, 7, RTO_NS);
	for (i = 0; i < 1000; i++) {
		sroce_window_sent(&w, 1, i);
		KUNIT_ASSERT_EQ(test, sroce_window_rnr(&w, psn(0), 1, i),
				SROCE_RW_RESEND);
		KUNIT_ASSERT_EQ(test, sroce_window_rnr_expired(&w, i + 1),
				SROCE_RW_RESEND);
	}
	/* Progress ends a wait, whatever the reason for it was. */
	sroce_window_sent(&w, 1, i);
	sroce_window_rnr(&w, psn(0), 1000, i);
	sroce_window_ack(&w, psn(0), i);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), LIMIT);

	sroce_window_config(&w, 0, 0, RTO_NS);
	sroce_window_sent(&w, 1, i);
	KUNIT_EXPECT_EQ(test, sroce_window_rnr(&w, psn(1), 1, i),
			SROCE_RW_EXHAUSTED);
}

static void lost_test(struct kunit *test)
{
	struct sroce_window w = start();

	send_n(&w, 6, 100);
	KUNIT_EXPECT_EQ(test, sroce_window_lost(&w, psn(6), 110),
			SROCE_RW_NONE);
	KUNIT_EXPECT_EQ(test, sroce_window_lost(&w, psn(4), 110),
			SROCE_RW_RESEND);
	expect(test, &w, 0, 4, 6);
	/* The four before it are still watched over. */
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 100 + RTO_NS);
	KUNIT_EXPECT_EQ(test, sroce_window_lost(&w, psn(4), 110),
			SROCE_RW_NONE);
	KUNIT_EXPECT_EQ(test, sroce_window_lost(&w, psn(0), 120),
			SROCE_RW_RESEND);
	expect(test, &w, 0, 0, 6);
	KUNIT_EXPECT_EQ(test, w.retry_left, 2);
	KUNIT_EXPECT_FALSE(test, w.recovering);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), OFF);
}

/* A stack that refuses every time uses up the retries, and no sooner. */
static void refused_test(struct kunit *test)
{
	struct sroce_window w = start();
	enum sroce_rewind rw;
	u64 now, first = 0;

	for (now = 0; now < 100 * RTO_NS; now += RTO_NS / 4) {
		sroce_window_sent(&w, 1, now);
		rw = sroce_window_refused(&w, psn(0), now);
		if (rw == SROCE_RW_EXHAUSTED)
			break;
		KUNIT_ASSERT_EQ(test, rw, SROCE_RW_RESEND);
		KUNIT_ASSERT_EQ(test, sroce_window_deadline(&w), OFF);
		if (w.retry_left == 1 && !first)
			first = now;
	}
	KUNIT_EXPECT_EQ(test, first, RTO_NS);
	/* once, twice and four times the timeout */
	KUNIT_EXPECT_EQ(test, now, 7 * RTO_NS);
}

/* What is taken late has its whole time, and ends the count. */
static void accepted_test(struct kunit *test)
{
	struct sroce_window w = start();

	sroce_window_config(&w, 0, 0, RTO_NS);
	sroce_window_sent(&w, 1, 100);
	KUNIT_EXPECT_EQ(test, sroce_window_refused(&w, psn(0), 100),
			SROCE_RW_RESEND);
	sroce_window_sent(&w, 1, 90 + RTO_NS);
	sroce_window_accepted(&w);
	KUNIT_EXPECT_EQ(test, sroce_window_deadline(&w), 90 + 2 * RTO_NS);
	sroce_window_sent(&w, 1, 150 + RTO_NS);
	KUNIT_EXPECT_EQ(test, sroce_window_refused(&w, psn(1), 150 + RTO_NS),
			SROCE_RW_RESEND);
	expect(test, &w, 0, 1, 2);
	sroce_window_ack(&w, psn(0), 160 + RTO_NS);
	KUNIT_EXPECT_EQ(test, w.refused_ns, OFF);
}

static void read_test(struct kunit *test)
{
	struct sroce_window w = start();

	/* A READ of 10 responses behind two SENDs, one SEND behind it. */
	send_n(&w, 2, 0);
	KUNIT_EXPECT_TRUE(test, sroce_window_admits(&w, 10));
	sroce_window_sent(&w, 10, 0);
	sroce_window_sent(&w, 1, 0);
	expect(test, &w, 0, 13, 13);
	/* Three responses arrive, the fourth is lost, the fifth tells. */
	sroce_window_ack(&w, psn(4), 10);
	KUNIT_EXPECT_EQ(test, sroce_window_implied_nak(&w, 20),
			SROCE_RW_RESEND);
	expect(test, &w, 5, 5, 13);
	/* The rest of the READ is asked for again, then the SEND. */
	sroce_window_sent(&w, 7, 30);
	sroce_window_sent(&w, 1, 30);
	expect(test, &w, 5, 13, 13);
	sroce_window_ack(&w, psn(12), 40);
	expect(test, &w, 13, 13, 13);
}

static void long_read_test(struct kunit *test)
{
	struct sroce_window w = start();

	/* Longer than the limit: alone, but not never. */
	sroce_window_sent(&w, 1, 0);
	KUNIT_EXPECT_FALSE(test, sroce_window_admits(&w, SROCE_PSN_HALF));
	sroce_window_ack(&w, psn(0), 1);
	KUNIT_EXPECT_TRUE(test, sroce_window_admits(&w, SROCE_PSN_HALF));
	KUNIT_EXPECT_FALSE(test, sroce_window_admits(&w, SROCE_PSN_HALF + 1));
	/* Half of all PSNs outstanding, and each is told from a ghost. */
	sroce_window_sent(&w, SROCE_PSN_HALF, 2);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), 0);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(0), 3),
			SROCE_ACK_STALE);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(0x400000), 3),
			SROCE_ACK_ADVANCED);
	KUNIT_EXPECT_EQ(test, sroce_window_ack(&w, psn(SROCE_PSN_HALF), 4),
			SROCE_ACK_ADVANCED);
	KUNIT_EXPECT_FALSE(test, sroce_window_has_unacked(&w));
	KUNIT_EXPECT_EQ(test, w.una, psn(SROCE_PSN_HALF + 1));
}

static void limit_test(struct kunit *test)
{
	struct sroce_window w;

	sroce_window_init(&w, 0xff000007, 0);
	KUNIT_EXPECT_EQ(test, w.una, 7);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), 1);
	sroce_window_init(&w, 7, U32_MAX);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), SROCE_PSN_HALF);
	w = start();
	send_n(&w, LIMIT, 0);
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), 0);
	KUNIT_EXPECT_FALSE(test, sroce_window_admits(&w, 1));
	/* A limit lowered below what is in flight. */
	w.limit = 4;
	KUNIT_EXPECT_EQ(test, sroce_window_room(&w), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(no_loss_test),
	KUNIT_CASE(stale_and_ghost_test),
	KUNIT_CASE(nak_mid_message_test),
	KUNIT_CASE(ack_beyond_rewind_test),
	KUNIT_CASE(nak_exhausts_test),
	KUNIT_CASE(timeout_test),
	KUNIT_CASE(timeout_reset_test),
	KUNIT_CASE(rnr_test),
	KUNIT_CASE(rnr_limits_test),
	KUNIT_CASE(lost_test),
	KUNIT_CASE(refused_test),
	KUNIT_CASE(accepted_test),
	KUNIT_CASE(read_test),
	KUNIT_CASE(long_read_test),
	KUNIT_CASE(limit_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_window",
	.test_cases = cases,
};

kunit_test_suite(suite);
