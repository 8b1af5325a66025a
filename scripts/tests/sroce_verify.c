// SPDX-License-Identifier: GPL-2.0
/*
 * The data-checking program: random RC traffic between two devices, every
 * byte delivered compared, every byte outside watched.
 *
 * One process, one thread, both ends. It owns the traffic loop and the
 * checks; the memory model is verify_mem.h, the operations are verify_ops.h. It ends with status 0
 * when everything agreed, 1 after a wrong byte or completion, 2 when something
 * could not be set up, 3 when the time limit struck or nothing moved.
 *
 * Run with -h for the options.
 */
#include "verify_ops.h"

static void check_atomic(struct end *e, struct op *op)
{
	struct side *s = e->peer->side;
	uint64_t got, want = op->old, now;

	memcpy(&got, chunk_addr(&op->src), 8);
	if (op->kind == OP_COUNTER) {
		s->counter_adds++;
		/* some other adds may be under way, but no more than exist */
		if (got >= s->counter_adds + (uint64_t)opt.qps * opt.depth)
			fail(e, "counter returned %#" PRIx64, got);
		if (got + 1 > s->counter_last)
			s->counter_last = got + 1;
		return;
	}
	memcpy(&now, chunk_addr(&op->dst), 8);
	if (got != want)
		fail(e, "atomic returned %#" PRIx64 ", not %#" PRIx64, got,
		     want);
	if (op->kind == OP_FADD)
		want = op->old + op->add;
	else
		want = op->add == op->old ? op->swap : op->old;
	if (now != want)
		fail(e, "%s left %#" PRIx64 ", not %#" PRIx64,
		     kinds[op->kind].name, now, want);
}

static void check_op(struct end *e, struct op *op)
{
	const char *name = kinds[op->kind].name;
	bool reads = op->kind == OP_READ || op->kind == OP_WRITE_READ ||
		     op->kind == OP_READ_WRITE;

	if (op->kind == OP_BARRIER)
		return;
	payload_make(payload, op->len, op->seed);
	if (op->kind == OP_CAS || op->kind == OP_FADD ||
	    op->kind == OP_COUNTER) {
		check_atomic(e, op);
		return;
	}
	if (reads && !chunk_check(&op->src, payload, op->len, "read"))
		fail(e, "%s of %zu: wrong data here", name, op->len);
	if (!reads && !op->inlined &&
	    !chunk_check(&op->src, payload, op->len, "source"))
		fail(e, "%s of %zu: its source changed", name, op->len);
	if (!op->has_dst)
		return;
	if (op->kind == OP_READ_WRITE)
		memcpy(payload + op->len, payload, op->len);
	if (!chunk_check(&op->dst, payload, op->dst.len, "target"))
		fail(e, "%s of %zu: wrong data there", name, op->len);
}

static void poll_recvs(struct side *s);

/* Everything up to and including operation number @seq is done. */
static void finish_ops(struct end *e, uint64_t seq)
{
	uint64_t end_ns = tl_now_ns() + 5000000000ull;
	struct op *op;

	while (e->op_tail <= seq) {
		op = &e->ops[e->op_tail % opt.depth];
		while (op->recv_seq && e->peer->r_tail < op->recv_seq) {
			poll_recvs(e->peer->side);
			if (tl_now_ns() > end_ns)
				fail(e, "%s acknowledged, never received",
				     kinds[op->kind].name);
		}
		check_op(e, op);
		if (op->has_src && !area_give(&op->src))
			fail(e, "%s: bytes around its memory",
			     kinds[op->kind].name);
		if (op->has_dst && !area_give(&op->dst))
			fail(e->peer, "%s of %zu: bytes around its target",
			     kinds[op->kind].name, op->len);
		op_count++;
		byte_count += op->len;
		e->op_tail++;
	}
}

static struct end *end_of(struct side *s, uint32_t qpn)
{
	int i;

	for (i = 0; i < opt.qps; i++)
		if (s->ends[i].qp->qp_num == qpn)
			return &s->ends[i];
	fail(NULL, "%s: completion of an unknown queue pair %#x", s->dev.name,
	     qpn);
}

static void check_send_wc(struct side *s, struct ibv_wc *wc)
{
	struct end *e = end_of(s, wc->qp_num);
	uint64_t next = e->op_tail;
	struct op *op;

	if (wc->status)
		fail(e, "request %" PRIu64 " of qp %#x: %s, vendor %#x",
		     wc->wr_id, wc->qp_num, ibv_wc_status_str(wc->status),
		     wc->vendor_err);
	while (next < e->op_head && !e->ops[next % opt.depth].signaled)
		next++;
	if (wc->wr_id != next)
		fail(e, "completion of %" PRIu64 ", next is %" PRIu64,
		     wc->wr_id, next);
	op = &e->ops[next % opt.depth];
	if ((int)wc->opcode != op->last_opcode)
		fail(e, "%s: opcode %d, not %d", kinds[op->kind].name,
		     wc->opcode, op->last_opcode);
	if ((wc->opcode == IBV_WC_RDMA_READ || wc->opcode == IBV_WC_COMP_SWAP ||
	     wc->opcode == IBV_WC_FETCH_ADD) && wc->byte_len != op->len)
		fail(e, "%s: byte_len %u, not %zu", kinds[op->kind].name,
		     wc->byte_len, op->len);
	finish_ops(e, next);
}

