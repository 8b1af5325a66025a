// SPDX-License-Identifier: GPL-2.0
/*
 * The network side: sockets, routes and packets in.
 *
 * Owns the UDP sockets of each namespace that has a device, and the paths and
 * their routes.  Receiving runs in softirq and hands what comes in to the
 * function main.c gave it; routes are asked for with bottom halves off.  Called
 * by train.c, qp code and main.c.  Must not know what a frame contains behind
 * its UDP header.
 */
#include "net.h"

#include "compat.h"

#include <linux/if_vlan.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/skbuff.h>
#include <linux/wait.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/netns/generic.h>
#include <net/route.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "gro.h"
#include "proto/wire.h"
#include "trace.h"

/**
 * struct sroce_net - what the devices of a network namespace share
 * @net: the namespace
 * @lock: serialises attach and detach
 * @devices: devices attached
 * @list: the devices; RCU
 * @idle: woken when the last one detaches
 * @sock4: UDP socket, IPv4
 * @sock6: UDP socket, IPv6; NULL where IPv6 is off
 * @dead: the namespace is going away
 */
struct sroce_net {
	struct net *net;
	struct mutex lock;	/* attach and detach against each other */
	u32 devices;
	struct list_head list;
	wait_queue_head_t idle;
	struct socket *sock4;
	struct socket *sock6;
	bool dead;
};

static unsigned int net_id __read_mostly;
static sroce_net_rx_fn net_rx __read_mostly;
static void (*net_purge)(struct net *net) __read_mostly;

/* --- paths ---------------------------------------------------------------- */

static struct dst_entry *route4(struct sroce_path *path, struct sroce_lane *lane,
				struct net *net)
{
	struct flowi4 fl4 = {
		.daddr = path->av.daddr.s6_addr32[3],
		.saddr = path->av.saddr.s6_addr32[3],
		.flowi4_proto = IPPROTO_UDP,
		.fl4_sport = htons(lane->sport),
		.fl4_dport = htons(SROCE_UDP_PORT),
	};
	struct rtable *rt;

	sroce_compat_set_dsfield(&fl4, path->av.traffic_class);
	if (inet_addr_type(net, fl4.daddr) != RTN_LOCAL)
		fl4.flowi4_oif = path->av.ifindex;
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return NULL;
	/* whether this host is in the group too is a property of the route */
	if (!ipv4_is_multicast(fl4.daddr))
		dst_cache_set_ip4(&lane->dst_cache, &rt->dst, fl4.saddr);
	return &rt->dst;
}

static struct dst_entry *route6(struct sroce_path *path, struct sroce_lane *lane,
				struct net *net)
{
	struct flowi6 fl6 = {
		.daddr = path->av.daddr,
		.saddr = path->av.saddr,
		.flowlabel = ip6_make_flowinfo(path->av.traffic_class,
					       htonl(path->av.flow_label)),
		.flowi6_proto = IPPROTO_UDP,
		.fl6_sport = htons(lane->sport),
		.fl6_dport = htons(SROCE_UDP_PORT),
	};
	struct dst_entry *dst;

	if (!ipv6_chk_addr(net, &fl6.daddr, NULL, 0) ||
	    (ipv6_addr_type(&fl6.daddr) & IPV6_ADDR_LINKLOCAL))
		fl6.flowi6_oif = path->av.ifindex;
	dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return NULL;
	if (dst->error) {
		dst_release(dst);
		return NULL;
	}
	dst_cache_set_ip6(&lane->dst_cache, dst, &fl6.saddr);
	return dst;
}

/**
 * sroce_net_route() - route of a path, cached
 * @path: the path; of RoCEv2
 * @lane: which of its lanes
 *
 * Context: Bottom halves off.
 * Return: the route, referenced, or NULL when there is none.
 */
struct dst_entry *sroce_net_route(struct sroce_path *path,
				  struct sroce_lane *lane)
{
	struct dst_entry *dst = dst_cache_get(&lane->dst_cache);

	if (dst || !path->hdr_bytes || READ_ONCE(path->dev->down))
		return dst;
	if (path->av.l3 == SROCE_L3_IPV6)
		return route6(path, lane, path->dev->ns);
	return route4(path, lane, path->dev->ns);
}

/**
 * sroce_net_path_init() - prepare a path without a destination
 * @path: the path
 * @dev: the device
 * @write_space: called from any context when queued bytes were freed
 * @user_data: sk_user_data of the socket @write_space gets
 *
 * Context: Process, may sleep.
 * Return: 0 or a negative errno of the socket or allocator.
 */
