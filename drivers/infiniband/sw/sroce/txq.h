/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue seen through the window: WQEs by PSN.
 */
#ifndef SROCE_TXQ_H
#define SROCE_TXQ_H

#include <linux/types.h>

#include "proto/window.h"

struct sroce_qp;
struct sroce_swqe;

struct sroce_swqe *sroce_txq_find(struct sroce_qp *qp, u32 psn, u32 *idx);
void sroce_txq_seek(struct sroce_qp *qp);
void sroce_txq_rewound(struct sroce_qp *qp, enum sroce_rewind rw);
void sroce_txq_fail(struct sroce_qp *qp, u32 idx, u8 status);
void sroce_txq_fail_oldest(struct sroce_qp *qp, u8 status);

#endif /* SROCE_TXQ_H */
