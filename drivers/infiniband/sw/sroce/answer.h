/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers: what a responder sends, in request order.
 */
#ifndef SROCE_ANSWER_H
#define SROCE_ANSWER_H

#include <linux/types.h>

struct sroce_hdr;
struct sroce_qp;
struct sroce_rsp;
struct sroce_rx;

u32 sroce_answer_psns(const struct sroce_qp *qp, u32 bytes);
bool sroce_answer_full(const struct sroce_rx *rx);
bool sroce_answer_pending(const struct sroce_rx *rx, u32 psn);
void sroce_answer_remember(struct sroce_rx *rx, const struct sroce_rsp *rsp);
void sroce_answer_replay_read(struct sroce_qp *qp, const struct sroce_hdr *h);
void sroce_answer_replay(struct sroce_qp *qp, const struct sroce_hdr *h);
void sroce_answer_nak(struct sroce_rx *rx, u8 syndrome, u32 psn);
bool sroce_answer_run(struct sroce_qp *qp);

#endif /* SROCE_ANSWER_H */
