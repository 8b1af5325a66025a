/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ends of a measured connection and what they do; see speed.c, the one
 * file that includes this.
 *
 * An end has one completion queue for what it sends and one for what it
 * receives, and all queue pairs of its direction. A thread drives an end's
 * sending or receiving side alone, so nothing here is locked.
 */
#ifndef SROCE_SPEED_H
#define SROCE_SPEED_H

#include "../tests/testlib.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#define LIST_MAX	64
#define QPS_MAX		256
#define SAMPLES_MAX	200000

enum phase { PHASE_WARM, PHASE_MEASURE, PHASE_STOP, PHASE_OVER };

struct spec {
	const char *name;
	enum ibv_wr_opcode op;
	int size, mtu, qps, list, signal, depth;
	int events, lat, bidir, pin, warm, ms;
};

struct snap {
	uint64_t ns, done, ctxt;
	double idle;	/* seconds, all CPUs */
};

struct samples {
	double us[SAMPLES_MAX];
	int n;
};

struct end {
	struct tl_dev *d;
	struct ibv_comp_channel *send_ch, *recv_ch;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp[QPS_MAX];
	int out[QPS_MAX];	/* WRs posted and not known to be done */
	int unsignaled[QPS_MAX];
	struct ibv_mr *mr;
	uint8_t *buf;		/* per QP what it sends, then what it receives */
	struct end *peer;
	uint64_t done;		/* WRs completed by this end's sending side */
	struct samples lat;
};

struct worker {
	pthread_t thread;
	void (*run)(struct end *e);
	struct end *end;
	bool over;
};

static struct end ends[2];
static struct spec spec;
static volatile enum phase phase;

/* ---- setting up and taking down ---- */

static uint8_t *out_buf(struct end *e, int q)
{
	return e->buf + 2ul * q * spec.size;
}

static uint8_t *in_buf(struct end *e, int q)
{
	return out_buf(e, q) + spec.size;
}

static void end_open(struct end *e)
{
	size_t bytes = 2ul * spec.qps * spec.size;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	size_t i;
	int q;

	if (posix_memalign((void **)&e->buf, 4096, (bytes + 4095) & ~4095ul))
		tl_die("memory");
	for (i = 0; i < bytes; i++)
		e->buf[i] = (i * 31) ^ (i >> 8) ^ (e == ends ? 0 : 0x5a);
	e->mr = ibv_reg_mr(e->d->pd, e->buf, bytes, ACCESS_ALL);
	e->send_ch = ibv_create_comp_channel(e->d->ctx);
	e->recv_ch = ibv_create_comp_channel(e->d->ctx);
	if (!e->mr || !e->send_ch || !e->recv_ch)
		tl_die("%s: memory region or channel", e->d->name);
	e->scq = ibv_create_cq(e->d->ctx, spec.depth * spec.qps + 1, NULL,
			       e->send_ch, 0);
	e->rcq = ibv_create_cq(e->d->ctx, 2 * spec.depth * spec.qps + 1, NULL,
			       e->recv_ch, 0);
	if (!e->scq || !e->rcq)
		tl_die("%s: completion queue", e->d->name);
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	init.cap.max_send_wr = spec.depth;
	init.cap.max_recv_wr = 2 * spec.depth;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	init.cap.max_inline_data = 16;
	for (q = 0; q < spec.qps; q++) {
		e->qp[q] = ibv_create_qp(e->d->pd, &init);
		if (!e->qp[q])
			tl_die("%s: queue pair", e->d->name);
		e->out[q] = 0;
		e->unsignaled[q] = 0;
	}
	e->done = 0;
	e->lat.n = 0;
}

static void post_recv(struct end *e, int q, int n)
{
	struct ibv_recv_wr wr[LIST_MAX], *bad;
	struct ibv_sge sge = {
		.addr = (uintptr_t)in_buf(e, q), .length = spec.size,
		.lkey = e->mr->lkey,
	};
	int i, now;

	for (; n; n -= now) {
		now = n < LIST_MAX ? n : LIST_MAX;
		for (i = 0; i < now; i++)
			wr[i] = (struct ibv_recv_wr) {
				.wr_id = q, .sg_list = &sge, .num_sge = 1,
				.next = i + 1 < now ? &wr[i + 1] : NULL,
			};
		if (ibv_post_recv(e->qp[q], wr, &bad))
			tl_die("post_recv");
	}
}

