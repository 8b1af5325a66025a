/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requester: from send WQEs to request packets.
 */
#ifndef SROCE_REQ_H
#define SROCE_REQ_H

#include <linux/types.h>

struct sroce_qp;

bool sroce_req_run(struct sroce_qp *qp);

#endif /* SROCE_REQ_H */
