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

/* Names, and behind them the second names of some. */
static const struct rdma_stat_desc stat_descs[] = {
#define X(e, n) { .name = #n },
	SROCE_STATS(X)
	SROCE_STATS_ALIASES(X)
#undef X
};

static const u8 aliases[] = {
#define X(e, n) SROCE_STAT_##e,
	SROCE_STATS_ALIASES(X)
#undef X
};

static_assert(ARRAY_SIZE(stat_descs) == SROCE_STAT_N + ARRAY_SIZE(aliases));

/**
 * sroce_stats_name() - name of a counter
 * @stat: the counter
 *
 * Context: Any.
 * Return: its name in sysfs.
 */
const char *sroce_stats_name(enum sroce_stat stat)
{
	return stat_descs[stat].name;
}

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
 * sroce_stats_of() - add up a counter of all CPUs
 * @stats: per-CPU counters
 * @stat: the counter
 *
 * Context: Any.
 * Return: its value.
 */
u64 sroce_stats_of(const struct sroce_stats __percpu *stats,
		   enum sroce_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->v[stat]);
	return sum;
}

/**
 * sroce_stats_sum() - a counter of a device and all its QPs
 * @dev: the device
 * @stat: the counter
 *
 * Context: Any but hard interrupt.
 * Return: its value.
 */
u64 sroce_stats_sum(struct sroce_dev *dev, enum sroce_stat stat)
{
	u64 sum = sroce_stats_of(dev->stats, stat);
	struct sroce_stats_set *set;
	unsigned long id;

	if (xa_empty(&dev->counters) && !READ_ONCE(dev->past.v[stat]))
		return sum;
	xa_lock(&dev->counters);
	sum += dev->past.v[stat];
	xa_for_each(&dev->counters, id, set)
		sum += sroce_stats_of(set->stats, stat);
	xa_unlock(&dev->counters);
	return sum;
}

/**
 * sroce_stats_fill() - give ib_core all counters of a set
 * @stats: per-CPU counters
 * @out: as sroce_stats_alloc() made it
 *
 * Context: Process.
 */
void sroce_stats_fill(const struct sroce_stats __percpu *stats,
		      struct rdma_hw_stats *out)
{
	u32 i;

	for (i = 0; i < SROCE_STAT_N; i++)
		out->value[i] = sroce_stats_of(stats, i);
	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		out->value[SROCE_STAT_N + i] = out->value[aliases[i]];
}

/**
 * sroce_stats_read() - give ib_core the counters of a device
 * @ibdev: the device
 * @stats: where the values go
 * @port: port, 0 for counters of the device, which there are none of
 * @index: the counter asked for; all of them are read
 *
 * Those of QPs that are bound to a counter of their own are added by ib_core.
 *
 * Context: Process.
 * Return: number of counters read or -EINVAL.
 */
int sroce_stats_read(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	if (!port || !stats)
		return -EINVAL;
	sroce_stats_fill(to_sroce_dev(ibdev)->stats, stats);
	return ARRAY_SIZE(stat_descs);
}
