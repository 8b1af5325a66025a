/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The completer: from responses to completed send WQEs.
 */
#ifndef SROCE_COMP_H
#define SROCE_COMP_H

#include <linux/types.h>

struct sroce_frame;
struct sroce_qp;

void sroce_comp_consume(struct sroce_qp *qp, const struct sroce_frame *f,
			u64 now_ns);
void sroce_comp_pause(struct sroce_qp *qp);
bool sroce_comp_reap(struct sroce_qp *qp);
u32 sroce_comp_flush(struct sroce_qp *qp, u32 budget);

#endif /* SROCE_COMP_H */
