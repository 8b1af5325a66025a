// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of chosen QPs ("rdma statistic qp").
 *
 * Owns the sets of counters QPs are bound to.  A QP counts where its pointer
 * says: at the device, or in the set it is bound to; so being bound costs
 * nothing.  ib_core adds the sets to what it shows of the device.  Process
 * context, called by ib_core under the counter's mutex.  Must not know what a
 * counter means.
 */
#include "counter.h"

#include "dev.h"
#include "qp.h"
#include "stats.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/rdma_counter.h>

#include "compat.h"

static void count_at(struct sroce_qp *qp, struct sroce_stats __percpu *stats)
{
	WRITE_ONCE(qp->stats, stats);
	WRITE_ONCE(qp->path.stats, stats);
}

/* ib_core's counter gets its number and its set with the first QP. */
static struct sroce_stats_set *set_make(struct rdma_counter *counter)
{
	struct sroce_dev *dev = to_sroce_dev(counter->device);
	struct sroce_stats_set *set;
	int err;

	set = kzalloc_obj(*set);
	if (!set)
		return NULL;
	set->stats = alloc_percpu(struct sroce_stats);
	err = set->stats ? xa_alloc(&dev->counters, &counter->id, set,
				    xa_limit_31b, GFP_KERNEL) : -ENOMEM;
	if (err) {
		free_percpu(set->stats);
		kfree(set);
		return NULL;
	}
	return set;
}

/**
 * sroce_counter_bind() - counter_bind_qp op
 * @counter: ib_core's counter
 * @ibqp: the QP; it is bound to none
 * @port: its port, 1
 *
 * Context: Process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int sroce_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp,
		       u32 port)
{
	struct sroce_dev *dev = to_sroce_dev(counter->device);
	struct sroce_stats_set *set;

	set = counter->id ? xa_load(&dev->counters, counter->id) :
			    set_make(counter);
	if (!set)
		return -ENOMEM;
	count_at(to_sroce_qp(ibqp), set->stats);
	ibqp->counter = counter;
	return 0;
}

/**
 * sroce_counter_unbind() - counter_unbind_qp op
 * @ibqp: the QP
 * @port: its port, 1
 *
 * Context: Process.
 * Return: 0.
 */
int sroce_counter_unbind(struct ib_qp *ibqp, u32 port)
{
	struct sroce_qp *qp = to_sroce_qp(ibqp);

	count_at(qp, qp->dev->stats);
	ibqp->counter = NULL;
	return 0;
}

/**
 * sroce_counter_dealloc() - counter_dealloc op
 * @counter: ib_core's counter; no QP is bound to it
 *
 * Context: Process, may sleep.
 * Return: 0.
 */
int sroce_counter_dealloc(struct rdma_counter *counter)
{
	struct sroce_dev *dev = to_sroce_dev(counter->device);
	struct sroce_stats_set *set;
	int i;

	set = xa_load(&dev->counters, counter->id);
	if (!set)
		return 0;
	/* who is in a QP that was bound may still be counting */
	synchronize_rcu();
	xa_lock(&dev->counters);
	for (i = 0; i < SROCE_STAT_N; i++)
		dev->past.v[i] += sroce_stats_of(set->stats, i);
	__xa_erase(&dev->counters, counter->id);
	xa_unlock(&dev->counters);
	free_percpu(set->stats);
	kfree(set);
	return 0;
}

/**
 * sroce_counter_alloc_stats() - counter_alloc_stats op
 * @counter: ib_core's counter
 *
 * Context: Process, may sleep.
 * Return: the description, freed by ib_core, or NULL without memory.
 */
struct rdma_hw_stats *sroce_counter_alloc_stats(struct rdma_counter *counter)
{
	return sroce_stats_alloc(counter->device, counter->port);
}

/**
 * sroce_counter_update() - counter_update_stats op
 * @counter: ib_core's counter
 *
 * Context: Process.
 * Return: 0.
 */
int sroce_counter_update(struct rdma_counter *counter)
{
	struct sroce_dev *dev = to_sroce_dev(counter->device);
	struct sroce_stats_set *set = xa_load(&dev->counters, counter->id);

	if (set)
		sroce_stats_fill(set->stats, counter->stats);
	return 0;
}