int sroce_net_path_init(struct sroce_path *path, struct sroce_dev *dev,
			void (*write_space)(struct sock *sk), void *user_data)
{
	struct sock *sk;
	int err;

	path->dev = dev;
	path->stats = dev->stats;
	err = dst_cache_init(&path->lane.dst_cache, GFP_KERNEL);
	if (err)
		return err;
	err = sock_create_kern(dev->ns, AF_INET, SOCK_DGRAM, IPPROTO_UDP,
			       &path->sock);
	if (err) {
		dst_cache_destroy(&path->lane.dst_cache);
		return err;
	}
	sk = path->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	path->def_write_space = sk->sk_write_space;
	sk->sk_user_data = user_data;
	sk->sk_write_space = write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	return 0;
}

/**
 * sroce_net_path_stop() - queued skbs call back no more after a grace period
 * @path: the path
 *
 * Skbs may stay in a qdisc longer than the QP or the module lives; the socket
 * stays with them, its callbacks must not.
 *
 * Context: Process.
 */
void sroce_net_path_stop(struct sroce_path *path)
{
	struct sock *sk = path->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_user_data, NULL);
	WRITE_ONCE(sk->sk_write_space, path->def_write_space);
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * sroce_net_path_fini() - free what a path holds
 * @path: the path, stopped a grace period ago
 *
 * Context: Process, may sleep.
 */
void sroce_net_path_fini(struct sroce_path *path)
{
	sock_release(path->sock);
	dst_cache_destroy(&path->lane.dst_cache);
	dst_cache_destroy(&path->aside[SROCE_REQUESTS].dst_cache);
	dst_cache_destroy(&path->aside[SROCE_ANSWERS].dst_cache);
}

/**
 * sroce_net_path_set() - give a path its destination
 * @path: the path; nobody sends on it meanwhile
 * @av: addresses and traffic class
 * @sport: UDP source port
 *
 * Context: Process; QP locks may be held.
 */
void sroce_net_path_set(struct sroce_path *path, const struct sroce_av *av,
			u16 sport)
{
	u8 *hdr = path->lane.hdr;
	struct udphdr *uh;

	path->av = *av;
	path->lane.sport = sport;
	path->priority = av->sl;
	WRITE_ONCE(path->whole, false);
	WRITE_ONCE(path->away, 0);
	WRITE_ONCE(path->moved[SROCE_REQUESTS], false);
	WRITE_ONCE(path->moved[SROCE_ANSWERS], false);
	memset(hdr, 0, sizeof(path->lane.hdr));
	dst_cache_reset(&path->lane.dst_cache);
	if (av->l3 != SROCE_L3_IPV4) {
		struct ipv6hdr *ip6 = (struct ipv6hdr *)hdr;

		ip6_flow_hdr(ip6, av->traffic_class, htonl(av->flow_label));
		ip6->hop_limit = av->ttl ?: IPDEFTTL;
		ip6->saddr = av->saddr;
		ip6->daddr = av->daddr;
		if (av->l3 == SROCE_L3_GRH) {
			ip6->nexthdr = SROCE_GRH_NEXTHDR;
			path->hdr_bytes = sizeof(*ip6);
			return;
		}
		ip6->nexthdr = IPPROTO_UDP;
		path->hdr_bytes = sizeof(*ip6) + sizeof(*uh);
	} else {
		struct iphdr *iph = (struct iphdr *)hdr;

		iph->version = IPVERSION;
		iph->ihl = sizeof(*iph) / 4;
		iph->tos = av->traffic_class;
		iph->frag_off = htons(IP_DF);
		iph->ttl = av->ttl ?: IPDEFTTL;
		iph->protocol = IPPROTO_UDP;
		iph->saddr = av->saddr.s6_addr32[3];
		iph->daddr = av->daddr.s6_addr32[3];
		path->hdr_bytes = sizeof(*iph) + sizeof(*uh);
	}
	uh = (struct udphdr *)(hdr + path->hdr_bytes - sizeof(*uh));
	uh->source = htons(sport);
	uh->dest = htons(SROCE_UDP_PORT);
}

/**
 * sroce_net_path_move() - give requests or answers a UDP source port of their own
 * @path: the path, of RoCEv2
 * @who: which of them; no packet that others must not overtake is under way
 * @sport: the port
 *
 * Context: Bottom halves off, that role's lock held.
 * Return: false, and nothing is changed, without memory.
 */
