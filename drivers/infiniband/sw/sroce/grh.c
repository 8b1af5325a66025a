// SPDX-License-Identifier: GPL-2.0
/*
 * RoCEv1: packets straight on Ethernet (IBA annex A16), behind a GRH instead of
 * IP and UDP.
 *
 * Owns the EtherType: the handler that takes its frames in while a device has
 * the switch on, and the last step on their way out.  Receiving runs in softirq
 * and hands what comes in to the function main.c gave it; sending runs with
 * bottom halves off, called by train.c.  Must not know what a frame contains
 * behind its GRH.
 *
 * There is no route and no neighbour here: the netdev is that of the source
 * GID, the MAC address is what ib_core found when the address was made.
 */
#include "grh.h"

#include "dev.h"
#include "net.h"
#include "proto/wire.h"

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

/* The GRH has the layout of the IPv6 header. */
static_assert(sizeof(struct ipv6hdr) == SROCE_GRH_BYTES);

static DEFINE_MUTEX(attach_mutex);
static LIST_HEAD(devices);	/* with the switch on; RCU, @attach_mutex */
static sroce_grh_rx_fn grh_rx __read_mostly;

/* --- sending --------------------------------------------------------------- */

/* Netdev of the source GID; its namespace is the device's. */
static struct net_device *path_ndev(const struct sroce_path *path)
{
	struct net_device *ndev;

	if (READ_ONCE(path->dev->down))
		return NULL;
	ndev = dev_get_by_index_rcu(path->dev->ns, path->av.ifindex);
	/* a bond changes its type with what it enslaves */
	return ndev && ndev->type == ARPHRD_ETHER ? ndev : NULL;
}

/**
 * sroce_grh_room() - what a frame needs in front of its GRH
 * @path: where it goes
 *
 * Context: Bottom halves off.
 * Return: bytes, or 0 when the netdev is gone.
 */
u32 sroce_grh_room(const struct sroce_path *path)
{
	const struct net_device *ndev;
	u32 room = 0;

	rcu_read_lock();
	ndev = path_ndev(path);
	if (ndev)
		room = LL_RESERVED_SPACE(ndev) ?: ETH_HLEN;
	rcu_read_unlock();
	return room;
}

/* No netdev hands a frame to its own address; IP has lo for that. */
static int loop_back(struct sk_buff *skb, struct net_device *ndev)
{
	eth_header(skb, ndev, ETH_P_IBOE, ndev->dev_addr, NULL, skb->len);
	skb_reset_mac_header(skb);
	__skb_pull(skb, ETH_HLEN);
	skb->pkt_type = PACKET_LOOPBACK;
	skb_orphan(skb);
	return netif_rx(skb);
}

static int xmit_rcu(const struct sroce_path *path, struct sk_buff *skb)
{
	struct net_device *ndev = path_ndev(path);

	if (!ndev || !netif_running(ndev)) {
		kfree_skb(skb);
		return -ENETDOWN;
	}
	if (skb->len > READ_ONCE(ndev->mtu)) {
		kfree_skb(skb);
		return -EMSGSIZE;
	}
	skb->dev = ndev;
	skb->protocol = htons(ETH_P_IBOE);
	if (ether_addr_equal(path->av.dmac, ndev->dev_addr))
		return loop_back(skb, ndev);
	if (dev_hard_header(skb, ndev, ETH_P_IBOE, path->av.dmac, NULL,
			    skb->len) < 0) {
		kfree_skb(skb);
		return -EINVAL;
	}
	return dev_queue_xmit(skb);
}

/**
 * sroce_grh_xmit() - send a frame
 * @path: where it goes
 * @skb: the frame from its GRH on, which is also its network header; consumed
 *
 * Context: Bottom halves off; a QP lock may be held, nothing below takes one.
 * Return: 0, or what dev_queue_xmit() returns, or a negative errno.
 */
int sroce_grh_xmit(const struct sroce_path *path, struct sk_buff *skb)
{
	int err;

	rcu_read_lock();
	err = xmit_rcu(path, skb);
	rcu_read_unlock();
	return err;
}

/* --- receiving ------------------------------------------------------------- */

