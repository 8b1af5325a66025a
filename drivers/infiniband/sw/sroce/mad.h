/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Management datagrams the device answers by itself.
 */
#ifndef SROCE_MAD_H
#define SROCE_MAD_H

#include <linux/types.h>

struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;

int sroce_mad_process(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_bytes, u16 *out_pkey_index);

#endif /* SROCE_MAD_H */
