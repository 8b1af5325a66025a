/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive steering: trains that this CPU has sent are received on another one.
 */
#ifndef SROCE_STEER_H
#define SROCE_STEER_H

struct net;
struct sk_buff;

void sroce_steer_skb(struct net *net, struct sk_buff *skb);
void sroce_steer_flush(void);
void sroce_steer_init(void);
void sroce_steer_exit(void);

#endif /* SROCE_STEER_H */
