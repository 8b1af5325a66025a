/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One RC connection between two devices with its memory, and short calls to
 * post and to expect completions: what the error programs are written with.
 *
 * A case begins with case_begin(), states what must hold with EXPECT(), and
 * ends with case_end(), which prints the verdict. Used from one thread.
 */
#ifndef SROCE_PAIR_H
#define SROCE_PAIR_H

#include "testlib.h"

#define BUF_SIZE 65536

struct pair_end {
	struct tl_dev *d;
	struct ibv_comp_channel *ch;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	uint8_t *buf;
	struct ibv_mr *mr;
};

struct pair {
	struct pair_end a, b;	/* a asks, b answers */
	struct tl_conn ca, cb;
};

/* One request; zero fields mean none. */
struct post {
	enum ibv_wr_opcode op;
	uint64_t id;
	uint64_t addr;
	uint32_t len, lkey;
	uint64_t raddr;
	uint32_t rkey;
	int flags;
	uint64_t compare_add, swap;
};

static struct tl_dev dev_a, dev_b;
static const char *case_name;
static bool case_good;
static const char *case_only;	/* run only cases whose name contains this */

static TL_UNUSED bool case_begin(const char *name)
{
	if (case_only && !strstr(name, case_only))
		return false;
	case_name = name;
	case_good = true;
	tl_drop_events(&dev_a);
	tl_drop_events(&dev_b);
	return true;
}

static TL_UNUSED void case_end(void)
{
	tl_ok(case_good, "%s", case_name);
}

/* The case @name, which is the call @call. */
#define CASE(name, call)						\
	do {								\
		if (case_begin(name)) {					\
			call;						\
			case_end();					\
		}							\
	} while (0)

/* What the in-tree driver is known not to do. */
static TL_UNUSED bool rxe_lacks(struct tl_dev *d, const char *what)
{
	if (d->is_rxe)
		printf("# %s: rdma_rxe is not asked for: %s\n", case_name,
		       what);
	return d->is_rxe;
}

#define EXPECT(cond, fmt, ...)						\
	do {								\
		if (!(cond)) {						\
			printf("# %s, line %d: !(%s): " fmt "\n",	\
			       case_name, __LINE__, #cond, ##__VA_ARGS__); \
			case_good = false;				\
		}							\
	} while (0)

static TL_UNUSED void end_make(struct pair_end *e, struct tl_dev *d,
			       int wrs, int sges)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { wrs, wrs, sges, sges, 64 },
	};

	memset(e, 0, sizeof(*e));
	e->d = d;
	e->ch = ibv_create_comp_channel(d->ctx);
	e->scq = ibv_create_cq(d->ctx, wrs * 2, NULL, e->ch, 0);
	e->rcq = ibv_create_cq(d->ctx, wrs * 2, NULL, e->ch, 0);
	if (!e->ch || !e->scq || !e->rcq)
		tl_die("create_cq");
	fcntl(e->ch->fd, F_SETFL, O_NONBLOCK);
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	e->qp = ibv_create_qp(d->pd, &init);
	if (!e->qp)
		tl_die("create_qp");
	e->buf = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	e->mr = ibv_reg_mr(d->pd, e->buf, BUF_SIZE, ACCESS_ALL);
	if (!e->mr)
		tl_die("reg_mr");
}

static TL_UNUSED void end_drop(struct pair_end *e)
{
	if (e->qp && ibv_destroy_qp(e->qp))
		tl_die("destroy_qp");
	if (e->scq && ibv_destroy_cq(e->scq))
		tl_die("destroy_cq");
	if (e->rcq && ibv_destroy_cq(e->rcq))
		tl_die("destroy_cq");
	if (e->mr && ibv_dereg_mr(e->mr))
		tl_die("dereg_mr");
	if (ibv_destroy_comp_channel(e->ch))
		tl_die("destroy_comp_channel");
	munmap(e->buf, BUF_SIZE);
}

/* The connection's values for a case that did not fill in its own. */
static TL_UNUSED void pair_init(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	p->ca = tl_conn_default();
	p->cb = tl_conn_default();
}

/*
 * One end to RTS. rdma_rxe takes a queue pair to ERR some time after it told of the
 * error, a reset or not: its ends are looked at again, and connected again.
 */
static TL_UNUSED void end_connect(struct pair_end *e, struct tl_conn *c,
				  struct pair_end *peer, uint32_t sq_psn,
				  uint32_t rq_psn)
{
	int rc, i;

	for (i = 0; i < 50; i++) {
		rc = tl_qp_connect(e->qp, c, e->d, peer->d, peer->qp->qp_num,
				   sq_psn, rq_psn);
		if (!e->d->is_rxe)
			break;
		tl_sleep_ms(5);
		if (!rc && tl_qp_state(e->qp) == IBV_QPS_RTS)
			return;
		rc = -1;
		tl_qp_to(e->qp, IBV_QPS_RESET);
		tl_sleep_ms(5 * i);
	}
	if (rc)
		tl_die("%s: connect %s in state %d: %d", case_name,
		       e->d->name, tl_qp_state(e->qp), rc);
}

static TL_UNUSED void pair_connect(struct pair *p)
{
	end_connect(&p->a, &p->ca, &p->b, 0x111111, 0xfffffe);
	end_connect(&p->b, &p->cb, &p->a, 0xfffffe, 0x111111);
}

