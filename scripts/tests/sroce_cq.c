// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: sizes, vectors, resizing under traffic, moderation of events.
 *
 * Options are those of pair.h.
 */
#include "pair.h"
#include <rdma/ib_user_verbs.h>

static void case_vectors(void)
{
	int n = dev_a.ctx->num_comp_vectors, i;
	struct ibv_cq *cq;

	if (!case_begin("completion vectors"))
		return;
	EXPECT(n >= 1, "%d", n);
	EXPECT(dev_a.is_rxe || n == sysconf(_SC_NPROCESSORS_ONLN),
	       "%d, %ld processors", n, sysconf(_SC_NPROCESSORS_ONLN));
	for (i = 0; i < n; i++) {
		cq = ibv_create_cq(dev_a.ctx, 10, NULL, NULL, i);
		EXPECT(cq, "vector %d", i);
		if (cq)
			ibv_destroy_cq(cq);
	}
	errno = 0;
	cq = ibv_create_cq(dev_a.ctx, 10, NULL, NULL, n);
	EXPECT(!cq && errno == EINVAL, "vector %d: errno %d", n, errno);
	case_end();
}

static void case_sizes(void)
{
	static const int sizes[] = { 1, 2, 3, 63, 64, 1000, 40000 };
	struct ibv_cq *cq;
	size_t i;

	if (!case_begin("sizes"))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cq = ibv_create_cq(dev_a.ctx, sizes[i], NULL, NULL, 0);
		EXPECT(cq && cq->cqe >= sizes[i], "%d: %d", sizes[i],
		       cq ? cq->cqe : 0);
		if (cq) {
			EXPECT(!ibv_resize_cq(cq, 5000) && cq->cqe >= 5000,
			       "resize from %d", sizes[i]);
			EXPECT(ibv_resize_cq(cq, dev_a.attr.max_cqe + 1) ==
			       EINVAL, "too large");
			EXPECT(ibv_resize_cq(cq, 0) == EINVAL, "nothing");
			ibv_destroy_cq(cq);
		}
	}
	case_end();
}

/* Completions keep coming while the queue changes: none lost, none twice. */
static void case_resize(void)
{
	enum { MESSAGES = 6000 };
	uint64_t end = tl_now_ns() + 40000000000ull, next = 0;
	int posted = 0, round = 0, err, refused = 0;
	struct ibv_wc wc[16];
	struct pair p;
	int i, n;

	if (rxe_lacks(&dev_a, "resize of a CQ in use") ||
	    !case_begin("resize under traffic"))
		return;
	pair_init(&p);
	pair_make(&p);
	while (next < MESSAGES && tl_now_ns() < end && case_good) {
		while (posted < MESSAGES && posted - next < 31 &&
		       !post_simple(&p, IBV_WR_RDMA_WRITE, posted, 0))
			posted++;
		/* now and then one that is too small for what waits */
		err = ibv_resize_cq(p.a.scq, round % 5 == 4 ? 1 :
				    tl_rand_in(40, 3000));
		EXPECT(!err || (err == EINVAL && round % 5 == 4), "%d", err);
		refused += !!err;
		round++;
		n = ibv_poll_cq(p.a.scq, tl_rand_in(1, 16), wc);
		for (i = 0; i < n; i++, next++)
			EXPECT(!wc[i].status && wc[i].wr_id == next,
			       "%" PRIu64 " %s, not %" PRIu64, wc[i].wr_id,
			       ibv_wc_status_str(wc[i].status), next);
		/* room again for what may come */
		if (p.a.scq->cqe < 40)
			EXPECT(!ibv_resize_cq(p.a.scq, 40), "room");
	}
	printf("# %d resizes, %d refused\n", round, refused);
	EXPECT(next == MESSAGES, "%" PRIu64, next);
	pair_drop(&p);
	case_end();
}

/* The provider has no call for it: the command is written by hand. */
static int moderate(struct ibv_cq *cq, uint16_t count, uint16_t period_us)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_modify_cq cmd;
	} msg = {
		.hdr = {
			.command = IB_USER_VERBS_EX_CMD_MODIFY_CQ |
				   IB_USER_VERBS_CMD_FLAG_EXTENDED,
			.in_words = sizeof(msg.cmd) / 8,
		},
		.cmd = {
			.cq_handle = cq->handle,
			.attr_mask = IBV_CQ_ATTR_MODERATE,
			.attr = { count, period_us },
		},
	};

	return write(cq->context->cmd_fd, &msg, sizeof(msg)) == sizeof(msg) ?
		0 : errno;
}

