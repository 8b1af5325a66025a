// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: which QPs get what is sent to a group's address.
 *
 * Owns the groups of all devices and their members.  Attach and detach are verbs
 * in process context, under rtnl, which IP wants for joining and leaving; the
 * receiver walks the members in softirq under RCU, called by rx.c.  Must not know
 * packets or what a QP is.
 *
 * A group is joined like any program joins it, with the IP stack of the device's
 * netdev: that tells the neighbours (IGMP, MLD), programs the MAC filter, lets
 * packets pass the stack's own filter, and makes the stack loop back what this
 * host sends to the group.  So local members need nothing of ours.
 */
#include "mcast.h"
#include "dev.h"

#include <linux/hashtable.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/addrconf.h>

#include "compat.h"

#define GROUPS_BITS	10

/**
 * struct group - a group of one device
 * @node: entry in @groups; RCU
 * @dev: the device
 * @gid: the address
 * @members: its QPs; RCU
 * @n: number of members
 * @rcu: delays the free
 */
struct group {
	struct hlist_node node;
	struct sroce_dev *dev;
	union ib_gid gid;
	struct list_head members;
	u32 n;
	struct rcu_head rcu;
};

/**
 * struct member - a QP in a group
 * @list: entry in the group's list; RCU
 * @qp: the QP; it is detached before it is destroyed, and the struct stays for a
 *	grace period after that
 * @times: how often it was attached
 * @rcu: delays the free
 */
struct member {
	struct list_head list;
	struct sroce_qp *qp;
	u32 times;
	struct rcu_head rcu;
};

/* Written under rtnl. */
static DEFINE_HASHTABLE(groups, GROUPS_BITS);

static u32 gid_key(const union ib_gid *gid)
{
	return jhash(gid->raw, sizeof(gid->raw), 0);
}

static const struct in6_addr *gid_addr(const union ib_gid *gid)
{
	return (const struct in6_addr *)gid;
}

static struct group *group_find(const struct sroce_dev *dev,
				const union ib_gid *gid)
{
	struct group *g;

	ASSERT_RTNL();
	hash_for_each_possible(groups, g, node, gid_key(gid))
		if (g->dev == dev && !memcmp(&g->gid, gid, sizeof(*gid)))
			return g;
	return NULL;
}

static struct member *member_find(const struct group *g, const struct sroce_qp *qp)
{
	struct member *m;

	list_for_each_entry(m, &g->members, list)
		if (m->qp == qp)
			return m;
	return NULL;
}

static int join(struct net_device *ndev, const union ib_gid *gid)
{
	struct in_device *in_dev;

	if (!ipv6_addr_v4mapped(gid_addr(gid))) {
		if (!__in6_dev_get(ndev))
			return -ENODEV;
		return ipv6_dev_mc_inc(ndev, gid_addr(gid));
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, gid_addr(gid)->s6_addr32[3]);
	return 0;
}