/* The fields of a receive's completion, before its data. */
static void check_recv_fields(struct end *e, struct rop *r, struct ibv_wc *wc)
{
	struct ibv_wc cause;

	/* a flushed receive is not where it began */
	while (wc->status && tl_poll_wait(e->side->scq, &cause, 100))
		if (cause.status && cause.status != IBV_WC_WR_FLUSH_ERR)
			printf("# request %" PRIu64 " of qp %#x: %s\n",
			       cause.wr_id, cause.qp_num,
			       ibv_wc_status_str(cause.status));
	if (wc->status)
		fail(e, "receive %" PRIu64 " of qp %#x: %s", wc->wr_id,
		     wc->qp_num, ibv_wc_status_str(wc->status));
	if (wc->wr_id != e->r_tail + 1 || e->r_tail == e->r_posted)
		fail(e, "receive %" PRIu64 ", next is %" PRIu64, wc->wr_id,
		     e->r_tail + 1);
	if (wc->opcode != (r->is_write ? IBV_WC_RECV_RDMA_WITH_IMM :
			   IBV_WC_RECV) || wc->byte_len != r->len)
		fail(e, "receive: opcode %d, byte_len %u, not %zu", wc->opcode,
		     wc->byte_len, r->len);
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != r->has_imm ||
	    (wc->wc_flags & IBV_WC_WITH_INV))
		fail(e, "receive: flags %#x", wc->wc_flags);
	if (r->has_imm && wc->imm_data != r->imm)
		fail(e, "receive: immediate %#x, not %#x", wc->imm_data,
		     r->imm);
}

/* What was written before the message must be there by now. */
static void check_written_before(struct end *e, uint64_t recv_seq)
{
	struct end *from = e->peer;
	struct op *op;
	uint64_t i;

	for (i = from->op_tail; i < from->op_head; i++) {
		op = &from->ops[i % opt.depth];
		if (op->recv_seq != recv_seq || !op->has_dst)
			continue;
		if (!chunk_check(&op->dst, payload, op->len, "target"))
			fail(e, "%s of %zu: received before it was written",
			     kinds[op->kind].name, op->len);
	}
}

static void check_recv_wc(struct side *s, struct ibv_wc *wc)
{
	struct end *e = end_of(s, wc->qp_num);
	struct rop *r = &e->rops[e->r_tail % opt.depth];

	check_recv_fields(e, r, wc);
	payload_make(payload, r->len, r->seed);
	if (!chunk_check(&r->c, payload, r->is_write ? 0 : r->len, "receive"))
		fail(e, "receive of %zu: wrong data", r->len);
	check_written_before(e, wc->wr_id);
	if (!area_give(&r->c))
		fail(e, "receive of %zu: bytes around it", r->len);
	e->r_tail++;
}

static void poll_recvs(struct side *s)
{
	struct ibv_wc wc[16];
	int i, n;

	n = ibv_poll_cq(s->rcq, 16, wc);
	for (i = 0; i < n; i++)
		check_recv_wc(s, &wc[i]);
	progress += n;
}

static int poll_side(struct side *s)
{
	uint64_t before = progress;
	struct ibv_wc wc[16];
	int i, n;

	poll_recvs(s);
	n = ibv_poll_cq(s->scq, tl_rand_in(1, 16), wc);
	if (n < 0)
		fail(NULL, "poll_cq");
	for (i = 0; i < n; i++)
		check_send_wc(s, &wc[i]);
	progress += n;
	return progress != before;
}

static int poll_all(void)
{
	return poll_side(&sides[0]) + poll_side(&sides[1]);
}

static bool take_events(struct side *s)
{
	unsigned int n = 0;
	struct ibv_cq *cq;
	void *ctx;

	while (!ibv_get_cq_event(s->ch, &cq, &ctx)) {
		ibv_ack_cq_events(cq, 1);
		n++;
	}
	return n;
}

