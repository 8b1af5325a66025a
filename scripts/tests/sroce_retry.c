// SPDX-License-Identifier: GPL-2.0
/*
 * What goes on after an error: flush of both queues, reuse of the queue pair,
 * retries until they are exhausted, a receiver that is not ready; with the
 * order and the times.
 *
 * One process, one thread, both ends. Each case makes its own connection.
 */
#include "pair.h"

#define MS 1000000ull

/* What takes too long is tried again: the machine itself may stand still. */
#define TRIES 5

/* A request that must fail with @status and leave queue pair a in error. */
static void fails_with(struct pair *p, const struct post *x, int status)
{
	EXPECT(!post_raw(&p->a, x), "post_send");
	expect_wc(p->a.scq, x->id, status, 5000);
	expect_state(p->a.qp, IBV_QPS_ERR);
}

/* ---- flush ---- */

static void flush_order(void)
{
	struct pair p;
	struct post x;
	int i, first;

	if (!case_begin("WR_FLUSH_ERR: both queues, before and after, in order"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < 5; i++)
		EXPECT(!post_recv_simple(&p.a, 100 + i, 64), "post_recv");
	/* a peer without a receive keeps the first one waiting */
	for (i = 0; i < 6; i++) {
		x = post_of(&p, IBV_WR_SEND, 1 + i, 64);
		if (i == 2)
			x.lkey ^= 1;
		if (i == 4)
			x.flags = 0;	/* flushed nevertheless */
		EXPECT(!post_raw(&p.a, &x), "post_send");
	}
	tl_sleep_ms(20);
	for (i = 0; i < 6; i++)
		post_recv_simple(&p.b, 200 + i, 100);
	/* what was posted before the faulty one is not touched by it */
	first = rxe_lacks(&dev_a, "waiting for older requests") ?
		IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
	expect_wc(p.a.scq, 1, first, 5000);
	expect_wc(p.a.scq, 2, first, 5000);
	expect_wc(p.a.scq, 3, IBV_WC_LOC_PROT_ERR, 5000);
	for (i = 3; i < 6; i++)
		expect_wc(p.a.scq, 1 + i, IBV_WC_WR_FLUSH_ERR, 5000);
	for (i = 0; i < 5; i++)
		expect_wc(p.a.rcq, 100 + i, IBV_WC_WR_FLUSH_ERR, 5000);
	for (i = 0; i < 3; i++)
		EXPECT(!post_simple(&p, IBV_WR_SEND, 20 + i, 64), "post_send");
	for (i = 0; i < 3; i++)
		expect_wc(p.a.scq, 20 + i, IBV_WC_WR_FLUSH_ERR, 5000);
	pair_drop(&p);
	case_end();
}

static void flush_by_modify(void)
{
	struct pair p;
	int i;

	if (!case_begin("WR_FLUSH_ERR: modify to ERR, posts after it"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < 4; i++) {
		EXPECT(!post_recv_simple(&p.a, 100 + i, 64), "post_recv");
		EXPECT(!post_simple(&p, IBV_WR_SEND, 1 + i, 64), "post_send");
	}
	EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_ERR), "modify");
	for (i = 0; i < 4; i++)
		expect_wc(p.a.scq, 1 + i, IBV_WC_WR_FLUSH_ERR, 5000);
	for (i = 0; i < 4; i++)
		expect_wc(p.a.rcq, 100 + i, IBV_WC_WR_FLUSH_ERR, 5000);
	/* post_recv enters no kernel: arming the CQ must make up for it */
	EXPECT(!post_recv_simple(&p.a, 150, 64), "post_recv");
	EXPECT(!ibv_req_notify_cq(p.a.rcq, 0), "req_notify");
	if (!rxe_lacks(&dev_a, "a flush when the CQ is armed"))
		expect_wc(p.a.rcq, 150, IBV_WC_WR_FLUSH_ERR, 3000);
	EXPECT(!post_recv_simple(&p.a, 151, 64), "post_recv");
	EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_ERR), "modify");
	if (!dev_a.is_rxe)
		expect_wc(p.a.rcq, 151, IBV_WC_WR_FLUSH_ERR, 3000);
	pair_drop(&p);
	case_end();
}

/* An error queue pair goes through RESET and works again. */
static void reuse_after_error(void)
{
	struct pair p;
	struct post x;
	int i;

	if (!case_begin("a queue pair works again after ERR and RESET"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < 3; i++) {
		x = post_of(&p, IBV_WR_RDMA_WRITE, 1, 10);
		x.rkey ^= 1;
		fails_with(&p, &x, IBV_WC_REM_ACCESS_ERR);
		EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_RESET), "modify");
		EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_RESET), "modify");
		pair_connect(&p);
		memset(p.a.buf, 'a' + i, 5000);
		EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 2, 5000), "post");
		expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, 5000);
		EXPECT(!memcmp(p.a.buf, p.b.buf, 5000), "data");
	}
	pair_drop(&p);
	case_end();
}

/* ---- retries and receiver not ready ---- */

/* Milliseconds until a peer that is silent is given up. */
static int silence_took(enum ibv_wr_opcode op)
{
	uint64_t start, took;
	struct pair p;

	pair_init(&p);
	p.ca.timeout = 14;	/* 67 ms */
	p.ca.retry = 2;
	pair_make(&p);
	EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_RESET), "modify");
	start = tl_now_ns();
	EXPECT(!post_simple(&p, op, 1, 8), "post_send");
	EXPECT(!post_simple(&p, op, 2, 8), "post_send");
	expect_wc(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR, 5000);
	took = (tl_now_ns() - start) / MS;
	expect_wc(p.a.scq, 2, IBV_WC_WR_FLUSH_ERR, 1000);
	EXPECT(took >= 150, "took %d ms", (int)took);
	pair_drop(&p);
	return took;
}

