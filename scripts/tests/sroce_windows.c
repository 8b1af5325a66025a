// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows of type 1 and 2B: what may be bound to what, what a bound
 * window lets a peer do, and what ends that.
 *
 * usage: sroce_windows [-f 4|6] [-c CASE] [-L SECONDS] DEVICE_A DEVICE_B
 *
 * One process has both ends: a asks, b has the windows. Prints "ok - x" and
 * "not ok - x" lines; exits 1 when a case failed.
 */
#include "memory.h"

#include <pthread.h>

#define BASE 8192	/* where in b's buffer the windows begin */
#define SIZE 6000	/* their length: over a page boundary, no multiple */

static uint8_t *base(struct pair *p)
{
	return p->b.buf + BASE;
}

static void check_data(struct pair *p, uint8_t *at, uint32_t len)
{
	EXPECT(!memcmp(p->a.buf, at, len), "data");
}

static void scribble(struct pair *p, int v)
{
	int i;

	for (i = 0; i < SIZE; i++)
		p->a.buf[i] = v + i * 7;
}

/* Everything the rights allow, at both ends of the window. */
static void use_window(struct pair *p, uint64_t at, uint32_t key)
{
	scribble(p, 3);
	expect_rdma(p, IBV_WR_RDMA_WRITE, at, key, SIZE, IBV_WC_SUCCESS);
	check_data(p, base(p), SIZE);
	memset(p->a.buf, 0, SIZE);
	expect_rdma(p, IBV_WR_RDMA_READ, at + 4000, key, SIZE - 4000,
		    IBV_WC_SUCCESS);
	check_data(p, base(p) + 4000, SIZE - 4000);
	expect_rdma(p, IBV_WR_ATOMIC_FETCH_AND_ADD, at + 4096, key, 8,
		    IBV_WC_SUCCESS);
}

static void refused(struct pair *p, enum ibv_wr_opcode op, uint64_t at,
		    uint32_t key, uint32_t len)
{
	expect_rdma(p, op, at, key, len, IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
}

static void case_use(struct pair *p, struct ibv_mr *mr, enum ibv_mw_type type)
{
	struct ibv_mw *mw = mw_new(&p->b, type);
	uint64_t at = (uintptr_t)base(p);
	uint32_t key = ibv_inc_rkey(mw->rkey);

	refused(p, IBV_WR_RDMA_WRITE, at, mw->rkey, 8);
	bind_ok(&p->b, mw, mr, key, base(p), SIZE, MW_ALL);
	use_window(p, at, key);
	refused(p, IBV_WR_RDMA_WRITE, at - 1, key, 8);
	refused(p, IBV_WR_RDMA_WRITE, at + SIZE - 7, key, 8);
	refused(p, IBV_WR_RDMA_READ, at + SIZE, key, 1);
	refused(p, IBV_WR_RDMA_WRITE, at, key ^ 1, 8);
	refused(p, IBV_WR_RDMA_READ, ~0ull - 3, key, 8);
	EXPECT(ibv_dereg_mr(mr) == EBUSY, "region of a bound window went");
	use_window(p, at, key);
	EXPECT(!ibv_dealloc_mw(mw), "dealloc");
	refused(p, IBV_WR_RDMA_WRITE, at, key, 8);
}

static void case_rights(struct pair *p, struct ibv_mr *mr)
{
	static const struct {
		enum ibv_wr_opcode op;
		int right;
	} row[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC },
	};
	uint64_t at = (uintptr_t)base(p);
	struct ibv_mw *mw;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		mw = mw_new(&p->b, IBV_MW_TYPE_2);
		bind_ok(&p->b, mw, mr, ibv_inc_rkey(mw->rkey), base(p), SIZE,
			MW_ALL & ~row[i].right);
		refused(p, row[i].op, at, mw->rkey, 8);
		ibv_dealloc_mw(mw);
		mw = mw_new(&p->b, IBV_MW_TYPE_2);
		bind_ok(&p->b, mw, mr, ibv_inc_rkey(mw->rkey), base(p), SIZE,
			row[i].right);
		expect_rdma(p, row[i].op, at, mw->rkey, 8, IBV_WC_SUCCESS);
		ibv_dealloc_mw(mw);
	}
}