static void ends_open(const struct spec *s)
{
	struct tl_conn conn = tl_conn_default();
	int i, q;

	spec = *s;
	conn.pmtu = spec.mtu;
	for (i = 0; i < 2; i++) {
		ends[i].peer = &ends[!i];
		end_open(&ends[i]);
	}
	for (i = 0; i < 2; i++) {
		for (q = 0; q < spec.qps; q++) {
			if (tl_qp_connect(ends[i].qp[q], &conn, ends[i].d,
					  ends[!i].d,
					  ends[!i].qp[q]->qp_num, 0, 0))
				tl_die("connect");
			post_recv(&ends[i], q, 2 * spec.depth);
		}
		/* what a waiting end of a ping-pong compares with */
		in_buf(&ends[i], 0)[spec.size - 1] = 0;
	}
}

static void ends_close(void)
{
	struct end *e;
	int q;

	for (e = ends; e < ends + 2; e++) {
		for (q = 0; q < spec.qps; q++)
			ibv_destroy_qp(e->qp[q]);
		if (ibv_destroy_cq(e->scq) || ibv_destroy_cq(e->rcq) ||
		    ibv_destroy_comp_channel(e->send_ch) ||
		    ibv_destroy_comp_channel(e->recv_ch) ||
		    ibv_dereg_mr(e->mr))
			tl_die("%s: clean up", e->d->name);
		free(e->buf);
	}
}

/* Did the bytes arrive?  Latency and atomics move too few to look at. */
static void ends_check(void)
{
	struct end *src = ends, *dst = ends + 1;
	int q;

	if (spec.lat || spec.op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return;
	if (spec.op == IBV_WR_RDMA_READ) {
		src = ends + 1;
		dst = ends;
	}
	for (q = 0; q < spec.qps; q++)
		if (memcmp(out_buf(src, q), in_buf(dst, q), spec.size))
			tl_die("%s: wrong bytes arrived", spec.name);
}

/* ---- posting and completing ---- */

static struct ibv_send_wr send_wr(struct end *e, int q, struct ibv_sge *sge)
{
	const bool fetch = spec.op == IBV_WR_RDMA_READ ||
			   spec.op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_send_wr wr = {
		.opcode = spec.op, .sg_list = sge, .num_sge = 1,
	};
	uint8_t *there = fetch ? out_buf(e->peer, q) : in_buf(e->peer, q);

	sge->addr = (uintptr_t)(fetch ? in_buf(e, q) : out_buf(e, q));
	sge->length = spec.size;
	sge->lkey = e->mr->lkey;
	if (spec.op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)there;
		wr.wr.atomic.rkey = e->peer->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (spec.op != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)there;
		wr.wr.rdma.rkey = e->peer->mr->rkey;
	}
	return wr;
}

/* One doorbell: a list of spec.list WRs. wr_id: QP, and WRs it completes. */
static void post_list(struct end *e, int q)
{
	struct ibv_send_wr wr[LIST_MAX], *bad;
	struct ibv_sge sge;
	int i;

	for (i = 0; i < spec.list; i++) {
		wr[i] = send_wr(e, q, &sge);
		if (++e->unsignaled[q] == spec.signal) {
			wr[i].send_flags = IBV_SEND_SIGNALED;
			wr[i].wr_id = (uint64_t)q << 32 | spec.signal;
			e->unsignaled[q] = 0;
		}
		wr[i].next = i + 1 < spec.list ? &wr[i + 1] : NULL;
	}
	if (ibv_post_send(e->qp[q], wr, &bad))
		tl_die("post_send");
	e->out[q] += spec.list;
}

/* Sleep until the queue has something; false when a signal ended the sleep. */
static bool reap_sleep(struct ibv_comp_channel *ch)
{
	struct ibv_cq *got;
	void *context;

	if (ibv_get_cq_event(ch, &got, &context))
		return false;
	ibv_ack_cq_events(got, 1);
	return true;
}

/* As ibv_poll_cq(); an empty queue is armed and looked at again. */
static int reap_poll(struct ibv_cq *cq, struct ibv_wc *wc, int max)
{
	int n = ibv_poll_cq(cq, max, wc);

	if (n || !spec.events)
		return n;
	if (ibv_req_notify_cq(cq, 0))
		tl_die("req_notify_cq");
	return ibv_poll_cq(cq, max, wc);
}

/*
 * Completions, at least one: spinning, or asleep in the channel where the case
 * has events. 0 when a signal ended the sleep or the case is over.
 */
static int reap(struct ibv_cq *cq, struct ibv_comp_channel *ch,
		struct ibv_wc *wc, int max)
{
	int n, i;

	for (;;) {
		n = reap_poll(cq, wc, max);
		if (n || phase == PHASE_OVER)
			break;
		if (spec.events && !reap_sleep(ch))
			break;
	}
	for (i = 0; i < n; i++)
		if (wc[i].status)
			tl_die("%s: completion: %s", spec.name,
			       ibv_wc_status_str(wc[i].status));
	return n < 0 ? 0 : n;
}

