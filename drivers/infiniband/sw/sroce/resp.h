/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The responder: from request packets to memory, completions and responses.
 */
#ifndef SROCE_RESP_H
#define SROCE_RESP_H

#include <linux/types.h>

struct sroce_frame;
struct sroce_qp;

void sroce_resp_consume(struct sroce_qp *qp, const struct sroce_frame *f);
void sroce_resp_pause(struct sroce_qp *qp);
u32 sroce_resp_flush(struct sroce_qp *qp, u32 budget);

#endif /* SROCE_RESP_H */