/* A window's key is a peer's, never one's own. */
static void case_not_local(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_mw *mw = mw_new(&p->b, IBV_MW_TYPE_1);
	struct post x;

	bind_ok(&p->b, mw, mr, ibv_inc_rkey(mw->rkey), base(p), SIZE, MW_ALL);
	x = (struct post){ .op = IBV_WR_RDMA_WRITE, .id = 7, .len = 8,
		.addr = (uintptr_t)base(p), .lkey = mw->rkey,
		.raddr = (uintptr_t)p->a.buf, .rkey = p->a.mr->rkey,
		.flags = IBV_SEND_SIGNALED };
	EXPECT(!post_raw(&p->b, &x), "post");
	expect_wc(p->b.scq, 7, IBV_WC_LOC_PROT_ERR, 5000);
	pair_again(p);
	ibv_dealloc_mw(mw);
}

static void bind_refused(struct pair *p, struct ibv_mw *mw, struct ibv_mr *mr,
			 uint32_t key, uint8_t *addr, uint64_t bytes,
			 int access)
{
	EXPECT(!post_bind(&p->b, 51, mw, mr, key, addr, bytes, access), "post");
	expect_wc(p->b.scq, 51, IBV_WC_MW_BIND_ERR, 5000);
	pair_again(p);
}

static void case_bind_rules(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_mr *plain = reg(&p->b, BUF_SIZE, ACCESS_ALL);
	struct ibv_mr *ro = reg(&p->b, BUF_SIZE, IBV_ACCESS_MW_BIND);
	struct ibv_mw *m1 = mw_new(&p->b, IBV_MW_TYPE_1);
	struct ibv_mw *m2 = mw_new(&p->b, IBV_MW_TYPE_2);
	struct ibv_mr bad_mr = *mr;
	uint32_t k1 = ibv_inc_rkey(m1->rkey), k2 = ibv_inc_rkey(m2->rkey);
	uint8_t *b = base(p), *end = p->b.buf + BUF_SIZE;

	bind_refused(p, m2, plain, k2, b, SIZE, MW_ALL);
	bind_refused(p, m2, ro, k2, b, SIZE, IBV_ACCESS_REMOTE_WRITE);
	bind_refused(p, m2, ro, k2, b, SIZE, IBV_ACCESS_REMOTE_ATOMIC);
	bind_refused(p, m2, mr, k2, end - SIZE + 1, SIZE, MW_ALL);
	bind_refused(p, m2, mr, k2, p->b.buf - 1, SIZE, MW_ALL);
	bind_refused(p, m2, mr, k2, b, ~0ull - 100, MW_ALL);
	bind_refused(p, m2, mr, k2, b, 0, MW_ALL);
	bind_refused(p, m2, mr, k2, b, SIZE, IBV_ACCESS_MW_BIND);
	bind_refused(p, m2, mr, k2 + 256, b, SIZE, MW_ALL);
	bind_refused(p, m1, mr, k1, b, SIZE, MW_ALL | IBV_ACCESS_ZERO_BASED);
	bad_mr.lkey ^= 0x55;
	bind_refused(p, m2, &bad_mr, k2, b, SIZE, MW_ALL);
	bad_mr.lkey = 0x12345678;
	bind_refused(p, m2, &bad_mr, k2, b, SIZE, MW_ALL);
	bind_ok(&p->b, m2, ro, k2, b, SIZE, IBV_ACCESS_REMOTE_READ);
	/* bound once; again only when it is free */
	bind_refused(p, m2, mr, ibv_inc_rkey(k2), b, SIZE, MW_ALL);
	expect_rdma(p, IBV_WR_RDMA_READ, (uintptr_t)b, k2, SIZE, IBV_WC_SUCCESS);
	EXPECT(!ibv_dealloc_mw(m2) && !ibv_dealloc_mw(m1), "dealloc");
	EXPECT(!ibv_dereg_mr(ro) && !ibv_dereg_mr(plain), "dereg");
}

