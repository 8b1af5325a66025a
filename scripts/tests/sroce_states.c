// SPDX-License-Identifier: GPL-2.0
/*
 * Everything about objects and their states that is no completion status: the
 * modify_qp matrix, limits, posts in the wrong state, SQD, async events,
 * completion events, objects that go away while they are in use.
 *
 * One process, one thread, both ends. Events of the port need four commands
 * from the environment (LINK_DOWN, LINK_UP, ADDR_ADD, ADDR_DEL) that change
 * the second device's netdev; without them those cases are skipped.
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
	case BAD_MTU_0: attr.path_mtu = 0; break;
	case BAD_MTU_6: attr.path_mtu = 7; break;
	case BAD_DEST_RD: attr.max_dest_rd_atomic = 255; break;
	case BAD_SGID_INDEX: attr.ah_attr.grh.sgid_index = 255; break;
	case BAD_SGID_EMPTY: attr.ah_attr.grh.sgid_index = 200; break;
	case BAD_ADDRESS: attr.ah_attr.is_global = 0; break;
	case BAD_RD_ATOMIC:
		c.rd_atomic = 255;
		tl_fill_rts(&attr, &c, 1);
		return ibv_modify_qp(qp, &attr, TL_RTS_MASK);
	case BAD_TIMEOUT:
		c.timeout = 32;
		tl_fill_rts(&attr, &c, 1);
		return ibv_modify_qp(qp, &attr, TL_RTS_MASK);
	default: break;
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

	if (!case_begin("modify_qp: impossible values give EINVAL"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (v = 0; v < BAD_VALUES; v++) {
		qp = fresh_qp(&p);
		rc = modify_bad(qp, v);
		/* the core says ENODATA of a GID that is not there */
		EXPECT(rc == EINVAL || (rc == ENODATA &&
		       (v == BAD_SGID_INDEX || v == BAD_SGID_EMPTY)) ||
		       (dev_a.is_rxe && (v == BAD_PKEY_INDEX ||
					 v == BAD_MTU_0 || v == BAD_DEST_RD)),
		       "%s gives %d", names[v], rc);
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

/* ---- SQD ---- */

static void sq_drain(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1 };
	struct pair p;

	if (!case_begin("SQD: drains, tells, holds new requests, goes on"))
		return;
	if (rxe_lacks(&dev_a, "RNR retries in SQD")) {
		case_end();
		return;
	}
	pair_init(&p);
	pair_make(&p);
	/* waits for its receive, so that there is something to drain */
	EXPECT(!post_simple(&p, IBV_WR_SEND, 1, 3000), "post_send");
	tl_sleep_ms(5);
	EXPECT(!ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE |
			      IBV_QP_EN_SQD_ASYNC_NOTIFY), "modify");
	EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 2, 100), "post_send");
	expect_no_wc(p.a.scq, 50);
	EXPECT(!post_recv_simple(&p.b, 7, 3000), "post_recv");
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, 3000);
	expect_event(&dev_a, IBV_EVENT_SQ_DRAINED);
	expect_state(p.a.qp, IBV_QPS_SQD);
	expect_no_wc(p.a.scq, 100);
	EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_RTS), "modify");
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, 3000);
	EXPECT(!post_simple(&p, IBV_WR_RDMA_READ, 3, 100), "post_send");
	expect_wc(p.a.scq, 3, IBV_WC_SUCCESS, 3000);
	pair_drop(&p);
	case_end();
}

static void sq_drain_idle(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1 };
	struct pair p;

	if (!case_begin("SQD: an idle queue is drained at once"))
		return;
	pair_init(&p);
	pair_make(&p);
	EXPECT(!ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE |
			      IBV_QP_EN_SQD_ASYNC_NOTIFY), "modify");
	if (!rxe_lacks(&dev_a, "SQ_DRAINED of an idle queue"))
		expect_event(&dev_a, IBV_EVENT_SQ_DRAINED);
	EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_ERR), "modify");
	pair_drop(&p);
	case_end();
}

/* ---- events ---- */

static void comm_est(void)
{
	struct ibv_qp_attr attr;
	struct pair p;

	if (!case_begin("COMM_EST: a request reaches a queue pair in RTR"))
		return;
	pair_init(&p);
	end_make(&p.a, &dev_a, 32, 4);
	end_make(&p.b, &dev_b, 32, 4);
	tl_qp_init(p.b.qp, ACCESS_ALL);
	tl_fill_rtr(&attr, &p.cb, &dev_b, &dev_a.gid, p.a.qp->qp_num, 5);
	EXPECT(!ibv_modify_qp(p.b.qp, &attr, TL_RTR_MASK), "modify");
	EXPECT(!tl_qp_connect(p.a.qp, &p.ca, &dev_a, &dev_b, p.b.qp->qp_num,
			      5, 9), "connect");
	EXPECT(!post_recv_simple(&p.b, 7, 100), "post_recv");
	EXPECT(!post_simple(&p, IBV_WR_SEND, 1, 50), "post_send");
	expect_wc(p.b.rcq, 7, IBV_WC_SUCCESS, 3000);
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, 3000);
	if (!rxe_lacks(&dev_b, "COMM_EST"))
		expect_event(&dev_b, IBV_EVENT_COMM_EST);
	expect_state(p.b.qp, IBV_QPS_RTR);
	pair_drop(&p);
	case_end();
}

