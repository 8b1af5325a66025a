/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair in error: flush and events.
 */
#ifndef SROCE_FLUSH_H
#define SROCE_FLUSH_H

struct sroce_qp;

void sroce_flush_run(struct sroce_qp *qp);

#endif /* SROCE_FLUSH_H */
