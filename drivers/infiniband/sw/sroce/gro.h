/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of a NIC chained to trains before they walk the stack.
 */
#ifndef SROCE_GRO_H
#define SROCE_GRO_H

#include <linux/types.h>

struct list_head;
struct net;
struct sk_buff;

struct sk_buff *sroce_gro_receive(struct net *net, struct list_head *held,
				  struct sk_buff *skb, bool chain);
bool sroce_gro_made(const struct sk_buff *skb);

#endif /* SROCE_GRO_H */
