/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the memory tests share: windows, requests of the extended interface, and
 * an RDMA operation whose outcome is known beforehand.
 *
 * Included by one C file per program, behind pair.h.
 */
#ifndef SROCE_MEMORY_H
#define SROCE_MEMORY_H

#include "pair.h"

#define MW_ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

static TL_UNUSED struct ibv_mw *mw_new(struct pair_end *e,
				       enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->d->pd, type);

	if (!mw)
		tl_die("alloc_mw");
	return mw;
}

/* The posted form of a bind, which both types know. */
static TL_UNUSED int post_bind(struct pair_end *e, uint64_t id,
			       struct ibv_mw *mw, struct ibv_mr *mr,
			       uint32_t key, void *addr, uint64_t bytes,
			       int access)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw, .rkey = key,
			.bind_info = { .mr = mr, .addr = (uintptr_t)addr,
				       .length = bytes,
				       .mw_access_flags = access },
		},
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

static TL_UNUSED void bind_ok(struct pair_end *e, struct ibv_mw *mw,
			      struct ibv_mr *mr, uint32_t key, void *addr,
			      uint64_t bytes, int access)
{
	EXPECT(!post_bind(e, 50, mw, mr, key, addr, bytes, access), "post");
	if (expect_wc(e->scq, 50, IBV_WC_SUCCESS, 5000))
		mw->rkey = key;
}

/* One RDMA operation of a: @status is what it must end with. */
static TL_UNUSED void expect_rdma(struct pair *p, enum ibv_wr_opcode op,
				  uint64_t raddr, uint32_t rkey, uint32_t len,
				  int status)
{
	struct post x = post_of(p, op, 60, len);

	x.raddr = raddr;
	x.rkey = rkey;
	EXPECT(!post_raw(&p->a, &x), "post");
	expect_wc(p->a.scq, 60, status, 5000);
}

/*
 * rdma_rxe tells of an error before it takes the queue pair there: a reset in
 * between is followed by the error, and the next connection cannot be made.
 */
static void let_rxe_fail(struct pair_end *e)
{
	int i;

	for (i = 0; e->d->is_rxe && i < 1000; i++) {
		if (tl_qp_state(e->qp) == IBV_QPS_ERR)
			return;
		usleep(200);
	}
}

/* Both ends to RESET and connected again, after an error that was wanted. */
static TL_UNUSED void pair_again(struct pair *p)
{
	struct ibv_wc wc;

	let_rxe_fail(&p->a);
	let_rxe_fail(&p->b);
	tl_qp_to(p->a.qp, IBV_QPS_RESET);
	tl_qp_to(p->b.qp, IBV_QPS_RESET);
	while (ibv_poll_cq(p->a.scq, 1, &wc) || ibv_poll_cq(p->a.rcq, 1, &wc) ||
	       ibv_poll_cq(p->b.scq, 1, &wc) || ibv_poll_cq(p->b.rcq, 1, &wc))
		;
	pair_connect(p);
}

static TL_UNUSED struct ibv_mr *reg(struct pair_end *e, size_t bytes,
				    int access)
{
	struct ibv_mr *mr = ibv_reg_mr(e->d->pd, e->buf, bytes, access);

	if (!mr)
		tl_die("reg_mr");
	return mr;
}

#endif