/* Two protection domains: neither window nor region of the other. */
static void case_domains(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_pd *pd = ibv_alloc_pd(dev_b.ctx);
	struct ibv_mr *far = ibv_reg_mr(pd, p->b.buf, BUF_SIZE,
					ACCESS_ALL | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mine = mw_new(&p->b, IBV_MW_TYPE_2);
	struct ibv_mw *theirs = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	/* the library refuses before the kernel sees it, or the kernel does */
	if (!post_bind(&p->b, 1, mine, far, ibv_inc_rkey(mine->rkey), base(p),
		       SIZE, MW_ALL)) {
		expect_wc(p->b.scq, 1, IBV_WC_MW_BIND_ERR, 5000);
		pair_again(p);
	}
	if (!post_bind(&p->b, 2, theirs, mr, ibv_inc_rkey(theirs->rkey),
		       base(p), SIZE, MW_ALL)) {
		expect_wc(p->b.scq, 2, IBV_WC_MW_BIND_ERR, 5000);
		pair_again(p);
	}
	EXPECT(!ibv_dealloc_mw(mine) && !ibv_dealloc_mw(theirs) &&
	       !ibv_dereg_mr(far) && !ibv_dealloc_pd(pd), "destroy");
}

static void case_zero_based(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_mw *mw = mw_new(&p->b, IBV_MW_TYPE_2);
	uint32_t key = ibv_inc_rkey(mw->rkey);

	bind_ok(&p->b, mw, mr, key, base(p), SIZE,
		MW_ALL | IBV_ACCESS_ZERO_BASED);
	use_window(p, 0, key);
	refused(p, IBV_WR_RDMA_WRITE, SIZE - 7, key, 8);
	refused(p, IBV_WR_RDMA_WRITE, (uintptr_t)base(p), key, 8);
	ibv_dealloc_mw(mw);
}

/* The library's call for type 1: each bind makes a new key. */
static void case_rebind(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_mw_bind b = {
		.wr_id = 52, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { mr, (uintptr_t)base(p), SIZE, MW_ALL },
	};
	struct ibv_mw *mw = mw_new(&p->b, IBV_MW_TYPE_1);
	uint64_t at = (uintptr_t)base(p);
	uint32_t old;

	EXPECT(!ibv_bind_mw(p->b.qp, mw, &b), "bind");
	expect_wc(p->b.scq, 52, IBV_WC_SUCCESS, 5000);
	use_window(p, at, mw->rkey);
	old = mw->rkey;
	b.bind_info.addr += 100;
	b.bind_info.length = 200;
	EXPECT(!ibv_bind_mw(p->b.qp, mw, &b), "bind");
	expect_wc(p->b.scq, 52, IBV_WC_SUCCESS, 5000);
	EXPECT(mw->rkey != old, "key %x", old);
	refused(p, IBV_WR_RDMA_WRITE, at + 100, old, 8);
	refused(p, IBV_WR_RDMA_WRITE, at, mw->rkey, 8);
	expect_rdma(p, IBV_WR_RDMA_WRITE, at + 292, mw->rkey, 8,
		    IBV_WC_SUCCESS);
	b.bind_info.length = 0;
	EXPECT(!ibv_bind_mw(p->b.qp, mw, &b), "unbind");
	expect_wc(p->b.scq, 52, IBV_WC_SUCCESS, 5000);
	refused(p, IBV_WR_RDMA_WRITE, at + 100, mw->rkey, 8);
	EXPECT(!ibv_dealloc_mw(mw), "dealloc");
}

static void local_inv(struct pair_end *e, uint32_t key, int status)
{
	struct post x = { .op = IBV_WR_LOCAL_INV, .id = 53, .rkey = key,
			  .flags = IBV_SEND_SIGNALED };

	EXPECT(!post_raw(e, &x), "post");
	expect_wc(e->scq, 53, status, 5000);
}

static void case_invalidate(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_mw *m1 = mw_new(&p->b, IBV_MW_TYPE_1);
	struct ibv_mw *m2 = mw_new(&p->b, IBV_MW_TYPE_2);
	uint64_t at = (uintptr_t)base(p);
	struct post x;
	int i;

	for (i = 0; i < 300; i++) {	/* more often than there are key bytes */
		bind_ok(&p->b, m2, mr, ibv_inc_rkey(m2->rkey), base(p), SIZE,
			MW_ALL);
		local_inv(&p->b, m2->rkey, IBV_WC_SUCCESS);
	}
	refused(p, IBV_WR_RDMA_WRITE, at, m2->rkey, 8);
	local_inv(&p->b, m2->rkey, IBV_WC_LOC_QP_OP_ERR);	/* it is free */
	pair_again(p);
	bind_ok(&p->b, m1, mr, ibv_inc_rkey(m1->rkey), base(p), SIZE, MW_ALL);
	local_inv(&p->b, m1->rkey, IBV_WC_LOC_QP_OP_ERR);	/* type 1 */
	pair_again(p);
	local_inv(&p->b, mr->rkey, IBV_WC_LOC_QP_OP_ERR);	/* not FRWR */
	pair_again(p);
	expect_rdma(p, IBV_WR_RDMA_WRITE, at, m1->rkey, 8, IBV_WC_SUCCESS);

	/* by the peer */
	bind_ok(&p->b, m2, mr, ibv_inc_rkey(m2->rkey), base(p), SIZE, MW_ALL);
	x = post_of(p, IBV_WR_SEND_WITH_INV, 1, 5000);
	x.rkey = m2->rkey;
	EXPECT(!post_recv_simple(&p->b, 2, 8192), "post_recv");
	EXPECT(!post_raw(&p->a, &x), "post");
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS, 5000);
	expect_wc(p->b.rcq, 2, IBV_WC_SUCCESS, 5000);
	refused(p, IBV_WR_RDMA_WRITE, at, m2->rkey, 8);
	x.rkey = m1->rkey;
	EXPECT(!post_recv_simple(&p->b, 2, 8192), "post_recv");
	EXPECT(!post_raw(&p->a, &x), "post");
	expect_wc(p->a.scq, 1, IBV_WC_REM_ACCESS_ERR, 5000);
	pair_again(p);
	EXPECT(!ibv_dealloc_mw(m2) && !ibv_dealloc_mw(m1), "dealloc");
}

