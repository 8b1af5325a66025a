/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rings a user shares with the kernel, found and written without the
 * provider library: what the rogue's attacks are made of.
 *
 * Used only by sroce_rogue.c. The layout is the rxe user ABI's, version 2.
 */
#ifndef SROCE_ROGUE_RING_H
#define SROCE_ROGUE_RING_H

#include "pair.h"
#include <rdma/ib_user_verbs.h>

/* The ring's header and the request's layout, from the rxe user ABI. */
#define RING_LOG2 0
#define RING_MASK 4
#define RING_PROD 128
#define RING_CONS 256
#define RING_DATA 384
#define WQE_BYTES 208
#define WQE_OPCODE 12
#define WQE_FLAGS 16
#define WQE_RADDR 24
#define WQE_RKEY 32
#define WQE_ATOMIC_RKEY 48
#define WQE_DMA 184
#define DMA_LENGTH (WQE_DMA + 0)
#define DMA_RESID (WQE_DMA + 4)
#define DMA_CUR_SGE (WQE_DMA + 8)
#define DMA_NUM_SGE (WQE_DMA + 12)
#define DMA_OFFSET (WQE_DMA + 16)
#define DMA_SGE (WQE_DMA + 24)

struct ring {
	volatile uint8_t *base;
	size_t size;
	uint32_t log2, mask;
};

enum { SQ, RQ, SCQ, RCQ, RINGS };

struct rogue {
	struct pair p;
	struct ring ring[RINGS];	/* of end a */
	struct ibv_srq *srq;		/* whose ring is ring[RQ], or NULL */
};

static bool rogue_shared;	/* make the queue pairs on an SRQ */

static uint64_t doorbells, doorbells_heard, srq_resizes;

/* ---- finding the rings ---- */

#define MAX_MAPS 256
#define MAX_SCRAP 16
static uintptr_t known[MAX_MAPS];
static int known_n;

/* Adds the uverbs mappings not seen before to @out; returns how many. */
static int new_maps(struct ring *out, int max)
{
	char line[512];
	uintptr_t from, to;
	FILE *f = fopen("/proc/self/maps", "r");
	int i, n = 0;

	if (!f)
		tl_die("maps");
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		for (i = 0; i < known_n; i++)
			if (known[i] == from)
				break;
		if (i < known_n)
			continue;
		if (n < max) {
			out[n].base = (uint8_t *)from;
			out[n].size = to - from;
			out[n].log2 = *(uint32_t *)(from + RING_LOG2);
			out[n].mask = *(uint32_t *)(from + RING_MASK);
			n++;
		}
		if (known_n < MAX_MAPS)
			known[known_n++] = from;
	}
	fclose(f);
	return n;
}

static void ring_of_cq(struct ibv_cq *cq, struct ring *r)
{
	if (!cq || new_maps(r, 1) != 1)
		tl_die("the ring of a CQ");
}

/* An SRQ in place of the receive queue. */
static void ring_of_srq(struct rogue *g)
{
	struct ibv_srq_init_attr init = { .attr = { 15, 4, 0 } };

	g->srq = rogue_shared ? ibv_create_srq(dev_a.pd, &init) : NULL;
	if (rogue_shared && (!g->srq || new_maps(&g->ring[RQ], 1) != 1))
		tl_die("the ring of an SRQ");
}

static void rogue_make(struct rogue *g)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 15, 15, 4, 4, 64 },
	};
	struct ring two[2], scrap[MAX_SCRAP];
	struct pair_end *e = &g->p.a;
	int i;

	pair_init(&g->p);
	end_make(&g->p.b, &dev_b, 15, 4);
	new_maps(scrap, MAX_SCRAP);
	memset(e, 0, sizeof(*e));
	e->d = &dev_a;
	e->ch = ibv_create_comp_channel(dev_a.ctx);
	e->scq = ibv_create_cq(dev_a.ctx, 30, NULL, e->ch, 0);
	ring_of_cq(e->scq, &g->ring[SCQ]);
	e->rcq = ibv_create_cq(dev_a.ctx, 30, NULL, e->ch, 0);
	ring_of_cq(e->rcq, &g->ring[RCQ]);
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	ring_of_srq(g);
	init.srq = g->srq;
	e->qp = ibv_create_qp(dev_a.pd, &init);
	i = new_maps(two, 2);
	if (!e->qp || i != (g->srq ? 1 : 2))
		tl_die("the rings of a queue pair");
	/* a send slot is the larger one */
	i = !g->srq && two[0].log2 < two[1].log2;
	g->ring[SQ] = two[i];
	if (!g->srq)
		g->ring[RQ] = two[!i];
	e->buf = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	e->mr = ibv_reg_mr(dev_a.pd, e->buf, BUF_SIZE, ACCESS_ALL);
	fcntl(e->ch->fd, F_SETFL, O_NONBLOCK);
	g->p.ca.timeout = 8;
	g->p.ca.retry = 2;
	g->p.ca.rnr_retry = 2;
	g->p.cb = g->p.ca;
	pair_connect(&g->p);
	for (i = 0; i < 15; i++)
		post_recv_simple(&g->p.b, i, 4096);
}