static void leave(struct net_device *ndev, const union ib_gid *gid)
{
	struct in_device *in_dev;

	if (!ipv6_addr_v4mapped(gid_addr(gid))) {
		ipv6_dev_mc_dec(ndev, gid_addr(gid));
		return;
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (in_dev)
		ip_mc_dec_group(in_dev, gid_addr(gid)->s6_addr32[3]);
}

static struct group *group_make(struct sroce_dev *dev, const union ib_gid *gid)
{
	struct group *g;
	int err;

	if (dev->mc_groups == SROCE_MAX_MCG)
		return ERR_PTR(-ENOMEM);
	g = kzalloc_obj(*g);
	if (!g)
		return ERR_PTR(-ENOMEM);
	g->dev = dev;
	g->gid = *gid;
	INIT_LIST_HEAD(&g->members);
	err = join(dev->ndev, gid);
	if (err) {
		kfree(g);
		return ERR_PTR(err);
	}
	dev->mc_groups++;
	hash_add_rcu(groups, &g->node, gid_key(gid));
	return g;
}

static void group_drop(struct group *g)
{
	struct sroce_dev *dev = g->dev;

	/* a netdev that went away, or to another namespace, left by itself */
	if (!READ_ONCE(dev->down))
		leave(dev->ndev, &g->gid);
	hash_del_rcu(&g->node);
	dev->mc_groups--;
	kfree_rcu(g, rcu);
}

static int member_add(struct group *g, struct sroce_qp *qp)
{
	struct member *m;

	if (g->n == SROCE_MAX_MCG_QP || g->dev->mc_members == SROCE_MAX_MCG_TOTAL)
		return -ENOMEM;
	m = kzalloc_obj(*m);
	if (!m)
		return -ENOMEM;
	m->qp = qp;
	m->times = 1;
	list_add_tail_rcu(&m->list, &g->members);
	g->n++;
	g->dev->mc_members++;
	return 0;
}

static void member_drop(struct group *g, struct member *m)
{
	list_del_rcu(&m->list);
	kfree_rcu(m, rcu);
	g->n--;
	g->dev->mc_members--;
	if (!g->n)
		group_drop(g);
}

static int attach_locked(struct sroce_dev *dev, struct sroce_qp *qp,
			 const union ib_gid *gid)
{
	struct member *m;
	struct group *g;
	int err;

	if (READ_ONCE(dev->down))
		return -ENODEV;
	g = group_find(dev, gid);
	if (!g)
		g = group_make(dev, gid);
	if (IS_ERR(g))
		return PTR_ERR(g);
	m = member_find(g, qp);
	if (m) {
		m->times++;
		return 0;
	}
	err = member_add(g, qp);
	if (err && !g->n)
		group_drop(g);
	return err;
}

/**
 * sroce_mcast_attach() - a QP joins a group
 * @dev: its device
 * @qp: the QP; the core has made sure that it is UD
 * @gid: address of the group, multicast
 *
 * A QP attached twice is a member once, until it is detached twice.
 *
 * Context: Process, may sleep.  Takes rtnl.
 * Return: 0; -ENOMEM at a limit of query_device or without memory; -ENODEV when
 *	the netdev is going, or has no IP of the address's version.
 */
int sroce_mcast_attach(struct sroce_dev *dev, struct sroce_qp *qp,
		       const union ib_gid *gid)
{
	int err;

	rtnl_lock();
	err = attach_locked(dev, qp, gid);
	rtnl_unlock();
	return err;
}

/**
 * sroce_mcast_detach() - a QP leaves a group
 * @dev: its device
 * @qp: the QP
 * @gid: address of the group
 *
 * Packets find the QP no more after a grace period.  The core does this for a
 * process that goes, before it destroys the QP.
 *
 * Context: Process, may sleep.  Takes rtnl.
 * Return: 0, or -EINVAL when it is no member.
 */
int sroce_mcast_detach(struct sroce_dev *dev, struct sroce_qp *qp,
		       const union ib_gid *gid)
{
	struct member *m = NULL;
	struct group *g;

	rtnl_lock();
	g = group_find(dev, gid);
	if (g)
		m = member_find(g, qp);
	if (m && !--m->times)
		member_drop(g, m);
	rtnl_unlock();
	return m ? 0 : -EINVAL;
}

/* Is @g the group of that address in that namespace? */
static bool group_is(const struct group *g, const struct net *net,
		     const union ib_gid *gid)
{
	return g->dev->ns == net && !memcmp(&g->gid, gid, sizeof(*gid));
}

static u32 give(const struct group *g, sroce_mcast_fn fn, void *arg)
{
	struct member *m;
	u32 n = 0;

	list_for_each_entry_rcu(m, &g->members, list) {
		fn(m->qp, arg);
		n++;
	}
	return n;
}

/**
 * sroce_mcast_each() - find who gets a packet
 * @net: namespace it arrived in
 * @gid: destination address, IPv4 as v4-mapped
 * @in: netdev it arrived through
 * @fn: called for each member
 * @arg: handed to @fn
 *
 * A packet is for the device on the netdev it came through.  Where there is none
 * with that group, it is for those below: a VLAN's, a bond's or a bridge's
 * packets are those of the netdev below it.
 *
 * Context: Softirq, RCU read side.
 * Return: number of members.
 */
u32 sroce_mcast_each(const struct net *net, const union ib_gid *gid,
		     struct net_device *in, sroce_mcast_fn fn, void *arg)
{
	const u32 key = gid_key(gid);
	struct group *g;
	u32 n = 0;

	hash_for_each_possible_rcu(groups, g, node, key)
		if (group_is(g, net, gid) && g->dev->ndev == in)
			n += give(g, fn, arg);
	if (n)
		return n;
	hash_for_each_possible_rcu(groups, g, node, key)
		if (group_is(g, net, gid) &&
		    netdev_has_upper_dev_all_rcu(g->dev->ndev, in))
			n += give(g, fn, arg);
	return n;
}
