// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: several queue pairs of device B take their receives
 * from one SRQ, their peers are ordinary ones of device A.
 *
 * Each case states what the verbs promise: limits, order, every request used
 * once, the limit's event, resizing with requests posted and under traffic, what
 * an empty SRQ means for each transport, and the event of a queue pair that has
 * taken its last request.  Options are those of pair.h.
 */
#include "srq_group.h"

static void expect_no_event(struct tl_dev *d, unsigned int ms)
{
	struct pollfd pfd = { d->ctx->async_fd, POLLIN, 0 };
	struct ibv_async_event ev;

	if (poll(&pfd, 1, ms) <= 0 || ibv_get_async_event(d->ctx, &ev))
		return;
	EXPECT(false, "event %s", ibv_event_type_str(ev.event_type));
	ibv_ack_async_event(&ev);
}

/* ---- the cases ---- */

static void case_limits(void)
{
	struct ibv_device_attr *at = &dev_b.attr;
	struct ibv_srq_attr q;
	struct ibv_srq *srq;

	if (!case_begin("what can be made"))
		return;
	EXPECT(at->max_srq > 0 && at->max_srq_wr >= 16383 && at->max_srq_sge,
	       "%d SRQs of %d with %d", at->max_srq, at->max_srq_wr,
	       at->max_srq_sge);
	EXPECT(!make_srq(dev_b.pd, at->max_srq_wr + 1, 1, 0) &&
	       errno == EINVAL, "one request too many: %d", errno);
	EXPECT(!make_srq(dev_b.pd, 10, at->max_srq_sge + 1, 0) &&
	       errno == EINVAL, "one piece too many: %d", errno);
	EXPECT(!make_srq(dev_b.pd, 0, 1, 0) && errno == EINVAL,
	       "none: %d", errno);
	srq = make_srq(dev_b.pd, at->max_srq_wr, at->max_srq_sge, 0);
	EXPECT(srq, "the largest: %d", errno);
	if (srq) {
		EXPECT(!ibv_query_srq(srq, &q) &&
		       q.max_wr >= (unsigned int)at->max_srq_wr &&
		       q.max_sge >= (unsigned int)at->max_srq_sge &&
		       !q.srq_limit, "%u with %u", q.max_wr, q.max_sge);
		EXPECT(resize(srq, at->max_srq_wr + 1) == EINVAL, "too large");
		EXPECT(resize(srq, 0) == EINVAL, "nothing");
		EXPECT(arm(srq, q.max_wr + 1) == EINVAL, "limit");
		EXPECT(!ibv_destroy_srq(srq), "destroy");
	}
	case_end();
}

static void case_busy(void)
{
	struct group g = {};
	struct ibv_sge sge;
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	int rc;

	if (!case_begin("in use, and refusals"))
		return;
	group_make(&g, IBV_QPT_RC, 1, 15);
	sge = (struct ibv_sge){ (uintptr_t)g.bbuf, 8, g.bmr->lkey };
	EXPECT(ibv_post_recv(g.b[0], &wr, &bad), "a receive of its own");
	rc = ibv_destroy_srq(g.srq);
	EXPECT(rc == EBUSY, "destroyed under a queue pair: %d", rc);
	if (rc != EBUSY)
		tl_die("nothing left to test");
	while (!post_srq(&g, 3))
		rc++;
	EXPECT(rc - EBUSY == (int)srq_max_wr(g.srq), "%d fit", rc - EBUSY);
	group_drop(&g);
	case_end();
}

