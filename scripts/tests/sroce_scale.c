// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers: how many of each object there can be, that they work when there are
 * so many, and how long it takes to be rid of them.
 *
 * Options: -f and -c of pair.h, which select the GID and a case.  Sizes are fixed:
 * they are what the device promises.
 */
#include "pair.h"

#define QPS 10000
#define MRS 100000
#define CQES 1000000
#define PAIRS 1000
#define DESTROY_MS 2000

static double ms_since(uint64_t start_ns)
{
	return (tl_now_ns() - start_ns) / 1e6;
}

static struct ibv_qp *small_qp(struct tl_dev *d, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { 1, 1, 1, 1, 0 },
	};

	return ibv_create_qp(d->pd, &init);
}

/* A message over the pair, so that both ends have been at work. */
static bool round_trip(struct ibv_qp *a, struct ibv_qp *b, struct ibv_cq *acq,
		       struct ibv_cq *bcq)
{
	struct ibv_send_wr *sbad, s = { .wr_id = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr *rbad, r = { .wr_id = 2 };
	struct ibv_wc wc;

	if (ibv_post_recv(b, &r, &rbad) || ibv_post_send(a, &s, &sbad))
		return false;
	return tl_poll_wait(acq, &wc, 5000) && !wc.status &&
	       tl_poll_wait(bcq, &wc, 5000) && !wc.status &&
	       wc.qp_num == b->qp_num;
}

static bool connect_pair(struct ibv_qp *a, struct ibv_qp *b)
{
	struct tl_conn c = tl_conn_default();

	return !tl_qp_connect(a, &c, &dev_a, &dev_b, b->qp_num, 1, 2) &&
	       !tl_qp_connect(b, &c, &dev_b, &dev_a, a->qp_num, 2, 1);
}

static void case_qps(void)
{
	static struct ibv_qp *qp[QPS];
	struct ibv_cq *acq, *bcq;
	struct ibv_qp *b;
	uint64_t t;
	int n = 0, i;

	if (!case_begin("10,000 queue pairs"))
		return;
	acq = ibv_create_cq(dev_a.ctx, 16, NULL, NULL, 0);
	bcq = ibv_create_cq(dev_b.ctx, 16, NULL, NULL, 0);
	EXPECT(dev_a.attr.max_qp >= QPS, "max_qp %d", dev_a.attr.max_qp);
	t = tl_now_ns();
	while (n < QPS && (qp[n] = small_qp(&dev_a, acq)))
		n++;
	printf("# %d made in %.0f ms\n", n, ms_since(t));
	EXPECT(n == QPS, "%d: %s", n, strerror(errno));
	for (i = 0; i < 10 && n == QPS; i++) {
		b = small_qp(&dev_b, bcq);
		EXPECT(b && connect_pair(qp[i * (QPS / 10)], b) &&
		       round_trip(qp[i * (QPS / 10)], b, acq, bcq),
		       "number %d does not work", i * (QPS / 10));
		if (b)
			ibv_destroy_qp(b);
	}
	t = tl_now_ns();
	for (i = 0; i < n; i++)
		EXPECT(!ibv_destroy_qp(qp[i]), "destroy %d", i);
	printf("# destroyed in %.0f ms\n", ms_since(t));
	ibv_destroy_cq(acq);
	ibv_destroy_cq(bcq);
	case_end();
}

static void case_mrs(void)
{
	struct ibv_mr **mr = calloc(MRS, sizeof(*mr));
	uint8_t *seen = calloc(1 << 24, 1);
	uint8_t *buf = aligned_alloc(4096, 4096 * 16);
	int n = 0, i, twice = 0;
	uint64_t t;

	if (!case_begin("100,000 memory regions"))
		return;
	EXPECT(dev_a.attr.max_mr >= MRS, "max_mr %d", dev_a.attr.max_mr);
	memset(buf, 1, 4096 * 16);
	t = tl_now_ns();
	while (n < MRS && (mr[n] = ibv_reg_mr(dev_a.pd, buf + n % 16 * 4096,
					      4096, ACCESS_ALL)))
		n++;
	printf("# %d made in %.0f ms\n", n, ms_since(t));
	EXPECT(n == MRS, "%d: %s", n, strerror(errno));
	for (i = 0; i < n; i++)
		twice += seen[mr[i]->rkey >> 8]++;
	EXPECT(!twice, "%d keys twice", twice);
	expect_alive();
	t = tl_now_ns();
	for (i = 0; i < n; i++)
		EXPECT(!ibv_dereg_mr(mr[i]), "dereg %d", i);
	printf("# gone in %.0f ms\n", ms_since(t));
	free(mr);
	free(seen);
	free(buf);
	case_end();
}

/* Posts @n requests without ever looking at the CQ; returns how many went. */
static int post_many(struct ibv_qp *qp, int n)
{
	uint64_t end = tl_now_ns() + 100000000000ull;
	struct ibv_send_wr *bad, wr[64] = {};
	int k, posted = 0;

	for (k = 0; k < 64; k++) {
		wr[k].opcode = IBV_WR_RDMA_WRITE;
		wr[k].next = k < 63 ? &wr[k + 1] : NULL;
	}
	while (posted < n && tl_now_ns() < end) {
		for (k = 0; k < 64; k++)
			wr[k].wr_id = posted + k;
		if (ibv_post_send(qp, wr, &bad)) {
			posted += bad - wr;
			sched_yield();
		} else {
			posted += 64;
		}
	}
	return posted;
}

/* Takes @n completions, which must be in order; returns how many came. */
static int poll_many(struct ibv_cq *cq, int n)
{
	uint64_t end = tl_now_ns() + 60000000000ull;
	struct ibv_wc wc[64];
	int i, k, got = 0;

	while (got < n && tl_now_ns() < end && case_good) {
		k = ibv_poll_cq(cq, 64, wc);
		for (i = 0; i < k; i++, got++)
			EXPECT(!wc[i].status && wc[i].wr_id == (uint64_t)got,
			       "%" PRIu64 " %s, not %d", wc[i].wr_id,
			       ibv_wc_status_str(wc[i].status), got);
	}
	return got;
}

/* Completions that wait: all there, in order. */
static void case_cqes(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { 1024, 1, 1, 1, 0 },
	};
	struct ibv_cq *cq, *bcq;
	struct ibv_qp *a, *b;
	int posted, got;
	uint64_t t;

