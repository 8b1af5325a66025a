/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The network side: sockets of a namespace, routes and packets in.
 *
 * A path is where the packets of one QP go.
 */
#ifndef SROCE_NET_H
#define SROCE_NET_H

#include <linux/ip.h>
#include <linux/ipv6.h>
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
 * struct sroce_lane - what a router tells the packets of a path apart by
 * @sport: UDP source port
 * @hdr: L3 and UDP header with the per-packet fields zero
 * @dst_cache: route
 */
struct sroce_lane {
	u16 sport;
	u8 hdr[SROCE_L3_MAX_BYTES];
	struct dst_cache dst_cache;
};

/* Who may change lanes. */
enum sroce_mover {
	SROCE_REQUESTS,
	SROCE_ANSWERS,
	SROCE_MOVERS
};

/**
 * struct sroce_path - where the packets of a QP go
 * @dev: the device
 * @stats: where packets sent are counted
 * @av: addresses and traffic class
 * @hdr_bytes: bytes of L3 and, but for RoCEv1, UDP header at @hdr; 0 until the path is set
 * @whole: a train of the peer arrived whole, so it takes trains, and packs
 * @moved: who has a lane aside; each is set under its role's lock
 * @away: not 0: another CPU of this host received big trains of it, not long ago
 * @priority: skb->priority
 * @lane: what all packets take at first
 * @aside: what those who moved take, each by itself: when one moves, packets of
 *	the other may be under way; under that role's lock
 * @sock: owner of queued skbs, for back-pressure
 * @def_write_space: callback of @sock to go back to
 */
struct sroce_path {
	struct sroce_dev *dev;
	struct sroce_stats __percpu *stats;
	struct sroce_av av;
	u8 hdr_bytes;
	bool whole;
	bool moved[SROCE_MOVERS];
	u8 away;
	u32 priority;
	struct sroce_lane lane;
	struct sroce_lane aside[SROCE_MOVERS];
	struct socket *sock;
	void (*def_write_space)(struct sock *sk);
};

/**
 * typedef sroce_net_rx_fn - receiver of packets for UDP port 4791
 * @net: namespace it arrived in
 * @skb: the packet or train; network and transport header are set, all frames
 *	are linear.  Consumed.
 */
typedef void (*sroce_net_rx_fn)(struct net *net, struct sk_buff *skb);

int sroce_net_init(sroce_net_rx_fn rx, void (*purge)(struct net *net));
void sroce_net_exit(void);
void sroce_net_count_drop(struct net *net, u32 bytes, enum sroce_stat stat);
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
bool sroce_net_path_move(struct sroce_path *path, enum sroce_mover who,
			 u16 sport);
u32 sroce_net_path_queued(const struct sroce_path *path);
struct dst_entry *sroce_net_route(struct sroce_path *path,
				  struct sroce_lane *lane);

/**
 * sroce_net_path_lane() - the lane somebody's packets take now
 * @path: the path
 * @who: whose
 *
 * Context: Under that role's lock, or for a value that may be a moment old.
 * Return: the lane.
 */
static inline struct sroce_lane *sroce_net_path_lane(struct sroce_path *path,
						     enum sroce_mover who)
{
	return unlikely(READ_ONCE(path->moved[who])) ? &path->aside[who] :
						       &path->lane;
}

/**
 * sroce_net_sport() - UDP source port of a packet
 * @l3: its IP header or GRH; IPv4 without options
 * @kind: which of them it is
 *
 * Context: Any.
 * Return: the port, 0 for RoCEv1, which has none.
 */
static inline u16 sroce_net_sport(const void *l3, enum sroce_l3 kind)
{
	const __be16 *port = l3;

	if (kind == SROCE_L3_GRH)
		return 0;
	return ntohs(port[(kind == SROCE_L3_IPV4 ? sizeof(struct iphdr) :
			   sizeof(struct ipv6hdr)) / sizeof(*port)]);
}

#endif /* SROCE_NET_H */