static const char *type_name(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

/* Several queue pairs, in turn: the requests go in the order of posting. */
static void case_order(enum ibv_qp_type type)
{
	uint32_t most = type == IBV_QPT_UD ? 1024 - GRH : SLOT;
	struct group g = {};
	char name[32];
	int i;

	snprintf(name, sizeof(name), "%s: order and data", type_name(type));
	if (!case_begin(name))
		return;
	group_make(&g, type, 4, 63);
	for (i = 0; i < 63; i++)
		EXPECT(!post_srq(&g, i), "post");
	for (i = 0; i < 300; i++) {
		uint32_t bytes = tl_rand_in(0, most);
		int k = tl_rand_in(0, 3);

		EXPECT(!send_on(&g, k, i + 7, bytes), "send");
		expect_wc(g.acq, i + 7, IBV_WC_SUCCESS, 5000);
		expect_recv(&g, k, i, i + 7, bytes);
		EXPECT(!post_srq(&g, i + 63), "post again");
		if (!case_good)
			break;
	}
	group_drop(&g);
	case_end();
}

#define CROWD 16
#define CROWD_EACH 40
#define CROWD_WRS 200
#define CROWD_POSTS (CROWD_WRS + CROWD * CROWD_EACH)

/* All at once: what was sent and received so far. */
struct crowd {
	struct group g;
	uint8_t seen[CROWD_POSTS];
	int sent[CROWD], out[CROWD], got;
	uint64_t next;
};

static void crowd_post(struct crowd *c, uint64_t most)
{
	while (c->next < most && !post_srq(&c->g, c->next))
		c->next++;
}

static void crowd_send(struct crowd *c)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < CROWD; i++)
		while (c->sent[i] < CROWD_EACH && c->out[i] < 32 &&
		       !send_on(&c->g, i, i, tl_rand_in(0, SLOT))) {
			c->sent[i]++;
			c->out[i]++;
		}
	while (ibv_poll_cq(c->g.acq, 1, &wc) == 1) {
		EXPECT(!wc.status, "send: %s", ibv_wc_status_str(wc.status));
		c->out[wc.wr_id]--;
	}
}

static void crowd_receive(struct crowd *c)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(c->g.bcq, 1, &wc) == 1) {
		EXPECT(!wc.status && wc.wr_id < CROWD_POSTS &&
		       !c->seen[wc.wr_id], "receive %" PRIu64 ": %s", wc.wr_id,
		       ibv_wc_status_str(wc.status));
		if (wc.wr_id < CROWD_POSTS)
			c->seen[wc.wr_id] = 1;
		c->got++;
		/* late, so that the queue runs empty now and then */
		if (tl_chance(40))
			crowd_post(c, CROWD_POSTS);
	}
	if (tl_chance(2))
		crowd_post(c, CROWD_POSTS);
}

/* Each request is used once, and none is lost. */
static void case_crowd(void)
{
	uint64_t end = tl_now_ns() + 60000000000ull;
	static struct crowd c;
	int i;

	if (!case_begin("many queue pairs at once"))
		return;
	memset(&c, 0, sizeof(c));
	c.g.conn = tl_conn_default();
	c.g.conn.rnr_timer = 1;
	group_make(&c.g, IBV_QPT_RC, CROWD, CROWD_WRS);
	crowd_post(&c, CROWD_WRS);
	while (c.got < CROWD * CROWD_EACH && tl_now_ns() < end && case_good) {
		crowd_send(&c);
		crowd_receive(&c);
		sched_yield();
	}
	EXPECT(c.got == CROWD * CROWD_EACH, "%d of %d", c.got,
	       CROWD * CROWD_EACH);
	for (i = 0; i < c.got; i++)
		EXPECT(c.seen[i], "request %d was skipped", i);
	group_drop(&c.g);
	case_end();
}

static void case_empty_rc(void)
{
	struct group g = {};

	if (!case_begin("RC: empty"))
		return;
	g.conn = tl_conn_default();
	g.conn.rnr_retry = 1;
	g.conn.rnr_timer = 14;
	group_make(&g, IBV_QPT_RC, 2, 8);
	EXPECT(!send_on(&g, 0, 1, 100), "send");
	expect_wc(g.acq, 1, IBV_WC_RNR_RETRY_EXC_ERR, 5000);
	group_drop(&g);

	memset(&g, 0, sizeof(g));
	group_make(&g, IBV_QPT_RC, 2, 8);
	EXPECT(!send_on(&g, 0, 1, 2000), "send");
	expect_no_wc(g.acq, 20);
	EXPECT(!post_srq(&g, 5), "post");
	expect_wc(g.acq, 1, IBV_WC_SUCCESS, 5000);
	expect_recv(&g, 0, 5, 1, 2000);
	group_drop(&g);
	case_end();
}

