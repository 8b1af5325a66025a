// SPDX-License-Identifier: GPL-2.0
/*
 * Flows between devices, and what each of them carried over time.
 *
 * One process, one thread, both ends of every flow. It sleeps until a
 * completion, a tick of the series, or the start or end of a flow, so that it
 * works where time passes only while everybody sleeps. It owns the flows and
 * the series; who reads them decides what is good.
 *
 *   sroce_flow [-t MS] [-i MS] [-o FILE] [-f 4|6] FLOW...
 *
 * FLOW is key=value[,key=value...]:
 *   a, b     device that asks, device that answers
 *   op       write (default) or read
 *   size     bytes of a message (65536)    depth  messages under way (8)
 *   start    ms from the beginning (0)     stop   ms (the end)
 *   n        queue pairs like this (1)     mtu    path MTU (1024)
 *   tc, sl   traffic class, service level  label  flow label (0)
 *   limit    kbit/s, IB_QP_RATE_LIMIT      timeout  ACK timeout code (14)
 *   agid     GID index of a (its first)    bgid   of b
 *   gap      us from a completion to the next message; the time of each
 *            message is written then
 *
 * It ends after MS, or when all flows have.
 *
 * FILE gets JSON: per queue pair its key, bytes acknowledged in each tick, and
 * times in ns. The status is 1 when a completion failed, unless rough=1.
 */
#include "testlib.h"

#include <rdma/ib_user_verbs.h>
#include <sys/epoll.h>

#define MAX_DEVS	64
#define MAX_FLOWS	4096
#define CQ_DEPTH	65536

struct node {
	struct tl_dev d;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
};

struct flow {
	struct node *a, *b;
	struct ibv_qp *qa, *qb;
	struct tl_conn conn;
	bool read, started, rough;
	uint32_t size, depth, label, limit, gap_us, under_way;
	uint64_t start_ns, stop_ns, next_ns, posted_ns;
	uint64_t bytes, errors;
	uint64_t *series;
	uint32_t *times;
	uint32_t times_n, times_max;
	const char *text;
	int number;
};

static struct node nodes[MAX_DEVS];
static struct flow *flows;
static int nodes_n, flows_n, ep;
static uint32_t ticks_n, tick, buf_bytes = 1 << 20;
static uint64_t begin_ns, tick_ns = 10000000ull, total_ns = 1000000000ull;

static struct node *node_of(const char *name, int family)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct node *n;
	int i, cqe;

	for (i = 0; i < nodes_n; i++)
		if (!strcmp(nodes[i].d.name, name))
			return &nodes[i];
	if (nodes_n == MAX_DEVS)
		tl_die("too many devices");
	n = &nodes[nodes_n++];
	tl_open(&n->d, strdup(name), family);
	n->buf = calloc(1, buf_bytes);
	n->ch = ibv_create_comp_channel(n->d.ctx);
	n->mr = ibv_reg_mr(n->d.pd, n->buf, buf_bytes, ACCESS_ALL);
	cqe = n->d.attr.max_cqe < CQ_DEPTH ? n->d.attr.max_cqe : CQ_DEPTH;
	n->cq = n->ch ? ibv_create_cq(n->d.ctx, cqe, NULL, n->ch, 0) : NULL;
	if (!n->buf || !n->mr || !n->cq || ibv_req_notify_cq(n->cq, 0))
		tl_die("%s: buffer and completion queue", name);
	fcntl(n->ch->fd, F_SETFL, O_NONBLOCK);
	ev.data.ptr = n;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, n->ch->fd, &ev))
		tl_die("epoll_ctl");
	return n;
}

static struct ibv_qp *make_qp(struct node *n, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = n->cq, .recv_cq = n->cq,
		.cap = { depth + 1, 1, 1, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(n->d.pd, &init);

	if (!qp)
		tl_die("%s: create_qp", n->d.name);
	return qp;
}

/* libibverbs has a call for it, but no provider of soft devices does it. */
static int set_limit(struct ibv_qp *qp, uint32_t kbps)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_modify_qp cmd;
	} __attribute__((packed)) x = {
		.hdr = {
			.command = IB_USER_VERBS_EX_CMD_MODIFY_QP |
				   IB_USER_VERBS_CMD_FLAG_EXTENDED,
			.in_words = sizeof(x.cmd) / 8,
		},
		.cmd = {
			.base = { .qp_handle = qp->handle,
				  .attr_mask = 1 << 25 },
			.rate_limit = kbps,
		},
	};

	return write(qp->context->cmd_fd, &x, sizeof(x)) == sizeof(x) ?
	       0 : errno;
}

static int connect_one(struct ibv_qp *qp, struct flow *f, struct node *me,
		       struct node *peer, struct ibv_qp *to)
{
	struct ibv_qp_attr attr;
	int rc = tl_qp_init(qp, f->conn.access);

