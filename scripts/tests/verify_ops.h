/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations of the data-checking program: both ends with their queue
 * pairs, what each kind of operation takes from the memory model, and the
 * requests it posts.
 *
 * Used only by sroce_verify.c, in one thread. It never polls and never judges:
 * that is the main file's part.
 */
#ifndef SROCE_VERIFY_OPS_H
#define SROCE_VERIFY_OPS_H

#include "verify_mem.h"

enum op_kind {
	OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_CAS, OP_FADD,
	OP_COUNTER,	/* fetch and add on one word all queue pairs share */
	OP_WRITE_READ,	/* a READ sees the WRITE posted before it */
	OP_READ_WRITE,	/* a fenced WRITE sends what the READ brought */
	OP_WRITE_SEND,	/* the SEND's receive tells that the WRITE is there */
	OP_OVERWRITE,	/* of two WRITEs to one place the second stays */
	OP_KINDS,
	OP_BARRIER = OP_KINDS	/* an empty signaled WRITE */
};

static const struct {
	const char *name;
	int weight;
	bool recv;
} kinds[OP_KINDS + 1] = {
	[OP_SEND] = { "send", 12, true },
	[OP_SEND_IMM] = { "send_imm", 6, true },
	[OP_WRITE] = { "write", 12, false },
	[OP_WRITE_IMM] = { "write_imm", 6, true },
	[OP_READ] = { "read", 12, false },
	[OP_CAS] = { "cas", 4, false },
	[OP_FADD] = { "fadd", 4, false },
	[OP_COUNTER] = { "counter", 4, false },
	[OP_WRITE_READ] = { "write_read", 4, false },
	[OP_READ_WRITE] = { "read_write", 4, false },
	[OP_WRITE_SEND] = { "write_send", 4, true },
	[OP_OVERWRITE] = { "overwrite", 3, false },
	[OP_BARRIER] = { "barrier", 0, false },
};

#define MAX_WRS 3

struct op {
	enum op_kind kind;
	size_t len;
	uint64_t seed;
	struct chunk src;	/* in the initiator's memory */
	struct chunk dst;	/* in the peer's */
	bool has_src, has_dst;
	bool inlined, signaled;
	int last_opcode;	/* IBV_WC_* of the last request */
	uint64_t old, add, swap;
	uint64_t recv_seq;	/* one more than the receive it consumes, or 0 */
};

/* A receive, filled in when the message it will take is known. */
struct rop {
	struct chunk c;
	size_t len;
	uint64_t seed;
	uint32_t imm;
	bool has_imm, is_write;
	uint64_t post_at;	/* loop count before which it stays unposted */
};

struct end {
	struct tl_dev *d;
	struct side *side;
	struct end *peer;
	struct ibv_qp *qp;
	struct area src, dst, rcv;
	uint8_t *base;
	size_t bytes;
	struct ibv_mr *mr[2];
	struct op *ops;
	uint64_t op_head, op_tail;	/* counts; slot is modulo depth */
	struct rop *rops;
	uint64_t r_head, r_posted, r_tail;
	unsigned int unsignaled;
	uint64_t made;
	int pmtu;
	uint32_t max_inline;
	int max_sge, max_rsge;
};

struct side {
	struct tl_dev dev;
	struct ibv_comp_channel *ch;
	struct ibv_cq *scq, *rcq;
	struct end *ends;
	uint64_t *counter;		/* the shared word, in its own page */
	struct ibv_mr *counter_mr;
	uint64_t counter_adds;
	uint64_t counter_last;
};

static struct {
	const char *dev[2];
	int gid[2];
	int family;
	int pmtu;		/* 0: any */
	int qps;
	uint64_t count;		/* operations of each end */
	int seconds;
	uint64_t seed;
	bool events;
	unsigned int ops;
	size_t max;
	int min;		/* above 0 also means that all is signaled */
	int changes;
	int watchdog;
	int max_sge;
	int depth;
	int late;		/* percent of receives posted late */
	int timeout;
	int rnr_timer;
	int tclass;
	bool one_way;
	int limit;
	uint64_t spoil;		/* round after which a byte is broken */
} opt = {
	.family = 4, .qps = 1, .count = 200, .seconds = 60, .seed = 1,
	.ops = (1u << OP_KINDS) - 1, .max = 65536, .watchdog = 20,
	.max_sge = 32, .depth = 16, .timeout = 14, .rnr_timer = 12,
	.limit = 600,
	.gid = { -1, -1 },
};