static void case_empty_dropped(enum ibv_qp_type type)
{
	struct group g = {};
	char name[32];

	snprintf(name, sizeof(name), "%s: empty", type_name(type));
	if (!case_begin(name))
		return;
	group_make(&g, type, 2, 8);
	EXPECT(!send_on(&g, 0, 1, 500), "send");
	expect_wc(g.acq, 1, IBV_WC_SUCCESS, 5000);
	expect_no_wc(g.bcq, 50);
	EXPECT(!post_srq(&g, 5), "post");
	expect_no_wc(g.bcq, 50);
	EXPECT(!send_on(&g, 1, 2, 500), "send");
	expect_wc(g.acq, 2, IBV_WC_SUCCESS, 5000);
	expect_recv(&g, 1, 5, 2, 500);
	expect_state(g.b[0], IBV_QPS_RTS);
	group_drop(&g);
	case_end();
}

static void round_trip(struct group *g, uint64_t id)
{
	EXPECT(!send_on(g, 0, id, 64), "send");
	expect_wc(g->acq, id, IBV_WC_SUCCESS, 5000);
	expect_recv(g, 0, id, id, 64);
}

static void case_limit(void)
{
	struct group g = {};
	int i;

	if (!case_begin("the limit's event"))
		return;
	group_make(&g, IBV_QPT_RC, 1, 20);
	for (i = 0; i < 10; i++)
		post_srq(&g, i);
	EXPECT(!arm(g.srq, 7) && srq_limit(g.srq) == 7, "arm");
	for (i = 0; i < 3; i++)		/* 7 are left */
		round_trip(&g, i);
	expect_no_event(&dev_b, 30);
	EXPECT(srq_limit(g.srq) == 7, "still armed");
	round_trip(&g, 3);		/* 6 */
	expect_event(&dev_b, IBV_EVENT_SRQ_LIMIT_REACHED);
	EXPECT(!srq_limit(g.srq), "disarmed by the event");
	round_trip(&g, 4);
	expect_no_event(&dev_b, 30);
	EXPECT(!arm(g.srq, 2), "arm again");
	for (i = 5; i < 8; i++)		/* 2 are left */
		round_trip(&g, i);
	expect_no_event(&dev_b, 30);
	EXPECT(!arm(g.srq, 0), "disarm");
	round_trip(&g, 8);
	expect_no_event(&dev_b, 30);
	round_trip(&g, 9);
	/* armed when nothing is there: the message that waits tells */
	EXPECT(!arm(g.srq, 5), "arm, empty");
	EXPECT(!send_on(&g, 0, 10, 64), "send");
	if (!rxe_lacks(&dev_b, "the event of an empty SRQ"))
		expect_event(&dev_b, IBV_EVENT_SRQ_LIMIT_REACHED);
	post_srq(&g, 10);
	expect_wc(g.acq, 10, IBV_WC_SUCCESS, 5000);
	expect_recv(&g, 0, 10, 10, 64);
	group_drop(&g);
	case_end();
}