static void cq_overflow(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 64, 4, 1, 1, 0 },
	};
	struct ibv_cq *small;
	struct pair p;
	int i;

	if (!case_begin("CQ_ERR: more completions than the CQ holds"))
		return;
	pair_init(&p);
	pair_make(&p);
	ibv_destroy_qp(p.a.qp);
	small = ibv_create_cq(dev_a.ctx, 3, NULL, NULL, 0);
	init.send_cq = small;
	init.recv_cq = p.a.rcq;
	p.a.qp = ibv_create_qp(dev_a.pd, &init);
	EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_RESET), "modify");
	pair_connect(&p);
	for (i = 0; i < small->cqe + 3; i++)
		post_simple(&p, IBV_WR_RDMA_WRITE, i, 8);
	expect_event(&dev_a, IBV_EVENT_CQ_ERR);
	if (!rxe_lacks(&dev_a, "an error of the queue pairs of such a CQ"))
		expect_state(p.a.qp, IBV_QPS_ERR);
	ibv_destroy_qp(p.a.qp);
	p.a.qp = NULL;
	EXPECT(!ibv_destroy_cq(small), "destroy_cq");
	expect_alive();
	pair_drop(&p);
	case_end();
}

static void run_command(const char *variable)
{
	const char *cmd = getenv(variable);

	if (system(cmd))
		EXPECT(false, "%s failed", cmd);
}

static void port_events(void)
{
	struct ibv_port_attr attr;
	struct pair p;

	if (!case_begin("PORT_ERR and PORT_ACTIVE follow the link"))
		return;
	if (!getenv("LINK_DOWN")) {
		tl_skip("%s # SKIP no commands given", case_name);
		return;
	}
	pair_init(&p);
	pair_make(&p);
	run_command("LINK_DOWN");
	expect_event(&dev_b, IBV_EVENT_PORT_ERR);
	EXPECT(!ibv_query_port(dev_b.ctx, 1, &attr), "query_port");
	EXPECT(attr.state == IBV_PORT_DOWN, "state %d", attr.state);
	run_command("LINK_UP");
	expect_event(&dev_b, IBV_EVENT_PORT_ACTIVE);
	EXPECT(!ibv_query_port(dev_b.ctx, 1, &attr), "query_port");
	EXPECT(attr.state == IBV_PORT_ACTIVE, "state %d", attr.state);
	tl_sleep_ms(300);
	EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 1, 3000), "post_send");
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, 5000);
	pair_drop(&p);
	case_end();
}

static void gid_events(void)
{
	if (!case_begin("GID_CHANGE follows the addresses"))
		return;
	if (!getenv("ADDR_ADD")) {
		tl_skip("%s # SKIP no commands given", case_name);
		return;
	}
	run_command("ADDR_ADD");
	expect_event(&dev_b, IBV_EVENT_GID_CHANGE);
	run_command("ADDR_DEL");
	expect_event(&dev_b, IBV_EVENT_GID_CHANGE);
	case_end();
}

static bool cq_event(struct pair_end *e, unsigned int ms)
{
	struct pollfd pfd = { e->ch->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&pfd, 1, ms) <= 0 || ibv_get_cq_event(e->ch, &cq, &ctx))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void send_once(struct pair *p, uint64_t id, int flags, bool imm)
{
	struct post x = post_of(p, imm ? IBV_WR_RDMA_WRITE_WITH_IMM :
				IBV_WR_SEND, id, 20);

	x.flags |= flags;
	EXPECT(!post_recv_simple(&p->b, id, 100), "post_recv");
	EXPECT(!post_raw(&p->a, &x), "post_send");
	expect_wc(p->a.scq, id, IBV_WC_SUCCESS, 3000);
}