bool sroce_net_path_move(struct sroce_path *path, enum sroce_mover who,
			 u16 sport)
{
	struct sroce_lane *lane = &path->aside[who];
	struct udphdr *uh;

	/* few paths ever need it */
	if (!lane->dst_cache.cache &&
	    dst_cache_init(&lane->dst_cache, GFP_ATOMIC | __GFP_NOWARN))
		return false;
	lane->sport = sport;
	memcpy(lane->hdr, path->lane.hdr, sizeof(lane->hdr));
	uh = (struct udphdr *)(lane->hdr + path->hdr_bytes - sizeof(*uh));
	uh->source = htons(sport);
	/* this host may have several links, too; nobody else uses this lane */
	dst_cache_reset_now(&lane->dst_cache);
	WRITE_ONCE(path->moved[who], true);
	return true;
}

/**
 * sroce_net_path_queued() - bytes a path has in qdisc and device
 * @path: the path
 *
 * Context: Any.
 * Return: bytes of memory, overhead included.
 */
u32 sroce_net_path_queued(const struct sroce_path *path)
{
	return sk_wmem_alloc_get(path->sock->sk);
}

/* --- receiving ------------------------------------------------------------ */

/*
 * Are the UDP header and all frames of @skb readable in place?  They are made so,
 * where a NIC left them in pages.
 */
static bool skb_readable(struct sk_buff *skb, u32 l3_bytes)
{
	u32 head_bytes = skb->len;
	struct sk_buff *m;

	if (!skb_is_gso(skb))
		return !skb_linearize(skb);
	if (!(skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST))
		return (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4) &&
		       !skb_linearize(skb);
	skb_walk_frags(skb, m) {
		head_bytes -= m->len;
		if (!skb_transport_header_was_set(m))
			return false;
		/* who else has the skb has its members, too, and reads them now */
		if (skb_is_nonlinear(m) &&
		    (skb_cloned(skb) || skb_shared(m) || skb_linearize(m)))
			return false;
	}
	if (skb_shinfo(skb)->nr_frags && !pskb_may_pull(skb, head_bytes))
		return false;
	return skb_headlen(skb) >= l3_bytes + sizeof(struct udphdr);
}

static struct sroce_dev *first_dev(struct net *net)
{
	struct sroce_net *sn = net_generic(net, net_id);

	return list_first_or_null_rcu(&sn->list, struct sroce_dev, net_list);
}

/* The hook serves a namespace: its first device has the say. */
static bool hook_wanted(struct net *net)
{
	const struct sroce_dev *dev = first_dev(net);

	return dev && READ_ONCE(dev->knobs.hook);
}

/*
 * Take packets before the UDP layer does: a train arrives whole here and would
 * be split there.  Only what conntrack has nothing to say about any more is
 * stolen; the rest goes on and comes back through encap_recv().
 */
static unsigned int hook_take(struct sk_buff *skb, struct net *net,
			      u32 l3_bytes, int family)
{
	enum ip_conntrack_info info;
	struct udphdr _uh, *uh;
	struct nf_conn *ct;

	uh = skb_header_pointer(skb, skb_network_offset(skb) + l3_bytes,
				sizeof(_uh), &_uh);
	if (!uh || uh->dest != htons(SROCE_UDP_PORT) || !hook_wanted(net) ||
	    (uh->check && !skb_csum_unnecessary(skb)))
		return NF_ACCEPT;
	ct = nf_ct_get(skb, &info);
	if (ct && !nf_ct_is_confirmed(ct))
		return NF_ACCEPT;
	if (!xfrm_policy_check(NULL, XFRM_POLICY_IN, skb, family))
		return NF_ACCEPT;
	if (!skb_readable(skb, l3_bytes))
		return NF_ACCEPT;
	skb_set_transport_header(skb, skb_network_offset(skb) + l3_bytes);
	net_rx(net, skb);
	return NF_STOLEN;
}

static unsigned int hook4(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	const struct iphdr *iph = ip_hdr(skb);

	if (iph->protocol != IPPROTO_UDP || iph->ihl != sizeof(*iph) / 4 ||
	    ip_is_fragment(iph))
		return NF_ACCEPT;
	return hook_take(skb, state->net, sizeof(*iph), AF_INET);
}

static unsigned int hook6(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	if (ipv6_hdr(skb)->nexthdr != IPPROTO_UDP)
		return NF_ACCEPT;
	return hook_take(skb, state->net, sizeof(struct ipv6hdr), AF_INET6);
}

static const struct nf_hook_ops hook_ops[] = {
	{
		.hook = hook4,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	},
	{
		.hook = hook6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	},
};