/* Sleeps until a completion event, and checks that none was missed. */
static void wait_events(void)
{
	struct pollfd pfd[2];
	bool late = false;
	int s, q, rc;

	for (s = 0; s < 2; s++) {
		if (ibv_req_notify_cq(sides[s].scq, 0) ||
		    ibv_req_notify_cq(sides[s].rcq, 0))
			fail(NULL, "req_notify_cq");
		pfd[s] = (struct pollfd) { sides[s].ch->fd, POLLIN, 0 };
		for (q = 0; q < opt.qps; q++)
			late |= sides[s].ends[q].r_posted <
				sides[s].ends[q].r_head;
	}
	if (poll_all())
		return;
	rc = poll(pfd, 2, late ? 1 : 1000);
	if (rc > 0) {
		take_events(&sides[0]);
		take_events(&sides[1]);
		return;
	}
	if (late || !poll_all())
		return;
	/* the completion may have come after poll() gave up */
	if (poll(pfd, 2, 200) <= 0)
		fail(NULL, "a completion without its event");
}

static bool is_change(enum ibv_event_type type)
{
	return type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE ||
	       type == IBV_EVENT_GID_CHANGE;
}

static void check_async(void)
{
	struct ibv_async_event ev;
	int s;

	for (s = 0; s < 2; s++) {
		if (ibv_get_async_event(sides[s].dev.ctx, &ev))
			continue;
		if (ev.event_type != IBV_EVENT_COMM_EST &&
		    !(opt.changes && is_change(ev.event_type)))
			fail(NULL, "%s: event %s", sides[s].dev.name,
			     ibv_event_type_str(ev.event_type));
		ibv_ack_async_event(&ev);
	}
}

static bool signaled_outstanding(struct end *e)
{
	uint64_t i;

	for (i = e->op_tail; i < e->op_head; i++)
		if (e->ops[i % opt.depth].signaled)
			return true;
	return false;
}

static bool fed;	/* something was posted in this round */

/* One round of posting at @e. Returns whether it wants to go on. */
static bool feed(struct end *e)
{
	int burst = tl_rand_in(1, 4), started = 0;

	post_recvs(e);
	if (opt.one_way && e->side == &sides[1])
		return false;
	while (burst-- && !stopping && e->made < opt.count) {
		if (!start_op(e, random_kind()))
			break;
		e->made++;
		started++;
	}
	fed |= started;
	if (!started && e->op_head != e->op_tail && !signaled_outstanding(e))
		start_op(e, OP_BARRIER);
	return e->made < opt.count && !stopping;
}

/* Breaks one byte nobody owns: the run must fail. */
static void spoil(void)
{
	struct end *e = &sides[tl_rand() & 1].ends[tl_rand_in(0, opt.qps - 1)];

	e->base[e->bytes - 1 - tl_rand_in(0, GUARD)] ^= 1;
}

static void run(void)
{
	uint64_t end_ns = tl_now_ns() + opt.seconds * 1000000000ull;
	uint64_t last = 0, last_ns = tl_now_ns();
	bool more, busy;
	int s, q;

	do {
		more = false;
		busy = false;
		fed = false;
		loops++;
		for (q = 0; q < opt.qps; q++)
			for (s = 0; s < 2; s++) {
				struct end *e = &sides[s].ends[q];

				more |= feed(e);
				busy |= e->op_head != e->op_tail;
			}
		if (!poll_all()) {
			if (opt.events && busy && !fed)
				wait_events();
			else
				sched_yield();
		}
		check_async();
		if (loops == opt.spoil)
			spoil();
		if (progress != last) {
			last = progress;
			last_ns = tl_now_ns();
		} else if (busy && tl_now_ns() - last_ns >
			   opt.watchdog * 1000000000ull) {
			fail(NULL, "no progress for %d s", opt.watchdog);
		}
		if (tl_now_ns() > end_ns)
			stopping = true;
	} while (more || busy);
}

static void check_end(struct end *e)
{
	if (!area_check_background(&e->src, 0, e->src.size, "at the end") ||
	    !area_check_background(&e->dst, 0, e->dst.size, "at the end") ||
	    !area_check_background(&e->rcv, 0, e->rcv.size, "at the end"))
		fail(e, "a byte nobody may touch");
	if (e->r_tail != e->r_head)
		fail(e, "%" PRIu64 " receives never completed",
		     e->r_head - e->r_tail);
}

static void check_all(void)
{
	struct side *s;
	int i, q;

	for (i = 0; i < 2; i++) {
		s = &sides[i];
		for (q = 0; q < opt.qps; q++)
			check_end(&s->ends[q]);
		if (*s->counter != s->counter_adds ||
		    s->counter_last != s->counter_adds)
			fail(NULL, "%s: counter %" PRIu64 ", %" PRIu64 " adds, last %" PRIu64,
			     s->dev.name, *s->counter, s->counter_adds,
			     s->counter_last);
	}
}