/* Its own objects: nothing here may hang, whatever the rings say. */
static void rogue_drop(struct rogue *g)
{
	struct ring scrap[MAX_SCRAP];

	pair_drop(&g->p);
	if (g->srq && ibv_destroy_srq(g->srq))
		tl_die("destroy_srq");
	g->srq = NULL;
	known_n = 0;
	new_maps(scrap, MAX_SCRAP);
}

static volatile uint32_t *word(struct ring *r, size_t off)
{
	return (volatile uint32_t *)(r->base + off);
}

static volatile uint8_t *slot(struct ring *r, uint32_t i)
{
	return r->base + RING_DATA + ((size_t)(i & r->mask) << r->log2);
}

/* The command the provider writes to say "look at the ring". */
static void doorbell(struct rogue *g)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} msg = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(msg) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = g->p.a.qp->handle,
			.wqe_size = sizeof(struct ibv_send_wr),
		},
	};

	doorbells++;
	if (write(dev_a.ctx->cmd_fd, &msg, sizeof(msg)) == sizeof(msg))
		doorbells_heard++;
}

/* Resizes the SRQ behind the provider's back; the answer goes anywhere. */
static void resize_srq(struct rogue *g, uint32_t wrs, uint64_t answer)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_modify_srq cmd;
		uint64_t answer;
	} msg = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_MODIFY_SRQ,
			.in_words = sizeof(msg) / 4,
		},
		.cmd = {
			.srq_handle = g->srq->handle,
			.attr_mask = IBV_SRQ_MAX_WR | (wrs & IBV_SRQ_LIMIT),
			.max_wr = wrs,
			.srq_limit = wrs / 2,
		},
		.answer = answer,
	};

	if (write(dev_a.ctx->cmd_fd, &msg, sizeof(msg)) == sizeof(msg))
		srq_resizes++;
}

static void put32(volatile uint8_t *w, size_t off, uint32_t v)
{
	*(volatile uint32_t *)(w + off) = v;
}

static void put64(volatile uint8_t *w, size_t off, uint64_t v)
{
	*(volatile uint64_t *)(w + off) = v;
}

/* A request that is all right, in slot @i of the send ring. */
static volatile uint8_t *valid_wqe(struct rogue *g, uint32_t i, int opcode,
				   uint32_t len)
{
	struct ring *r = &g->ring[SQ];
	volatile uint8_t *w = slot(r, i);
	bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	size_t k;

	if (atomic)
		len = 8;
	for (k = 0; k < WQE_BYTES; k += 4)
		put32(w, k, 0);
	put64(w, 0, i);
	put32(w, WQE_OPCODE, opcode);
	put32(w, WQE_FLAGS, IBV_SEND_SIGNALED);
	put64(w, WQE_RADDR, (uintptr_t)g->p.b.buf);
	put32(w, atomic ? WQE_ATOMIC_RKEY : WQE_RKEY, g->p.b.mr->rkey);
	put32(w, DMA_LENGTH, len);
	put32(w, DMA_RESID, len);
	put32(w, DMA_NUM_SGE, 1);
	put64(w, DMA_SGE, (uintptr_t)g->p.a.buf);
	put32(w, DMA_SGE + 8, len);
	put32(w, DMA_SGE + 12, g->p.a.mr->lkey);
	return w;
}

static uint32_t nasty(void)
{
	static const uint32_t values[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x1000, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
	};

	return tl_chance(70) ? values[tl_rand_in(0, ARRAY_SIZE(values) - 1)] :
	       tl_rand();
}

static int some_opcode(void)
{
	static const uint8_t ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_LOCAL_INV, IBV_WR_SEND_WITH_INV,
	};

	/* the last two invalidate, which ends the queue pair */
	return ops[tl_rand_in(0, ARRAY_SIZE(ops) - (tl_chance(5) ? 1 : 3))];
}

static void publish(struct rogue *g, uint32_t n)
{
	struct ring *r = &g->ring[SQ];

	__atomic_store_n((uint32_t *)word(r, RING_PROD),
			 (*word(r, RING_PROD) + n) & r->mask,
			 __ATOMIC_RELEASE);
	doorbell(g);
}

/* Takes the completions away without trusting the ring, as a user may. */
static void swallow(struct rogue *g)
{
	int i;

	for (i = SCQ; i <= RCQ; i++)
		*word(&g->ring[i], RING_CONS) =
			*word(&g->ring[i], RING_PROD) & g->ring[i].mask;
	ibv_req_notify_cq(g->p.a.scq, 0);
}

#endif
