// SPDX-License-Identifier: GPL-2.0
/*
 * Provokes every completion status of RC and checks what both ends see: the
 * status, the order, the queue pair's state, the flush of both queues and the
 * time it took.
 *
 * One process, one thread, both ends. Each case makes its own connection.
 */
#include "pair.h"

#define MS 1000000ull

/* A request that must fail with @status and leave queue pair a in error. */
static void fails_with(struct pair *p, const struct post *x, int status)
{
	EXPECT(!post_raw(&p->a, x), "post_send");
	expect_wc(p->a.scq, x->id, status, 5000);
	expect_state(p->a.qp, IBV_QPS_ERR);
}

static void local_case(const char *name, int status,
		       void (*change)(struct pair *p, struct post *x))
{
	struct pair p;
	struct post x;

	if (!case_begin(name))
		return;
	pair_init(&p);
	pair_make(&p);
	x = post_of(&p, IBV_WR_RDMA_WRITE, 1, 100);
	change(&p, &x);
	fails_with(&p, &x, status);
	if (!dev_a.is_rxe)
		expect_no_wc(p.b.rcq, 20);
	pair_drop(&p);
	case_end();
}

static void bad_lkey(struct pair *p, struct post *x)
{
	(void)p;
	x->lkey ^= 0x5a;
}

static void no_such_lkey(struct pair *p, struct post *x)
{
	(void)p;
	x->lkey = 0xfffff000;
}

static void beyond_mr(struct pair *p, struct post *x)
{
	x->addr = (uintptr_t)p->a.buf + BUF_SIZE - 99;
}

static void before_mr(struct pair *p, struct post *x)
{
	x->addr = (uintptr_t)p->a.buf - 1;
}

static void local_wrap(struct pair *p, struct post *x)
{
	(void)p;
	x->addr = ~0ull - 50;
}

static void second_packet_beyond(struct pair *p, struct post *x)
{
	x->len = BUF_SIZE + 1;
	x->op = IBV_WR_SEND;
	/* nothing of it may reach the peer */
	EXPECT(!post_recv_simple(&p->b, 7, 60000), "post_recv");
}

static void read_into_readonly(void)
{
	struct ibv_mr *mr;
	struct pair p;
	struct post x;

	if (!case_begin("LOC_PROT_ERR: READ into memory without local write"))
		return;
	pair_init(&p);
	pair_make(&p);
	mr = ibv_reg_mr(dev_a.pd, p.a.buf, BUF_SIZE, 0);
	x = post_of(&p, IBV_WR_RDMA_READ, 1, 100);
	x.lkey = mr->lkey;
	fails_with(&p, &x, IBV_WC_LOC_PROT_ERR);
	ibv_dereg_mr(mr);
	pair_drop(&p);
	case_end();
}

static void foreign_pd(void)
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct pair p;
	struct post x;

	if (!case_begin("memory of another protection domain, both ends"))
		return;
	pair_init(&p);
	pair_make(&p);
	pd = ibv_alloc_pd(dev_a.ctx);
	mr = ibv_reg_mr(pd, p.a.buf, BUF_SIZE, ACCESS_ALL);
	x = post_of(&p, IBV_WR_RDMA_WRITE, 1, 100);
	x.lkey = mr->lkey;
	fails_with(&p, &x, IBV_WC_LOC_PROT_ERR);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	pair_drop(&p);

	pair_init(&p);
	pair_make(&p);
	pd = ibv_alloc_pd(dev_b.ctx);
	mr = ibv_reg_mr(pd, p.b.buf, BUF_SIZE, ACCESS_ALL);
	x = post_of(&p, IBV_WR_RDMA_WRITE, 1, 100);
	x.rkey = mr->rkey;
	fails_with(&p, &x, IBV_WC_REM_ACCESS_ERR);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	pair_drop(&p);
	case_end();
}

