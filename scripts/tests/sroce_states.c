// SPDX-License-Identifier: GPL-2.0
/*
 * The states of a queue pair and the limits of all objects: the modify_qp
 * matrix, impossible values, what query returns, posts in the wrong state.
 *
 * One process, one thread; the second device only gives an address.
 */
#include "pair.h"

/* ---- modify_qp ---- */

/* Takes a fresh queue pair to @state. */
static int bring_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct tl_conn c = tl_conn_default();
	struct ibv_qp_attr attr;
	int rc = 0;

	if (state == IBV_QPS_RESET)
		return 0;
	rc = tl_qp_init(qp, c.access);
	if (rc || state == IBV_QPS_INIT)
		return rc;
	if (state == IBV_QPS_ERR)
		return tl_qp_to(qp, IBV_QPS_ERR);
	tl_fill_rtr(&attr, &c, &dev_a, &dev_b.gid, 0x77, 1);
	rc = ibv_modify_qp(qp, &attr, TL_RTR_MASK);
	if (rc || state == IBV_QPS_RTR)
		return rc;
	tl_fill_rts(&attr, &c, 1);
	rc = ibv_modify_qp(qp, &attr, TL_RTS_MASK);
	if (rc || state == IBV_QPS_RTS)
		return rc;
	return tl_qp_to(qp, state);
}

/* The modify call that takes a queue pair to @to, with all it requires. */
static int full_modify(struct ibv_qp *qp, enum ibv_qp_state from,
		       enum ibv_qp_state to, int drop, int add)
{
	struct tl_conn c = tl_conn_default();
	struct ibv_qp_attr attr;
	int mask = IBV_QP_STATE;

	tl_fill_rtr(&attr, &c, &dev_a, &dev_b.gid, 0x77, 1);
	attr.qp_access_flags = c.access;
	attr.port_num = 1;
	attr.sq_psn = 1;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	attr.qkey = 5;
	attr.qp_state = to;
	attr.cur_qp_state = from;
	if (to == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	else if (to == IBV_QPS_RTR)
		mask |= TL_RTR_MASK;
	else if (to == IBV_QPS_RTS && from == IBV_QPS_RTR)
		mask |= TL_RTS_MASK;
	return ibv_modify_qp(qp, &attr, (mask & ~drop) | add);
}

static struct ibv_qp *fresh_qp(struct pair *p)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = p->a.scq,
		.recv_cq = p->a.rcq, .cap = { 4, 4, 1, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(dev_a.pd, &init);

	if (!qp)
		tl_die("create_qp");
	return qp;
}

static void modify_matrix(void)
{
	static const int states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_SQD, IBV_QPS_ERR,
	};
	/* rows from, columns to, in the order above */
	static const char *const legal[] = {
		"yy....", "yyy..y", "y..y.y", "y..yyy", "y..yyy", "y....y",
	};
	struct ibv_qp *qp;
	struct pair p;
	size_t f, t;
	int rc;

