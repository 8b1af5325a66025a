/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drops and errors as trace events: the one way to say why.
 */
#ifndef SROCE_TRACE_H
#define SROCE_TRACE_H

#include <linux/types.h>

#include "proto/aeth.h"
#include "stats.h"

struct sroce_dev;

/* Count a packet that is dropped at a QP, and let a tracer see it. */
#define sroce_drop(qp, reason)						\
do {									\
	struct sroce_qp *_qp = (qp);					\
									\
	sroce_stat_inc(_qp, reason);					\
	sroce_trace_drop(_qp->dev, _qp->qpn,				\
			 SROCE_STAT_##reason);				\
} while (0)

void sroce_trace_drop(struct sroce_dev *dev, u32 qpn, enum sroce_stat reason);
void sroce_trace_wc(struct sroce_dev *dev, u32 qpn, u64 wr_id, u8 status);
void sroce_trace_verdict(struct sroce_dev *dev, u32 qpn,
			 enum sroce_verdict verdict);
void sroce_trace_event(struct sroce_dev *dev, u32 qpn, u8 event);

#endif /* SROCE_TRACE_H */