static TL_UNUSED void pair_make(struct pair *p)
{
	end_make(&p->a, &dev_a, 32, 4);
	end_make(&p->b, &dev_b, 32, 4);
	pair_connect(p);
}

static TL_UNUSED void pair_drop(struct pair *p)
{
	end_drop(&p->a);
	end_drop(&p->b);
}

static TL_UNUSED int post_raw(struct pair_end *e, const struct post *x)
{
	struct ibv_sge sge = { x->addr, x->len, x->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = x->id,
		.sg_list = &sge,
		.num_sge = x->len || x->lkey,
		.opcode = x->op,
		.send_flags = x->flags,
	};

	if (x->op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    x->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = x->raddr;
		wr.wr.atomic.rkey = x->rkey;
		wr.wr.atomic.compare_add = x->compare_add;
		wr.wr.atomic.swap = x->swap;
	} else if (x->op == IBV_WR_LOCAL_INV ||
		   x->op == IBV_WR_SEND_WITH_INV) {
		wr.invalidate_rkey = x->rkey;
	} else {
		wr.wr.rdma.remote_addr = x->raddr;
		wr.wr.rdma.rkey = x->rkey;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

/* A signaled request of @len bytes between the two buffers. */
static TL_UNUSED struct post post_of(struct pair *p, enum ibv_wr_opcode op,
				     uint64_t id, uint32_t len)
{
	return (struct post) {
		.op = op, .id = id, .addr = (uintptr_t)p->a.buf, .len = len,
		.lkey = p->a.mr->lkey, .raddr = (uintptr_t)p->b.buf,
		.rkey = p->b.mr->rkey, .flags = IBV_SEND_SIGNALED,
	};
}

static TL_UNUSED int post_simple(struct pair *p, enum ibv_wr_opcode op,
				 uint64_t id, uint32_t len)
{
	struct post x = post_of(p, op, id, len);

	return post_raw(&p->a, &x);
}

static TL_UNUSED int post_recv_at(struct pair_end *e, uint64_t id,
				  uint64_t addr, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { addr, len, lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge,
		.num_sge = 1 };

	return ibv_post_recv(e->qp, &wr, &bad);
}

static TL_UNUSED int post_recv_simple(struct pair_end *e, uint64_t id,
				      uint32_t len)
{
	return post_recv_at(e, id, (uintptr_t)e->buf + 4096, len, e->mr->lkey);
}

/* rdma_rxe often gives another error than the right one. */
static TL_UNUSED bool status_fits(struct ibv_cq *cq, int got, int want)
{
	struct tl_dev *d = cq->context == dev_a.ctx ? &dev_a : &dev_b;

	return got == want || (d->is_rxe && got && want);
}

/* The next completion must be @id with @status, within @ms. */
static TL_UNUSED bool expect_wc(struct ibv_cq *cq, uint64_t id, int status,
				unsigned int ms)
{
	struct ibv_wc wc;

	if (!tl_poll_wait(cq, &wc, ms)) {
		EXPECT(false, "no completion of %" PRIu64 " (%s)", id,
		       ibv_wc_status_str(status));
		return false;
	}
	EXPECT(wc.wr_id == id && status_fits(cq, wc.status, status),
	       "%" PRIu64 " is %s, not %" PRIu64 " is %s", wc.wr_id,
	       ibv_wc_status_str(wc.status), id, ibv_wc_status_str(status));
	return wc.wr_id == id && status_fits(cq, wc.status, status);
}

static TL_UNUSED void expect_no_wc(struct ibv_cq *cq, unsigned int ms)
{
	struct ibv_wc wc;

	EXPECT(!tl_poll_wait(cq, &wc, ms), "%" PRIu64 " is %s", wc.wr_id,
	       ibv_wc_status_str(wc.status));
}

static TL_UNUSED void expect_event(struct tl_dev *d, int type)
{
	EXPECT(tl_wait_event(d, type, 3000), "%s: no event %s", d->name,
	       ibv_event_type_str(type));
}

static TL_UNUSED void expect_state(struct ibv_qp *qp, int state)
{
	EXPECT((int)tl_qp_state(qp) == state, "state %d, not %d",
	       tl_qp_state(qp), state);
}

/* Proves that the two devices still work, with a connection of its own. */
static TL_UNUSED void expect_alive(void)
{
	struct pair p;

	pair_init(&p);
	pair_make(&p);
	memset(p.a.buf, 0x5a, 3000);
	EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 99, 3000), "post");
	expect_wc(p.a.scq, 99, IBV_WC_SUCCESS, 5000);
	EXPECT(!memcmp(p.a.buf, p.b.buf, 3000), "data");
	pair_drop(&p);
}

/* Command line of both error programs: [-f 4|6] [-c CASE] DEVICE DEVICE */
static TL_UNUSED void pair_main(int argc, char **argv, unsigned int limit)
{
	int c, family = 4;

	while ((c = getopt(argc, argv, "f:c:L:")) != -1) {
		if (c == 'f')
			family = atoi(optarg);
		else if (c == 'c')
			case_only = optarg;
		else if (c == 'L')
			limit = atoi(optarg);
		else
			tl_die("options: [-f 4|6] [-c CASE] [-L LIMIT] DEVICE DEVICE");
	}
	if (argc - optind != 2)
		tl_die("options: [-f 4|6] [-c CASE] [-L LIMIT] DEVICE DEVICE");
	tl_time_limit(limit);
	tl_open(&dev_a, argv[optind], family);
	tl_open(&dev_b, argv[optind + 1], family);
}

#endif
