/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registration: where the memory behind a key comes from.
 *
 * The verbs that make and destroy memory regions, and REG_MR.
 */
#ifndef SROCE_REG_H
#define SROCE_REG_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct sk_buff;

int sroce_reg_fast(struct ib_mr *ibmr, struct ib_pd *pd, u32 key, int access);

struct ib_mr *sroce_reg_get_dma(struct ib_pd *pd, int access);
struct ib_mr *sroce_reg_user(struct ib_pd *pd, u64 start, u64 length,
			     u64 iova, int access, struct ib_udata *udata);
struct ib_mr *sroce_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
			       u64 iova, int fd, int access);
struct ib_mr *sroce_reg_again(struct ib_mr *ibmr, int flags, u64 start,
			      u64 length, u64 iova, int access,
			      struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *sroce_reg_alloc(struct ib_pd *pd, enum ib_mr_type type,
			      u32 max_num_sg);
int sroce_reg_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		     unsigned int *sg_offset);
int sroce_reg_dereg(struct ib_mr *ibmr, struct ib_udata *udata);
int sroce_reg_fill_res(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* SROCE_REG_H */