	if (!case_begin("1,000,000 completions"))
		return;
	cq = ibv_create_cq(dev_a.ctx, CQES, NULL, NULL, 0);
	bcq = ibv_create_cq(dev_b.ctx, 16, NULL, NULL, 0);
	if (!cq || cq->cqe < CQES)
		tl_die("create_cq");
	init.send_cq = cq;
	init.recv_cq = cq;
	a = ibv_create_qp(dev_a.pd, &init);
	b = small_qp(&dev_b, bcq);
	if (!a || !b || !connect_pair(a, b))
		tl_die("pair");
	t = tl_now_ns();
	posted = post_many(a, CQES);
	printf("# %d posted in %.0f ms\n", posted, ms_since(t));
	EXPECT(posted >= CQES, "%d posted", posted);
	t = tl_now_ns();
	got = poll_many(cq, posted);
	printf("# polled in %.0f ms\n", ms_since(t));
	EXPECT(got == posted, "%d of %d", got, posted);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	ibv_destroy_cq(cq);
	ibv_destroy_cq(bcq);
	case_end();
}

static void case_max_cqe(void)
{
	struct ibv_cq *cq;

	if (!case_begin("the largest completion queue"))
		return;
	EXPECT(dev_a.attr.max_cqe >= 4000000, "%d", dev_a.attr.max_cqe);
	cq = ibv_create_cq(dev_a.ctx, dev_a.attr.max_cqe, NULL, NULL, 0);
	EXPECT(cq, "%s", strerror(errno));
	if (cq)
		ibv_destroy_cq(cq);
	errno = 0;
	cq = ibv_create_cq(dev_a.ctx, dev_a.attr.max_cqe + 1, NULL, NULL, 0);
	EXPECT(!cq && errno == EINVAL, "one more: %d", errno);
	case_end();
}

struct crowd {
	struct ibv_qp *a[PAIRS], *b[PAIRS];
	struct ibv_cq *acq, *bcq;
};

static void crowd_make(struct crowd *c)
{
	int i;

	c->acq = ibv_create_cq(dev_a.ctx, 2 * PAIRS, NULL, NULL, 0);
	c->bcq = ibv_create_cq(dev_b.ctx, 2 * PAIRS, NULL, NULL, 0);
	for (i = 0; i < PAIRS; i++) {
		c->a[i] = small_qp(&dev_a, c->acq);
		c->b[i] = small_qp(&dev_b, c->bcq);
		if (!c->a[i] || !c->b[i] || !connect_pair(c->a[i], c->b[i]))
			tl_die("pair %d", i);
		EXPECT(round_trip(c->a[i], c->b[i], c->acq, c->bcq), "pair %d",
		       i);
	}
}

static void expect_fast(const char *what, double ms)
{
	printf("# %s: %.0f ms\n", what, ms);
	EXPECT(ms < DESTROY_MS || dev_a.is_rxe, "%s takes %.0f ms", what, ms);
}

static void case_destroy(void)
{
	static struct crowd c;
	uint64_t t;
	int i;

	if (!case_begin("1,000 connected queue pairs destroyed"))
		return;
	t = tl_now_ns();
	crowd_make(&c);
	printf("# %d pairs connected in %.0f ms\n", PAIRS, ms_since(t));
	t = tl_now_ns();
	for (i = 0; i < PAIRS; i++)
		EXPECT(!ibv_destroy_qp(c.a[i]), "destroy");
	expect_fast("one by one", ms_since(t));
	for (i = 0; i < PAIRS; i++)
		EXPECT(!ibv_destroy_qp(c.b[i]), "destroy");
	ibv_destroy_cq(c.acq);
	ibv_destroy_cq(c.bcq);
	case_end();
}

/* A process that is killed: the kernel destroys 2,000 for it. */
static void case_killed(void)
{
	static struct crowd c;
	int fds[2], status;
	uint64_t t;
	pid_t pid;
	char x;

	if (!case_begin("a process with 1,000 connections killed"))
		return;
	if (pipe(fds))
		tl_die("pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		tl_open(&dev_a, dev_a.name, 4);
		tl_open(&dev_b, dev_b.name, 4);
		crowd_make(&c);
		if (write(fds[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(fds[1]);
	EXPECT(read(fds[0], &x, 1) == 1, "the process");
	close(fds[0]);
	t = tl_now_ns();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* the files close while the process exits; 2,000 queue pairs here */
	expect_fast("half of it", ms_since(t) / 2);
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 240);
	case_destroy();
	case_killed();
	case_qps();
	case_mrs();
	case_cqes();
	case_max_cqe();
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
