/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every verbs test program here needs: open a device, choose a GID, make
 * and connect RC queue pairs, wait for completions with a limit, report.
 *
 * Both devices of a test are opened by one process: RDMA devices of all
 * network namespaces are visible in the shared mode of the RDMA namespace, so
 * one process sees both ends and can compare every byte without a control
 * channel.
 *
 * Included by exactly one C file per program, hence the statics. It must not
 * know which test runs.
 */
#ifndef SROCE_TESTLIB_H
#define SROCE_TESTLIB_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define TL_UNUSED __attribute__((unused))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ACCESS_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* One opened device with the GID its queue pairs use. */
struct tl_dev {
	const char *name;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
	bool is_rxe;	/* the in-tree driver, whose known faults are allowed */
};

/* How a queue pair is connected; zero fields get the usual value. */
struct tl_conn {
	int pmtu;		/* bytes, 256 to 4096 */
	int access;		/* qp_access_flags */
	uint8_t rd_atomic;
	uint8_t dest_rd_atomic;
	uint8_t rnr_timer;	/* RNR NAK timer code */
	uint8_t timeout;	/* ACK timeout code */
	uint8_t retry;
	uint8_t rnr_retry;
	uint8_t tclass;
	uint8_t sl;
};

static int tl_failures;
static int tl_cases;

static TL_UNUSED uint64_t tl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static TL_UNUSED void tl_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (ms % 1000) * 1000000l };

	nanosleep(&ts, NULL);
}

__attribute__((noreturn, format(printf, 1, 2)))
static void tl_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# fatal: ");
	vprintf(fmt, ap);
	printf(" (errno %d: %s)\n", errno, strerror(errno));
	va_end(ap);
	fflush(stdout);
	_exit(2);
}

/* A test case's verdict as one line; lib.sh gives it its number. */
__attribute__((format(printf, 2, 3)))
static TL_UNUSED bool tl_ok(bool ok, const char *fmt, ...)
{
	va_list ap;

	tl_cases++;
	if (!ok)
		tl_failures++;
	va_start(ap, fmt);
	printf(ok ? "ok - " : "not ok - ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	return ok;
}

__attribute__((format(printf, 1, 2)))
static TL_UNUSED void tl_skip(const char *fmt, ...)
{
	va_list ap;

	tl_cases++;
	va_start(ap, fmt);
	printf("ok - ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
}

/* xorshift64*: a fixed seed gives the same run every time */
static uint64_t tl_rng = 88172645463325252ull;

static TL_UNUSED uint64_t tl_rand(void)
{
	tl_rng ^= tl_rng >> 12;
	tl_rng ^= tl_rng << 25;
	tl_rng ^= tl_rng >> 27;
	return tl_rng * 2685821657736338717ull;
}

/* in [lo, hi] */
static TL_UNUSED uint64_t tl_rand_in(uint64_t lo, uint64_t hi)
{
	return lo + (tl_rand() >> 8) % (hi - lo + 1);
}

static TL_UNUSED bool tl_chance(unsigned int percent)
{
	return tl_rand_in(0, 99) < percent;
}

static TL_UNUSED void tl_seed(uint64_t seed)
{
	int i;

	tl_rng = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	for (i = 0; i < 8; i++)
		tl_rand();
}

/* ends the program when it has not ended by itself */
static void tl_alarm_handler(int sig)
{
	static const char msg[] = "# fatal: time limit of the program\n";

	(void)sig;
	if (write(STDOUT_FILENO, msg, sizeof(msg) - 1) < 0)
		_exit(4);
	_exit(3);
}

static TL_UNUSED void tl_time_limit(unsigned int seconds)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, tl_alarm_handler);
	alarm(seconds);
}

static bool gid_is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static bool gid_is_usable(const union ibv_gid *gid, int family)
{
	static const uint8_t zero[16];

	if (!memcmp(gid->raw, zero, sizeof(zero)))
		return false;
	if (family == 4)
		return gid_is_v4(gid);
	return !gid_is_v4(gid) &&
	       !(gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80);
}

/* RoCEv1 GIDs are for those who ask for them: TL_ROCE=v1 */
static TL_UNUSED bool tl_wants_v1(void)
{
	const char *roce = getenv("TL_ROCE");

	return roce && !strcmp(roce, "v1");
}

