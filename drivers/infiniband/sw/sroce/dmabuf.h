/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions on a dma-buf, memory that another driver exports.
 */
#ifndef SROCE_DMABUF_H
#define SROCE_DMABUF_H

#include <linux/types.h>

struct sroce_mr;

int sroce_dmabuf_map(struct sroce_mr *mr, int fd, u64 offset, u64 length);
void sroce_dmabuf_unmap(struct sroce_mr *mr);

#endif /* SROCE_DMABUF_H */