/* An event within @ms? */
static bool event_comes(struct pair_end *e, unsigned int ms)
{
	struct pollfd pfd = { e->ch->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	if (poll(&pfd, 1, ms) <= 0 || ibv_get_cq_event(e->ch, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void write_some(struct pair *p, int n, int *id)
{
	int i;

	for (i = 0; i < n; i++)
		EXPECT(!post_simple(p, IBV_WR_RDMA_WRITE, (*id)++, 8), "post");
}

/* Take the completions of the last @n. */
static void take(struct pair *p, int n, int id)
{
	int i;

	for (i = 0; i < n; i++)
		expect_wc(p->a.scq, id - n + i, IBV_WC_SUCCESS, 5000);
}

/* Times that depend on the host are right when one of these tries is. */
#define TRIES 10

/*
 * The completions of @n WRITEs must not be told yet. Says nothing, and is tried
 * again, where the machine stood still for @period_ms, after which they are.
 */
static void not_told(struct pair *p, int n, int *id, unsigned int period_ms)
{
	uint64_t start, took = 0;
	bool told = true;
	int i;

	for (i = 0; i < TRIES && told && took >= period_ms * (i > 0); i++) {
		take(p, i ? n : 0, *id);
		ibv_req_notify_cq(p->a.scq, 0);
		start = tl_now_ns();
		write_some(p, n, id);
		told = event_comes(&p->a, 10);
		took = (tl_now_ns() - start) / 1000000;
	}
	EXPECT(!told, "%d told after %d ms", n, (int)took);
}

/* A completion with an error must be told, and not after a moderation's time. */
static void error_told(struct pair *p, int id, const char *what)
{
	uint64_t start, took = 1000;
	int i;

	for (i = 0; i < TRIES && took >= 60; i++) {
		ibv_req_notify_cq(p->a.scq, 0);
		start = tl_now_ns();
		EXPECT(!post_simple(p, IBV_WR_RDMA_WRITE, id, 8), "post in error");
		EXPECT(event_comes(&p->a, 3000), "%s: never", what);
		took = (tl_now_ns() - start) / 1000000;
	}
	EXPECT(took < 60, "%s: after %d ms", what, (int)took);
}

static void case_moderation(void)
{
	struct pair p;
	int id = 0, err;

	if (!case_begin("moderation"))
		return;
	pair_init(&p);
	pair_make(&p);
	err = moderate(p.a.scq, 5, 60000);
	if (dev_a.is_rxe && err) {
		EXPECT(err == EOPNOTSUPP, "%d", err);
		goto out;
	}
	EXPECT(!err, "%d", err);
	/* few are told when the time is over, and not before */
	not_told(&p, 1, &id, 60);
	EXPECT(event_comes(&p.a, 3000), "never");
	take(&p, 1, id);
	/* as many as asked for are told without the time */
	EXPECT(!moderate(p.a.scq, 5, 65535), "modify");
	tl_sleep_ms(100);
	while (event_comes(&p.a, 0))
		;
	not_told(&p, 4, &id, 65);
	take(&p, 4, id);
	write_some(&p, 1, &id);
	EXPECT(event_comes(&p.a, 40), "enough");
	take(&p, 1, id);
	/* errors do not wait */
	tl_qp_to(p.a.qp, IBV_QPS_ERR);
	error_told(&p, id, "error");
	/* and without moderation nothing does */
	EXPECT(!moderate(p.a.scq, 0, 0), "off");
	error_told(&p, id, "off");
out:
	pair_drop(&p);
	case_end();
}

/* What the extended calls of the provider give. */
static void case_extended(void)
{
	struct ibv_cq_init_attr_ex cattr = {
		.cqe = 100,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
			    IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP,
	};
	struct ibv_qp_init_attr_ex qattr = {
		.qp_type = IBV_QPT_RC, .cap = { 16, 16, 2, 2, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_poll_cq_attr pattr = {};
	struct ibv_cq_ex *cq;
	struct ibv_qp_ex *qpx;
	struct ibv_qp *qp;
	struct pair p;
	uint64_t end;
	int rc;

	if (!case_begin("extended calls"))
		return;
	pair_init(&p);
	end_make(&p.b, &dev_b, 16, 2);
	cq = ibv_create_cq_ex(dev_a.ctx, &cattr);
	EXPECT(cq, "create_cq_ex: %d", errno);
	if (!cq)
		tl_die("create_cq_ex");
	qattr.send_cq = ibv_cq_ex_to_cq(cq);
	qattr.recv_cq = qattr.send_cq;
	qattr.pd = dev_a.pd;
	qp = ibv_create_qp_ex(dev_a.ctx, &qattr);
	if (!qp)
		tl_die("create_qp_ex");
	qpx = ibv_qp_to_qp_ex(qp);
	EXPECT(!tl_qp_connect(qp, &p.ca, &dev_a, &dev_b, p.b.qp->qp_num, 1, 2) &&
	       !tl_qp_connect(p.b.qp, &p.cb, &dev_b, &dev_a, qp->qp_num, 2, 1),
	       "connect");
	post_recv_simple(&p.b, 8, 100);
	ibv_wr_start(qpx);
	qpx->wr_id = 7;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(qpx, htonl(99));
	ibv_wr_set_inline_data(qpx, "hello", 5);
	EXPECT(!ibv_wr_complete(qpx), "wr_complete");
	expect_wc(p.b.rcq, 8, IBV_WC_SUCCESS, 5000);
	EXPECT(!memcmp(p.b.buf + 4096, "hello", 5), "data");
	end = tl_now_ns() + 5000000000ull;
	while ((rc = ibv_start_poll(cq, &pattr)) == ENOENT &&
	       tl_now_ns() < end)
		usleep(200);
	EXPECT(!rc && cq->wr_id == 7 && cq->status == IBV_WC_SUCCESS &&
	       ibv_wc_read_qp_num(cq) == qp->qp_num, "start_poll %d", rc);
	if (!rc)
		ibv_end_poll(cq);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	end_drop(&p.b);
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 100);
	case_vectors();
	case_sizes();
	case_resize();
	case_moderation();
	case_extended();
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
