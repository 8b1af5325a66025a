/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups: which QPs get what is sent to a group's address.
 */
#ifndef SROCE_MCAST_H
#define SROCE_MCAST_H

#include <linux/types.h>

struct net;
struct net_device;
struct sroce_dev;
struct sroce_qp;
union ib_gid;

/**
 * typedef sroce_mcast_fn - taker of a packet to a group
 * @qp: a member
 * @arg: as given to sroce_mcast_each()
 */
typedef void (*sroce_mcast_fn)(struct sroce_qp *qp, void *arg);

int sroce_mcast_attach(struct sroce_dev *dev, struct sroce_qp *qp,
		       const union ib_gid *gid);
int sroce_mcast_detach(struct sroce_dev *dev, struct sroce_qp *qp,
		       const union ib_gid *gid);
u32 sroce_mcast_each(const struct net *net, const union ib_gid *gid,
		     struct net_device *in, sroce_mcast_fn fn, void *arg);

#endif /* SROCE_MCAST_H */