	if (!case_begin("modify_qp: every transition, legal or EINVAL"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (f = 0; f < ARRAY_SIZE(states); f++)
		for (t = 0; t < ARRAY_SIZE(states); t++) {
			qp = fresh_qp(&p);
			rc = bring_to(qp, states[f]);
			EXPECT(!rc, "to state %d: %d", states[f], rc);
			rc = full_modify(qp, states[f], states[t], 0, 0);
			/* rdma_rxe drains only when it next has work */
			EXPECT(rc == (legal[f][t] == 'y' ? 0 : EINVAL) ||
			       (dev_a.is_rxe && states[f] == IBV_QPS_SQD),
			       "%d to %d gives %d", states[f], states[t], rc);
			expect_state(qp, rc ? states[f] : states[t]);
			ibv_destroy_qp(qp);
		}
	pair_drop(&p);
	case_end();
}

static void modify_masks(void)
{
	static const struct {
		int from, to, required, forbidden;
	} t[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		  IBV_QP_ACCESS_FLAGS, IBV_QP_AV | IBV_QP_SQ_PSN | IBV_QP_QKEY |
		  IBV_QP_TIMEOUT | IBV_QP_PATH_MTU },
		{ IBV_QPS_INIT, IBV_QPS_RTR, TL_RTR_MASK & ~IBV_QP_STATE,
		  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_QKEY |
		  IBV_QP_MAX_QP_RD_ATOMIC },
		{ IBV_QPS_RTR, IBV_QPS_RTS, TL_RTS_MASK & ~IBV_QP_STATE,
		  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		  IBV_QP_RQ_PSN | IBV_QP_PORT },
		{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_AV | IBV_QP_TIMEOUT |
		  IBV_QP_SQ_PSN | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN },
		{ IBV_QPS_RTS, IBV_QPS_ERR, 0, IBV_QP_AV | IBV_QP_TIMEOUT },
		{ IBV_QPS_RTS, IBV_QPS_RESET, 0, IBV_QP_AV | IBV_QP_SQ_PSN },
	};
	struct ibv_qp *qp;
	struct pair p;
	size_t i;
	int bit, rc;

	if (!case_begin("modify_qp: each required and forbidden attribute"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		for (bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
			if (!((t[i].required | t[i].forbidden) & bit))
				continue;
			qp = fresh_qp(&p);
			bring_to(qp, t[i].from);
			rc = full_modify(qp, t[i].from, t[i].to,
					 t[i].required & bit,
					 t[i].forbidden & bit);
			EXPECT(rc == EINVAL, "%d to %d, attribute %#x: %d",
			       t[i].from, t[i].to, bit, rc);
			expect_state(qp, t[i].from);
			ibv_destroy_qp(qp);
		}
	pair_drop(&p);
	case_end();
}

enum bad_value {
	BAD_PORT, BAD_PKEY_INDEX, BAD_MTU_0, BAD_MTU_6, BAD_DEST_RD,
	BAD_SGID_INDEX, BAD_SGID_EMPTY, BAD_RD_ATOMIC, BAD_TIMEOUT, BAD_ADDRESS,
	BAD_VALUES
};

/* Applies one impossible value on the way to RTS; the errno of that step. */
static int modify_bad(struct ibv_qp *qp, enum bad_value v)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct tl_conn c = tl_conn_default();

	if (v == BAD_PORT || v == BAD_PKEY_INDEX) {
		attr.port_num = v == BAD_PORT ? 2 : 1;
		attr.pkey_index = v == BAD_PKEY_INDEX ? 200 : 0;
		return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
				     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
	}
	if (bring_to(qp, v == BAD_RD_ATOMIC || v == BAD_TIMEOUT ?
		     IBV_QPS_RTR : IBV_QPS_INIT))
		return -1;
	tl_fill_rtr(&attr, &c, &dev_a, &dev_b.gid, 0x77, 1);
	switch (v) {
	case BAD_MTU_0:
		attr.path_mtu = 0;
		break;
	case BAD_MTU_6:
		attr.path_mtu = 7;
		break;
	case BAD_DEST_RD:
		attr.max_dest_rd_atomic = 255;
		break;
	case BAD_SGID_INDEX:
		attr.ah_attr.grh.sgid_index = 255;
		break;
	case BAD_SGID_EMPTY:
		attr.ah_attr.grh.sgid_index = 200;
		break;
	case BAD_ADDRESS:
		attr.ah_attr.is_global = 0;
		break;
	case BAD_RD_ATOMIC:
		c.rd_atomic = 255;
		tl_fill_rts(&attr, &c, 1);
		return ibv_modify_qp(qp, &attr, TL_RTS_MASK);
	case BAD_TIMEOUT:
		c.timeout = 32;
		tl_fill_rts(&attr, &c, 1);
		return ibv_modify_qp(qp, &attr, TL_RTS_MASK);
	default:
		break;
	}
	return ibv_modify_qp(qp, &attr, TL_RTR_MASK);
}

static void modify_values(void)
{
	static const char *const names[] = {
		"port 2", "pkey_index 200", "path_mtu 0", "path_mtu 7",
		"max_dest_rd_atomic 255", "sgid_index 255", "empty sgid_index",
		"max_rd_atomic 255", "timeout 32", "no GRH",
	};
	struct ibv_qp *qp;
	struct pair p;
	int v, rc;
	bool good;

	if (!case_begin("modify_qp: impossible values give EINVAL"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (v = 0; v < BAD_VALUES; v++) {
		qp = fresh_qp(&p);
		rc = modify_bad(qp, v);
		/* the core says ENODATA of a GID that is not there */
		good = rc == EINVAL;
		if (v == BAD_SGID_INDEX || v == BAD_SGID_EMPTY)
			good |= rc == ENODATA;
		if (v == BAD_PKEY_INDEX || v == BAD_MTU_0 || v == BAD_DEST_RD)
			good |= dev_a.is_rxe;
		EXPECT(good, "%s gives %d", names[v], rc);
		ibv_destroy_qp(qp);
	}
	pair_drop(&p);
	case_end();
}

static void mtu_too_big(void)
{
	struct tl_conn c = tl_conn_default();
	int active = tl_mtu_bytes(dev_a.port.active_mtu);
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	struct pair p;
	int rc;

	if (!case_begin("modify_qp: path_mtu above the port's"))
		return;
	if (active == 4096) {
		tl_skip("%s # SKIP the port can do 4096", case_name);
		return;
	}
	pair_init(&p);
	pair_make(&p);
	qp = fresh_qp(&p);
	bring_to(qp, IBV_QPS_INIT);
	c.pmtu = active * 2;
	tl_fill_rtr(&attr, &c, &dev_a, &dev_b.gid, 0x77, 1);
	rc = ibv_modify_qp(qp, &attr, TL_RTR_MASK);
	EXPECT(rc == EINVAL, "gives %d", rc);
	ibv_destroy_qp(qp);
	pair_drop(&p);
	case_end();
}

static void query_returns(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;
	struct pair p;

	if (!case_begin("query_qp returns what modify_qp set"))
		return;
	pair_init(&p);
	p.ca.pmtu = 512;
	p.ca.rd_atomic = 5;
	p.ca.dest_rd_atomic = 7;
	p.ca.rnr_timer = 9;
	p.ca.timeout = 17;
	p.ca.retry = 3;
	p.ca.rnr_retry = 4;
	p.ca.tclass = 0x60;
	pair_make(&p);
	EXPECT(!ibv_query_qp(p.a.qp, &q, 0x1fffff, &init), "query_qp");
	EXPECT(q.qp_state == IBV_QPS_RTS, "state %d", q.qp_state);
	EXPECT(q.path_mtu == IBV_MTU_512, "mtu %d", q.path_mtu);
	EXPECT(dev_a.is_rxe || q.max_rd_atomic == 5, "rd %d", q.max_rd_atomic);
	/* a driver may keep more resources than asked for */
	EXPECT(q.max_dest_rd_atomic >= 7, "dest rd %d", q.max_dest_rd_atomic);
	EXPECT(q.min_rnr_timer == 9, "rnr timer %d", q.min_rnr_timer);
	EXPECT(q.timeout == 17, "timeout %d", q.timeout);
	EXPECT(q.retry_cnt == 3 && q.rnr_retry == 4, "%d %d", q.retry_cnt,
	       q.rnr_retry);
	EXPECT(q.dest_qp_num == p.b.qp->qp_num, "dqpn %#x", q.dest_qp_num);
	EXPECT(q.sq_psn == 0x111111, "sq_psn %#x", q.sq_psn);
	EXPECT(q.rq_psn == 0xfffffe, "rq_psn %#x", q.rq_psn);
	EXPECT((int)q.qp_access_flags == ACCESS_ALL, "access %#x",
	       q.qp_access_flags);
	EXPECT(q.ah_attr.grh.traffic_class == 0x60, "tclass %#x",
	       q.ah_attr.grh.traffic_class);
	EXPECT(!memcmp(&q.ah_attr.grh.dgid, &dev_b.gid, 16), "dgid");
	EXPECT(q.ah_attr.grh.sgid_index == dev_a.gid_index, "sgid_index %d",
	       q.ah_attr.grh.sgid_index);
	EXPECT(init.cap.max_send_wr >= 32 && init.cap.max_send_sge >= 4 &&
	       init.cap.max_recv_wr >= 32 && init.cap.max_inline_data >= 64,
	       "caps");
	EXPECT(init.qp_type == IBV_QPT_RC, "type %d", init.qp_type);
	pair_drop(&p);
	case_end();
}

/* ---- limits ---- */

static int try_qp(struct pair *p, uint32_t swr, uint32_t rwr, uint32_t ssge,
		  uint32_t rsge, uint32_t inl, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = p->a.scq, .recv_cq = p->a.rcq,
		.cap = { swr, rwr, ssge, rsge, inl },
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(dev_a.pd, &init);
	if (!qp)
		return errno ? errno : -1;
	EXPECT(init.cap.max_send_wr >= swr && init.cap.max_recv_wr >= rwr &&
	       init.cap.max_send_sge >= ssge && init.cap.max_recv_sge >= rsge &&
	       init.cap.max_inline_data >= inl, "caps came back smaller");
	ibv_destroy_qp(qp);
	return 0;
}

static void create_limits(void)
{
	struct ibv_device_attr *a = &dev_a.attr;
	struct ibv_cq *cq;
	struct pair p;
	int rc;

	if (!case_begin("create: over the limits EINVAL, at the limits works"))
		return;
	pair_init(&p);
	pair_make(&p);
	rc = try_qp(&p, a->max_qp_wr + 1, 1, 1, 1, 0, IBV_QPT_RC);
	EXPECT(rc == EINVAL || rc == ENOMEM, "send wr: %d", rc);
	rc = try_qp(&p, 1, a->max_qp_wr + 1, 1, 1, 0, IBV_QPT_RC);
	EXPECT(rc == EINVAL || rc == ENOMEM, "recv wr: %d", rc);
	rc = try_qp(&p, 1, 1, a->max_sge + 1, 1, 0, IBV_QPT_RC);
	EXPECT(rc == EINVAL, "send sge: %d", rc);
	rc = try_qp(&p, 1, 1, 1, a->max_sge + 1, 0, IBV_QPT_RC);
	EXPECT(rc == EINVAL, "recv sge: %d", rc);
	rc = try_qp(&p, 1, 1, 1, 1, 1 << 20, IBV_QPT_RC);
	EXPECT(rc == EINVAL, "inline: %d", rc);
	rc = try_qp(&p, 1, 1, a->max_sge, a->max_sge, 0, IBV_QPT_RC);
	EXPECT(!rc, "max_sge: %d", rc);
	rc = try_qp(&p, 1000, 1000, 4, 4, 236, IBV_QPT_RC);
	EXPECT(!rc, "1000 requests: %d", rc);
	rc = try_qp(&p, 0, 0, 0, 0, 0, IBV_QPT_RC);
	EXPECT(!rc || rc == EINVAL, "nothing: %d", rc);
	rc = try_qp(&p, 4, 4, 1, 1, 0, IBV_QPT_RAW_PACKET);
	EXPECT(rc == EOPNOTSUPP || rc == EINVAL || rc == EPERM, "raw packet: %d",
	       rc);
	cq = ibv_create_cq(dev_a.ctx, a->max_cqe, NULL, NULL, 0);
	EXPECT(cq && cq->cqe >= a->max_cqe, "max_cqe %d", a->max_cqe);
	if (cq)
		ibv_destroy_cq(cq);
	errno = 0;
	cq = ibv_create_cq(dev_a.ctx, a->max_cqe + 1, NULL, NULL, 0);
	EXPECT(!cq && errno == EINVAL, "max_cqe + 1: errno %d", errno);
	errno = 0;
	cq = ibv_create_cq(dev_a.ctx, 10, NULL, NULL, 4000);
	EXPECT(!cq && errno == EINVAL, "comp_vector 4000: errno %d", errno);
	pair_drop(&p);
	case_end();
}

static void reg_mr_limits(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	struct ibv_mr *mr;

	if (!case_begin("reg_mr: impossible ones"))
		return;
	munmap(page + 4096, 4096);
	errno = 0;
	mr = ibv_reg_mr(dev_a.pd, page, 4096, IBV_ACCESS_REMOTE_WRITE);
	EXPECT(!mr && errno == EINVAL, "remote without local write: %d", errno);
	errno = 0;
	mr = ibv_reg_mr(dev_a.pd, page, 4096, IBV_ACCESS_REMOTE_ATOMIC);
	EXPECT(!mr && errno == EINVAL, "atomic without local write: %d", errno);
	errno = 0;
	mr = ibv_reg_mr(dev_a.pd, page + 100, 5000, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(!mr && (errno == EFAULT || errno == ENOMEM), "hole: %d", errno);
	errno = 0;
	mr = ibv_reg_mr(dev_a.pd, ro, 4096, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(!mr && errno == EFAULT, "read-only memory: %d", errno);
	errno = 0;
	mr = ibv_reg_mr(dev_a.pd, (void *)~0xfffull, 8192, 0);
	EXPECT(!mr && errno, "over the end of addresses");
	mr = ibv_reg_mr(dev_a.pd, page + 1, 1, ACCESS_ALL);
	EXPECT(mr, "one byte: %d", errno);
	if (mr)
		ibv_dereg_mr(mr);
	munmap(page, 4096);
	munmap(ro, 4096);
	case_end();
}

static void busy_objects(void)
{
	struct pair p;
	int rc;

	if (!case_begin("destroy: what is in use gives EBUSY"))
		return;
	pair_init(&p);
	pair_make(&p);
	rc = ibv_destroy_cq(p.a.scq);
	EXPECT(rc == EBUSY, "cq: %d", rc);
	if (!rc)
		p.a.scq = NULL;
	rc = ibv_dealloc_pd(dev_a.pd);
	EXPECT(rc == EBUSY, "pd: %d", rc);
	pair_drop(&p);
	case_end();
}

static void post_states(void)
{
	static const int states[] = { IBV_QPS_RESET, IBV_QPS_INIT,
		IBV_QPS_RTR };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp *qp;
	struct pair p;
	size_t i;
	int rc;

	if (!case_begin("post_send in RESET, INIT, RTR gives EINVAL"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		qp = fresh_qp(&p);
		bring_to(qp, states[i]);
		rc = ibv_post_send(qp, &wr, &bad);
		EXPECT(rc == EINVAL, "state %d: %d", states[i], rc);
		expect_no_wc(p.a.scq, 10);
		ibv_destroy_qp(qp);
	}
	expect_alive();
	pair_drop(&p);
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 200);
	modify_matrix();
	modify_masks();
	modify_values();
	mtu_too_big();
	query_returns();
	create_limits();
	reg_mr_limits();
	busy_objects();
	post_states();
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
