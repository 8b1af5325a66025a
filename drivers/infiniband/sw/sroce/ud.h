/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Datagrams: both roles of a UD QP, management QPs among them.
 */
#ifndef SROCE_UD_H
#define SROCE_UD_H

#include <linux/types.h>

struct sroce_frame;
struct sroce_qp;

bool sroce_ud_run(struct sroce_qp *qp);
bool sroce_ud_consume(struct sroce_qp *qp, const struct sroce_frame *f);
void sroce_ud_marked(struct sroce_qp *qp, const struct sroce_frame *f,
		     int ifindex, u64 now_ns);

#endif /* SROCE_UD_H */
