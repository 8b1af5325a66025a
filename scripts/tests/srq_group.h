/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs of device B on one SRQ with their peers on device A, and short calls
 * to post, to send and to expect: what the SRQ program is written with.
 *
 * Included by sroce_srq.c only.
 */
#ifndef SROCE_SRQ_GROUP_H
#define SROCE_SRQ_GROUP_H

#include "pair.h"

#define QPS_MAX 16
#define SLOT 4096
#define SLOTS 1024
#define QKEY 0x11111111
#define GRH 40

struct group {
	enum ibv_qp_type type;
	int n;
	struct ibv_pd *pd;		/* of the SRQ and its memory */
	struct ibv_srq *srq;
	struct ibv_cq *acq, *bcq;
	struct ibv_qp *a[QPS_MAX], *b[QPS_MAX];
	struct ibv_ah *ah;
	uint8_t *abuf, *bbuf;
	struct ibv_mr *amr, *bmr;
	struct tl_conn conn;
};

static uint8_t *map_buf(void)
{
	uint8_t *p = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tl_die("mmap");
	return p;
}

static struct ibv_srq *make_srq(struct ibv_pd *pd, uint32_t wrs, uint32_t sges,
				uint32_t limit)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = wrs, .max_sge = sges, .srq_limit = limit },
	};

	errno = 0;
	return ibv_create_srq(pd, &init);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, enum ibv_qp_type type,
			      struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .srq = srq,
		.cap = { 64, srq ? 0 : 4, 2, srq ? 0 : 1, 64 },
	};

	return ibv_create_qp(pd, &init);
}

/* UC knows fewer attributes. */
static int uc_to_rts(struct ibv_qp *qp, const struct tl_conn *c,
		     const struct tl_dev *d, const struct tl_dev *peer,
		     uint32_t dqpn)
{
	struct ibv_qp_attr attr;

	if (tl_qp_init(qp, IBV_ACCESS_REMOTE_WRITE))
		return -1;
	tl_fill_rtr(&attr, c, d, &peer->gid, dqpn, 77);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 77;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int connect_one(struct group *g, int i)
{
	switch (g->type) {
	case IBV_QPT_UD:
		return tl_ud_to_rts(g->a[i], QKEY, 5) || tl_ud_to_rts(g->b[i], QKEY, 5);
	case IBV_QPT_UC:
		return uc_to_rts(g->a[i], &g->conn, &dev_a, &dev_b,
				 g->b[i]->qp_num) ||
		       uc_to_rts(g->b[i], &g->conn, &dev_b, &dev_a,
				 g->a[i]->qp_num);
	default:
		return tl_qp_connect(g->a[i], &g->conn, &dev_a, &dev_b,
				     g->b[i]->qp_num, 10, 20) ||
		       tl_qp_connect(g->b[i], &g->conn, &dev_b, &dev_a,
				     g->a[i]->qp_num, 20, 10);
	}
}

static void make_ah(struct group *g)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = dev_b.gid, .hop_limit = 64,
			 .sgid_index = dev_a.gid_index },
	};

	g->ah = ibv_create_ah(dev_a.pd, &attr);
	if (!g->ah)
		tl_die("ah");
}

