// SPDX-License-Identifier: GPL-2.0
/*
 * GRO: packets that come one by one are chained to a train, and walk the stack
 * once.
 *
 * Owns what such a chain looks like: an skb with SKB_GSO_FRAGLIST, the shape of
 * the trains that train.c sends, each member with its own headers in front of its
 * data.  So what the receive path knows of trains holds for chains, and a chain
 * that is not for this host after all is split into the packets it was.  Runs in
 * the softirq of the NIC's NAPI, called by net.c for the socket's gro_receive.
 * Must not know what a packet contains behind its BTH, nor any QP but its number.
 */
#include "gro.h"

#include "proto/hdr.h"
#include "proto/wire.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/addrconf.h>
#include <net/gro.h>
#include <net/route.h>

/* As much as one walk of the stack should carry; NAPI polls 64 at a time. */
#define MAX_FRAMES	64
#define MAX_BYTES	64000

/* Says so in a field that only packets with inner headers use. */
#define CHAINED		htons(ETH_P_IBOE)

/*
 * A chain that is forwarded gets new IP IDs when it is split, and an ICRC covers
 * them.  Asked once a chain, before it is one.
 */
static bool is_for_us(struct net *net, const struct sk_buff *skb)
{
	const struct iphdr *iph = skb_gro_network_header(skb);

	if (iph->version == IPVERSION)
		return inet_addr_type(net, iph->daddr) == RTN_LOCAL;
	return ipv6_chk_addr(net, &((const struct ipv6hdr *)iph)->daddr, NULL, 0);
}

/*
 * Through a veth a packet comes with its sender's socket, and GRO takes packets of
 * two sockets for two flows.  Of a train that was split on the way the first one
 * alone has it, and the others would overtake it.
 */
static bool from_peer(const struct sk_buff *skb)
{
	return skb->dev->netdev_ops->ndo_get_peer_dev;
}

/* A chain is for one QP, as a train is.  The headers of either may lie in pages. */
static bool same_qp(const struct sk_buff *head, const struct sk_buff *skb)
{
	struct sroce_bth _a, _b, *a, *b;

	a = skb_header_pointer(head, skb_gro_offset(skb), sizeof(_a), &_a);
	b = skb_header_pointer(skb, skb_gro_offset(skb), sizeof(_b), &_b);
	return NAPI_GRO_CB(head)->is_flist && a && b &&
	       sroce_hdr_dqpn(a) == sroce_hdr_dqpn(b);
}

static bool has_room(const struct sk_buff *head, const struct sk_buff *skb)
{
	return NAPI_GRO_CB(head)->count < MAX_FRAMES &&
	       head->len + skb_gro_len(skb) <= MAX_BYTES;
}

/* Hang @skb on the chain, its data behind its UDP header. */
static bool append(struct sk_buff *head, struct sk_buff *skb)
{
	if (!pskb_may_pull(skb, skb_gro_offset(skb)))
		return false;
	/* behind a VLAN tag, where the NIC left it */
	skb_set_network_header(skb, skb_gro_receive_network_offset(skb));
	skb_pull(skb, skb_gro_offset(skb));
	/* a sender's on this host, who counts bytes: they have arrived */
	skb_orphan(skb);
	if (NAPI_GRO_CB(head)->last == head) {
		skb_orphan(head);
		skb_shinfo(head)->frag_list = skb;
		head->inner_protocol = CHAINED;
	} else {
		NAPI_GRO_CB(head)->last->next = skb;
	}
	NAPI_GRO_CB(head)->last = skb;
	NAPI_GRO_CB(head)->count++;
	head->len += skb->len;
	head->data_len += skb->len;
	head->truesize += skb->truesize;
	skb_shinfo(head)->flags |= skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return true;
}

/**
 * sroce_gro_receive() - hold back or chain a packet for UDP port 4791
 * @net: namespace it arrived in
 * @held: packets held back; those of its flow are marked
 * @skb: the packet, at its UDP payload as GRO counts
 * @chain: may it be chained; else it goes on, after what it might overtake
 *
 * Context: Softirq, RCU read side.
 * Return: the packet or chain held that has to go on first, or NULL.
 */
struct sk_buff *sroce_gro_receive(struct net *net, struct list_head *held,
				  struct sk_buff *skb, bool chain)
{
	struct sk_buff *head;

	/* not a tunnel: the UDP layer finishes it as a list of its own */
	NAPI_GRO_CB(skb)->encap_mark = 0;
	NAPI_GRO_CB(skb)->is_flist = 1;
	if (!chain || from_peer(skb))
		NAPI_GRO_CB(skb)->flush = 1;
	list_for_each_entry(head, held, list) {
		if (!NAPI_GRO_CB(head)->same_flow)
			continue;
		if (!NAPI_GRO_CB(skb)->flush && has_room(head, skb) &&
		    same_qp(head, skb) &&
		    (NAPI_GRO_CB(head)->count > 1 || is_for_us(net, skb)) &&
		    append(head, skb))
			return NULL;
		return head;
	}
	return NULL;
}

/**
 * sroce_gro_made() - was a train chained here
 * @skb: the train
 *
 * Context: Any.
 * Return: true when its packets came one by one; false when its sender made it.
 */
bool sroce_gro_made(const struct sk_buff *skb)
{
	return skb->inner_protocol == CHAINED;
}