static void too_long(void)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1, .sg_list = sge, .num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;
	struct pair p;

	if (!case_begin("LOC_LEN_ERR: message longer than the device's limit"))
		return;
	pair_init(&p);
	pair_make(&p);
	sge[0] = (struct ibv_sge) { (uintptr_t)p.a.buf, 0x60000000,
		p.a.mr->lkey };
	sge[1] = sge[0];
	wr.wr.rdma.remote_addr = (uintptr_t)p.b.buf;
	wr.wr.rdma.rkey = p.b.mr->rkey;
	EXPECT(!ibv_post_send(p.a.qp, &wr, &bad), "post_send");
	EXPECT(tl_poll_wait(p.a.scq, &wc, 5000), "no completion");
	EXPECT(wc.status == IBV_WC_LOC_LEN_ERR ||
	       wc.status == IBV_WC_LOC_QP_OP_ERR ||
	       (dev_a.is_rxe && wc.status), "%s",
	       ibv_wc_status_str(wc.status));
	pair_drop(&p);
	case_end();
}

static void bad_opcode(void)
{
	static const int ops[] = { IBV_WR_TSO, IBV_WR_DRIVER1, 0x20, 77 };
	struct pair p;
	struct post x;
	size_t i;

	if (!case_begin("LOC_QP_OP_ERR: opcodes RC does not have"))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (rxe_lacks(&dev_a, "a check of the opcode"))
			break;
		pair_init(&p);
		pair_make(&p);
		x = post_of(&p, ops[i], 1, 10);
		fails_with(&p, &x, IBV_WC_LOC_QP_OP_ERR);
		pair_drop(&p);
	}
	case_end();
}

static void invalidate_user_mr(void)
{
	struct ibv_wc wc;
	struct pair p;
	struct post x;

	if (!case_begin("LOCAL_INV and SEND_INV of a user's MR"))
		return;
	pair_init(&p);
	pair_make(&p);
	x = post_of(&p, IBV_WR_LOCAL_INV, 1, 0);
	x.lkey = 0;
	x.rkey = p.a.mr->rkey;
	fails_with(&p, &x, IBV_WC_LOC_QP_OP_ERR);
	pair_drop(&p);

	pair_init(&p);
	pair_make(&p);
	EXPECT(!post_recv_simple(&p.b, 7, 100), "post_recv");
	x = post_of(&p, IBV_WR_SEND_WITH_INV, 1, 10);
	EXPECT(!post_raw(&p.a, &x), "post_send");
	/* the message may have been acknowledged before the key was tried */
	EXPECT(tl_poll_wait(p.a.scq, &wc, 5000), "no completion");
	EXPECT(wc.status == IBV_WC_SUCCESS ||
	       wc.status == IBV_WC_REM_ACCESS_ERR ||
	       wc.status == IBV_WC_REM_INV_REQ_ERR ||
	       wc.status == IBV_WC_REM_OP_ERR, "%s",
	       ibv_wc_status_str(wc.status));
	EXPECT(tl_poll_wait(p.b.rcq, &wc, 5000) && wc.status, "receive: %s",
	       ibv_wc_status_str(wc.status));
	expect_state(p.b.qp, IBV_QPS_ERR);
	/* the region must still be there */
	EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_RESET), "modify");
	EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_RESET), "modify");
	pair_connect(&p);
	EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 2, 100), "post_send");
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, 3000);
	pair_drop(&p);
	case_end();
}

/* ---- errors the responder finds ---- */

static void misaligned(struct pair *p, struct post *x)
{
	x->raddr = (uintptr_t)p->b.buf + 4;
}

