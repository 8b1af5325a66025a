/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The network side: sockets of a namespace, routes and packets in.
 *
 * A path is where the packets of one QP go.
 */
#ifndef SROCE_NET_H
#define SROCE_NET_H

#include <linux/types.h>
#include <net/dst_cache.h>

#include "ah.h"
#include "dev.h"
#include "proto/icrc.h"

struct net;
struct sk_buff;
struct socket;

/* No VLAN, as the core says it. */
#define SROCE_NO_VLAN		0xffff

/* Bytes of IPv6 and UDP header, the longest there is in front of a BTH. */
#define SROCE_L3_MAX_BYTES	48

/**
 * struct sroce_path - where the packets of a QP go
 * @dev: the device
 * @stats: where packets sent are counted
 * @av: addresses and traffic class
 * @hdr_bytes: bytes of L3 and, but for RoCEv1, UDP header at @hdr; 0 until the path is set
 * @sport: UDP source port
 * @whole: a train of the peer arrived whole, so it takes trains, and packs
 * @priority: skb->priority
 * @hdr: L3 and UDP header with the per-packet fields zero
 * @dst_cache: route
 * @sock: owner of queued skbs, for back-pressure
 * @def_write_space: callback of @sock to go back to
 */
struct sroce_path {
	struct sroce_dev *dev;
	struct sroce_stats __percpu *stats;
	struct sroce_av av;
	u8 hdr_bytes;
	u16 sport;
	bool whole;
	u32 priority;
	u8 hdr[SROCE_L3_MAX_BYTES];
	struct dst_cache dst_cache;
	struct socket *sock;
	void (*def_write_space)(struct sock *sk);
};

/**
 * typedef sroce_net_rx_fn - receiver of packets for UDP port 4791
 * @net: namespace it arrived in
 * @skb: the packet or train; network and transport header are set, all frames
 *	are linear.  Stays with the caller.
 */
typedef void (*sroce_net_rx_fn)(struct net *net, struct sk_buff *skb);

int sroce_net_init(sroce_net_rx_fn rx, void (*purge)(struct net *net));
void sroce_net_exit(void);
void sroce_net_count_drop(struct net *net, enum sroce_stat stat);
void sroce_net_dgid(union ib_gid *gid, const void *l3, enum sroce_l3 kind);
struct sroce_dev *sroce_net_owner(struct net *net, const void *l3,
				  enum sroce_l3 kind, struct net_device *in,
				  u16 *vlan);
u32 sroce_net_mtu(const struct sroce_dev *dev);
int sroce_net_attach(struct sroce_dev *dev);
void sroce_net_detach(struct sroce_dev *dev);

int sroce_net_path_init(struct sroce_path *path, struct sroce_dev *dev,
			void (*write_space)(struct sock *sk), void *user_data);
void sroce_net_path_stop(struct sroce_path *path);
void sroce_net_path_fini(struct sroce_path *path);
void sroce_net_path_set(struct sroce_path *path, const struct sroce_av *av,
			u16 sport);
u32 sroce_net_path_queued(const struct sroce_path *path);
struct dst_entry *sroce_net_route(struct sroce_path *path);

#endif /* SROCE_NET_H */
