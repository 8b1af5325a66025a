/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The demultiplexer: from skbs to the roles of QPs.
 */
#ifndef SROCE_RX_H
#define SROCE_RX_H

#include <linux/types.h>

struct net;
struct sk_buff;
struct sroce_qp;

int sroce_rx_publish(struct sroce_qp *qp);
void sroce_rx_unpublish(struct sroce_qp *qp);
struct sroce_qp *sroce_rx_find(u32 qpn);
void sroce_rx_skb(struct net *net, struct sk_buff *skb);
void sroce_rx_grh(struct sk_buff *skb);
void sroce_rx_exit(void);

#endif /* SROCE_RX_H */
