// SPDX-License-Identifier: GPL-2.0
/*
 * ATOMIC WRITE and FLUSH, which only the extended interface can post: results,
 * rights, limits, and that neither happens twice or out of order.
 *
 * usage: sroce_flush [-f 4|6] [-c CASE] [-L SECONDS] DEVICE_A DEVICE_B
 *
 * One process has both ends: a asks, b answers. Prints "ok - x" and "not ok - x"
 * lines; exits 1 when a case failed.
 */
#include "memory.h"

#include <pthread.h>

#define ACCESS (ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL)

static void make_ex(struct pair_end *e, int access)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC, .send_cq = e->scq, .recv_cq = e->rcq,
		.cap = { 32, 32, 4, 4, 64 }, .pd = e->d->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_FLUSH |
				  IBV_QP_EX_WITH_ATOMIC_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};

	if (ibv_destroy_qp(e->qp))
		tl_die("destroy_qp");
	e->qp = ibv_create_qp_ex(e->d->ctx, &init);
	if (!e->qp)
		tl_die("create_qp_ex");
	if (ibv_dereg_mr(e->mr))
		tl_die("dereg_mr");
	e->mr = ibv_reg_mr(e->d->pd, e->buf, BUF_SIZE, access);
	if (!e->mr)
		tl_die("reg_mr");
}

static void make(struct pair *p, int access)
{
	pair_init(p);
	p->ca.access |= IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT;
	p->cb.access = p->ca.access;
	end_make(&p->a, &dev_a, 32, 4);
	end_make(&p->b, &dev_b, 32, 4);
	make_ex(&p->a, ACCESS_ALL);
	make_ex(&p->b, access);
	pair_connect(p);
}

static struct ibv_qp_ex *ex(struct pair *p, uint64_t id)
{
	struct ibv_qp_ex *qx = ibv_qp_to_qp_ex(p->a.qp);

	ibv_wr_start(qx);
	qx->wr_id = id;
	qx->wr_flags = IBV_SEND_SIGNALED;
	return qx;
}

static void atomic_write(struct pair *p, uint64_t at, uint32_t key,
			 uint64_t value, int status)
{
	struct ibv_qp_ex *qx = ex(p, 70);

	ibv_wr_atomic_write(qx, key, at, &value);
	EXPECT(!ibv_wr_complete(qx), "complete");
	expect_wc(p->a.scq, 70, status, 5000);
	if (status)
		pair_again(p);
}

static void flush(struct pair *p, uint64_t at, uint32_t key, uint64_t len,
		  uint8_t type, uint8_t level, int status)
{
	struct ibv_qp_ex *qx = ex(p, 71);

	ibv_wr_flush(qx, key, at, len, type, level);
	EXPECT(!ibv_wr_complete(qx), "complete");
	expect_wc(p->a.scq, 71, status, 5000);
	if (status)
		pair_again(p);
}

static uint64_t *word(struct pair *p, int i)
{
	return (uint64_t *)p->b.buf + i;
}

static void case_atomic_write(struct pair *p)
{
	uint32_t key = p->b.mr->rkey;
	uint64_t v;
	int i, at;

	memset(p->b.buf, 0xee, BUF_SIZE);
	for (i = 0; i < 100; i++) {
		at = tl_rand_in(0, BUF_SIZE / 8 - 3) + 1;
		v = tl_rand();
		*word(p, at - 1) = 1;
		*word(p, at + 1) = 2;
		atomic_write(p, (uintptr_t)word(p, at), key, v, IBV_WC_SUCCESS);
		EXPECT(*word(p, at) == v && *word(p, at - 1) == 1 &&
		       *word(p, at + 1) == 2, "word %d", at);
	}
	at = BUF_SIZE / 8 - 1;
	atomic_write(p, (uintptr_t)word(p, at), key, 5, IBV_WC_SUCCESS);
	EXPECT(*word(p, at) == 5, "last word");
}

static void case_atomic_write_refused(struct pair *p)
{
	struct ibv_mr *ro = reg(&p->b, BUF_SIZE, IBV_ACCESS_REMOTE_READ);
	uint64_t at = (uintptr_t)p->b.buf;
	uint32_t key = p->b.mr->rkey;

	memset(p->b.buf, 0, BUF_SIZE);
	atomic_write(p, at + 4, key, 1, IBV_WC_REM_INV_REQ_ERR);
	atomic_write(p, at + BUF_SIZE, key, 1, IBV_WC_REM_ACCESS_ERR);
	atomic_write(p, at - 8, key, 1, IBV_WC_REM_ACCESS_ERR);
	atomic_write(p, at, key ^ 1, 1, IBV_WC_REM_ACCESS_ERR);
	atomic_write(p, at, ro->rkey, 1, IBV_WC_REM_ACCESS_ERR);
	EXPECT(!*word(p, 0), "written all the same");
	atomic_write(p, at, key, 1, IBV_WC_SUCCESS);
	EXPECT(!ibv_dereg_mr(ro), "dereg");
}

