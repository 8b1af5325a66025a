// SPDX-License-Identifier: GPL-2.0
/*
 * The traffic of the benchmark: RC queue pairs between two RDMA devices, one
 * measurement window per case, one line of JSON per result.
 *
 * usage: speed DEVICE DEVICE CASE...
 * CASE is NAME followed by ,KEY=VALUE:
 *   op=write|read|send|fadd  size=BYTES  mtu=BYTES  qps=N  list=N (WRs per
 *   doorbell)  signal=N (one completion per N WRs)  depth=N  events=1 (sleep
 *   for completions instead of polling)  lat=1 (ping-pong)  bidir=1
 *   pin=1 (each end's threads on a CPU of their own)  warm=MS  ms=MS
 *
 * Both ends are threads of one process, so that one clock sees both. Time is
 * CLOCK_MONOTONIC; processor time is all that no CPU of the machine was idle,
 * from /proc/stat. The buffers are compared after the run: a fast driver that
 * moves wrong bytes is no result. It must not know which driver it measures.
 */
#include "speed.h"

static void snap_take(struct snap *s)
{
	unsigned long long v[8] = {}, ctxt = 0;
	char line[4096];
	FILE *f;

	f = fopen("/proc/stat", "r");
	if (!f)
		tl_die("/proc/stat");
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "cpu ", 4))
			sscanf(line + 4, "%llu%llu%llu%llu%llu%llu%llu%llu",
			       v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6,
			       v + 7);
		else if (!strncmp(line, "ctxt", 4))
			sscanf(line + 4, "%llu", &ctxt);
	}
	fclose(f);
	s->idle = (double)(v[3] + v[4]) / sysconf(_SC_CLK_TCK);
	s->ctxt = ctxt;
	s->done = __atomic_load_n(&ends[0].done, __ATOMIC_RELAXED) +
		  __atomic_load_n(&ends[1].done, __ATOMIC_RELAXED);
	s->ns = tl_now_ns();
}

static void set_key(struct spec *s, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t at;
	} ints[] = {
		{ "size", offsetof(struct spec, size) },
		{ "mtu", offsetof(struct spec, mtu) },
		{ "qps", offsetof(struct spec, qps) },
		{ "list", offsetof(struct spec, list) },
		{ "signal", offsetof(struct spec, signal) },
		{ "depth", offsetof(struct spec, depth) },
		{ "events", offsetof(struct spec, events) },
		{ "lat", offsetof(struct spec, lat) },
		{ "bidir", offsetof(struct spec, bidir) },
		{ "pin", offsetof(struct spec, pin) },
		{ "warm", offsetof(struct spec, warm) },
		{ "ms", offsetof(struct spec, ms) },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ints); i++) {
		if (!strcmp(key, ints[i].key)) {
			*(int *)((char *)s + ints[i].at) = atoi(value);
			return;
		}
	}
	if (strcmp(key, "op"))
		tl_die("no such key: %s", key);
	if (!strcmp(value, "write"))
		s->op = IBV_WR_RDMA_WRITE;
	else if (!strcmp(value, "read"))
		s->op = IBV_WR_RDMA_READ;
	else if (!strcmp(value, "send"))
		s->op = IBV_WR_SEND;
	else if (!strcmp(value, "fadd"))
		s->op = IBV_WR_ATOMIC_FETCH_AND_ADD;
	else
		tl_die("no such operation: %s", value);
}

static void parse_case(struct spec *s, char *text)
{
	char *word, *eq;

	*s = (struct spec) {
		.op = IBV_WR_RDMA_WRITE, .size = 65536, .mtu = 4096, .qps = 1,
		.list = 1, .warm = 150, .ms = 800,
	};
	s->name = strtok(text, ",");
	while ((word = strtok(NULL, ","))) {
		eq = strchr(word, '=');
		if (!eq)
			tl_die("not KEY=VALUE: %s", word);
		*eq = 0;
		set_key(s, word, eq + 1);
	}
	if (!s->depth) {
		s->depth = (2 << 20) / s->size / s->qps;
		s->depth = s->depth > 128 ? 128 : s->depth;
		s->depth = s->depth < 4 ? 4 : s->depth;
	}
	if (s->depth % s->list)
		s->depth = s->depth / s->list * s->list ? : s->list;
	if (!s->signal)
		s->signal = s->size > 8192 ? 1 : 32;
	if (s->signal > s->depth)
		s->signal = s->depth;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tl_die("sched_setaffinity");
}