static void case_resize(void)
{
	struct group g = {};
	uint32_t max;
	int i;

	if (!case_begin("resize with requests posted"))
		return;
	group_make(&g, IBV_QPT_RC, 1, 31);
	for (i = 0; i < 31; i++)
		post_srq(&g, i);
	for (i = 0; i < 9; i++)
		round_trip(&g, i);
	EXPECT(!resize(g.srq, 200), "larger");
	max = srq_max_wr(g.srq);
	EXPECT(max >= 200, "%u", max);
	for (i = 31; i < 31 + (int)max - 22; i++)
		EXPECT(!post_srq(&g, i), "post %d", i);
	EXPECT(post_srq(&g, 0), "one too many");
	EXPECT(resize(g.srq, 100) == EINVAL, "smaller than what is posted");
	EXPECT(srq_max_wr(g.srq) == max, "changed by an error");
	for (i = 9; i < 150; i++)
		round_trip(&g, i);
	i = srq_max_wr(g.srq) - 31;
	/* 31 + max - 22 were posted in all, 150 are used */
	EXPECT(!resize(g.srq, max - 22 + 31 - 150), "smaller");
	for (i = 150; i < 31 + (int)max - 22; i++)
		round_trip(&g, i);
	expect_no_wc(g.bcq, 10);
	EXPECT(!arm(g.srq, srq_max_wr(g.srq)), "limit of all");
	EXPECT(resize(g.srq, srq_max_wr(g.srq) / 2) == EINVAL,
	       "smaller than the limit");
	group_drop(&g);
	case_end();
}

static void case_resize_traffic(void)
{
	static const uint32_t sizes[] = { 300, 1000, 130, 4000, 255 };
	uint64_t posted = 0, got = 0, end = tl_now_ns() + 30000000000ull;
	struct group g = {};
	struct ibv_wc wc;
	int out = 0, round = 0, i;

	if (!case_begin("resize under traffic"))
		return;
	g.conn = tl_conn_default();
	g.conn.rnr_timer = 1;
	group_make(&g, IBV_QPT_RC, 4, 127);
	while (got < 2000 && tl_now_ns() < end && case_good) {
		while (posted - got < 100)
			EXPECT(!post_srq(&g, posted++), "post");
		for (i = 0; i < 4; i++)
			while (out < 200 && tl_chance(90) &&
			       !send_on(&g, i, i, tl_rand_in(1, 2000)))
				out++;
		if (round++ % 4 == 0)
			EXPECT(!resize(g.srq, sizes[round / 4 % 5]), "resize");
		while (ibv_poll_cq(g.acq, 1, &wc) == 1) {
			EXPECT(!wc.status, "send: %s",
			       ibv_wc_status_str(wc.status));
			out--;
		}
		while (ibv_poll_cq(g.bcq, 1, &wc) == 1) {
			EXPECT(!wc.status, "receive: %s",
			       ibv_wc_status_str(wc.status));
			got++;
		}
		sched_yield();
	}
	printf("# %d rounds, %" PRIu64 " messages\n", round, got);
	EXPECT(got >= 2000, "%" PRIu64, got);
	group_drop(&g);
	case_end();
}

/* The last request of a queue pair that fails, and those of its neighbour. */
static void case_last_wqe(void)
{
	struct group g = {};

	if (!case_begin("last request of a queue pair in error"))
		return;
	group_make(&g, IBV_QPT_RC, 2, 8);
	post_srq(&g, 1);
	post_srq(&g, 2);
	EXPECT(!tl_qp_to(g.b[0], IBV_QPS_ERR), "to ERR");
	expect_event(&dev_b, IBV_EVENT_QP_LAST_WQE_REACHED);
	expect_no_wc(g.bcq, 30);
	expect_no_event(&dev_b, 100);
	/* what was posted serves the other */
	EXPECT(!send_on(&g, 1, 3, 100), "send");
	expect_wc(g.acq, 3, IBV_WC_SUCCESS, 5000);
	expect_recv(&g, 1, 1, 3, 100);
	/* an error of the connection: a request too short for its message */
	post_srq_at(&g, 4, 10, g.bmr->lkey);
	EXPECT(!send_on(&g, 1, 5, 100), "send");
	expect_wc(g.acq, 5, IBV_WC_SUCCESS, 5000);
	expect_recv(&g, 1, 2, 5, 100);
	EXPECT(!send_on(&g, 1, 6, 100), "send");
	expect_wc(g.acq, 6, IBV_WC_REM_INV_REQ_ERR, 5000);
	expect_wc(g.bcq, 4, IBV_WC_LOC_LEN_ERR, 5000);
	expect_event(&dev_b, IBV_EVENT_QP_LAST_WQE_REACHED);
	/* from the beginning: the event comes once a life */
	EXPECT(!tl_qp_to(g.b[0], IBV_QPS_RESET), "to RESET");
	EXPECT(!tl_qp_init(g.b[0], 0) && !tl_qp_to(g.b[0], IBV_QPS_ERR),
	       "to ERR again");
	expect_event(&dev_b, IBV_EVENT_QP_LAST_WQE_REACHED);
	group_drop(&g);
	case_end();
}