static void remote_case(const char *name, int status, int mr_access,
			enum ibv_wr_opcode op,
			void (*change)(struct pair *p, struct post *x))
{
	struct pair p;
	struct post x;
	struct ibv_mr *mr;
	int rc;

	if (!case_begin(name))
		return;
	pair_init(&p);
	pair_make(&p);
	mr = ibv_reg_mr(dev_b.pd, p.b.buf, BUF_SIZE, mr_access);
	if (!mr)
		tl_die("reg_mr");
	memset(p.b.buf, 0x11, BUF_SIZE);
	memset(p.a.buf, 0x22, BUF_SIZE);
	EXPECT(!post_recv_simple(&p.b, 7, 100), "post_recv");
	x = post_of(&p, op, 1, op == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		    op == IBV_WR_ATOMIC_CMP_AND_SWP ? 8 : 100);
	x.rkey = mr->rkey;
	if (change)
		change(&p, &x);
	rc = post_raw(&p.a, &x);
	if (rc && change == misaligned) {
		/* this provider looks itself */
		ibv_dereg_mr(mr);
		pair_drop(&p);
		case_end();
		return;
	}
	EXPECT(!rc, "post_send");
	expect_wc(p.a.scq, 1, status, 5000);
	expect_state(p.a.qp, IBV_QPS_ERR);
	EXPECT(p.b.buf[0] == 0x11 && p.b.buf[BUF_SIZE - 1] == 0x11,
	       "the target was written");
	if (op == IBV_WR_RDMA_READ)
		EXPECT(p.a.buf[0] == 0x22, "data was read");
	if (status == IBV_WC_REM_ACCESS_ERR)
		expect_event(&dev_b, IBV_EVENT_QP_ACCESS_ERR);
	else if (!rxe_lacks(&dev_b, "QP_REQ_ERR"))
		expect_event(&dev_b, IBV_EVENT_QP_REQ_ERR);
	expect_state(p.b.qp, IBV_QPS_ERR);
	expect_wc(p.b.rcq, 7, IBV_WC_WR_FLUSH_ERR, 3000);
	ibv_dereg_mr(mr);
	pair_drop(&p);
	case_end();
}

static void bad_rkey(struct pair *p, struct post *x)
{
	(void)p;
	x->rkey ^= 1;
}

static void no_such_rkey(struct pair *p, struct post *x)
{
	(void)p;
	x->rkey = 0xffffff01;
}

static void beyond_target(struct pair *p, struct post *x)
{
	x->raddr = (uintptr_t)p->b.buf + BUF_SIZE - x->len + 1;
}

static void long_beyond_target(struct pair *p, struct post *x)
{
	x->len = 60000;
	x->raddr = (uintptr_t)p->b.buf + BUF_SIZE - x->len + 1;
}

static void before_target(struct pair *p, struct post *x)
{
	x->raddr = (uintptr_t)p->b.buf - 1;
}

static void atomic_beyond(struct pair *p, struct post *x)
{
	x->raddr = (uintptr_t)p->b.buf + BUF_SIZE;
}

static void remote_wrap(struct pair *p, struct post *x)
{
	(void)p;
	x->raddr = ~0ull - 20;
}

static void remote_wrap_all(struct pair *p, struct post *x)
{
	(void)p;
	x->raddr = 0ull - x->len;
}