static TL_UNUSED bool tl_gid_is_v1(struct tl_dev *d, int index)
{
	struct ibv_gid_entry entry;

	return !ibv_query_gid_ex(d->ctx, 1, index, &entry, 0) &&
	       entry.gid_type == IBV_GID_TYPE_ROCE_V1;
}

/* @family: 4, 6, or a negative number: minus one minus the GID index */
static TL_UNUSED void tl_choose_gid(struct tl_dev *d, int family)
{
	int i;

	if (ibv_query_port(d->ctx, 1, &d->port))
		tl_die("%s: query_port", d->name);
	if (family < 0) {
		d->gid_index = -family - 1;
		if (ibv_query_gid(d->ctx, 1, d->gid_index, &d->gid))
			tl_die("%s: gid %d", d->name, d->gid_index);
		return;
	}
	for (i = 0; i < d->port.gid_tbl_len && i < 64; i++) {
		if (ibv_query_gid(d->ctx, 1, i, &d->gid))
			continue;
		if (!gid_is_usable(&d->gid, family) ||
		    tl_gid_is_v1(d, i) != tl_wants_v1())
			continue;
		d->gid_index = i;
		return;
	}
	tl_die("%s: no GID of IPv%d", d->name, family);
}

static TL_UNUSED struct ibv_context *tl_open_ctx(const char *name)
{
	struct ibv_device **list;
	struct ibv_context *ctx = NULL;
	int i, n;

	list = ibv_get_device_list(&n);
	if (!list)
		tl_die("no device list");
	for (i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

static TL_UNUSED void tl_open(struct tl_dev *d, const char *name, int family)
{
	const char *rxe = getenv("RXE_DEVICES");

	memset(d, 0, sizeof(*d));
	d->name = name;
	d->is_rxe = rxe && strstr(rxe, name);
	d->ctx = tl_open_ctx(name);
	if (!d->ctx)
		tl_die("cannot open %s", name);
	if (ibv_query_device(d->ctx, &d->attr))
		tl_die("%s: query_device", name);
	tl_choose_gid(d, family);
	d->pd = ibv_alloc_pd(d->ctx);
	if (!d->pd)
		tl_die("%s: alloc_pd", name);
	fcntl(d->ctx->async_fd, F_SETFL, O_NONBLOCK);
}

static TL_UNUSED void tl_close(struct tl_dev *d)
{
	if (ibv_dealloc_pd(d->pd))
		tl_die("%s: dealloc_pd: something is still there", d->name);
	if (ibv_close_device(d->ctx))
		tl_die("%s: close", d->name);
}

static TL_UNUSED enum ibv_mtu tl_mtu_code(int bytes)
{
	switch (bytes) {
	case 256:
		return IBV_MTU_256;
	case 512:
		return IBV_MTU_512;
	case 1024:
		return IBV_MTU_1024;
	case 2048:
		return IBV_MTU_2048;
	default:
		return IBV_MTU_4096;
	}
}

static TL_UNUSED int tl_mtu_bytes(enum ibv_mtu code)
{
	return 128 << code;
}

static TL_UNUSED int tl_qp_init(struct ibv_qp *qp, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

#define TL_RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | \
		     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
		     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define TL_RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
		     IBV_QP_MAX_QP_RD_ATOMIC)

static TL_UNUSED void tl_fill_rtr(struct ibv_qp_attr *attr,
				  const struct tl_conn *c,
				  const struct tl_dev *d,
				  const union ibv_gid *dgid, uint32_t dqpn,
				  uint32_t psn)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = IBV_QPS_RTR;
	attr->path_mtu = tl_mtu_code(c->pmtu ? c->pmtu : 1024);
	attr->dest_qp_num = dqpn;
	attr->rq_psn = psn;
	attr->max_dest_rd_atomic = c->dest_rd_atomic;
	attr->min_rnr_timer = c->rnr_timer;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.grh.dgid = *dgid;
	attr->ah_attr.grh.sgid_index = d->gid_index;
	attr->ah_attr.grh.hop_limit = 64;
	attr->ah_attr.grh.traffic_class = c->tclass;
	attr->ah_attr.sl = c->sl;
	attr->ah_attr.port_num = 1;
}

static TL_UNUSED void tl_fill_rts(struct ibv_qp_attr *attr,
				  const struct tl_conn *c, uint32_t psn)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = IBV_QPS_RTS;
	attr->sq_psn = psn;
	attr->timeout = c->timeout;
	attr->retry_cnt = c->retry;
	attr->rnr_retry = c->rnr_retry;
	attr->max_rd_atomic = c->rd_atomic;
}