static bool wanted(const struct net *net)
{
	const struct sroce_dev *dev;

	list_for_each_entry_rcu(dev, &devices, v1_list)
		if (dev->ns == net)
			return true;
	return false;
}

/*
 * Make all of a frame readable, without what Ethernet padded it with.  The length
 * in the GRH counts from the BTH to the ICRC (IBA 8.3.3).
 */
static enum sroce_stat frame_fault(struct sk_buff *skb)
{
	struct ipv6hdr *grh;
	u32 bytes;

	if (skb_is_gso(skb) || !pskb_may_pull(skb, sizeof(*grh)))
		return SROCE_STAT_DROP_SHORT;
	grh = (struct ipv6hdr *)skb->data;
	if (grh->version != 6 || grh->nexthdr != SROCE_GRH_NEXTHDR)
		return SROCE_STAT_DROP_OPCODE;
	if (rdma_is_multicast_addr(&grh->daddr))
		return SROCE_STAT_DROP_ADDR;
	bytes = sizeof(*grh) + ntohs(grh->payload_len);
	if (bytes > skb->len)
		return SROCE_STAT_DROP_LENGTH;
	if (pskb_trim(skb, bytes) || skb_linearize(skb))
		return SROCE_STAT_DROP_NOMEM;
	return SROCE_STAT_N;
}

/* The frames of one netdev, VLAN tag and Ethernet header off. */
static int grh_rcv(struct sk_buff *skb, struct net_device *in,
		   struct packet_type *pt, struct net_device *orig)
{
	struct net *net = dev_net(in);
	enum sroce_stat fault;

	if ((skb->pkt_type != PACKET_HOST && skb->pkt_type != PACKET_LOOPBACK) ||
	    !wanted(net)) {
		consume_skb(skb);
		return NET_RX_SUCCESS;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	fault = frame_fault(skb);
	if (fault != SROCE_STAT_N) {
		sroce_net_count_drop(net, max(skb->len, SROCE_GRH_BYTES) -
				     SROCE_GRH_BYTES, fault);
		kfree_skb(skb);
		return NET_RX_DROP;
	}
	skb_reset_network_header(skb);
	grh_rx(skb);
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type grh_packet_type = {
	.type = htons(ETH_P_IBOE),
	.func = grh_rcv,
};

/**
 * sroce_grh_is_ours() - is a packet's destination a RoCEv1 GID of a device
 * @dev: the device
 * @grh: GRH of the packet
 * @in: netdev it arrived through, which must be the GID's
 *
 * Context: Any.
 * Return: whether it is.
 */
bool sroce_grh_is_ours(struct sroce_dev *dev, const void *grh,
		       struct net_device *in)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	sroce_net_dgid(&gid, grh, SROCE_L3_GRH);
	attr = rdma_find_gid_by_port(&dev->ib, &gid, IB_GID_TYPE_ROCE, 1, in);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* --- devices --------------------------------------------------------------- */

/**
 * sroce_grh_attach() - take in RoCEv1 frames for a device that has the switch on
 * @dev: the device
 *
 * Context: Process, may sleep.
 */
void sroce_grh_attach(struct sroce_dev *dev)
{
	if (!dev->rocev1)
		return;
	mutex_lock(&attach_mutex);
	if (list_empty(&devices))
		dev_add_pack(&grh_packet_type);
	list_add_tail_rcu(&dev->v1_list, &devices);
	dev->v1_listed = true;
	mutex_unlock(&attach_mutex);
}

/**
 * sroce_grh_detach() - undo sroce_grh_attach(), where it was called
 * @dev: the device; all its QPs are gone
 *
 * Context: Process, may sleep.
 */
void sroce_grh_detach(struct sroce_dev *dev)
{
	if (!dev->v1_listed)
		return;
	mutex_lock(&attach_mutex);
	dev->v1_listed = false;
	list_del_rcu(&dev->v1_list);
	if (list_empty(&devices))
		dev_remove_pack(&grh_packet_type);
	else
		synchronize_rcu();
	mutex_unlock(&attach_mutex);
}

/**
 * sroce_grh_init() - module start
 * @rx: gets every RoCEv1 packet
 *
 * Context: Process.
 */
void sroce_grh_init(sroce_grh_rx_fn rx)
{
	grh_rx = rx;
}
