/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control between the controller and the packets.
 *
 * A role asks how much it may send, says what it sent, and sleeps until pace_ns
 * when the answer is nothing.
 */
#ifndef SROCE_CC_H
#define SROCE_CC_H

#include <linux/types.h>

struct sroce_cc;
struct sroce_dev;
struct sroce_hdr;
struct sroce_path;
struct sroce_qp;

void sroce_cc_dev_init(struct sroce_dev *dev);
void sroce_cc_qp_init(struct sroce_qp *qp);
void sroce_cc_start(struct sroce_qp *qp, struct sroce_cc *cc);
void sroce_cc_limit(struct sroce_qp *qp, u32 limit_kbps);
u32 sroce_cc_budget(struct sroce_cc *cc, u64 now_ns);
void sroce_cc_sent(struct sroce_qp *qp, struct sroce_cc *cc, u32 bytes,
		   u64 now_ns);
bool sroce_cc_cnp_tx(struct sroce_qp *qp, u64 now_ns);
bool sroce_cc_cnp_rx(struct sroce_qp *qp, u64 now_ns);
void sroce_cc_loss(struct sroce_qp *qp, u64 now_ns);
void sroce_cc_pick_path(struct sroce_qp *qp, u64 now_ns);
void sroce_cc_timeout(struct sroce_qp *qp);
void sroce_cc_follow(struct sroce_qp *qp, u16 sport);
bool sroce_cc_reads_sent(const struct sroce_qp *qp, u64 now_ns);
bool sroce_cc_mark_due(struct sroce_qp *qp, bool may, u64 now_ns);
void sroce_cc_send_cnp(struct sroce_qp *qp, struct sroce_path *path, u32 dqpn,
		       u16 pkey);
void sroce_cc_marked(struct sroce_qp *qp, const struct sroce_hdr *h,
		     bool responder, u64 now_ns);

#endif /* SROCE_CC_H */
