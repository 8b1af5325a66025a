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
#include "pair.h"

#define QPS_MAX 16
#define SLOT 4096
#define SLOTS 1024
#define QKEY 0x11111111
#define GRH 40

struct group {
	enum ibv_qp_type type;
	int n;
	struct ibv_pd *pd;		/* of the SRQ and its memory */
	struct ibv_srq *srq;
	struct ibv_cq *acq, *bcq;
	struct ibv_qp *a[QPS_MAX], *b[QPS_MAX];
	struct ibv_ah *ah;
	uint8_t *abuf, *bbuf;
	struct ibv_mr *amr, *bmr;
	struct tl_conn conn;
};

static uint8_t *map_buf(void)
{
	uint8_t *p = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tl_die("mmap");
	return p;
}

static struct ibv_srq *make_srq(struct ibv_pd *pd, uint32_t wrs, uint32_t sges,
				uint32_t limit)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = wrs, .max_sge = sges, .srq_limit = limit },
	};

	errno = 0;
	return ibv_create_srq(pd, &init);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, enum ibv_qp_type type,
			      struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .srq = srq,
		.cap = { 64, srq ? 0 : 4, 2, srq ? 0 : 1, 64 },
	};

	return ibv_create_qp(pd, &init);
}

static int ud_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY) ||
	    tl_qp_to(qp, IBV_QPS_RTR))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 5;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* UC knows fewer attributes. */
static int uc_to_rts(struct ibv_qp *qp, const struct tl_conn *c,
		     const struct tl_dev *d, const struct tl_dev *peer,
		     uint32_t dqpn)
{
	struct ibv_qp_attr attr;

	if (tl_qp_init(qp, IBV_ACCESS_REMOTE_WRITE))
		return -1;
	tl_fill_rtr(&attr, c, d, &peer->gid, dqpn, 77);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 77;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int connect_one(struct group *g, int i)
{
	switch (g->type) {
	case IBV_QPT_UD:
		return ud_to_rts(g->a[i]) || ud_to_rts(g->b[i]);
	case IBV_QPT_UC:
		return uc_to_rts(g->a[i], &g->conn, &dev_a, &dev_b,
				 g->b[i]->qp_num) ||
		       uc_to_rts(g->b[i], &g->conn, &dev_b, &dev_a,
				 g->a[i]->qp_num);
	default:
		return tl_qp_connect(g->a[i], &g->conn, &dev_a, &dev_b,
				     g->b[i]->qp_num, 10, 20) ||
		       tl_qp_connect(g->b[i], &g->conn, &dev_b, &dev_a,
				     g->a[i]->qp_num, 20, 10);
	}
}

static void make_ah(struct group *g)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = dev_b.gid, .hop_limit = 64,
			 .sgid_index = dev_a.gid_index },
	};

	g->ah = ibv_create_ah(dev_a.pd, &attr);
	if (!g->ah)
		tl_die("ah");
}

/* @n pairs of @type, an SRQ of @wrs requests with two pieces each */
static void group_make(struct group *g, enum ibv_qp_type type, int n,
		       uint32_t wrs)
{
	int i;

	g->type = type;
	g->n = n;
	if (!g->conn.pmtu)
		g->conn = tl_conn_default();
	if (!g->pd)
		g->pd = dev_b.pd;
	g->acq = ibv_create_cq(dev_a.ctx, 64 * n + 64, NULL, NULL, 0);
	g->bcq = ibv_create_cq(dev_b.ctx, 32767, NULL, NULL, 0);
	g->abuf = map_buf();
	g->bbuf = map_buf();
	g->amr = ibv_reg_mr(dev_a.pd, g->abuf, SLOT * SLOTS, ACCESS_ALL);
	g->bmr = ibv_reg_mr(g->pd, g->bbuf, SLOT * SLOTS, ACCESS_ALL);
	g->srq = make_srq(g->pd, wrs, 2, 0);
	if (!g->acq || !g->bcq || !g->amr || !g->bmr || !g->srq)
		tl_die("%s: resources", case_name);
	for (i = 0; i < n; i++) {
		g->a[i] = make_qp(dev_a.pd, type, g->acq, NULL);
		g->b[i] = make_qp(dev_b.pd, type, g->bcq, g->srq);
		if (!g->a[i] || !g->b[i] || connect_one(g, i))
			tl_die("%s: queue pair %d", case_name, i);
	}
	if (type == IBV_QPT_UD)
		make_ah(g);
	for (i = 0; i < SLOT * SLOTS; i += 8)
		*(uint64_t *)(g->abuf + i) = tl_rand();
}

static void group_drop(struct group *g)
{
	int i;

	for (i = 0; i < g->n; i++)
		if ((g->a[i] && ibv_destroy_qp(g->a[i])) ||
		    (g->b[i] && ibv_destroy_qp(g->b[i])))
			tl_die("destroy_qp");
	if (g->ah && ibv_destroy_ah(g->ah))
		tl_die("destroy_ah");
	if (ibv_destroy_srq(g->srq) || ibv_destroy_cq(g->acq) ||
	    ibv_destroy_cq(g->bcq) || ibv_dereg_mr(g->amr) ||
	    ibv_dereg_mr(g->bmr))
		tl_die("drop");
	munmap(g->abuf, SLOT * SLOTS);
	munmap(g->bbuf, SLOT * SLOTS);
}

