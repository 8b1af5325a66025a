/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv1: packets straight on Ethernet, behind a GRH instead of IP and UDP.
 */
#ifndef SROCE_GRH_H
#define SROCE_GRH_H

#include <linux/types.h>

struct net_device;
struct sk_buff;
struct sroce_dev;
struct sroce_path;

/**
 * typedef sroce_grh_rx_fn - receiver of RoCEv1 packets
 * @skb: the packet, linear, from its GRH to its ICRC.  Stays with the caller.
 */
typedef void (*sroce_grh_rx_fn)(struct sk_buff *skb);

void sroce_grh_init(sroce_grh_rx_fn rx);
void sroce_grh_attach(struct sroce_dev *dev);
void sroce_grh_detach(struct sroce_dev *dev);
u32 sroce_grh_room(const struct sroce_path *path);
int sroce_grh_xmit(const struct sroce_path *path, struct sk_buff *skb);
bool sroce_grh_is_ours(struct sroce_dev *dev, const void *grh,
		       struct net_device *in);

#endif /* SROCE_GRH_H */
