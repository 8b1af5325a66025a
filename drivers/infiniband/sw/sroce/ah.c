// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors and address handles.
 *
 * Owns the translation between ib_core's address attributes and ours, and the
 * table that finds a user's address by the number its work requests carry.  The
 * lookup runs in softirq or in a sender's context; everything else is a verb.
 * Must not know routes or QPs.
 */
#include "ah.h"
#include "dev.h"

#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"

#define AV_DEFAULT_TTL	64

/**
 * struct sroce_ah_slot - what a user's AH number stands for; never changes
 * @av: the address
 * @pd: protection domain of the AH; compared, not followed
 * @index: the number
 * @rcu: delays the free
 */
struct sroce_ah_slot {
	struct sroce_av av;
	struct ib_pd *pd;
	u32 index;
	struct rcu_head rcu;
};

/* Netdev of a GID; packets to other hosts leave through it.  0: it is going. */
static int gid_ifindex(const struct ib_gid_attr *sgid)
{
	const struct net_device *ndev;
	int ifindex = 0;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	/* the GIDs of a VLAN's real netdev may be those of another namespace */
	if (!IS_ERR(ndev) &&
	    net_eq(dev_net(ndev), to_sroce_dev(sgid->device)->ns))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

/* What RoCEv1 needs besides. */
static int check_v1(const struct rdma_ah_attr *attr)
{
	struct in6_addr dst;

	if (attr->grh.sgid_attr->gid_type != IB_GID_TYPE_ROCE)
		return -EINVAL;
	memcpy(&dst, &attr->grh.dgid, sizeof(dst));
	if (rdma_is_multicast_addr(&dst))
		return -EOPNOTSUPP;
	return is_valid_ether_addr(attr->roce.dmac) ? 0 : -EINVAL;
}

/**
 * sroce_ah_av_init() - check an address and take it over
 * @av: filled in
 * @attr: address with the source GID resolved by ib_core
 *
 * Context: Any.
 * Return: 0; -EINVAL when it is no RoCE address, its ends speak different IP
 * versions, or RoCEv1 lacks a MAC address; -EOPNOTSUPP for a multicast group over
 * RoCEv1.
 */
int sroce_ah_av_init(struct sroce_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = &attr->grh;
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	const struct in6_addr *dst = (const struct in6_addr *)&grh->dgid;
	enum sroce_l3 l3;
	bool v4;
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || attr->port_num != 1 ||
	    !(attr->ah_flags & IB_AH_GRH) || !sgid)
		return -EINVAL;
	v4 = ipv6_addr_v4mapped((const struct in6_addr *)&sgid->gid);
	if (v4 != ipv6_addr_v4mapped(dst) ||
	    ipv6_addr_any(dst))
		return -EINVAL;
	l3 = v4 ? SROCE_L3_IPV4 : SROCE_L3_IPV6;
	if (sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP) {
		err = check_v1(attr);
		if (err)
			return err;
		l3 = SROCE_L3_GRH;
	}

	*av = (struct sroce_av) {
		.l3 = l3,
		.traffic_class = grh->traffic_class,
		.ttl = grh->hop_limit ?: AV_DEFAULT_TTL,
		.sl = attr->sl,
		.flow_label = grh->flow_label & 0xfffff,
		.daddr = *dst,
		.sgid_index = grh->sgid_index,
		.ifindex = gid_ifindex(sgid),
	};
	memcpy(&av->saddr, &sgid->gid, sizeof(av->saddr));
	ether_addr_copy(av->dmac, attr->roce.dmac);
	return 0;
}

/**
 * sroce_ah_av_user() - check an address a provider put into a work request
 * @av: filled in
 * @dev: the device
 * @user: the address, a private copy
 *
 * Providers before rdma-core 39 have no number for an AH.  What they send is
 * taken for what it claims only after the GID table and the address agreed.
 *
 * Context: Any.
 * Return: 0, or -EINVAL when it is no RoCEv2 address of this device.
 */
int sroce_ah_av_user(struct sroce_av *av, struct sroce_dev *dev,
		     const struct rxe_av *user)
{
	struct rdma_ah_attr attr = {
		.type = RDMA_AH_ATTR_TYPE_ROCE,
		.port_num = user->port_num,
		.ah_flags = IB_AH_GRH,
		.grh = {
			.flow_label = user->grh.flow_label,
			.sgid_index = user->grh.sgid_index,
			.hop_limit = user->grh.hop_limit,
			.traffic_class = user->grh.traffic_class,
		},
	};
	const struct ib_gid_attr *sgid;
	int err;

	sgid = rdma_get_gid_attr(&dev->ib, 1, attr.grh.sgid_index);
	if (IS_ERR(sgid))
		return -EINVAL;
	memcpy(&attr.grh.dgid, &user->grh.dgid, sizeof(attr.grh.dgid));
	ether_addr_copy(attr.roce.dmac, user->dmac);
	attr.grh.sgid_attr = sgid;
	err = sroce_ah_av_init(av, &attr);
	/* nobody has checked its MAC address, and with RoCEv1 it is used */
	if (!err && av->l3 == SROCE_L3_GRH)
		err = -EINVAL;
	rdma_put_gid_attr(sgid);
	return err;
}

