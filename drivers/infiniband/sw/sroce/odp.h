/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: regions whose pages come when they are used.
 *
 * The page list of such a region has holes. Who meets one in a bottom half has
 * it filled in process context, and tries again.
 */
#ifndef SROCE_ODP_H
#define SROCE_ODP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct sroce_dev;
struct sroce_mr;

int sroce_odp_init(struct sroce_mr *mr, u64 start, u64 length, int access);
int sroce_odp_fault(struct sroce_dev *dev, u32 key, u64 va, u64 bytes);
int sroce_odp_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		     u32 flags, struct ib_sge *sg, u32 num_sge,
		     struct uverbs_attr_bundle *attrs);
void sroce_odp_caps(struct ib_device_attr *attr);

#endif /* SROCE_ODP_H */