static int post_srq_at(struct group *g, uint64_t id, uint32_t len,
		       uint32_t lkey)
{
	struct ibv_sge sge = {
		(uintptr_t)g->bbuf + id % SLOTS * SLOT, len, lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
	};

	return ibv_post_srq_recv(g->srq, &wr, &bad);
}

static int post_srq(struct group *g, uint64_t id)
{
	return post_srq_at(g, id, SLOT, g->bmr->lkey);
}

/* @bytes from slot @id of A's memory */
static int send_on(struct group *g, int i, uint64_t id, uint32_t bytes)
{
	struct ibv_sge sge = {
		(uintptr_t)g->abuf + id % SLOTS * SLOT, bytes, g->amr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};

	if (g->type == IBV_QPT_UD) {
		wr.wr.ud.ah = g->ah;
		wr.wr.ud.remote_qpn = g->b[i]->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	return ibv_post_send(g->a[i], &wr, &bad);
}

/* The next receive took @id, on QP @i, @bytes of A's slot @from, unharmed. */
static void expect_recv(struct group *g, int i, uint64_t id, uint64_t from,
			uint32_t bytes)
{
	uint32_t grh = g->type == IBV_QPT_UD ? GRH : 0;
	struct ibv_wc wc;

	if (!tl_poll_wait(g->bcq, &wc, 5000)) {
		EXPECT(false, "no receive %" PRIu64, id);
		return;
	}
	EXPECT(!wc.status && wc.wr_id == id && wc.byte_len == bytes + grh &&
	       wc.qp_num == g->b[i]->qp_num && wc.opcode == IBV_WC_RECV,
	       "%" PRIu64 ": %s, %u bytes, not %" PRIu64 " with %u", wc.wr_id,
	       ibv_wc_status_str(wc.status), wc.byte_len, id, bytes + grh);
	EXPECT(!memcmp(g->bbuf + id % SLOTS * SLOT + grh,
		       g->abuf + from % SLOTS * SLOT, bytes),
	       "data of %" PRIu64, id);
}

static uint32_t srq_limit(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr) ? ~0u : attr.srq_limit;
}

static uint32_t srq_max_wr(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr) ? 0 : attr.max_wr;
}

static int arm(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
}

static int resize(struct ibv_srq *srq, uint32_t wrs)
{
	struct ibv_srq_attr attr = { .max_wr = wrs };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

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

/* All at once: each request is used once, and none is lost. */
static void case_crowd(void)
{
	enum { QPS = 16, ROUNDS = 100, WRS = 200 };
	static uint8_t seen[WRS + QPS * ROUNDS];
	int sent[QPS] = {}, out[QPS] = {}, got = 0, i;
	uint64_t next = 0, end = tl_now_ns() + 60000000000ull;
	struct group g = {};
	struct ibv_wc wc;

	if (!case_begin("many queue pairs at once"))
		return;
	memset(seen, 0, sizeof(seen));
	g.conn = tl_conn_default();
	g.conn.rnr_timer = 1;
	group_make(&g, IBV_QPT_RC, QPS, WRS);
	while (next < WRS)
		post_srq(&g, next++);
	while (got < QPS * ROUNDS && tl_now_ns() < end && case_good) {
		for (i = 0; i < QPS; i++)
			while (sent[i] < ROUNDS && out[i] < 32 &&
			       !send_on(&g, i, i, tl_rand_in(0, SLOT))) {
				sent[i]++;
				out[i]++;
			}
		while (ibv_poll_cq(g.acq, 1, &wc) == 1) {
			EXPECT(!wc.status, "send: %s",
			       ibv_wc_status_str(wc.status));
			out[wc.wr_id]--;
		}
		while (ibv_poll_cq(g.bcq, 1, &wc) == 1) {
			EXPECT(!wc.status && wc.wr_id < sizeof(seen) &&
			       !seen[wc.wr_id], "receive %" PRIu64 ": %s",
			       wc.wr_id, ibv_wc_status_str(wc.status));
			if (wc.wr_id < sizeof(seen))
				seen[wc.wr_id] = 1;
			got++;
			/* late, so that the queue runs empty now and then */
			if (tl_chance(60))
				continue;
			while (next < sizeof(seen) && !post_srq(&g, next))
				next++;
		}
		if (tl_chance(2))
			while (next < sizeof(seen) && !post_srq(&g, next))
				next++;
		sched_yield();
	}
	EXPECT(got == QPS * ROUNDS, "%d of %d", got, QPS * ROUNDS);
	for (i = 0; i < got; i++)
		EXPECT(seen[i], "request %d was skipped", i);
	group_drop(&g);
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