static void remote_cases(void)
{
	static const int rw = ACCESS_ALL;
	static const int lw = IBV_ACCESS_LOCAL_WRITE;
	static const struct {
		const char *name;
		int status, access;
		enum ibv_wr_opcode op;
		void (*change)(struct pair *p, struct post *x);
	} t[] = {
#define ACC IBV_WC_REM_ACCESS_ERR
		{ "REM_ACCESS_ERR: WRITE, wrong key part", ACC, rw,
		  IBV_WR_RDMA_WRITE, bad_rkey },
		{ "REM_ACCESS_ERR: WRITE, no such key", ACC, rw,
		  IBV_WR_RDMA_WRITE, no_such_rkey },
		{ "REM_ACCESS_ERR: READ, wrong key part", ACC, rw,
		  IBV_WR_RDMA_READ, bad_rkey },
		{ "REM_ACCESS_ERR: atomic, wrong key part", ACC, rw,
		  IBV_WR_ATOMIC_FETCH_AND_ADD, bad_rkey },
		{ "REM_ACCESS_ERR: WRITE one byte beyond", ACC, rw,
		  IBV_WR_RDMA_WRITE, beyond_target },
		{ "REM_ACCESS_ERR: long WRITE one byte beyond", ACC, rw,
		  IBV_WR_RDMA_WRITE, long_beyond_target },
		{ "REM_ACCESS_ERR: READ one byte beyond", ACC, rw,
		  IBV_WR_RDMA_READ, beyond_target },
		{ "REM_ACCESS_ERR: WRITE one byte before", ACC, rw,
		  IBV_WR_RDMA_WRITE, before_target },
		{ "REM_ACCESS_ERR: READ one byte before", ACC, rw,
		  IBV_WR_RDMA_READ, before_target },
		{ "REM_ACCESS_ERR: atomic beyond", ACC, rw,
		  IBV_WR_ATOMIC_CMP_AND_SWP, atomic_beyond },
		{ "REM_ACCESS_ERR: WRITE over the end of addresses", ACC, rw,
		  IBV_WR_RDMA_WRITE, remote_wrap },
		{ "REM_ACCESS_ERR: READ over the end of addresses", ACC, rw,
		  IBV_WR_RDMA_READ, remote_wrap },
		{ "REM_ACCESS_ERR: WRITE to the end of addresses", ACC, rw,
		  IBV_WR_RDMA_WRITE, remote_wrap_all },
		{ "REM_ACCESS_ERR: WRITE to read-only memory", ACC,
		  lw | IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE, NULL },
		{ "REM_ACCESS_ERR: READ of write-only memory", ACC,
		  lw | IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ, NULL },
		{ "REM_ACCESS_ERR: atomic on memory without the right", ACC,
		  lw | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		  IBV_WR_ATOMIC_FETCH_AND_ADD, NULL },
		{ "REM_INV_REQ_ERR: misaligned fetch and add",
		  IBV_WC_REM_INV_REQ_ERR, rw, IBV_WR_ATOMIC_FETCH_AND_ADD,
		  misaligned },
		{ "REM_INV_REQ_ERR: misaligned compare and swap",
		  IBV_WC_REM_INV_REQ_ERR, rw, IBV_WR_ATOMIC_CMP_AND_SWP,
		  misaligned },
#undef ACC
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		remote_case(t[i].name, t[i].status, t[i].access, t[i].op,
			    t[i].change);
}

static void qp_access_case(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct pair p;
	struct post x;
	size_t i;

	if (!case_begin("REM_INV_REQ_ERR: what the queue pair does not allow"))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		pair_init(&p);
		p.cb.access = IBV_ACCESS_LOCAL_WRITE;
		pair_make(&p);
		x = post_of(&p, ops[i], 1, 8);
		fails_with(&p, &x, IBV_WC_REM_INV_REQ_ERR);
		pair_drop(&p);
	}
	case_end();
}

static void no_responder_resources(void)
{
	struct pair p;
	struct post x;

	if (!case_begin("REM_INV_REQ_ERR: READ with max_dest_rd_atomic 0"))
		return;
	pair_init(&p);
	p.cb.dest_rd_atomic = 0;
	if (rxe_lacks(&dev_b, "a limit of outstanding READs")) {
		case_end();
		return;
	}
	pair_make(&p);
	x = post_of(&p, IBV_WR_RDMA_READ, 1, 100);
	fails_with(&p, &x, IBV_WC_REM_INV_REQ_ERR);
	pair_drop(&p);
	case_end();
}

