// SPDX-License-Identifier: GPL-2.0
/*
 * UC over a network that loses packets: a message arrives whole or not at all,
 * the queue pairs live on, and no receive request is lost with a message.
 *
 * usage: sroce_uc [-L SECONDS] [-l] DEVICE_A DEVICE_B
 *	-l: the network loses packets; without it every message must arrive
 *
 * One process has both ends. Prints "ok - x" and "not ok - x" lines; exits 1
 * when a case failed.
 */
#include "testlib.h"

#define BYTES 20000	/* of a message; not a multiple of the path MTU */
#define MESSAGES 400
#define DEPTH 16

struct end {
	struct tl_dev d;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct end a, b;
static unsigned int arrived, broken, out_of_order;
static uint32_t last_seen;

static void open_end(struct end *e, const char *name)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	tl_open(&e->d, name, 4);
	e->buf = aligned_alloc(4096, DEPTH * 20480);
	e->mr = ibv_reg_mr(e->d.pd, e->buf, DEPTH * 20480,
			   IBV_ACCESS_LOCAL_WRITE);
	e->cq = ibv_create_cq(e->d.ctx, 4 * DEPTH, NULL, NULL, 0);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->d.pd, &init);
	if (!e->buf || !e->mr || !e->cq || !e->qp)
		tl_die("%s: no queue pair", name);
}

static int connect_end(struct end *e, struct end *peer)
{
	struct tl_conn c = tl_conn_default();
	struct ibv_qp_attr attr;

	if (tl_qp_init(e->qp, IBV_ACCESS_REMOTE_WRITE))
		return -1;
	tl_fill_rtr(&attr, &c, &e->d, &peer->d.gid, peer->qp->qp_num, 0xfffffa);
	if (ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN))
		return -1;
	tl_fill_rts(&attr, &c, 0xfffffa);
	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void post_recv(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)b.buf + slot * 20480, BYTES,
			       b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	if (ibv_post_recv(b.qp, &wr, &bad))
		tl_die("post_recv");
}

/* All words of a message are its number. */
static void receive(void)
{
	const uint32_t *p;
	struct ibv_wc wc;
	unsigned int i;

	while (ibv_poll_cq(b.cq, 1, &wc) == 1) {
		p = (uint32_t *)(b.buf + wc.wr_id * 20480);
		arrived++;
		for (i = 0; i < BYTES / 4 && p[i] == p[0]; i++)
			;
		if (wc.status || wc.byte_len != BYTES || i != BYTES / 4 ||
		    ntohl(wc.imm_data) != p[0])
			broken++;
		if (p[0] <= last_seen)
			out_of_order++;
		last_seen = p[0];
		post_recv(wc.wr_id);
	}
}

static int send_one(uint32_t number)
{
	uint32_t *p = (uint32_t *)(a.buf + number % DEPTH * 20480);
	struct ibv_sge sge = { (uintptr_t)p, BYTES, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(number),
	}, *bad;
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < BYTES / 4; i++)
		p[i] = number;
	if (ibv_post_send(a.qp, &wr, &bad))
		return -1;
	return tl_poll_wait(a.cq, &wc, 3000) == 1 ? (int)wc.status : -1;
}

int main(int argc, char **argv)
{
	int limit = 60, lossy = 0, bad = 0, c;
	uint32_t i;

	while ((c = getopt(argc, argv, "lL:")) != -1) {
		if (c == 'l')
			lossy = 1;
		else if (c == 'L')
			limit = atoi(optarg);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	tl_time_limit(limit);
	open_end(&a, argv[optind]);
	open_end(&b, argv[optind + 1]);
	if (connect_end(&a, &b) || connect_end(&b, &a))
		tl_die("connect");
	for (i = 0; i < DEPTH; i++)
		post_recv(i);
	for (i = 1; i <= MESSAGES; i++) {
		bad += !!send_one(i);
		tl_sleep_ms(2);
		receive();
	}
	tl_sleep_ms(200);
	receive();
	printf("# %u of %u messages arrived\n", arrived, MESSAGES);
	tl_ok(!bad, "every message was sent");
	tl_ok(!broken && !out_of_order, "messages arrive whole and in order");
	if (lossy)
		tl_ok(arrived > MESSAGES / 20 && arrived < MESSAGES,
		      "some arrive, some are lost");
	else
		tl_ok(arrived == MESSAGES, "all arrive");
	tl_ok(tl_qp_state(a.qp) == IBV_QPS_RTS &&
	      tl_qp_state(b.qp) == IBV_QPS_RTS, "both ends live on");
	return tl_failures ? 1 : 0;
}