static void completion_events(void)
{
	struct pair p;

	if (!case_begin("completion events: armed, one shot, solicited, error"))
		return;
	pair_init(&p);
	pair_make(&p);
	send_once(&p, 1, 0, false);
	EXPECT(!cq_event(&p.b, 50), "event though never armed");
	EXPECT(!ibv_req_notify_cq(p.b.rcq, 0), "req_notify");
	send_once(&p, 2, 0, false);
	EXPECT(cq_event(&p.b, 3000), "no event");
	send_once(&p, 3, 0, false);
	EXPECT(!cq_event(&p.b, 50), "event though armed only once");
	EXPECT(!ibv_req_notify_cq(p.b.rcq, 1), "req_notify");
	send_once(&p, 4, 0, false);
	EXPECT(!cq_event(&p.b, 50), "event of an unsolicited SEND");
	send_once(&p, 5, IBV_SEND_SOLICITED, false);
	EXPECT(cq_event(&p.b, 3000), "no event of a solicited SEND");
	EXPECT(!ibv_req_notify_cq(p.b.rcq, 1), "req_notify");
	send_once(&p, 6, 0, true);
	EXPECT(!cq_event(&p.b, 50), "event of an unsolicited WRITE_IMM");
	send_once(&p, 7, IBV_SEND_SOLICITED, true);
	EXPECT(cq_event(&p.b, 3000), "no event of a solicited WRITE_IMM");
	EXPECT(!ibv_req_notify_cq(p.b.rcq, 1), "req_notify");
	EXPECT(!post_recv_simple(&p.b, 8, 100), "post_recv");
	EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_ERR), "modify");
	if (!rxe_lacks(&dev_b, "a solicited event of a flush"))
		EXPECT(cq_event(&p.b, 3000), "no event of an error");
	pair_drop(&p);
	case_end();
}

/* ---- objects that go away ---- */

static void dereg_under_traffic(void)
{
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct pair p;
	struct post x;
	int i, side, bad;

	if (!case_begin("dereg_mr under traffic, either end"))
		return;
	for (side = 0; side < 2; side++) {
		pair_init(&p);
		pair_make(&p);
		mr = side ? ibv_reg_mr(dev_b.pd, p.b.buf, BUF_SIZE, ACCESS_ALL) :
			    ibv_reg_mr(dev_a.pd, p.a.buf, BUF_SIZE, ACCESS_ALL);
		for (i = 0; i < 30; i++) {
			x = post_of(&p, i & 1 ? IBV_WR_RDMA_WRITE :
				    IBV_WR_RDMA_READ, i, 30000);
			if (side)
				x.rkey = mr->rkey;
			else
				x.lkey = mr->lkey;
			EXPECT(!post_raw(&p.a, &x), "post_send");
			if (i == 15)
				EXPECT(!ibv_dereg_mr(mr), "dereg_mr");
		}
		for (i = bad = 0; i < 30; i++) {
			EXPECT(tl_poll_wait(p.a.scq, &wc, 5000), "no wc %d", i);
			EXPECT((int)wc.wr_id == i, "order");
			bad += wc.status != 0;
		}
		EXPECT(bad, "all of it worked without the region");
		expect_state(p.a.qp, IBV_QPS_ERR);
		pair_drop(&p);
	}
	expect_alive();
	case_end();
}

static void destroy_with_work(void)
{
	struct pair p;
	int round, i;

	if (!case_begin("destroy_qp with everything outstanding"))
		return;
	for (round = 0; round < 8; round++) {
		pair_init(&p);
		pair_make(&p);
		for (i = 0; i < 8; i++) {
			post_recv_simple(&p.a, 100 + i, 1000);
			if (round & 1)
				post_recv_simple(&p.b, 200 + i, 1000);
			post_simple(&p, IBV_WR_RDMA_WRITE, i, 60000);
			post_simple(&p, IBV_WR_SEND, i, 1000);
			post_simple(&p, IBV_WR_RDMA_READ, i, 60000);
		}
		if (round & 2) {
			EXPECT(!ibv_destroy_qp(p.b.qp), "destroy");
			p.b.qp = NULL;
		}
		if (round & 4)
			tl_sleep_ms(1);
		EXPECT(!ibv_destroy_qp(p.a.qp), "destroy");
		p.a.qp = NULL;
		pair_drop(&p);
	}
	expect_alive();
	case_end();
}

/* A process that dies with everything open and in flight. */
static void exit_with_work(void)
{
	struct pair p;
	pid_t pid;
	int i, round, status;

	if (!case_begin("exit and kill with everything in flight"))
		return;
	for (round = 0; round < 6; round++) {
		pid = fork();
		if (!pid) {
			tl_open(&dev_a, dev_a.name, 4);
			tl_open(&dev_b, dev_b.name, 4);
			pair_init(&p);
			pair_make(&p);
			for (i = 0; i < 20; i++)
				post_simple(&p, i % 3 ? IBV_WR_RDMA_READ :
					    IBV_WR_SEND, i, 60000);
			if (round & 1)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid, "wait");
	}
	expect_alive();
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
	sq_drain();
	sq_drain_idle();
	comm_est();
	cq_overflow();
	completion_events();
	dereg_under_traffic();
	destroy_with_work();
	exit_with_work();
	gid_events();
	port_events();
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