static struct side sides[2];
static uint64_t loops, progress, op_count, byte_count, per_kind[OP_KINDS + 1];
static uint8_t *payload, *payload2;
static volatile bool stopping;

static void print_end(struct end *e, int i)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct op *op;

	if (ibv_query_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			 IBV_QP_RQ_PSN, &init))
		return;
	printf("# %s qp[%d] %#x state %d sq_psn %#x rq_psn %#x pmtu %d\n",
	       e->d->name, i, e->qp->qp_num, a.qp_state, a.sq_psn, a.rq_psn,
	       e->pmtu);
	printf("#   ops %d of %d done, receives %d taken, %d posted, %d due\n",
	       (int)e->op_tail, (int)e->op_head, (int)e->r_tail,
	       (int)e->r_posted, (int)e->r_head);
	if (e->op_tail == e->op_head)
		return;
	op = &e->ops[e->op_tail % opt.depth];
	printf("#   oldest: %s len %zu %s\n", kinds[op->kind].name, op->len,
	       op->signaled ? "signaled" : "unsignaled");
}

__attribute__((noreturn, format(printf, 2, 3)))
static void fail(struct end *e, const char *fmt, ...)
{
	va_list ap;
	int i, s;

	printf("# FAILED%s%s: ", e ? " at " : "", e ? e->d->name : "");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" (seed %" PRIu64 ", %" PRIu64 " operations done)\n", opt.seed,
	       op_count);
	for (s = 0; s < 2; s++) {
		for (i = 0; i < opt.qps && i < 8; i++)
			print_end(&sides[s].ends[i], i);
		tl_print_counters(sides[s].dev.name);
	}
	fflush(stdout);
	_exit(1);
}

static void setup_end(struct end *e, struct side *s, int i)
{
	size_t area = 4 * opt.max + 8192;
	struct ibv_qp_init_attr init = {
		.send_cq = s->scq, .recv_cq = s->rcq, .qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = opt.depth * MAX_WRS,
			.max_recv_wr = opt.depth * 2,
			.max_send_sge = opt.max_sge,
			.max_recv_sge = opt.max_sge,
			.max_inline_data = 220,
		},
	};

	e->d = &s->dev;
	e->side = s;
	e->bytes = 3 * area;
	e->base = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->base == MAP_FAILED)
		tl_die("memory");
	area_init(&e->src, "source area", e->base, area);
	area_init(&e->dst, "target area", e->base + area, area);
	area_init(&e->rcv, "receive area", e->base + 2 * area, area);
	for (i = 0; i < 2; i++) {
		e->mr[i] = ibv_reg_mr(s->dev.pd, e->base, e->bytes, ACCESS_ALL);
		if (!e->mr[i])
			tl_die("reg_mr");
	}
	e->qp = ibv_create_qp(s->dev.pd, &init);
	if (!e->qp)
		tl_die("create_qp");
	e->max_inline = init.cap.max_inline_data < 1024 ?
			init.cap.max_inline_data : 1024;
	e->max_sge = opt.max_sge;
	e->max_rsge = opt.max_sge;
	e->ops = calloc(opt.depth, sizeof(*e->ops));
	e->rops = calloc(opt.depth, sizeof(*e->rops));
}