/* Single packets that came through the UDP layer; skb->data at its header. */
static int encap_recv(struct sock *sk, struct sk_buff *skb)
{
	if (skb_linearize(skb)) {
		sroce_net_count_drop(sock_net(sk),
				     skb->len - sizeof(struct udphdr),
				     SROCE_STAT_DROP_NOMEM);
		kfree_skb(skb);
		return 0;
	}
	net_rx(sock_net(sk), skb);
	return 0;
}

static struct sk_buff *gro_receive(struct sock *sk, struct list_head *held,
				   struct sk_buff *skb)
{
	const struct sroce_dev *dev = first_dev(sock_net(sk));

	return sroce_gro_receive(sock_net(sk), held, skb, dev &&
				 READ_ONCE(dev->knobs.hook) &&
				 READ_ONCE(dev->knobs.gro));
}

/**
 * sroce_net_count_drop() - count a packet that belongs to no QP
 * @net: namespace it arrived in
 * @bytes: its bytes behind the UDP header or GRH
 * @stat: why it is dropped
 *
 * Without a QP the packet names no device; the namespace's first one counts it,
 * as received, too: what a port received does not depend on who wants it.
 *
 * Context: Softirq, RCU read side.
 */
void sroce_net_count_drop(struct net *net, u32 bytes, enum sroce_stat stat)
{
	struct sroce_dev *dev = first_dev(net);

	if (!dev)
		return;
	this_cpu_inc(dev->stats->v[SROCE_STAT_RCVD_PKTS]);
	this_cpu_add(dev->stats->v[SROCE_STAT_RCVD_BYTES], bytes);
	this_cpu_inc(dev->stats->v[stat]);
	sroce_trace_drop(dev, 0, stat);
}

/**
 * sroce_net_dgid() - destination of a packet as a GID
 * @gid: filled in
 * @l3: IP header or GRH of the packet
 * @kind: which of them it is
 *
 * Context: Any.
 */
void sroce_net_dgid(union ib_gid *gid, const void *l3, enum sroce_l3 kind)
{
	if (kind != SROCE_L3_IPV4)
		memcpy(gid, &((const struct ipv6hdr *)l3)->daddr, sizeof(*gid));
	else
		ipv6_addr_set_v4mapped(((const struct iphdr *)l3)->daddr,
				       (struct in6_addr *)gid);
}

/**
 * sroce_net_owner() - device a packet for a management QP is meant for
 * @net: namespace it arrived in
 * @l3: its IP header or GRH
 * @kind: which of them it is
 * @in: netdev it arrived through
 * @vlan: set to the VLAN of the destination's netdev, 0xffff for none
 *
 * QPN 1 exists once a device, so the destination address has to tell.  Where
 * two devices have the address, it is that of the one on the address's netdev.
 * RoCEv1 knows no hosts with two links: the address is that of the link.
 *
 * Context: Softirq, RCU read side.
 * Return: the device, or NULL.
 */
struct sroce_dev *sroce_net_owner(struct net *net, const void *l3,
				  enum sroce_l3 kind, struct net_device *in,
				  u16 *vlan)
{
	const enum ib_gid_type type = kind == SROCE_L3_GRH ?
		IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
	struct sroce_net *sn = net_generic(net, net_id);
	struct sroce_dev *dev, *found = NULL;
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	union ib_gid gid;

	sroce_net_dgid(&gid, l3, kind);
	list_for_each_entry_rcu(dev, &sn->list, net_list) {
		if (!rcu_access_pointer(dev->gsi))
			continue;
		attr = rdma_find_gid_by_port(&dev->ib, &gid, type, 1,
					     kind == SROCE_L3_GRH ? in : NULL);
		if (IS_ERR(attr))
			continue;
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		if (!IS_ERR(ndev) && (!found || ndev == dev->ndev)) {
			found = dev;
			*vlan = rdma_vlan_dev_vlan_id(ndev);
		}
		rdma_put_gid_attr(attr);
	}
	return found;
}

/**
 * sroce_net_mtu() - biggest path MTU whose packets fit the netdev unfragmented
 * @dev: the device
 *
 * Context: Any.
 * Return: bytes, 256 to 4096.
 */
u32 sroce_net_mtu(const struct sroce_dev *dev)
{
	u32 room = READ_ONCE(dev->ndev->mtu);
	u32 mtu = SROCE_MAX_PMTU;

	while (mtu > SROCE_MIN_PMTU && mtu + SROCE_MAX_OVERHEAD > room)
		mtu /= 2;
	return mtu;
}

/* --- namespaces ----------------------------------------------------------- */

