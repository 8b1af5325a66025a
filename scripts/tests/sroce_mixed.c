// SPDX-License-Identifier: GPL-2.0
/*
 * RoCEv1 beside RoCEv2: what must not be mixed, and what may.
 *
 * usage: sroce_mixed [-f 4|6] [-L SECONDS] DEVICE_A DEVICE_B
 *
 * Both devices have GIDs of both types. One process has both ends. Prints "ok - x"
 * and "not ok - x" lines; exits 1 when a case failed.
 */
#include "testlib.h"

#define BYTES 4096
#define GRH 40
#define QKEY 0x1234

struct end {
	struct tl_dev v1, v2;	/* one context, two GIDs */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct end a, b;

static void open_end(struct end *e, const char *name, int family)
{
	setenv("TL_ROCE", "v1", 1);
	tl_open(&e->v1, name, family);
	unsetenv("TL_ROCE");
	e->v2 = e->v1;
	tl_choose_gid(&e->v2, family);
	e->buf = aligned_alloc(4096, BYTES);
	e->mr = ibv_reg_mr(e->v1.pd, e->buf, BYTES, ACCESS_ALL);
	e->cq = ibv_create_cq(e->v1.ctx, 64, NULL, NULL, 0);
	if (!e->buf || !e->mr || !e->cq)
		tl_die("%s: set up", name);
}

static void close_end(struct end *e)
{
	if (ibv_destroy_cq(e->cq) || ibv_dereg_mr(e->mr))
		tl_die("%s: close", e->v1.name);
	free(e->buf);
	tl_close(&e->v1);
}

static struct ibv_qp *make_qp(struct end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = e->cq, .recv_cq = e->cq,
		.cap = { 8, 8, 1, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(e->v1.pd, &init);

	if (!qp)
		tl_die("create_qp");
	return qp;
}

static void post_recv(struct end *e, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, BYTES, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		tl_die("post_recv");
}

static int send_status(struct end *e, struct ibv_qp *qp, struct ibv_ah *ah,
		       uint32_t dqpn)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, 100, e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = dqpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	if (ibv_post_send(qp, &wr, &bad) || !tl_poll_wait(e->cq, &wc, 8000))
		return -1;
	return wc.status;
}

/* Each end is of its own version: nothing arrives, and the sender is told. */
static void test_connection(const struct tl_dev *da, const struct tl_dev *db,
			    int want, const char *name)
{
	struct ibv_qp *qa = make_qp(&a, IBV_QPT_RC), *qb = make_qp(&b, IBV_QPT_RC);
	struct tl_conn c = tl_conn_default();
	struct ibv_wc wc;
	int status;

	c.timeout = 12;
	c.retry = 2;
	if (tl_qp_connect(qa, &c, da, db, qb->qp_num, 7, 9) ||
	    tl_qp_connect(qb, &c, db, da, qa->qp_num, 9, 7))
		tl_die("%s: connect", name);
	post_recv(&b, qb);
	status = send_status(&a, qa, NULL, 0);
	tl_ok(status == want, "%s: %s", name, ibv_wc_status_str(status));
	if (want)
		tl_ok(!tl_poll_wait(b.cq, &wc, 100) &&
		      tl_qp_state(qb) == IBV_QPS_RTS,
		      "%s: the receiver is as it was", name);
	else
		tl_ok(tl_poll_wait(b.cq, &wc, 3000) == 1 && !wc.status,
		      "%s: received", name);
	ibv_destroy_qp(qa);
	ibv_destroy_qp(qb);
}

/* In SQD the address may change, the version may not. */
static void test_change(void)
{
	struct ibv_qp *qa = make_qp(&a, IBV_QPT_RC), *qb = make_qp(&b, IBV_QPT_RC);
	struct tl_conn c = tl_conn_default();
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	int rc;

	if (tl_qp_connect(qa, &c, &a.v1, &b.v1, qb->qp_num, 7, 9) ||
	    tl_qp_connect(qb, &c, &b.v1, &a.v1, qa->qp_num, 9, 7) ||
	    tl_qp_to(qa, IBV_QPS_SQD))
		tl_die("connect");
	tl_fill_rtr(&attr, &c, &a.v2, &b.v2.gid, qb->qp_num, 9);
	attr.qp_state = IBV_QPS_SQD;
	rc = ibv_modify_qp(qa, &attr, IBV_QP_STATE | IBV_QP_AV);
	tl_ok(rc == EINVAL, "a connection does not change its version: %s",
	      strerror(rc));
	tl_fill_rtr(&attr, &c, &a.v1, &b.v1.gid, qb->qp_num, 9);
	attr.qp_state = IBV_QPS_SQD;
	rc = ibv_modify_qp(qa, &attr, IBV_QP_STATE | IBV_QP_AV);
	tl_ok(!rc, "its address may be set again");
	attr.qp_state = IBV_QPS_RTS;
	rc = ibv_modify_qp(qa, &attr, IBV_QP_STATE);
	post_recv(&b, qb);
	tl_ok(!rc && !send_status(&a, qa, NULL, 0) &&
	      tl_poll_wait(b.cq, &wc, 3000) == 1 && !wc.status,
	      "and it goes on");
	ibv_destroy_qp(qa);
	ibv_destroy_qp(qb);
}

static struct ibv_ah *make_ah(const struct tl_dev *d, const union ibv_gid *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = *to, .hop_limit = 64,
			 .sgid_index = d->gid_index },
	};

	return ibv_create_ah(d->pd, &attr);
}