	if (rc)
		return rc;
	tl_fill_rtr(&attr, &f->conn, &me->d, &peer->d.gid, to->qp_num, 77);
	attr.ah_attr.grh.flow_label = f->label;
	rc = ibv_modify_qp(qp, &attr, TL_RTR_MASK);
	if (rc)
		return rc;
	tl_fill_rts(&attr, &f->conn, 77);
	return ibv_modify_qp(qp, &attr, TL_RTS_MASK);
}

static void make_flow(struct flow *f)
{
	int rc;

	f->qa = make_qp(f->a, f->depth);
	f->qb = make_qp(f->b, 1);
	rc = connect_one(f->qa, f, f->a, f->b, f->qb);
	if (!rc)
		rc = connect_one(f->qb, f, f->b, f->a, f->qa);
	if (!rc && f->limit)
		rc = set_limit(f->qa, f->limit);
	if (rc) {
		errno = rc;
		tl_die("flow %d: connect", f->number);
	}
	f->series = calloc(ticks_n + 1, sizeof(*f->series));
	if (f->gap_us) {
		f->times_max = 1 << 20;
		f->times = calloc(f->times_max, sizeof(*f->times));
	}
}

static void post(struct flow *f, uint64_t now_ns)
{
	struct ibv_sge sge = { (uintptr_t)f->a->buf, f->size, f->a->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = f->number, .sg_list = &sge, .num_sge = 1,
		.opcode = f->read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)f->b->buf, f->b->mr->rkey },
	};

	if (ibv_post_send(f->qa, &wr, &bad)) {
		f->errors++;
		f->stop_ns = 0;
		return;
	}
	f->posted_ns = now_ns;
	f->under_way++;
}

/* Post what is due; returns when the flow wants to be looked at again. */
static uint64_t drive(struct flow *f, uint64_t now_ns)
{
	if (now_ns >= f->stop_ns)
		return UINT64_MAX;
	if (now_ns < f->start_ns)
		return f->start_ns;
	if (now_ns < f->next_ns)
		return f->next_ns;
	while (f->under_way < f->depth && now_ns < f->stop_ns)
		post(f, now_ns);
	return UINT64_MAX;
}

static void completed(struct ibv_wc *wc)
{
	struct flow *f = &flows[wc->wr_id];
	uint64_t now_ns = tl_now_ns();

	f->under_way--;
	if (wc->status) {
		if (!f->errors++)
			printf("# flow %d: %s\n", f->number,
			       ibv_wc_status_str(wc->status));
		f->stop_ns = 0;
		return;
	}
	f->bytes += f->size;
	f->series[tick] += f->size;
	if (f->gap_us) {
		f->next_ns = now_ns + f->gap_us * 1000ull;
		if (f->times_n < f->times_max)
			f->times[f->times_n++] = now_ns - f->posted_ns;
	}
	drive(f, now_ns);
}

static void reap(struct node *n)
{
	struct ibv_wc wc[32];
	struct ibv_cq *cq;
	void *ctx;
	int i, got;

	while (!ibv_get_cq_event(n->ch, &cq, &ctx))
		ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(n->cq, 0))
		tl_die("req_notify_cq");
	while ((got = ibv_poll_cq(n->cq, 32, wc)) > 0)
		for (i = 0; i < got; i++)
			completed(&wc[i]);
}

static void loop(void)
{
	uint64_t now_ns, next_ns, want_ns;
	bool over;
	struct epoll_event ev[MAX_DEVS];
	struct timespec ts;
	int i, n;

	begin_ns = tl_now_ns();
	for (i = 0; i < flows_n; i++) {
		flows[i].start_ns += begin_ns;
		flows[i].stop_ns += begin_ns;
	}
	for (;;) {
		now_ns = tl_now_ns();
		tick = (now_ns - begin_ns) / tick_ns;
		if (now_ns >= begin_ns + total_ns)
			return;
		next_ns = begin_ns + (tick + 1) * tick_ns;
		for (i = 0, over = true; i < flows_n; i++) {
			over &= now_ns >= flows[i].stop_ns &&
				!flows[i].under_way;
			want_ns = drive(&flows[i], now_ns);
			if (want_ns < next_ns)
				next_ns = want_ns;
		}
		if (over)
			return;
		now_ns = tl_now_ns();
		want_ns = next_ns > now_ns ? next_ns - now_ns : 0;
		ts.tv_sec = want_ns / 1000000000ull;
		ts.tv_nsec = want_ns % 1000000000ull;
		n = epoll_pwait2(ep, ev, MAX_DEVS, &ts, NULL);
		tick = (tl_now_ns() - begin_ns) / tick_ns;
		if (tick > ticks_n)
			tick = ticks_n;
		for (i = 0; i < n; i++)
			reap(ev[i].data.ptr);
	}
}

