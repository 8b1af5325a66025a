/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processor time that this machine has used, for the benchmark's modules.
 *
 * A User-Mode Linux kernel is a process of the host: what the host charged to
 * it does not depend on what else the host does. Elsewhere it is the time that
 * no CPU was idle. Any context; only differences mean something.
 */
#ifndef SROCE_BENCH_BUSY_H
#define SROCE_BENCH_BUSY_H

#include <linux/kernel_stat.h>
#include <linux/ktime.h>

#ifdef CONFIG_UML
#define HOST_CLOCK_GETTIME	228
#define HOST_PROCESS_CPUTIME	2

static u64 busy_ns(void)
{
	long ts[2] = {}, ret;

	/* kernel code is the host's user code, so this is a call to the host */
	asm volatile("syscall" : "=a" (ret)
		     : "0" (HOST_CLOCK_GETTIME), "D" (HOST_PROCESS_CPUTIME),
		       "S" (ts)
		     : "rcx", "r11", "memory");
	return ts[0] * NSEC_PER_SEC + ts[1];
}
#else
static u64 busy_ns(void)
{
	u64 ns = ktime_get_ns() * num_online_cpus();
	int cpu;

	for_each_online_cpu(cpu)
		ns -= kcpustat_cpu(cpu).cpustat[CPUTIME_IDLE] +
		      kcpustat_cpu(cpu).cpustat[CPUTIME_IOWAIT];
	return ns;
}
#endif

#endif