/* A datagram names its way itself: both versions reach one queue pair. */
static void test_datagrams(int family)
{
	struct ibv_qp *qa = make_qp(&a, IBV_QPT_UD), *qb = make_qp(&b, IBV_QPT_UD);
	struct ibv_ah *ah[2] = { make_ah(&a.v1, &b.v1.gid),
				 make_ah(&a.v2, &b.v2.gid) };
	union ibv_gid group;
	struct ibv_wc wc;
	int i;

	if (tl_ud_to_rts(qa, QKEY, 1) || tl_ud_to_rts(qb, QKEY, 2) || !ah[0] ||
	    !ah[1])
		tl_die("UD");
	for (i = 0; i < 4; i++) {
		post_recv(&b, qb);
		tl_ok(!send_status(&a, qa, ah[i & 1], qb->qp_num) &&
		      tl_poll_wait(b.cq, &wc, 3000) == 1 && !wc.status &&
		      wc.byte_len == GRH + 100 && (wc.wc_flags & IBV_WC_GRH) &&
		      (i & 1 || (b.buf[0] >> 4 == 6 && b.buf[6] == 0x1b)),
		      "datagram %d, RoCEv%d", i, 1 + (i & 1));
	}
	inet_pton(AF_INET6, family == 6 ? "ff0e::9:9:9" : "::ffff:239.9.9.9",
		  group.raw);
	errno = 0;
	i = make_ah(&a.v1, &group) ? 0 : errno;
	tl_ok(i == EOPNOTSUPP, "no multicast over RoCEv1: %s", strerror(i));
	ibv_destroy_qp(qa);
	ibv_destroy_qp(qb);
	ibv_destroy_ah(ah[0]);
	ibv_destroy_ah(ah[1]);
}

int main(int argc, char **argv)
{
	int c, family = 4, limit = 60;

	while ((c = getopt(argc, argv, "f:L:")) != -1) {
		if (c == 'f')
			family = atoi(optarg);
		else if (c == 'L')
			limit = atoi(optarg);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	tl_time_limit(limit);
	open_end(&a, argv[optind], family);
	open_end(&b, argv[optind + 1], family);
	test_connection(&a.v1, &b.v1, IBV_WC_SUCCESS, "v1 to v1");
	test_connection(&a.v1, &b.v2, IBV_WC_RETRY_EXC_ERR, "v1 to v2");
	test_connection(&a.v2, &b.v1, IBV_WC_RETRY_EXC_ERR, "v2 to v1");
	test_connection(&a.v2, &b.v2, IBV_WC_SUCCESS, "v2 to v2");
	test_change();
	test_datagrams(family);
	close_end(&a);
	close_end(&b);
	return tl_failures ? 1 : 0;
}