static void *run_thread(void *arg)
{
	struct worker *w = arg;

	if (spec.pin)
		pin_to(w->end - ends);
	w->run(w->end);
	__atomic_store_n(&w->over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* A receiver may sleep in the completion channel for ever: wake it. */
static void join(struct worker *w)
{
	while (!__atomic_load_n(&w->over, __ATOMIC_ACQUIRE)) {
		pthread_kill(w->thread, SIGUSR1);
		tl_sleep_ms(2);
	}
	pthread_join(w->thread, NULL);
}

static void start(struct worker *w, void (*run)(struct end *e), struct end *e)
{
	w->run = run;
	w->end = e;
	w->over = false;
	if (pthread_create(&w->thread, NULL, run_thread, w))
		tl_die("pthread_create");
}

static int start_all(struct worker *w, const struct spec *s)
{
	int i, n = 0;

	if (s->lat) {
		if (s->op == IBV_WR_RDMA_WRITE || s->op == IBV_WR_SEND)
			start(&w[n++], pong_run, &ends[1]);
		start(&w[n++], ping_run, &ends[0]);
		return n;
	}
	for (i = 0; i < 1 + s->bidir; i++) {
		if (s->op == IBV_WR_SEND)
			start(&w[n++], recv_run, &ends[!i]);
		start(&w[n++], send_run, &ends[i]);
	}
	return n;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const struct spec *s, const struct snap *a,
		   const struct snap *b)
{
	double seconds = (b->ns - a->ns) / 1e9;
	struct samples *lat = &ends[0].lat;

	printf("{\"case\": \"%s\", \"seconds\": %.6f, \"messages\": %llu, ",
	       s->name, seconds, (unsigned long long)(b->done - a->done));
	printf("\"bytes\": %llu, \"busy\": %.3f, \"switches\": %llu, ",
	       (unsigned long long)(b->done - a->done) * s->size,
	       seconds * sysconf(_SC_NPROCESSORS_ONLN) - (b->idle - a->idle),
	       (unsigned long long)(b->ctxt - a->ctxt));
	if (s->lat && lat->n) {
		qsort(lat->us, lat->n, sizeof(*lat->us), compare_double);
		printf("\"us\": %.3f, \"us99\": %.3f, ", lat->us[lat->n / 2],
		       lat->us[lat->n * 99 / 100]);
	}
	printf("\"all_messages\": %llu}\n",
	       (unsigned long long)(ends[0].done + ends[1].done));
	fflush(stdout);
}

static void run_case(const struct spec *s)
{
	struct worker workers[4];
	struct snap a, b;
	int i, n;

	alarm(20 + (s->warm + s->ms) / 100);
	phase = PHASE_WARM;
	ends_open(s);
	n = start_all(workers, s);
	tl_sleep_ms(s->warm);
	snap_take(&a);
	phase = PHASE_MEASURE;
	tl_sleep_ms(s->ms);
	snap_take(&b);
	phase = PHASE_STOP;
	/* senders end by themselves, receivers when told that all have */
	for (i = n - 1; i >= 0; i--) {
		if (workers[i].run == send_run || workers[i].run == ping_run)
			pthread_join(workers[i].thread, NULL);
	}
	phase = PHASE_OVER;
	for (i = n - 1; i >= 0; i--) {
		if (workers[i].run != send_run && workers[i].run != ping_run)
			join(&workers[i]);
	}
	ends_check();
	report(s, &a, &b);
	ends_close();
}

static void woken(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = woken };
	static struct tl_dev devs[2];
	struct spec s;
	int i;

	if (argc < 4) {
		fprintf(stderr, "usage: speed DEVICE DEVICE CASE...\n");
		return 2;
	}
	tl_time_limit(60);
	sigaction(SIGUSR1, &sa, NULL);
	for (i = 0; i < 2; i++) {
		tl_open(&devs[i], argv[1 + i], 4);
		ends[i].d = &devs[i];
	}
	for (i = 3; i < argc; i++) {
		parse_case(&s, argv[i]);
		run_case(&s);
	}
	for (i = 0; i < 2; i++)
		tl_close(&devs[i]);
	return 0;
}