static void set_number(struct flow *f, const char *k, uint64_t x)
{
	if (!strcmp(k, "size"))
		f->size = x;
	else if (!strcmp(k, "depth"))
		f->depth = x;
	else if (!strcmp(k, "start"))
		f->start_ns = x * 1000000ull;
	else if (!strcmp(k, "stop"))
		f->stop_ns = x * 1000000ull;
	else if (!strcmp(k, "label"))
		f->label = x;
	else if (!strcmp(k, "limit"))
		f->limit = x;
	else if (!strcmp(k, "gap"))
		f->gap_us = x;
	else if (!strcmp(k, "rough"))
		f->rough = x;
	else
		tl_die("no such key: %s", k);
}

static void use_gid(struct node *n, int index)
{
	if (!n || ibv_query_gid(n->d.ctx, 1, index, &n->d.gid))
		tl_die("no GID %d", index);
	n->d.gid_index = index;
}

static void set_key(struct flow *f, const char *k, const char *v, int family)
{
	uint64_t x = strtoull(v, NULL, 0);

	if (!strcmp(k, "a"))
		f->a = node_of(v, family);
	else if (!strcmp(k, "b"))
		f->b = node_of(v, family);
	else if (!strcmp(k, "agid"))
		use_gid(f->a, x);
	else if (!strcmp(k, "bgid"))
		use_gid(f->b, x);
	else if (!strcmp(k, "op"))
		f->read = !strcmp(v, "read");
	else if (!strcmp(k, "mtu"))
		f->conn.pmtu = x;
	else if (!strcmp(k, "tc"))
		f->conn.tclass = x;
	else if (!strcmp(k, "sl"))
		f->conn.sl = x;
	else if (!strcmp(k, "timeout"))
		f->conn.timeout = x;
	else
		set_number(f, k, x);
}

static void add_flows(const char *text, int family)
{
	char *copy = strdup(text), *save = NULL, *item, *eq;
	struct flow f = {
		.size = 65536, .depth = 8, .stop_ns = total_ns,
		.conn = tl_conn_default(), .text = text,
	};
	int n = 1;

	f.conn.timeout = 14;
	for (item = strtok_r(copy, ",", &save); item;
	     item = strtok_r(NULL, ",", &save)) {
		eq = strchr(item, '=');
		if (!eq)
			tl_die("not key=value: %s", item);
		*eq++ = 0;
		if (!strcmp(item, "n"))
			n = atoi(eq);
		else
			set_key(&f, item, eq, family);
	}
	free(copy);
	if (!f.a || !f.b || !f.depth || f.size > buf_bytes)
		tl_die("flow without ends or too big: %s", text);
	if (f.gap_us)
		f.depth = 1;
	for (; n > 0; n--) {
		if (flows_n == MAX_FLOWS)
			tl_die("too many flows");
		f.number = flows_n;
		flows[flows_n] = f;
		make_flow(&flows[flows_n++]);
	}
}

static void write_flow(FILE *out, const struct flow *f)
{
	uint32_t i;

	fprintf(out, "{\"flow\": \"%s\", \"qpn\": %u, \"peer\": %u, \"bytes\": %" PRIu64
		", \"errors\": %" PRIu64 ", \"series\": [", f->text,
		f->qa->qp_num, f->qb->qp_num, f->bytes, f->errors);
	for (i = 0; i < ticks_n; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", f->series[i]);
	fprintf(out, "], \"times_ns\": [");
	for (i = 0; i < f->times_n; i++)
		fprintf(out, "%s%u", i ? "," : "", f->times[i]);
	fprintf(out, "]}");
}

static int report(const char *path)
{
	FILE *out = path ? fopen(path, "w") : NULL;
	int i, bad = 0;

	if (path && !out)
		tl_die("%s", path);
	if (out)
		fprintf(out, "{\"tick_ns\": %" PRIu64 ", \"begin_ns\": %" PRIu64
			", \"flows\": [\n", tick_ns, begin_ns);
	for (i = 0; i < flows_n; i++) {
		bad += flows[i].errors && !flows[i].rough;
		if (out) {
			write_flow(out, &flows[i]);
			fprintf(out, i + 1 < flows_n ? ",\n" : "\n]}\n");
		}
		if (flows_n <= 64)
			printf("# flow %d: %" PRIu64 " bytes, %" PRIu64
			       " errors\n", i, flows[i].bytes, flows[i].errors);
	}
	if (out)
		fclose(out);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	int c, family = 4;

	while ((c = getopt(argc, argv, "t:i:o:f:")) != -1) {
		if (c == 't')
			total_ns = atoi(optarg) * 1000000ull;
		else if (c == 'i')
			tick_ns = atoi(optarg) * 1000000ull;
		else if (c == 'o')
			path = optarg;
		else if (c == 'f')
			family = atoi(optarg);
		else
			tl_die("options: see the head of the source");
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	ticks_n = total_ns / tick_ns;
	flows = calloc(MAX_FLOWS, sizeof(*flows));
	ep = epoll_create1(0);
	if (!flows || ep < 0)
		tl_die("set up");
	for (; optind < argc; optind++)
		add_flows(argv[optind], family);
	loop();
	return report(path);
}
