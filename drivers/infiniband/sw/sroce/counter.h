/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of chosen QPs ("rdma statistic qp").
 */
#ifndef SROCE_COUNTER_H
#define SROCE_COUNTER_H

#include <linux/types.h>

struct ib_qp;
struct rdma_counter;
struct rdma_hw_stats;
struct sroce_dev;

int sroce_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp,
		       u32 port);
int sroce_counter_unbind(struct ib_qp *ibqp, u32 port);
int sroce_counter_dealloc(struct rdma_counter *counter);
struct rdma_hw_stats *sroce_counter_alloc_stats(struct rdma_counter *counter);
int sroce_counter_update(struct rdma_counter *counter);

#endif /* SROCE_COUNTER_H */