/* Everything goes in the order that must work, and each step must. */
static void destroy_side(struct side *s)
{
	struct end *e;
	int q, m;

	for (q = 0; q < opt.qps; q++) {
		e = &s->ends[q];
		if (ibv_destroy_qp(e->qp))
			tl_die("%s: destroy_qp", s->dev.name);
		for (m = 0; m < 2; m++)
			if (ibv_dereg_mr(e->mr[m]))
				tl_die("%s: dereg_mr", s->dev.name);
	}
	if (ibv_destroy_cq(s->scq) || ibv_destroy_cq(s->rcq) ||
	    ibv_dereg_mr(s->counter_mr) ||
	    (s->ch && ibv_destroy_comp_channel(s->ch)))
		tl_die("%s: destroy", s->dev.name);
	tl_close(&s->dev);
}

static void usage(void)
{
	int k;

	printf("sroce_verify [options] DEVICE DEVICE\n"
	       " -f 4|6 GID family  -A/-B N GID index  -m PMTU (0 any)\n"
	       " -q queue pairs  -n operations per end  -t seconds\n"
	       " -s seed  -e events  -M longest, -l shortest message  -g SGEs  -d depth\n"
	       " -r %% of receives posted late  -T ACK timeout code\n"
	       " -R RNR timer code  -c traffic class  -1 one way  -w no-progress limit, s\n"
	       " -p 1 events of port and addresses are expected\n -x N break a byte after N rounds\n -L limit of the program, s  -o operations, any of:\n");
	for (k = 0; k < OP_KINDS; k++)
		printf(" %s", kinds[k].name);
	printf("\n");
	exit(2);
}

static unsigned int parse_ops(char *list)
{
	unsigned int mask = 0;
	char *word;
	int k;

	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		for (k = 0; k < OP_KINDS; k++)
			if (!strcmp(kinds[k].name, word))
				break;
		if (k == OP_KINDS)
			usage();
		mask |= 1u << k;
	}
	return mask;
}

/* Options that are one number. */
static const struct {
	char letter;
	int *value;
} numbers[] = {
	{ 'f', &opt.family }, { 'A', &opt.gid[0] }, { 'B', &opt.gid[1] },
	{ 'm', &opt.pmtu }, { 'q', &opt.qps }, { 't', &opt.seconds },
	{ 'g', &opt.max_sge }, { 'd', &opt.depth }, { 'r', &opt.late },
	{ 'T', &opt.timeout }, { 'R', &opt.rnr_timer }, { 'c', &opt.tclass },
	{ 'w', &opt.watchdog }, { 'p', &opt.changes }, { 'L', &opt.limit },
	{ 'l', &opt.min },
};

static bool parse_number(int letter)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].letter == letter) {
			*numbers[i].value = atoi(optarg);
			return true;
		}
	return false;
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv,
			   "f:A:B:m:p:q:n:t:s:eM:g:d:r:T:c:1w:L:l:o:x:R:")) != -1) {
		if (parse_number(c))
			continue;
		if (c == 'n')
			opt.count = atoll(optarg);
		else if (c == 's')
			opt.seed = atoll(optarg);
		else if (c == 'M')
			opt.max = atoll(optarg);
		else if (c == 'x')
			opt.spoil = atoll(optarg);
		else if (c == 'o')
			opt.ops = parse_ops(optarg);
		else if (c == 'e')
			opt.events = true;
		else if (c == '1')
			opt.one_way = true;
		else
			usage();
	}
	if (argc - optind != 2)
		usage();
	opt.dev[0] = argv[optind];
	opt.dev[1] = argv[optind + 1];
}

/* An interrupt ends the run early; everything is checked as usual. */
static void interrupted(int sig)
{
	(void)sig;
	stopping = true;
}

int main(int argc, char **argv)
{
	uint64_t start;
	double s;
	int i, k;

	parse(argc, argv);
	tl_time_limit(opt.limit);
	signal(SIGINT, interrupted);
	tl_seed(opt.seed);
	mem_init_background(opt.seed);
	payload = malloc(2 * opt.max + 4096);
	payload2 = malloc(opt.max + 4096);
	setup_side(&sides[0], 0);
	setup_side(&sides[1], 1);
	for (i = 0; i < opt.qps; i++)
		connect_pair(&sides[0].ends[i], &sides[1].ends[i]);
	start = tl_now_ns();
	run();
	s = (tl_now_ns() - start) / 1e9;
	printf("# %" PRIu64 " operations, %.1f MB in %.1f s, seed %" PRIu64 ":",
	       op_count, byte_count / 1e6, s, opt.seed);
	for (k = 0; k < OP_KINDS; k++)
		if (per_kind[k])
			printf(" %s %" PRIu64, kinds[k].name, per_kind[k]);
	printf("\n");
	check_all();
	destroy_side(&sides[0]);
	destroy_side(&sides[1]);
	return 0;
}