static void recv_too_short(void)
{
	static const uint32_t lens[] = { 101, 1500, 5000 };
	struct pair p;
	struct post x;
	size_t i;

	if (!case_begin("LOC_LEN_ERR and REM_INV_REQ_ERR: receive too short"))
		return;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		pair_init(&p);
		pair_make(&p);
		memset(p.b.buf, 0x33, BUF_SIZE);
		EXPECT(!post_recv_simple(&p.b, 7, lens[i] - 1), "post_recv");
		EXPECT(!post_recv_simple(&p.b, 8, 100), "post_recv");
		x = post_of(&p, IBV_WR_SEND, 1, lens[i]);
		fails_with(&p, &x, IBV_WC_REM_INV_REQ_ERR);
		expect_wc(p.b.rcq, 7, IBV_WC_LOC_LEN_ERR, 3000);
		expect_wc(p.b.rcq, 8, IBV_WC_WR_FLUSH_ERR, 3000);
		EXPECT(p.b.buf[4096 + lens[i] - 1] == 0x33,
		       "written behind the buffer");
		pair_drop(&p);
	}
	case_end();
}

static void recv_bad_memory(void)
{
	struct ibv_mr *mr;
	struct pair p;
	struct post x;
	int i;

	if (!case_begin("LOC_PROT_ERR and REM_OP_ERR: receive's memory"))
		return;
	for (i = 0; i < 3; i++) {
		pair_init(&p);
		pair_make(&p);
		mr = ibv_reg_mr(dev_b.pd, p.b.buf, BUF_SIZE, 0);
		if (i == 0)
			post_recv_at(&p.b, 7, (uintptr_t)p.b.buf, 200,
				     p.b.mr->lkey ^ 3);
		else if (i == 1)
			post_recv_at(&p.b, 7, (uintptr_t)p.b.buf + BUF_SIZE - 50,
				     200, p.b.mr->lkey);
		else
			post_recv_at(&p.b, 7, (uintptr_t)p.b.buf, 200,
				     mr->lkey);
		x = post_of(&p, IBV_WR_SEND, 1, 100);
		fails_with(&p, &x, IBV_WC_REM_OP_ERR);
		expect_wc(p.b.rcq, 7, IBV_WC_LOC_PROT_ERR, 3000);
		ibv_dereg_mr(mr);
		pair_drop(&p);
	}
	case_end();
}

static void write_imm_bad_rkey(void)
{
	struct ibv_wc wc;
	struct pair p;
	struct post x;

	if (!case_begin("REM_ACCESS_ERR: WRITE_IMM, wrong key"))
		return;
	pair_init(&p);
	pair_make(&p);
	EXPECT(!post_recv_simple(&p.b, 7, 100), "post_recv");
	x = post_of(&p, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 100);
	x.rkey ^= 2;
	fails_with(&p, &x, IBV_WC_REM_ACCESS_ERR);
	EXPECT(tl_poll_wait(p.b.rcq, &wc, 3000), "receive not completed");
	EXPECT((dev_b.is_rxe && wc.status) ||
	       wc.status == IBV_WC_LOC_ACCESS_ERR ||
	       wc.status == IBV_WC_WR_FLUSH_ERR, "%s",
	       ibv_wc_status_str(wc.status));
	pair_drop(&p);
	case_end();
}

static void zero_length_any_key(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	struct pair p;
	struct post x;
	size_t i;

	if (!case_begin("zero length WRITE and READ need no key"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		x = post_of(&p, ops[i], i, 0);
		x.lkey = 0;
		x.rkey = 0x77777777;
		x.raddr = 12345;
		EXPECT(!post_raw(&p.a, &x), "post_send");
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, 3000);
	}
	pair_drop(&p);
	case_end();
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

static void retry_exceeded(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint64_t start, took;
	struct pair p;
	size_t i;

	if (!case_begin("RETRY_EXC_ERR: the peer does not answer, in time"))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		pair_init(&p);
		p.ca.timeout = 14;	/* 67 ms */
		p.ca.retry = 2;
		pair_make(&p);
		EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_RESET), "modify");
		start = tl_now_ns();
		EXPECT(!post_simple(&p, ops[i], 1, 8), "post_send");
		EXPECT(!post_simple(&p, ops[i], 2, 8), "post_send");
		expect_wc(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR, 5000);
		took = (tl_now_ns() - start) / MS;
		expect_wc(p.a.scq, 2, IBV_WC_WR_FLUSH_ERR, 1000);
		/* three times 67 ms, each up to four times as long */
		EXPECT(took >= 150 && took < 1500, "took %d ms", (int)took);
		pair_drop(&p);
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