/* Type 2B belongs to the QP that bound it, type 1 to the domain. */
static void case_other_qp(struct pair *p, struct ibv_mr *mr)
{
	struct ibv_mw *m1 = mw_new(&p->b, IBV_MW_TYPE_1);
	struct ibv_mw *m2 = mw_new(&p->b, IBV_MW_TYPE_2);
	uint64_t at = (uintptr_t)base(p);
	struct pair q;

	pair_init(&q);
	pair_make(&q);
	bind_ok(&p->b, m1, mr, ibv_inc_rkey(m1->rkey), base(p), SIZE, MW_ALL);
	bind_ok(&p->b, m2, mr, ibv_inc_rkey(m2->rkey), base(p), SIZE, MW_ALL);
	expect_rdma(&q, IBV_WR_RDMA_WRITE, at, m1->rkey, 8, IBV_WC_SUCCESS);
	refused(&q, IBV_WR_RDMA_WRITE, at, m2->rkey, 8);
	local_inv(&q.b, m2->rkey, IBV_WC_LOC_QP_OP_ERR);
	pair_again(&q);
	expect_rdma(p, IBV_WR_RDMA_WRITE, at, m2->rkey, 8, IBV_WC_SUCCESS);
	pair_drop(&q);
	EXPECT(!ibv_dealloc_mw(m2) && !ibv_dealloc_mw(m1), "dealloc");
}