static void case_flush(struct pair *p)
{
	struct ibv_mr *plain = reg(&p->b, BUF_SIZE, ACCESS_ALL);
	uint64_t at = (uintptr_t)p->b.buf;
	uint32_t key = p->b.mr->rkey;

	flush(p, at, key, BUF_SIZE, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0);
	flush(p, at + 5, key, 1, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0);
	flush(p, at, key, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR, 0);
	flush(p, 0, key, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR, 0);
	flush(p, at + 1, key, BUF_SIZE, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
	      IBV_WC_REM_ACCESS_ERR);
	flush(p, at, key ^ 1, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
	      IBV_WC_REM_ACCESS_ERR);
	flush(p, at, key ^ 1, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR,
	      IBV_WC_REM_ACCESS_ERR);
	/* the region does not have that right */
	flush(p, at, key, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE,
	      IBV_WC_REM_ACCESS_ERR);
	flush(p, at, plain->rkey, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
	      IBV_WC_REM_ACCESS_ERR);
	if (!rxe_lacks(&dev_b, "reserved values of a FLUSH")) {
		flush(p, at, key, 8, 0, IBV_FLUSH_RANGE,
		      IBV_WC_REM_INV_REQ_ERR);
		flush(p, at, key, 8, 4, IBV_FLUSH_RANGE,
		      IBV_WC_REM_INV_REQ_ERR);
		flush(p, at, key, 8, IBV_FLUSH_GLOBAL, 2,
		      IBV_WC_REM_INV_REQ_ERR);
	}
	flush(p, at, key, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0);
	EXPECT(!ibv_dereg_mr(plain), "dereg");
}

/* The queue pair's own rights come first. */
static void case_qp_rights(struct pair *p)
{
	uint64_t at = (uintptr_t)p->b.buf;
	uint32_t key = p->b.mr->rkey;
	int access = p->cb.access;

	p->cb.access = IBV_ACCESS_REMOTE_WRITE;
	pair_again(p);
	flush(p, at, key, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
	      IBV_WC_REM_INV_REQ_ERR);
	atomic_write(p, at, key, 1, IBV_WC_SUCCESS);
	p->cb.access = IBV_ACCESS_FLUSH_GLOBAL;
	pair_again(p);
	atomic_write(p, at, key, 1, IBV_WC_REM_INV_REQ_ERR);
	flush(p, at, key, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0);
	p->cb.access = access;
	pair_again(p);
}

static void case_no_pmem(void)
{
	struct pair_end *e;
	struct pair p;
	struct ibv_mr *mr;

	make(&p, ACCESS);
	e = &p.b;
	mr = ibv_reg_mr(e->d->pd, e->buf, BUF_SIZE,
			ACCESS | IBV_ACCESS_FLUSH_PERSISTENT);
	EXPECT(!mr && (errno == EOPNOTSUPP || e->d->is_rxe), "%s",
	       strerror(errno));
	if (mr)
		ibv_dereg_mr(mr);
	pair_drop(&p);
}

static volatile bool stop;
static volatile bool went_back;

/* Watches the counter that ATOMIC WRITEs move: it never goes back. */
static void *watch(void *arg)
{
	volatile uint64_t *w = arg;
	uint64_t last = 0, now;

	while (!stop) {
		now = *w;
		if (now < last)
			went_back = true;
		last = now;
		sched_yield();
	}
	return NULL;
}

/*
 * The pattern these operations are made for: data, FLUSH, then the flag that
 * says the data is there; deep in the queue, and a READ that must see all of it.
 */
static void round_ordered(struct pair *p, uint64_t n)
{
	uint64_t at = (uintptr_t)p->b.buf, *a = (uint64_t *)p->a.buf;
	uint32_t key = p->b.mr->rkey, lkey = p->a.mr->lkey;
	struct ibv_qp_ex *qx = ibv_qp_to_qp_ex(p->a.qp);
	int i;

	for (i = 0; i < 512; i++)
		a[i] = n * 1000 + i;
	ibv_wr_start(qx);
	qx->wr_flags = 0;
	ibv_wr_rdma_write(qx, key, at + 4096);
	ibv_wr_set_sge(qx, lkey, (uintptr_t)a, 4096);
	ibv_wr_flush(qx, key, at + 4096, 4096, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE);
	ibv_wr_atomic_write(qx, key, at, &n);
	qx->wr_id = n;
	qx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(qx, key, at);
	ibv_wr_set_sge(qx, lkey, (uintptr_t)(a + 1024), 8192);
	EXPECT(!ibv_wr_complete(qx), "complete");
	expect_wc(p->a.scq, n, IBV_WC_SUCCESS, 20000);
	EXPECT(a[1024] == n, "flag %" PRIu64 ", not %" PRIu64, a[1024], n);
	EXPECT(!memcmp(a, a + 1024 + 512, 4096), "data of %" PRIu64, n);
	EXPECT(*word(p, 0) == n, "flag at the peer");
}

static void case_ordered(struct pair *p)
{
	pthread_t t;
	uint64_t n;

	memset(p->b.buf, 0, BUF_SIZE);
	stop = false;
	went_back = false;
	pthread_create(&t, NULL, watch, p->b.buf);
	for (n = 1; n <= 200 && case_good; n++)
		round_ordered(p, n);
	stop = true;
	pthread_join(t, NULL);
	EXPECT(!went_back, "an ATOMIC WRITE happened twice");
}

int main(int argc, char **argv)
{
	struct pair p;

	pair_main(argc, argv, 120);
	make(&p, ACCESS);
	CASE("ATOMIC WRITE", case_atomic_write(&p));
	CASE("data, FLUSH, flag, READ", case_ordered(&p));
	CASE("ATOMIC WRITE that is refused", case_atomic_write_refused(&p));
	CASE("FLUSH: types, levels, ranges", case_flush(&p));
	CASE("rights of the queue pair", case_qp_rights(&p));
	CASE("no persistent memory, no right to flush to it", case_no_pmem());
	pair_drop(&p);
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
