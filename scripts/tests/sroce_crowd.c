// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections at once through the connection manager: a server and a client
 * that asks for all of them before the first is answered.  Each is established,
 * carries a message with private data checked, and is disconnected.
 *
 * usage: sroce_crowd [-n CONNECTIONS] [-L SECONDS] -s | SERVER-ADDRESS
 *
 * The server ends when all its connections have ended.  Exit status 0: every one
 * succeeded.
 */
#include "testlib.h"
#include <rdma/rdma_cma.h>

#define PORT "7471"

static int total = 500;
static struct rdma_event_channel *ch;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static int established, ended, failed;

/* One CQ and domain for all: it is connections that are counted here. */
static void share(struct rdma_cm_id *id)
{
	if (pd)
		return;
	pd = ibv_alloc_pd(id->verbs);
	cq = ibv_create_cq(id->verbs, 2 * total + 16, NULL, NULL, 0);
	if (!pd || !cq)
		tl_die("pd, cq");
}

static int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 2, 2, 1, 1, 0 },
	};
	struct ibv_recv_wr *bad, wr = {};

	share(id);
	init.send_cq = cq;
	init.recv_cq = cq;
	return rdma_create_qp(id, pd, &init) || ibv_post_recv(id->qp, &wr, &bad);
}

static struct rdma_conn_param param(const uint32_t *number)
{
	return (struct rdma_conn_param) {
		.private_data = number,
		.private_data_len = sizeof(*number),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void send_one(struct rdma_cm_id *id)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	if (ibv_post_send(id->qp, &wr, &bad))
		tl_die("post_send");
}

static void fail(const char *what, int status)
{
	if (failed++ < 5)
		printf("# %s: status %d\n", what, status);
}

/* The client's number comes back in the answer. */
static void answer(struct rdma_cm_id *id, const struct rdma_conn_param *in)
{
	uint32_t number;
	struct rdma_conn_param p = param(&number);

	memcpy(&number, in->private_data, sizeof(number));
	number ^= 0x5a5a5a5a;
	if (make_qp(id) || rdma_accept(id, &p))
		fail("accept", errno);
}

static void check_answer(struct rdma_cm_id *id,
			 const struct rdma_conn_param *in)
{
	uint32_t number;

	memcpy(&number, in->private_data, sizeof(number));
	if ((number ^ 0x5a5a5a5a) != (uint32_t)(uintptr_t)id->context)
		fail("private data", number);
}

static void ask(struct rdma_cm_id *id)
{
	uint32_t number = (uintptr_t)id->context;
	struct rdma_conn_param p = param(&number);

	if (make_qp(id) || rdma_connect(id, &p))
		fail("connect", errno);
}

/* One event; the id is destroyed by the caller when this returns true. */
static bool handle(struct rdma_cm_event *ev, bool server)
{
	struct rdma_cm_id *id = ev->id;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, 10000))
			fail("resolve_route", errno);
		return false;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ask(id);
		return false;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(id, &ev->param.conn);
		return false;
	case RDMA_CM_EVENT_ESTABLISHED:
		established++;
		if (!server) {
			check_answer(id, &ev->param.conn);
			send_one(id);
		}
		return false;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(id);
		ended++;
		return true;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return false;
	default:
		fail(rdma_event_str(ev->event), ev->status);
		return false;
	}
}

static bool next_event(bool server)
{
	struct pollfd pfd = { ch->fd, POLLIN, 0 };
	struct rdma_cm_event *ev, copy;
	bool gone;

	if (poll(&pfd, 1, 20000) <= 0 || rdma_get_cm_event(ch, &ev))
		return false;
	copy = *ev;
	gone = handle(ev, server);
	rdma_ack_cm_event(ev);
	if (gone) {
		rdma_destroy_qp(copy.id);
		rdma_destroy_id(copy.id);
	}
	return true;
}

/* Received messages among @want completions. */
static int count_messages(int want)
{
	uint64_t end = tl_now_ns() + 20000000000ull;
	int n = 0, seen = 0;
	struct ibv_wc wc;

	while (seen < want && tl_now_ns() < end) {
		if (ibv_poll_cq(cq, 1, &wc) < 1) {
			usleep(200);
			continue;
		}
		seen++;
		n += !wc.status && wc.opcode == IBV_WC_RECV;
	}
	return n;
}

static int serve(void)
{
	struct rdma_addrinfo *ai, hints = {
		.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_cm_id *listener;
	int got = -1;

	if (rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_getaddrinfo(NULL, PORT, &hints, &ai) ||
	    rdma_bind_addr(listener, ai->ai_src_addr) ||
	    rdma_listen(listener, total))
		tl_die("listen");
	printf("ready\n");
	while (established < total && !failed && next_event(true))
		;
	if (established == total)
		got = count_messages(total);
	printf("# server: %d established, %d messages\n", established, got);
	while (ended < total && !failed && next_event(true))
		;
	printf("# server: %d ended, %d failures\n", ended, failed);
	rdma_destroy_id(listener);
	return got == total && ended == total && !failed ? 0 : 1;
}

static int call(const char *address)
{
	struct rdma_cm_id **id = calloc(total, sizeof(*id));
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(atoi(PORT)) };
	uint64_t t = tl_now_ns();
	int i;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		tl_die("address");
	for (i = 0; i < total; i++)
		if (rdma_create_id(ch, &id[i], (void *)(uintptr_t)(i + 1),
				   RDMA_PS_TCP) ||
		    rdma_resolve_addr(id[i], NULL, (struct sockaddr *)&to,
				      10000))
			tl_die("id %d", i);
	while (established < total && !failed && next_event(false))
		;
	printf("# client: %d of %d established in %.0f ms\n", established,
	       total, (tl_now_ns() - t) / 1e6);
	if (established < total)
		return 1;
	t = tl_now_ns();
	for (i = 0; i < total; i++)
		rdma_disconnect(id[i]);
	while (ended < total && !failed && next_event(false))
		;
	printf("# client: %d ended in %.0f ms\n", ended,
	       (tl_now_ns() - t) / 1e6);
	return ended == total && !failed ? 0 : 1;
}

int main(int argc, char **argv)
{
	bool server = false;
	int c, limit = 100;

	while ((c = getopt(argc, argv, "sn:L:")) != -1) {
		if (c == 's')
			server = true;
		else if (c == 'n')
			total = atoi(optarg);
		else if (c == 'L')
			limit = atoi(optarg);
		else
			tl_die("options: [-n CONNECTIONS] [-L SECONDS] -s | ADDRESS");
	}
	tl_time_limit(limit);
	ch = rdma_create_event_channel();
	if (!ch)
		tl_die("event channel");
	return server ? serve() : call(argv[optind]);
}
