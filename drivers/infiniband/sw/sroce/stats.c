// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of a device as sysfs and "rdma statistic" show them.
 *
 * Owns the names and the sum over CPUs; the counters themselves are bumped by
 * whoever sees an event.  Process context only, called by ib_core.  Must not
 * know what a counter means.
 */
#include "stats.h"
#include "dev.h"

#include <linux/build_bug.h>
#include <linux/array_size.h>
#include <rdma/ib_verbs.h>

static const struct rdma_stat_desc stat_descs[] = {
#define X(e, n) { .name = #n },
	SROCE_STATS(X)
#undef X
};

static_assert(ARRAY_SIZE(stat_descs) == SROCE_STAT_N);

/**
 * sroce_stats_alloc() - describe the port counters to ib_core
 * @ibdev: the device
 * @port: its port, 1
 *
 * Context: Process, may sleep.
 * Return: the description, freed by ib_core, or NULL without memory.
 */
struct rdma_hw_stats *sroce_stats_alloc(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(stat_descs, ARRAY_SIZE(stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * sroce_stats_sum() - add up a counter of all CPUs
 * @dev: the device
 * @stat: the counter
 *
 * Context: Any.
 * Return: its value.
 */
u64 sroce_stats_sum(const struct sroce_dev *dev, enum sroce_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->v[stat]);
	return sum;
}

/**
 * sroce_stats_read() - add up the counters of all CPUs
 * @ibdev: the device
 * @stats: where the values go
 * @port: port, 0 for counters of the device, which there are none of
 * @index: the counter asked for; all of them are read
 *
 * Context: Process.
 * Return: number of counters read or -EINVAL.
 */
int sroce_stats_read(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < SROCE_STAT_N; i++)
		stats->value[i] = sroce_stats_sum(to_sroce_dev(ibdev), i);
	return SROCE_STAT_N;
}