static void retry_exceeded(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	int took, try;
	size_t i;

	if (!case_begin("RETRY_EXC_ERR: the peer does not answer, in time"))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		/* three times 67 ms, each up to four times as long */
		for (took = 1500, try = 0; try < TRIES && took >= 1500; try++)
			took = silence_took(ops[i]);
		EXPECT(took < 1500, "took %d ms", took);
	}
	case_end();
}

static void peer_destroyed(void)
{
	struct pair p;

	if (!case_begin("RETRY_EXC_ERR: the peer is destroyed under way"))
		return;
	pair_init(&p);
	p.ca.timeout = 10;
	p.ca.retry = 3;
	pair_make(&p);
	EXPECT(!post_simple(&p, IBV_WR_SEND, 1, 60000), "post_send");
	EXPECT(!ibv_destroy_qp(p.b.qp), "destroy");
	p.b.qp = NULL;
	expect_wc(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR, 5000);
	pair_drop(&p);
	case_end();
}

static void no_timeout(void)
{
	struct pair p;

	if (!case_begin("timeout 0 never gives up"))
		return;
	pair_init(&p);
	p.ca.timeout = 0;
	p.ca.retry = 1;
	pair_make(&p);
	EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_ERR), "modify");
	EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 1, 8), "post_send");
	expect_no_wc(p.a.scq, 400);
	EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_ERR), "modify");
	expect_wc(p.a.scq, 1, IBV_WC_WR_FLUSH_ERR, 3000);
	pair_drop(&p);
	case_end();
}

/* Milliseconds until a receiver that is never ready is given up. */
static int not_ready_took(int n)
{
	uint64_t start, took;
	struct pair p;

	pair_init(&p);
	p.ca.rnr_retry = n;
	p.cb.rnr_timer = 22;	/* 20.48 ms */
	pair_make(&p);
	start = tl_now_ns();
	EXPECT(!post_simple(&p, n == 1 ? IBV_WR_RDMA_WRITE_WITH_IMM :
			    IBV_WR_SEND, 1, 3000), "post_send");
	expect_wc(p.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR, 5000);
	took = (tl_now_ns() - start) / MS;
	EXPECT(took + 1 >= 20ull * n, "rnr_retry %d took %d ms", n, (int)took);
	pair_drop(&p);
	return took;
}

static void rnr_exceeded(void)
{
	int took, n, try;

	if (!case_begin("RNR_RETRY_EXC_ERR: rnr_retry 0, 1, 3, in time"))
		return;
	for (n = 0; n <= 3; n = n * 2 + 1) {
		for (took = 1000, try = 0; try < TRIES && took > 500; try++)
			took = not_ready_took(n);
		EXPECT(took <= 500, "rnr_retry %d took %d ms", n, took);
	}
	case_end();
}

/* Milliseconds from the receive until all is done. */
static int recovery_took(enum ibv_wr_opcode op, int fill)
{
	uint64_t start, took;
	struct pair p;

	pair_init(&p);
	p.cb.rnr_timer = 1;	/* 10 us */
	pair_make(&p);
	memset(p.a.buf, fill, 3000);
	EXPECT(!post_simple(&p, op, 1, 3000), "post_send");
	EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 2, 100), "post");
	expect_no_wc(p.a.scq, 60);
	start = tl_now_ns();
	EXPECT(!post_recv_simple(&p.b, 7, 3000), "post_recv");
	expect_wc(p.b.rcq, 7, IBV_WC_SUCCESS, 3000);
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, 3000);
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, 3000);
	took = (tl_now_ns() - start) / MS;
	EXPECT(!memcmp(p.b.buf + (op == IBV_WR_RDMA_WRITE_WITH_IMM ? 0 : 4096),
		       p.a.buf, 3000), "data");
	pair_drop(&p);
	return took;
}

static void rnr_recovers(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	int took, try;
	size_t i;

	if (!case_begin("RNR: a receive posted later, rnr_retry 7"))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (took = 300, try = 0; try < TRIES && took >= 300; try++)
			took = recovery_took(ops[i], 0x41 + i);
		EXPECT(took < 300, "recovery took %d ms", took);
	}
	case_end();
}

/* rnr_retry counts without progress only: progress gives it all again */
static void rnr_counter_restarts(void)
{
	struct pair p;
	int i;

	if (!case_begin("RNR: the retry counter restarts with progress"))
		return;
	pair_init(&p);
	p.ca.rnr_retry = 3;
	/* long, so that a slow machine posts the next one before the fourth */
	p.cb.rnr_timer = 26;	/* 81.92 ms */
	pair_make(&p);
	for (i = 0; i < 5; i++)
		EXPECT(!post_simple(&p, IBV_WR_SEND, i, 10), "post_send");
	for (i = 0; i < 5; i++) {
		tl_sleep_ms(90);
		EXPECT(!post_recv_simple(&p.b, 100 + i, 100), "post_recv");
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, 3000);
	}
	pair_drop(&p);
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 240);
	flush_order();
	flush_by_modify();
	reuse_after_error();
	retry_exceeded();
	peer_destroyed();
	no_timeout();
	rnr_exceeded();
	rnr_recovers();
	rnr_counter_restarts();
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
