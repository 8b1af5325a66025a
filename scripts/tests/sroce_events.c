// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to objects beside completions: SQD, async events, completion
 * events, and objects that go away while they are in use.
 *
 * One process, one thread, both ends. Events of the port need four commands
 * from the environment (LINK_DOWN, LINK_UP, ADDR_ADD, ADDR_DEL) that change
 * the second device's netdev; without them those cases are skipped.
 */
#include "pair.h"

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

/*
 * A connection ends in an error and its queue pair goes back to RESET at once, to be
 * connected anew: what the error still had to say must not hit the new connection.
 */
static void reset_forgets(void)
{
	struct post bad;
	struct pair p;
	int i;

	if (!case_begin("RESET forgets an error that was not told yet"))
		return;
	pair_init(&p);
	pair_make(&p);
	for (i = 0; i < 40; i++) {
		bad = post_of(&p, IBV_WR_RDMA_WRITE, 1, 100);
		bad.rkey ^= 0x5500;
		EXPECT(!post_raw(&p.a, &bad), "post_send");
		/* b meets the error, at another moment each time */
		if (i & 1)
			sched_yield();
		if (i & 2)
			usleep(50 * i);
		EXPECT(!tl_qp_to(p.b.qp, IBV_QPS_RESET), "modify");
		EXPECT(!tl_qp_to(p.a.qp, IBV_QPS_RESET), "modify");
		pair_connect(&p);
		tl_sleep_ms(5);
		expect_state(p.a.qp, IBV_QPS_RTS);
		expect_state(p.b.qp, IBV_QPS_RTS);
		tl_drop_events(&dev_b);
		while (ibv_poll_cq(p.a.scq, 1, &(struct ibv_wc){}) > 0)
			;
		EXPECT(!post_simple(&p, IBV_WR_RDMA_WRITE, 2, 100), "post");
		expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, 3000);
		if (!case_good)
			break;
	}
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
		bad = 0;
		for (i = 0; i < 30; i++) {
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
	sq_drain();
	sq_drain_idle();
	reset_forgets();
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