static void setup_side(struct side *s, int i)
{
	int family = opt.gid[i] >= 0 ? -opt.gid[i] - 1 : opt.family;
	int cqe = opt.qps * opt.depth * MAX_WRS + 1;
	int q;

	tl_open(&s->dev, opt.dev[i], family);
	if (opt.max_sge > s->dev.attr.max_sge)
		opt.max_sge = s->dev.attr.max_sge;
	s->ch = opt.events ? ibv_create_comp_channel(s->dev.ctx) : NULL;
	s->scq = ibv_create_cq(s->dev.ctx, cqe, NULL, s->ch, 0);
	s->rcq = ibv_create_cq(s->dev.ctx, cqe, NULL, s->ch, 0);
	if (!s->scq || !s->rcq)
		tl_die("create_cq of %d", cqe);
	if (s->ch)
		fcntl(s->ch->fd, F_SETFL, O_NONBLOCK);
	s->counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->counter_mr = ibv_reg_mr(s->dev.pd, s->counter, 4096, ACCESS_ALL);
	if (!s->counter_mr)
		tl_die("reg_mr");
	s->ends = calloc(opt.qps, sizeof(*s->ends));
	for (q = 0; q < opt.qps; q++)
		setup_end(&s->ends[q], s, q);
}

static uint32_t random_psn(void)
{
	return tl_chance(50) ? 0xfffff0 + tl_rand_in(0, 15) :
	       tl_rand() & 0xffffff;
}

static void connect_pair(struct end *a, struct end *b)
{
	static const uint8_t depths[] = { 1, 2, 4, 16 };
	struct tl_conn ca = tl_conn_default(), cb;
	uint32_t psn_a = random_psn(), psn_b = random_psn();
	int max_a = tl_mtu_bytes(a->d->port.active_mtu);
	int max_b = tl_mtu_bytes(b->d->port.active_mtu);
	int max = max_a < max_b ? max_a : max_b;
	int rc;

	a->peer = b;
	b->peer = a;
	ca.pmtu = opt.pmtu;
	while (!ca.pmtu) {
		ca.pmtu = 256 << tl_rand_in(0, 4);
		if (ca.pmtu > max)
			ca.pmtu = 0;
	}
	ca.timeout = opt.timeout;
	ca.tclass = opt.tclass;
	ca.rnr_timer = opt.rnr_timer;
	cb = ca;
	ca.rd_atomic = depths[tl_rand_in(0, 3)];
	cb.dest_rd_atomic = ca.rd_atomic;
	cb.rd_atomic = depths[tl_rand_in(0, 3)];
	ca.dest_rd_atomic = cb.rd_atomic;
	a->pmtu = ca.pmtu;
	b->pmtu = ca.pmtu;
	rc = tl_qp_connect(a->qp, &ca, a->d, b->d, b->qp->qp_num, psn_a, psn_b);
	if (rc)
		tl_die("%s: connect: %d", a->d->name, rc);
	rc = tl_qp_connect(b->qp, &cb, b->d, a->d, a->qp->qp_num, psn_b, psn_a);
	if (rc)
		tl_die("%s: connect: %d", b->d->name, rc);
}

static size_t random_len(struct end *e)
{
	size_t m = e->pmtu, len;

	switch (tl_rand_in(0, 9)) {
	case 0:
		len = tl_rand_in(0, 3);
		break;
	case 1:
		len = m - 1 + tl_rand_in(0, 2);
		break;
	case 2:
		len = 2 * m - 1 + tl_rand_in(0, 2);
		break;
	case 3:
		len = m * tl_rand_in(1, 9) + tl_rand_in(0, 1);
		break;
	case 4:
	case 5:
		len = tl_rand_in(0, 300);
		break;
	case 6:
	case 7:
		len = tl_rand_in(0, 4 * m);
		break;
	case 8:
		len = tl_rand_in(0, opt.max / 8);
		break;
	default:
		len = tl_chance(20) ? opt.max : tl_rand_in(0, opt.max);
	}
	if (len < (size_t)opt.min)
		len = opt.min;
	return len > opt.max ? opt.max : len;
}

static int chunk_sges(struct end *e, struct chunk *c, struct ibv_sge *sge)
{
	int i;

	for (i = 0; i < c->pieces; i++) {
		sge[i].addr = (uintptr_t)chunk_addr(c) + c->piece[i].off;
		sge[i].length = c->piece[i].len;
		sge[i].lkey = e->mr[tl_rand() & 1]->lkey;
	}
	return i;
}

