// SPDX-License-Identifier: GPL-2.0
/*
 * Where the kernel spends its time while a command runs: a histogram of the
 * symbols that samples of all CPUs fall into.
 *
 * usage: hot LINES COMMAND...
 *
 * Samples come from the kernel's cpu-clock event, which needs no counters in
 * hardware and therefore works in a virtual machine. The command's output goes
 * to the standard output, the histogram to the standard error.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_PAGES	1024
#define CPUS_MAX	64
#define PERIOD_NS	250000

struct symbol {
	uint64_t at;
	char name[64];
	unsigned long hits;
};

static struct symbol *symbols;
static size_t n_symbols;
static unsigned long in_user, in_kernel;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int by_hits(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->hits < y->hits) - (x->hits > y->hits);
}

static void read_symbols(void)
{
	char line[512], type, name[256];
	unsigned long long at;
	FILE *f;

	f = fopen("/proc/kallsyms", "r");
	symbols = malloc(1000000 * sizeof(*symbols));
	if (!f || !symbols)
		die("/proc/kallsyms");
	while (n_symbols < 1000000 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %c %255s", &at, &type, name) != 3 ||
		    !strchr("tTwW", type))
			continue;
		symbols[n_symbols].at = at;
		symbols[n_symbols].hits = 0;
		snprintf(symbols[n_symbols++].name, sizeof(symbols->name),
			 "%.63s", name);
	}
	fclose(f);
	qsort(symbols, n_symbols, sizeof(*symbols), by_address);
}

static void *open_cpu(int cpu, int *fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP, .disabled = 1,
	};
	void *map;

	*fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
	if (*fd < 0)
		die("perf_event_open");
	map = mmap(NULL, (RING_PAGES + 1) * 4096, PROT_READ | PROT_WRITE,
		   MAP_SHARED, *fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	return map;
}

static void count(uint64_t ip)
{
	size_t lo = 0, hi = n_symbols, mid;

	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (symbols[mid].at <= ip)
			lo = mid;
		else
			hi = mid;
	}
	symbols[lo].hits++;
}

static void read_ring(struct perf_event_mmap_page *map)
{
	const char *data = (const char *)map + 4096;
	const uint64_t size = RING_PAGES * 4096ull;
	struct perf_event_header h;
	uint64_t tail, ip;

	/* records are multiples of 8 bytes; the ring is large enough not to wrap */
	for (tail = 0; tail < map->data_head && tail < size; tail += h.size) {
		memcpy(&h, data + tail, sizeof(h));
		if (h.type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(&ip, data + tail + sizeof(h), sizeof(ip));
		if ((h.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
		    PERF_RECORD_MISC_KERNEL) {
			in_kernel++;
			count(ip);
		} else {
			in_user++;
		}
	}
}

static void print_hits(int lines)
{
	unsigned long all = in_kernel + in_user;
	int i;

	qsort(symbols, n_symbols, sizeof(*symbols), by_hits);
	fprintf(stderr, "%6.2f %% user space\n",
		100.0 * in_user / (all ? all : 1));
	for (i = 0; i < lines && symbols[i].hits; i++)
		fprintf(stderr, "%6.2f %% %s\n", 100.0 * symbols[i].hits / all,
			symbols[i].name);
	fprintf(stderr, "%lu samples\n", all);
}

int main(int argc, char **argv)
{
	int n = sysconf(_SC_NPROCESSORS_ONLN), cpu, status, fd[CPUS_MAX];
	void *map[CPUS_MAX];
	pid_t pid;

	if (argc < 3 || n > CPUS_MAX) {
		fprintf(stderr, "usage: hot LINES COMMAND...\n");
		return 2;
	}
	read_symbols();
	for (cpu = 0; cpu < n; cpu++)
		map[cpu] = open_cpu(cpu, &fd[cpu]);
	for (cpu = 0; cpu < n; cpu++)
		ioctl(fd[cpu], PERF_EVENT_IOC_ENABLE, 0);
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		die(argv[2]);
	}
	waitpid(pid, &status, 0);
	for (cpu = 0; cpu < n; cpu++)
		ioctl(fd[cpu], PERF_EVENT_IOC_DISABLE, 0);
	for (cpu = 0; cpu < n; cpu++)
		read_ring(map[cpu]);
	print_hits(atoi(argv[1]));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
