/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Modify of a queue pair: attributes and states.
 */
#ifndef SROCE_QPMOD_H
#define SROCE_QPMOD_H

#include <rdma/ib_verbs.h>

#include "proto/qpstate.h"

struct sroce_qp;

int sroce_qpmod_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata);
enum ib_qp_state sroce_qpmod_state(const struct sroce_qp *qp);
void sroce_qpmod_set_state(struct sroce_qp *qp, enum sroce_qps state);

#endif /* SROCE_QPMOD_H */