/* Reserves the receive of a message the peer is about to send to @e. */
static bool reserve_recv(struct end *e, struct op *op)
{
	struct rop *r = &e->rops[e->r_head % opt.depth];
	size_t room = op->len;

	if (e->r_head - e->r_tail >= (uint64_t)opt.depth)
		return false;
	if (op->kind == OP_WRITE_IMM)
		room = 0;
	else if (tl_chance(30))
		room += tl_rand_in(0, 200);
	if (!chunk_take(&e->rcv, room, e->max_rsge, &r->c))
		return false;
	r->len = op->len;
	r->seed = op->seed;
	r->is_write = op->kind == OP_WRITE_IMM;
	r->has_imm = op->kind == OP_SEND_IMM || r->is_write;
	r->imm = tl_rand();
	r->post_at = tl_chance(opt.late) ? loops + tl_rand_in(1, 50) : 0;
	op->recv_seq = ++e->r_head;
	return true;
}

/* Posts the receives whose time has come, in order. */
static void post_recvs(struct end *e)
{
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_sge sge[MAX_PIECES];
	struct rop *r;
	int rc;

	while (e->r_posted < e->r_head) {
		r = &e->rops[e->r_posted % opt.depth];
		if (r->post_at > loops)
			return;
		wr.wr_id = ++e->r_posted;
		wr.num_sge = chunk_sges(e, &r->c, sge);
		if (r->is_write && tl_chance(50))
			wr.num_sge = 0;
		wr.sg_list = sge;
		rc = ibv_post_recv(e->qp, &wr, &bad);
		if (rc)
			fail(e, "post_recv: %d", rc);
	}
}

struct request {
	struct ibv_send_wr wr[MAX_WRS];
	struct ibv_sge sge[MAX_WRS][MAX_PIECES];
	int n;
	uint8_t inline_copy[1024];
};

static struct ibv_send_wr *add_wr(struct request *q, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr *wr = &q->wr[q->n];

	memset(wr, 0, sizeof(*wr));
	wr->opcode = opcode;
	wr->sg_list = q->sge[q->n];
	if (q->n)
		q->wr[q->n - 1].next = wr;
	q->n++;
	return wr;
}

static void set_remote(struct end *e, struct ibv_send_wr *wr, struct op *op)
{
	wr->wr.rdma.remote_addr = (uintptr_t)chunk_addr(&op->dst);
	wr->wr.rdma.rkey = e->peer->mr[tl_rand() & 1]->rkey;
}

/* The data of @wr: the operation's source chunk, or a copy of it inline. */
static void set_data(struct end *e, struct request *q, struct ibv_send_wr *wr,
		     struct op *op)
{
	uint8_t *copy = q->inline_copy;

	if (!op->inlined) {
		wr->num_sge = chunk_sges(e, &op->src, wr->sg_list);
		return;
	}
	memcpy(copy, payload, op->len);
	wr->send_flags |= IBV_SEND_INLINE;
	wr->num_sge = 1;
	wr->sg_list[0] = (struct ibv_sge) { (uintptr_t)copy, op->len, 0xbad };
	if (op->len > 3 && e->max_sge > 1) {
		wr->num_sge = 2;
		wr->sg_list[0].length = 3;
		wr->sg_list[1] = (struct ibv_sge) { (uintptr_t)copy + 3,
			op->len - 3, 0xbad };
	}
}

static void build_atomic(struct end *e, struct request *q, struct op *op)
{
	struct ibv_send_wr *wr;

	wr = add_wr(q, op->kind == OP_CAS ? IBV_WR_ATOMIC_CMP_AND_SWP :
		    IBV_WR_ATOMIC_FETCH_AND_ADD);
	wr->num_sge = chunk_sges(e, &op->src, wr->sg_list);
	op->add = tl_rand();
	op->swap = tl_rand();
	op->old = tl_rand();
	if (op->kind == OP_COUNTER) {
		op->add = 1;
		wr->wr.atomic.remote_addr = (uintptr_t)e->peer->side->counter;
		wr->wr.atomic.rkey = e->peer->side->counter_mr->rkey;
	} else {
		memcpy(chunk_addr(&op->dst), &op->old, 8);
		wr->wr.atomic.remote_addr = (uintptr_t)chunk_addr(&op->dst);
		wr->wr.atomic.rkey = e->peer->mr[0]->rkey;
	}
	if (op->kind == OP_CAS) {
		/* half of the comparisons fail */
		op->add = op->old ^ (tl_rand() & 1);
		wr->wr.atomic.swap = op->swap;
	}
	wr->wr.atomic.compare_add = op->add;
}