/* @n pairs of @type, an SRQ of @wrs requests with two pieces each */
static void group_make(struct group *g, enum ibv_qp_type type, int n,
		       uint32_t wrs)
{
	int i;

	g->type = type;
	g->n = n;
	if (!g->conn.pmtu)
		g->conn = tl_conn_default();
	if (!g->pd)
		g->pd = dev_b.pd;
	g->acq = ibv_create_cq(dev_a.ctx, 64 * n + 64, NULL, NULL, 0);
	g->bcq = ibv_create_cq(dev_b.ctx, 32767, NULL, NULL, 0);
	g->abuf = map_buf();
	g->bbuf = map_buf();
	g->amr = ibv_reg_mr(dev_a.pd, g->abuf, SLOT * SLOTS, ACCESS_ALL);
	g->bmr = ibv_reg_mr(g->pd, g->bbuf, SLOT * SLOTS, ACCESS_ALL);
	g->srq = make_srq(g->pd, wrs, 2, 0);
	if (!g->acq || !g->bcq || !g->amr || !g->bmr || !g->srq)
		tl_die("%s: resources", case_name);
	for (i = 0; i < n; i++) {
		g->a[i] = make_qp(dev_a.pd, type, g->acq, NULL);
		g->b[i] = make_qp(dev_b.pd, type, g->bcq, g->srq);
		if (!g->a[i] || !g->b[i] || connect_one(g, i))
			tl_die("%s: queue pair %d", case_name, i);
	}
	if (type == IBV_QPT_UD)
		make_ah(g);
	for (i = 0; i < SLOT * SLOTS; i += 8)
		*(uint64_t *)(g->abuf + i) = tl_rand();
}

static void group_drop(struct group *g)
{
	int i;

	for (i = 0; i < g->n; i++)
		if ((g->a[i] && ibv_destroy_qp(g->a[i])) ||
		    (g->b[i] && ibv_destroy_qp(g->b[i])))
			tl_die("destroy_qp");
	if (g->ah && ibv_destroy_ah(g->ah))
		tl_die("destroy_ah");
	if (ibv_destroy_srq(g->srq) || ibv_destroy_cq(g->acq) ||
	    ibv_destroy_cq(g->bcq) || ibv_dereg_mr(g->amr) ||
	    ibv_dereg_mr(g->bmr))
		tl_die("drop");
	munmap(g->abuf, SLOT * SLOTS);
	munmap(g->bbuf, SLOT * SLOTS);
}

static int post_srq_at(struct group *g, uint64_t id, uint32_t len,
		       uint32_t lkey)
{
	struct ibv_sge sge = {
		(uintptr_t)g->bbuf + id % SLOTS * SLOT, len, lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
	};

	return ibv_post_srq_recv(g->srq, &wr, &bad);
}

static int post_srq(struct group *g, uint64_t id)
{
	return post_srq_at(g, id, SLOT, g->bmr->lkey);
}

/* @bytes from slot @id of A's memory */
static int send_on(struct group *g, int i, uint64_t id, uint32_t bytes)
{
	struct ibv_sge sge = {
		(uintptr_t)g->abuf + id % SLOTS * SLOT, bytes, g->amr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};

	if (g->type == IBV_QPT_UD) {
		wr.wr.ud.ah = g->ah;
		wr.wr.ud.remote_qpn = g->b[i]->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	return ibv_post_send(g->a[i], &wr, &bad);
}

/* The next receive took @id, on QP @i, @bytes of A's slot @from, unharmed. */
static void expect_recv(struct group *g, int i, uint64_t id, uint64_t from,
			uint32_t bytes)
{
	uint32_t grh = g->type == IBV_QPT_UD ? GRH : 0;
	struct ibv_wc wc;

	if (!tl_poll_wait(g->bcq, &wc, 5000)) {
		EXPECT(false, "no receive %" PRIu64, id);
		return;
	}
	EXPECT(!wc.status && wc.wr_id == id && wc.byte_len == bytes + grh &&
	       wc.qp_num == g->b[i]->qp_num && wc.opcode == IBV_WC_RECV,
	       "%" PRIu64 ": %s, %u bytes, not %" PRIu64 " with %u", wc.wr_id,
	       ibv_wc_status_str(wc.status), wc.byte_len, id, bytes + grh);
	EXPECT(!memcmp(g->bbuf + id % SLOTS * SLOT + grh,
		       g->abuf + from % SLOTS * SLOT, bytes),
	       "data of %" PRIu64, id);
}

static uint32_t srq_limit(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr) ? ~0u : attr.srq_limit;
}

static uint32_t srq_max_wr(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr) ? 0 : attr.max_wr;
}

static int arm(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
}

static int resize(struct ibv_srq *srq, uint32_t wrs)
{
	struct ibv_srq_attr attr = { .max_wr = wrs };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

#endif
