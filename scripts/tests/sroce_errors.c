// SPDX-License-Identifier: GPL-2.0
/*
 * Provokes every completion status of RC that a fault in a request or in the
 * memory gives, and checks what both ends see. Retries and flush have their
 * own program.
 *
 * One process, one thread, both ends. Each case makes its own connection.
 */
#include "pair.h"

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
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