static void send_done(struct end *e, const struct ibv_wc *wc, int n)
{
	uint64_t done = e->done;
	int i;

	for (i = 0; i < n; i++) {
		e->out[wc[i].wr_id >> 32] -= (uint32_t)wc[i].wr_id;
		done += (uint32_t)wc[i].wr_id;
	}
	__atomic_store_n(&e->done, done, __ATOMIC_RELAXED);
}

/* WRs of a signaled group are complete all together, so that many stay out. */
static bool all_out(const struct end *e)
{
	int q;

	for (q = 0; q < spec.qps; q++)
		if (e->out[q] != e->unsignaled[q])
			return false;
	return true;
}

static void send_run(struct end *e)
{
	struct ibv_wc wc[64];
	int q, n;

	while (phase < PHASE_STOP) {
		for (q = 0; q < spec.qps; q++)
			while (e->out[q] + spec.list <= spec.depth)
				post_list(e, q);
		n = reap(e->scq, e->send_ch, wc, 64);
		send_done(e, wc, n);
	}
	while (!all_out(e)) {
		n = reap(e->scq, e->send_ch, wc, 64);
		send_done(e, wc, n);
	}
}

static void recv_run(struct end *e)
{
	int q, i, n, back[QPS_MAX] = {};
	struct ibv_wc wc[64];

	while (phase < PHASE_OVER) {
		n = reap(e->rcq, e->recv_ch, wc, 64);
		for (i = 0; i < n; i++)
			back[wc[i].wr_id]++;
		for (i = 0; i < n; i++) {
			q = wc[i].wr_id;
			if (!back[q])
				continue;
			post_recv(e, q, back[q]);
			back[q] = 0;
		}
	}
}

/* ---- latency ---- */

/* A WRITE is seen in memory; where events are asked for it carries an immediate. */
static bool by_memory(void)
{
	return spec.op == IBV_WR_RDMA_WRITE && !spec.events;
}

static void lat_post(struct end *e, uint8_t mark)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	wr = send_wr(e, 0, &sge);
	if (spec.op == IBV_WR_RDMA_WRITE || spec.op == IBV_WR_SEND) {
		out_buf(e, 0)[spec.size - 1] = mark;
		wr.send_flags = IBV_SEND_INLINE;
		if (spec.op == IBV_WR_RDMA_WRITE && spec.events)
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	}
	wr.send_flags |= IBV_SEND_SIGNALED;
	if (ibv_post_send(e->qp[0], &wr, &bad))
		tl_die("post_send");
}

/* Wait for the peer's message; false when there will be none. */
static bool lat_wait(struct end *e, uint8_t mark)
{
	volatile uint8_t *last = in_buf(e, 0) + spec.size - 1;
	struct ibv_wc wc;

	if (by_memory()) {
		while (*last != mark)
			if (phase == PHASE_OVER)
				return false;
		return true;
	}
	while (!reap(e->rcq, e->recv_ch, &wc, 1))
		if (phase == PHASE_OVER)
			return false;
	post_recv(e, 0, 1);
	return true;
}

/* The send completion, which came with the peer's ACK long ago. */
static void lat_reap(struct end *e)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(e->scq, 1, &wc))
		if (phase == PHASE_OVER)
			return;
	if (wc.status)
		tl_die("%s: completion: %s", spec.name,
		       ibv_wc_status_str(wc.status));
}

static void ping_run(struct end *e)
{
	const bool answers = spec.op == IBV_WR_RDMA_WRITE ||
			     spec.op == IBV_WR_SEND;
	struct ibv_wc wc;
	uint8_t mark = 0;
	uint64_t t0;
	double us;

	/* the other end gets ready */
	tl_sleep_ms(20);
	while (phase < PHASE_STOP) {
		t0 = tl_now_ns();
		lat_post(e, ++mark);
		if (answers) {
			if (!lat_wait(e, mark))
				return;
			us = (tl_now_ns() - t0) / 2e3;
			lat_reap(e);
		} else {
			if (!reap(e->scq, e->send_ch, &wc, 1))
				return;
			us = (tl_now_ns() - t0) / 1e3;
		}
		if (phase == PHASE_MEASURE && e->lat.n < SAMPLES_MAX)
			e->lat.us[e->lat.n++] = us;
		__atomic_store_n(&e->done, e->done + 1, __ATOMIC_RELAXED);
	}
}

static void pong_run(struct end *e)
{
	uint8_t mark = 0;

	while (lat_wait(e, ++mark)) {
		lat_post(e, mark);
		lat_reap(e);
	}
}

#endif