/* No key of a region is one of a window, whatever its low byte. */
static void case_disjoint(struct pair *p)
{
	enum { N = 200 };
	struct ibv_mw *mw[N];
	struct ibv_mr *mr[N];
	int i, j;

	for (i = 0; i < N; i++) {
		mw[i] = mw_new(&p->b, i & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		mr[i] = reg(&p->b, 4096, ACCESS_ALL);
	}
	for (i = 0; i < N; i++) {
		for (j = 0; j < N; j++)
			EXPECT(mw[i]->rkey >> 8 != mr[j]->rkey >> 8, "%x",
			       mr[j]->rkey);
		EXPECT(mw[i]->rkey >> 8 != p->b.mr->rkey >> 8, "%d", i);
	}
	for (i = 0; i < N; i++)
		EXPECT(!ibv_dealloc_mw(mw[i]) && !ibv_dereg_mr(mr[i]), "%d", i);
}

static volatile bool stop;

struct flood {
	struct pair *p;
	uint64_t at;
	volatile uint32_t key;
	unsigned int good, bad;
};

/* Write through a window as fast as it goes, over every error. */
static void *flood(void *arg)
{
	struct flood *f = arg;
	struct post x;
	struct ibv_wc wc;

	while (!stop) {
		x = post_of(f->p, IBV_WR_RDMA_WRITE, 1, SIZE);
		x.raddr = f->at;
		x.rkey = f->key;
		if (post_raw(&f->p->a, &x) ||
		    !tl_poll_wait(f->p->a.scq, &wc, 5000))
			tl_die("no completion");
		if (wc.status == IBV_WC_SUCCESS) {
			f->good++;
			continue;
		}
		f->bad++;
		if (wc.status != IBV_WC_REM_ACCESS_ERR)
			tl_die("writer: %s", ibv_wc_status_str(wc.status));
		pair_again(f->p);
	}
	return NULL;
}

/* Windows and their regions come and go while peers write through them. */
static void case_churn(struct pair *p)
{
	struct ibv_mw *m1 = mw_new(&p->b, IBV_MW_TYPE_1), *m2;
	struct flood f = { .p = p, .at = (uintptr_t)base(p) };
	struct ibv_mr *mr;
	struct pair q;
	pthread_t t;
	int i;

	pair_init(&q);
	pair_make(&q);
	f.key = m1->rkey;
	stop = false;
	pthread_create(&t, NULL, flood, &f);
	for (i = 0; i < 150; i++) {
		mr = reg(&p->b, BUF_SIZE, ACCESS_ALL | IBV_ACCESS_MW_BIND);
		bind_ok(&q.b, m1, mr, ibv_inc_rkey(m1->rkey), base(p), SIZE,
			MW_ALL);
		f.key = m1->rkey;
		m2 = mw_new(&p->b, IBV_MW_TYPE_2);
		bind_ok(&q.b, m2, mr, ibv_inc_rkey(m2->rkey), base(p), SIZE,
			MW_ALL);
		usleep(1000 + tl_rand() % 3000);
		EXPECT(ibv_dereg_mr(mr) == EBUSY, "dereg");
		if (i & 1) {
			bind_ok(&q.b, m1, mr, ibv_inc_rkey(m1->rkey), base(p),
				0, 0);
		} else {
			EXPECT(!ibv_dealloc_mw(m1), "dealloc");
			m1 = mw_new(&p->b, IBV_MW_TYPE_1);
		}
		EXPECT(!ibv_dealloc_mw(m2), "dealloc");
		EXPECT(!ibv_dereg_mr(mr), "dereg");
	}
	stop = true;
	pthread_join(t, NULL);
	printf("# %u writes, %u refused\n", f.good, f.bad);
	EXPECT(f.good && f.bad, "%u writes, %u refused", f.good, f.bad);
	pair_drop(&q);
	EXPECT(!ibv_dealloc_mw(m1), "dealloc");
}

static void run_cases(struct pair *p, struct ibv_mr *mr)
{
	if (case_begin("type 1: rights and bounds")) {
		case_use(p, mr, IBV_MW_TYPE_1);
		case_end();
	}
	if (case_begin("type 2: rights and bounds")) {
		case_use(p, mr, IBV_MW_TYPE_2);
		case_end();
	}
	if (case_begin("each right by itself")) {
		case_rights(p, mr);
		case_end();
	}
	if (case_begin("a window's key is no local key")) {
		case_not_local(p, mr);
		case_end();
	}
	if (case_begin("what may not be bound")) {
		case_bind_rules(p, mr);
		case_end();
	}
	if (case_begin("protection domains")) {
		case_domains(p, mr);
		case_end();
	}
	if (case_begin("zero-based")) {
		case_zero_based(p, mr);
		case_end();
	}
	if (case_begin("bind again, unbind")) {
		case_rebind(p, mr);
		case_end();
	}
	if (case_begin("invalidation, local and by the peer")) {
		case_invalidate(p, mr);
		case_end();
	}
	if (case_begin("another queue pair")) {
		case_other_qp(p, mr);
		case_end();
	}
}

int main(int argc, char **argv)
{
	struct ibv_mr *mr;
	struct pair p;

	pair_main(argc, argv, 120);
	pair_init(&p);
	pair_make(&p);
	mr = reg(&p.b, BUF_SIZE, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	run_cases(&p, mr);
	if (case_begin("keys of regions and windows differ")) {
		case_disjoint(&p);
		case_end();
	}
	if (case_begin("windows come and go under traffic")) {
		case_churn(&p);
		case_end();
	}
	if (case_begin("nothing is left")) {
		EXPECT(!ibv_dereg_mr(mr), "dereg");
		case_end();
	}
	pair_drop(&p);
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