static int open_socket(struct net *net, bool v6, struct socket **sock)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = encap_recv,
		.gro_receive = gro_receive,
	};
	struct udp_port_cfg port = {
		.family = v6 ? AF_INET6 : AF_INET,
		.ipv6_v6only = v6,
		.local_udp_port = htons(SROCE_UDP_PORT),
	};
	int err;

	err = udp_sock_create(net, &port, sock);
	if (err)
		return err;
	setup_udp_tunnel_sock(net, (*sock)->sk, &tunnel);
	return 0;
}

static void close_sockets(struct sroce_net *sn)
{
	nf_unregister_net_hooks(sn->net, hook_ops, ARRAY_SIZE(hook_ops));
	if (sn->sock6)
		udp_tunnel_sock_release(sn->sock6->sk);
	if (sn->sock4)
		udp_tunnel_sock_release(sn->sock4->sk);
	sn->sock6 = NULL;
	sn->sock4 = NULL;
}

static int open_sockets(struct sroce_net *sn)
{
	int err;

	err = nf_register_net_hooks(sn->net, hook_ops, ARRAY_SIZE(hook_ops));
	if (err)
		return err;
	err = open_socket(sn->net, false, &sn->sock4);
	if (!err) {
		err = open_socket(sn->net, true, &sn->sock6);
		/* a host without IPv6 is a host with RoCE over IPv4 */
		if (err == -EAFNOSUPPORT || err == -EPFNOSUPPORT)
			err = 0;
	}
	if (err)
		close_sockets(sn);
	return err;
}

/**
 * sroce_net_attach() - let a device use its namespace's sockets
 * @dev: the device; dev->ns is set
 *
 * The first device of a namespace opens UDP port 4791.
 *
 * Context: Process, may sleep.
 * Return: 0, -EADDRINUSE when somebody else has the port, -ENODEV when the
 *	namespace is going away, or another errno of the socket layer.
 */
int sroce_net_attach(struct sroce_dev *dev)
{
	struct sroce_net *sn = net_generic(dev->ns, net_id);
	int err = 0;

	mutex_lock(&sn->lock);
	if (sn->dead)
		err = -ENODEV;
	else if (!sn->devices)
		err = open_sockets(sn);
	if (!err) {
		sn->devices++;
		list_add_tail_rcu(&dev->net_list, &sn->list);
		dev->net = sn;
	}
	mutex_unlock(&sn->lock);
	return err;
}

/**
 * sroce_net_detach() - undo sroce_net_attach()
 * @dev: the device; all its QPs are gone
 *
 * Context: Process, may sleep.
 */
void sroce_net_detach(struct sroce_dev *dev)
{
	struct sroce_net *sn = dev->net;

	if (!sn)
		return;
	dev->net = NULL;
	mutex_lock(&sn->lock);
	list_del_rcu(&dev->net_list);
	synchronize_rcu();
	if (sn->devices == 1)
		close_sockets(sn);
	sn->devices--;
	/* under the lock: the namespace is freed once the waiter got it */
	wake_up_all(&sn->idle);
	mutex_unlock(&sn->lock);
}

static int __net_init netns_init(struct net *net)
{
	struct sroce_net *sn = net_generic(net, net_id);

	sn->net = net;
	mutex_init(&sn->lock);
	INIT_LIST_HEAD(&sn->list);
	init_waitqueue_head(&sn->idle);
	return 0;
}

/*
 * The sockets of QPs point at the namespace, so its devices must be gone before
 * it is.  That waits for the core to unregister them, never for user space.
 */
static void __net_exit netns_exit(struct net *net)
{
	struct sroce_net *sn = net_generic(net, net_id);

	mutex_lock(&sn->lock);
	sn->dead = true;
	mutex_unlock(&sn->lock);
	net_purge(net);
	wait_event(sn->idle, !READ_ONCE(sn->devices));
	mutex_lock(&sn->lock);
	mutex_unlock(&sn->lock);
}

static struct pernet_operations net_ops = {
	.init = netns_init,
	.exit = netns_exit,
	.id = &net_id,
	.size = sizeof(struct sroce_net),
};

/**
 * sroce_net_init() - module start
 * @rx: gets every packet for UDP port 4791
 * @purge: starts to unregister all devices of a namespace
 *
 * Context: Process, may sleep.
 * Return: 0 or a negative errno.
 */
int sroce_net_init(sroce_net_rx_fn rx, void (*purge)(struct net *net))
{
	net_rx = rx;
	net_purge = purge;
	return register_pernet_subsys(&net_ops);
}

/**
 * sroce_net_exit() - module end; no device is left
 *
 * Context: Process, may sleep.
 */
void sroce_net_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