/* The values a test has when it does not care. */
static TL_UNUSED struct tl_conn tl_conn_default(void)
{
	return (struct tl_conn) {
		.pmtu = 1024, .access = ACCESS_ALL, .rd_atomic = 16,
		.dest_rd_atomic = 16, .rnr_timer = 12, .timeout = 14,
		.retry = 7, .rnr_retry = 7,
	};
}

/* RESET to RTS of one end. Returns the errno of the step that failed. */
static TL_UNUSED int tl_qp_connect(struct ibv_qp *qp, const struct tl_conn *c,
				   const struct tl_dev *d,
				   const struct tl_dev *peer, uint32_t dqpn,
				   uint32_t sq_psn, uint32_t rq_psn)
{
	struct ibv_qp_attr attr;
	int rc;

	rc = tl_qp_init(qp, c->access);
	if (rc)
		return rc;
	tl_fill_rtr(&attr, c, d, &peer->gid, dqpn, rq_psn);
	rc = ibv_modify_qp(qp, &attr, TL_RTR_MASK);
	if (rc)
		return rc;
	tl_fill_rts(&attr, c, sq_psn);
	return ibv_modify_qp(qp, &attr, TL_RTS_MASK);
}

static TL_UNUSED int tl_qp_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* A datagram queue pair from RESET to RTS; its first PSN is @psn. */
static TL_UNUSED int tl_ud_to_rts(struct ibv_qp *qp, uint32_t qkey,
				  uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = qkey,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY) ||
	    tl_qp_to(qp, IBV_QPS_RTR))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = psn;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static TL_UNUSED enum ibv_qp_state tl_qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return attr.qp_state;
}

/*
 * One completion within @ms milliseconds: 1, or 0 when none came. It is looked for
 * once more when the time is over: the machine may have stood still.
 */
static TL_UNUSED int tl_poll_wait(struct ibv_cq *cq, struct ibv_wc *wc,
				  unsigned int ms)
{
	uint64_t end = tl_now_ns() + ms * 1000000ull;
	unsigned int spins = 0;
	bool late;
	int n;

	for (;;) {
		late = tl_now_ns() > end;
		n = ibv_poll_cq(cq, 1, wc);
		if (n || late)
			return n;
		if (++spins < 200)
			sched_yield();
		else
			usleep(200);
	}
}

/* An async event of @type within @ms; others are reported and dropped. */
static TL_UNUSED bool tl_wait_event(struct tl_dev *d, int type,
				    unsigned int ms)
{
	struct pollfd pfd = { d->ctx->async_fd, POLLIN, 0 };
	uint64_t end = tl_now_ns() + ms * 1000000ull;
	struct ibv_async_event ev;
	int got;

	while (tl_now_ns() < end) {
		poll(&pfd, 1, 20);
		if (ibv_get_async_event(d->ctx, &ev))
			continue;
		got = ev.event_type;
		ibv_ack_async_event(&ev);
		if (got == type)
			return true;
		printf("# %s: event %s\n", d->name,
		       ibv_event_type_str(got));
	}
	return false;
}

static TL_UNUSED void tl_drop_events(struct tl_dev *d)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(d->ctx, &ev))
		ibv_ack_async_event(&ev);
}

/* prints the port's hardware counters that are not zero */
static TL_UNUSED void tl_print_counters(const char *dev)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd),
		 "grep -rv '^0$' /sys/class/infiniband/%s/ports/1/hw_counters | sed 's,.*/,# %s ,'",
		 dev, dev);
	fflush(stdout);
	if (system(cmd))
		printf("# %s: no counters\n", dev);
}

#endif