static struct ibv_send_wr *build_read(struct end *e, struct request *q,
				      struct op *op)
{
	struct ibv_send_wr *wr = add_wr(q, IBV_WR_RDMA_READ);

	wr->num_sge = chunk_sges(e, &op->src, wr->sg_list);
	set_remote(e, wr, op);
	return wr;
}

static struct ibv_send_wr *build_write(struct end *e, struct request *q,
				       struct op *op, bool inlined)
{
	struct ibv_send_wr *wr = add_wr(q, IBV_WR_RDMA_WRITE);
	bool was = op->inlined;

	op->inlined = inlined;
	set_data(e, q, wr, op);
	op->inlined = was;
	set_remote(e, wr, op);
	return wr;
}

static void build_send(struct end *e, struct request *q, struct op *op)
{
	struct rop *r = &e->peer->rops[(op->recv_seq - 1) % opt.depth];
	struct ibv_send_wr *wr;

	wr = add_wr(q, r->is_write ? IBV_WR_RDMA_WRITE_WITH_IMM :
		    r->has_imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND);
	wr->imm_data = r->imm;
	if (r->is_write)
		set_remote(e, wr, op);
	set_data(e, q, wr, op);
	if (tl_chance(30))
		wr->send_flags |= IBV_SEND_SOLICITED;
}

/* The requests of @op and the bytes they start from. */
static void build(struct end *e, struct request *q, struct op *op)
{
	struct ibv_send_wr *wr;

	payload_make(payload, op->len, op->seed);
	payload_make(payload2, op->len, ~op->seed);
	switch (op->kind) {
	case OP_CAS:
	case OP_FADD:
	case OP_COUNTER:
		build_atomic(e, q, op);
		break;
	case OP_READ:
		chunk_fill(&op->dst, payload);
		build_read(e, q, op);
		break;
	case OP_WRITE_READ:
		/* the WRITE goes inline so that the READ's place is free */
		build_write(e, q, op, true);
		build_read(e, q, op);
		break;
	case OP_READ_WRITE:
		chunk_fill(&op->dst, payload);
		build_read(e, q, op);
		wr = build_write(e, q, op, false);
		wr->send_flags |= IBV_SEND_FENCE;
		/* to behind the first place, see take_memory() */
		wr->wr.rdma.remote_addr += op->len;
		break;
	case OP_OVERWRITE:
		chunk_fill(&op->src, payload);
		memcpy(q->inline_copy, payload2, op->len);
		wr = add_wr(q, IBV_WR_RDMA_WRITE);
		wr->send_flags |= IBV_SEND_INLINE;
		wr->num_sge = 1;
		wr->sg_list[0] = (struct ibv_sge) {
			(uintptr_t)q->inline_copy, op->len, 0 };
		set_remote(e, wr, op);
		build_write(e, q, op, false);
		break;
	case OP_WRITE_SEND:
		chunk_fill(&op->src, payload);
		build_write(e, q, op, false);
		build_send(e, q, op);
		break;
	case OP_BARRIER:
	case OP_WRITE:
		if (!op->inlined)
			chunk_fill(&op->src, payload);
		build_write(e, q, op, op->inlined);
		break;
	default:
		if (!op->inlined)
			chunk_fill(&op->src, payload);
		build_send(e, q, op);
	}
}