static void rnr_exceeded(void)
{
	uint64_t start, took;
	struct pair p;
	int n;

	if (!case_begin("RNR_RETRY_EXC_ERR: rnr_retry 0, 1, 3, in time"))
		return;
	for (n = 0; n <= 3; n = n * 2 + 1) {
		pair_init(&p);
		p.ca.rnr_retry = n;
		p.cb.rnr_timer = 22;	/* 20.48 ms */
		pair_make(&p);
		start = tl_now_ns();
		EXPECT(!post_simple(&p, n == 1 ? IBV_WR_RDMA_WRITE_WITH_IMM :
				    IBV_WR_SEND, 1, 3000), "post_send");
		expect_wc(p.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR, 5000);
		took = (tl_now_ns() - start) / MS;
		EXPECT(took + 1 >= 20ull * n && took < 500 + 20ull * n,
		       "rnr_retry %d took %d ms", n, (int)took);
		pair_drop(&p);
	}
	case_end();
}

static void rnr_recovers(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	uint64_t start, took;
	struct pair p;
	size_t i;

	if (!case_begin("RNR: a receive posted later, rnr_retry 7"))
		return;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		pair_init(&p);
		p.cb.rnr_timer = 1;	/* 10 us */
		pair_make(&p);
		memset(p.a.buf, 0x41 + i, 3000);
		EXPECT(!post_simple(&p, ops[i], 1, 3000), "post_send");
		EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 2, 100), "post");
		expect_no_wc(p.a.scq, 60);
		start = tl_now_ns();
		EXPECT(!post_recv_simple(&p.b, 7, 3000), "post_recv");
		expect_wc(p.b.rcq, 7, IBV_WC_SUCCESS, 3000);
		expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, 3000);
		expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, 3000);
		took = (tl_now_ns() - start) / MS;
		EXPECT(took < 300, "recovery took %d ms", (int)took);
		EXPECT(!memcmp(p.b.buf + (ops[i] == IBV_WR_RDMA_WRITE_WITH_IMM ?
					  0 : 4096), p.a.buf, 3000), "data");
		pair_drop(&p);
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
	p.cb.rnr_timer = 20;	/* 10.24 ms */
	pair_make(&p);
	for (i = 0; i < 5; i++)
		EXPECT(!post_simple(&p, IBV_WR_SEND, i, 10), "post_send");
	for (i = 0; i < 5; i++) {
		tl_sleep_ms(12);
		EXPECT(!post_recv_simple(&p.b, 100 + i, 100), "post_recv");
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, 3000);
	}
	pair_drop(&p);
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 240);
	local_case("LOC_PROT_ERR: wrong key part", IBV_WC_LOC_PROT_ERR,
		   bad_lkey);
	local_case("LOC_PROT_ERR: no such key", IBV_WC_LOC_PROT_ERR,
		   no_such_lkey);
	local_case("LOC_PROT_ERR: one byte beyond", IBV_WC_LOC_PROT_ERR,
		   beyond_mr);
	local_case("LOC_PROT_ERR: one byte before", IBV_WC_LOC_PROT_ERR,
		   before_mr);
	local_case("LOC_PROT_ERR: over the end of addresses",
		   IBV_WC_LOC_PROT_ERR, local_wrap);
	local_case("LOC_PROT_ERR: a long message's last byte",
		   IBV_WC_LOC_PROT_ERR, second_packet_beyond);
	read_into_readonly();
	foreign_pd();
	too_long();
	bad_opcode();
	invalidate_user_mr();
	remote_cases();
	qp_access_case();
	no_responder_resources();
	recv_too_short();
	recv_bad_memory();
	write_imm_bad_rkey();
	zero_length_any_key();
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