/**
 * sroce_ah_av_fill() - give an address back as attributes
 * @av: the address
 * @attr: filled in
 *
 * Context: Any.
 */
void sroce_ah_av_fill(const struct sroce_av *av, struct rdma_ah_attr *attr)
{
	*attr = (struct rdma_ah_attr) {
		.type = RDMA_AH_ATTR_TYPE_ROCE,
		.port_num = 1,
		.sl = av->sl,
		.ah_flags = IB_AH_GRH,
		.grh = {
			.flow_label = av->flow_label,
			.sgid_index = av->sgid_index,
			.hop_limit = av->ttl,
			.traffic_class = av->traffic_class,
		},
	};
	memcpy(&attr->grh.dgid, &av->daddr, sizeof(attr->grh.dgid));
	ether_addr_copy(attr->roce.dmac, av->dmac);
}

/**
 * sroce_ah_lookup() - find a user's address by its number
 * @dev: the device
 * @pd: protection domain of the QP
 * @ah_num: the number, from a work request
 * @av: the address
 *
 * Context: Any.
 * Return: whether there is such an address in that protection domain.
 */
bool sroce_ah_lookup(struct sroce_dev *dev, struct ib_pd *pd, u32 ah_num,
		     struct sroce_av *av)
{
	struct sroce_ah_slot *slot;
	bool found;

	rcu_read_lock();
	slot = xa_load(&dev->ahs, ah_num);
	found = slot && slot->pd == pd;
	if (found)
		*av = slot->av;
	rcu_read_unlock();
	return found;
}

/* A slot lives on its own: ib_core frees the AH without a grace period. */
static int add_slot(struct sroce_ah *ah)
{
	struct sroce_dev *dev = to_sroce_dev(ah->ibah.device);
	struct sroce_ah_slot *slot = kzalloc_obj(*slot);
	int err;

	if (!slot)
		return -ENOMEM;
	slot->av = ah->av;
	slot->pd = ah->ibah.pd;
	err = xa_alloc_cyclic(&dev->ahs, &slot->index, slot,
			      XA_LIMIT(1, SROCE_MAX_AH), &dev->next_ah,
			      GFP_KERNEL);
	if (err < 0) {
		kfree(slot);
		return err == -EBUSY ? -ENOMEM : err;
	}
	ah->slot = slot;
	return 0;
}

static void del_slot(struct sroce_ah *ah)
{
	if (!ah->slot)
		return;
	xa_erase(&to_sroce_dev(ah->ibah.device)->ahs, ah->slot->index);
	kfree_rcu(ah->slot, rcu);
	ah->slot = NULL;
}

/**
 * sroce_ah_create() - create an AH (create_ah and create_user_ah ops)
 * @ibah: the core's part, zeroed
 * @init: the address
 * @udata: system call, NULL for a kernel user; a provider that is too old to
 *	ask for the number puts the whole address into its work requests
 *
 * Context: Process for users; any for kernel users.
 * Return: 0 or a negative errno.
 */
int sroce_ah_create(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata)
{
	struct sroce_ah *ah = to_sroce_ah(ibah);
	struct rxe_create_ah_resp resp = {};
	int err;

	err = sroce_ah_av_init(&ah->av, init->ah_attr);
	if (err || !udata || udata->outlen < sizeof(resp))
		return err;
	err = add_slot(ah);
	if (err)
		return err;
	resp.ah_num = ah->slot->index;
	err = ib_respond_udata(udata, resp);
	if (err)
		del_slot(ah);
	return err;
}

/**
 * sroce_ah_modify() - point an AH of a kernel user elsewhere (modify_ah op)
 * @ibah: the AH
 * @attr: the new address
 *
 * Context: Any.
 * Return: 0, -EINVAL, or -EOPNOTSUPP for an AH that a user names by number.
 */
int sroce_ah_modify(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct sroce_ah *ah = to_sroce_ah(ibah);
	struct sroce_av av;
	int err;

	if (ah->slot)
		return -EOPNOTSUPP;
	err = sroce_ah_av_init(&av, attr);
	if (!err)
		ah->av = av;
	return err;
}

/**
 * sroce_ah_query() - say where an AH points (query_ah op)
 * @ibah: the AH
 * @attr: filled in
 *
 * Context: Any.
 * Return: 0.
 */
int sroce_ah_query(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	sroce_ah_av_fill(&to_sroce_ah(ibah)->av, attr);
	return 0;
}

/**
 * sroce_ah_destroy() - destroy an AH (destroy_ah op)
 * @ibah: the AH
 * @flags: RDMA_DESTROY_AH_*; nothing here sleeps
 *
 * Context: Any.
 * Return: 0.
 */
int sroce_ah_destroy(struct ib_ah *ibah, u32 flags)
{
	del_slot(to_sroce_ah(ibah));
	return 0;
}
