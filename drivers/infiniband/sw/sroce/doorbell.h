/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The doorbell: do requests leave at once, or wait for more of them?
 */
#ifndef SROCE_DOORBELL_H
#define SROCE_DOORBELL_H

struct sroce_cq;
struct sroce_qp;

void sroce_doorbell_ring(struct sroce_qp *qp);
void sroce_doorbell_polled(struct sroce_cq *cq);

#endif /* SROCE_DOORBELL_H */