/* Chunks and receive of @op; on failure the counters are as before. */
static bool take_memory(struct end *e, struct op *op)
{
	struct area src = e->src, dst = e->peer->dst;
	bool atomic = op->kind == OP_CAS || op->kind == OP_FADD ||
		      op->kind == OP_COUNTER;
	size_t dlen = op->kind == OP_READ_WRITE ? 2 * op->len : op->len;

	op->recv_seq = 0;
	op->has_src = false;
	op->has_dst = false;
	if (op->kind == OP_BARRIER) {
		op->src = (struct chunk) { .area = &e->src };
		op->dst = (struct chunk) { .area = &e->peer->dst };
		return true;
	}
	op->has_src = true;
	op->has_dst = op->kind != OP_SEND && op->kind != OP_SEND_IMM &&
		      op->kind != OP_COUNTER;
	if (!chunk_take(&e->src, op->len, atomic ? 1 : e->max_sge, &op->src))
		return false;
	if (op->has_dst) {
		op->dst.pieces = 1;
		op->dst.piece[0].off = 0;
		op->dst.piece[0].len = dlen;
		if (!area_take(&e->peer->dst, dlen, atomic ? 8 : 1, &op->dst)) {
			e->src = src;
			return false;
		}
	}
	if (kinds[op->kind].recv && !reserve_recv(e->peer, op)) {
		e->src = src;
		e->peer->dst = dst;
		return false;
	}
	return true;
}

static enum op_kind random_kind(void)
{
	int total = 0, at, k;

	for (k = 0; k < OP_KINDS; k++)
		if (opt.ops & (1u << k))
			total += kinds[k].weight;
	at = tl_rand_in(0, total - 1);
	for (k = 0; k < OP_KINDS; k++) {
		if (!(opt.ops & (1u << k)))
			continue;
		at -= kinds[k].weight;
		if (at < 0)
			break;
	}
	return k;
}

static void choose_shape(struct end *e, struct op *op)
{
	op->len = random_len(e);
	op->seed = tl_rand();
	op->inlined = false;
	switch (op->kind) {
	case OP_CAS:
	case OP_FADD:
	case OP_COUNTER:
		op->len = 8;
		break;
	case OP_WRITE_READ:
	case OP_OVERWRITE:
		if (op->len > e->max_inline)
			op->len = e->max_inline;
		break;
	case OP_READ_WRITE:
		op->len -= op->len / 2;
		break;
	case OP_SEND:
	case OP_SEND_IMM:
	case OP_WRITE:
	case OP_WRITE_IMM:
		op->inlined = op->len <= e->max_inline && tl_chance(40);
		break;
	case OP_BARRIER:
		op->len = 0;
		break;
	default:
		break;
	}
}

static int wc_opcode_of(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return IBV_WC_SEND;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_RDMA_WRITE;
	}
}

/* Starts one operation; false when there is no room for it now. */
static bool start_op(struct end *e, enum op_kind kind)
{
	struct op *op = &e->ops[e->op_head % opt.depth];
	struct ibv_send_wr *bad;
	static struct request q;
	int i, rc;

	if (e->op_head - e->op_tail >= (uint64_t)opt.depth)
		return false;
	op->kind = kind;
	choose_shape(e, op);
	if (!take_memory(e, op))
		return false;
	q.n = 0;
	build(e, &q, op);
	op->signaled = kind == OP_BARRIER || opt.min || tl_chance(60) ||
		       (int)e->unsignaled + MAX_WRS > opt.depth / 2;
	e->unsignaled = op->signaled ? 0 : e->unsignaled + 1;
	for (i = 0; i < q.n; i++)
		q.wr[i].wr_id = e->op_head;
	op->last_opcode = wc_opcode_of(q.wr[q.n - 1].opcode);
	if (op->signaled)
		q.wr[q.n - 1].send_flags |= IBV_SEND_SIGNALED;
	/* not posted late: now, so that the usual case meets a receive */
	post_recvs(e->peer);
	rc = ibv_post_send(e->qp, q.wr, &bad);
	if (rc)
		fail(e, "post_send %s: %d", kinds[kind].name, rc);
	if (op->inlined || kind == OP_WRITE_READ || kind == OP_OVERWRITE)
		memset(q.inline_copy, 0xee, sizeof(q.inline_copy));
	e->op_head++;
	per_kind[kind]++;
	return true;
}

#endif