/* The protection domain of an SRQ's requests is the SRQ's (IBA 10.2.9). */
static void case_own_pd(void)
{
	struct group g = {};

	if (rxe_lacks(&dev_b, "a protection domain of the SRQ's own") ||
	    !case_begin("a protection domain of its own"))
		return;
	g.pd = ibv_alloc_pd(dev_b.ctx);
	group_make(&g, IBV_QPT_RC, 1, 8);
	post_srq(&g, 1);
	EXPECT(!send_on(&g, 0, 2, 1500), "send");
	expect_wc(g.acq, 2, IBV_WC_SUCCESS, 5000);
	expect_recv(&g, 0, 1, 2, 1500);
	group_drop(&g);
	EXPECT(!ibv_dealloc_pd(g.pd), "the domain is free");
	case_end();
}

static void case_write_imm(void)
{
	struct group g = {};
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = {
		.wr_id = 9, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(77),
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc = {};

	if (!case_begin("WRITE with immediate data"))
		return;
	group_make(&g, IBV_QPT_RC, 1, 8);
	post_srq(&g, 1);
	sge = (struct ibv_sge){ (uintptr_t)g.abuf, 3000, g.amr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)g.bbuf + 5 * SLOT;
	wr.wr.rdma.rkey = g.bmr->rkey;
	EXPECT(!ibv_post_send(g.a[0], &wr, &bad), "send");
	expect_wc(g.acq, 9, IBV_WC_SUCCESS, 5000);
	EXPECT(tl_poll_wait(g.bcq, &wc, 5000) && !wc.status && wc.wr_id == 1 &&
	       wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == 3000 &&
	       wc.imm_data == htonl(77), "%s", ibv_wc_status_str(wc.status));
	EXPECT(!memcmp(g.bbuf + 5 * SLOT, g.abuf, 3000), "data");
	group_drop(&g);
	case_end();
}

/* A process that ends leaves it all to the kernel, messages under way. */
static void case_abandoned(void)
{
	int status, i, round;
	pid_t pid;

	if (!case_begin("left to the kernel"))
		return;
	for (round = 0; round < 3; round++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			struct group g = {};

			tl_open(&dev_a, dev_a.name, 4);
			tl_open(&dev_b, dev_b.name, 4);
			group_make(&g, IBV_QPT_RC, 4, 30);
			for (i = 0; i < 30; i++)
				post_srq(&g, i);
			arm(g.srq, 20);
			for (i = 0; i < 60; i++)
				send_on(&g, i % 4, i, SLOT);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "%d", status);
	}
	expect_alive();
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 120);
	case_limits();
	case_busy();
	case_order(IBV_QPT_RC);
	case_order(IBV_QPT_UC);
	case_order(IBV_QPT_UD);
	case_crowd();
	case_empty_rc();
	case_empty_dropped(IBV_QPT_UC);
	case_empty_dropped(IBV_QPT_UD);
	case_limit();
	case_resize();
	case_resize_traffic();
	case_last_wqe();
	case_own_pd();
	case_write_imm();
	case_abandoned();
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
