/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device and the small objects of a user context: types and casts only.
 *
 * A device sits on one netdev and lives in that netdev's network namespace.
 * It may be included by every layer and includes none of ours but the counters.
 */
#ifndef SROCE_DEV_H
#define SROCE_DEV_H

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "proto/dcqcn.h"
#include "stats.h"

struct dentry;
struct net;
struct sroce_net;
struct sroce_qp;

/* Limits: everything advertised here can be created and works. */
#define SROCE_MAX_QP		65536
#define SROCE_MAX_QP_WR		32767
#define SROCE_MAX_SRQ		0x10000
#define SROCE_MAX_SRQ_WR	32767
#define SROCE_MAX_SGE		32
#define SROCE_MAX_INLINE	512
#define SROCE_MAX_CQ		0x100000
#define SROCE_MAX_CQE		0x3fffff
#define SROCE_MAX_MR		0x100000
#define SROCE_MAX_MW		0x100000
#define SROCE_MAX_PD		0x100000
#define SROCE_MAX_AH		0x100000
#define SROCE_MAX_RD_ATOM	128
#define SROCE_MAX_MSG_BYTES	0x80000000U
#define SROCE_GID_TBL_LEN	256
#define SROCE_MAX_MCG		8192
#define SROCE_MAX_MCG_QP	256
#define SROCE_MAX_MCG_TOTAL	65536
#define SROCE_DEF_PKEY		0xffff
#define SROCE_ABI_VERSION	2
#define SROCE_VENDOR_ID		0xffffff
#define SROCE_MAX_FRWR_PAGES	512
#define SROCE_VERSION		"0.1.0"

/* Most bytes around a payload: IPv6, UDP, BTH, RETH, ImmDt, ICRC. */
#define SROCE_MAX_OVERHEAD	(40 + 8 + 12 + 16 + 4 + 4)

/**
 * struct sroce_knobs - what debugfs lets an administrator change at run time
 * @trains: send bursts as GSO skbs; false sends one skb per frame
 * @hook: take whole trains in the LOCAL_IN hook; false leaves them to encap_rcv
 * @gro: chain packets that a NIC received one by one to trains
 * @coalesce_acks: one ACK per received train; false acknowledges each request
 *	packet that asks for it
 * @inline_doorbell: run the requester in the caller of post_send; false leaves
 *	it to the BH work item
 * @packs: send runs of small frames as one UDP GSO skb to peers that showed they
 *	take whole trains
 * @steer: receive big trains that this CPU has sent on another CPU
 * @doorbell_us: how long small requests wait for more of them, where the
 *	program has completions to look at anyway, µs; 0: not at all
 * @window_bytes: most bytes a QP keeps unacknowledged
 * @inflight_bytes: most bytes a QP keeps in qdisc and device
 */
struct sroce_knobs {
	bool trains;
	bool hook;
	bool gro;
	bool coalesce_acks;
	bool inline_doorbell;
	bool packs;
	bool steer;
	u32 doorbell_us;
	u32 window_bytes;
	u32 inflight_bytes;
};

/**
 * struct sroce_cc_dev - congestion control of a device
 * @param: knobs of the controller; read locklessly
 * @enable: mark packets ECN-capable, send CNPs, react to them; likewise
 * @ids: number of each knob, which a file in debugfs finds it by
 * @cap_lock: protects @cap_ns and @cap_n
 * @cap_ns: begin of the period in which CNPs are counted
 * @cap_n: CNPs sent in it by all QPs
 */
struct sroce_cc_dev {
	struct sroce_dcqcn_param param;
	bool enable;
	u8 ids[SROCE_DCQCN_KNOBS];
	spinlock_t cap_lock;	/* taken under a QP's role lock */
	u32 cap_n;
	u64 cap_ns;
};

/**
 * struct sroce_dev - an ib_device on top of a netdev
 * @ib: the core's part, must be first
 * @ndev: the netdev; held from newlink until dealloc_driver
 * @ndev_tracker: reference tracker of @ndev
 * @ns: namespace @ndev was in when the device was made; not referenced, the
 *	device goes before it does
 * @net: sockets shared by the devices of the netdev's namespace
 * @net_list: entry in the list of @net
 * @v1_list: entry in the list of devices that take RoCEv1 in; RCU
 * @list: entry in the list of devices, under the list's mutex
 * @keys: MR and MW by key index (key >> 8); RCU lookup
 * @next_key: where the next allocation in @keys starts
 * @ahs: addresses of user AHs by number; RCU lookup
 * @next_ah: where the next allocation in @ahs starts
 * @mc_groups: multicast groups joined; under rtnl
 * @mc_members: QPs in them, each as often as it is in one; under rtnl
 * @gsi: the QP that gets what is sent to QPN 1, or NULL; RCU
 * @stats: per-CPU counters
 * @counters: counters of chosen QPs, by ib_core's number (struct
 *	sroce_stats_set)
 * @past: sum of those that are gone; under the lock of @counters
 * @knobs: run-time switches; read locklessly
 * @cc: congestion control
 * @debugfs: directory of the device
 * @mac: EUI-48 the GUIDs are made of
 * @down: the netdev went away; nothing may be sent any more
 * @dead: dealloc_driver is done with the device; under the list's mutex
 * @port_up: state of the port as last told by an event; under rtnl
 * @rocev1: RoCEv1 beside RoCEv2; never changes
 * @v1_listed: @v1_list is in the list; under the list's mutex
 */
struct sroce_dev {
	struct ib_device ib;
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct sroce_net *net;
	struct list_head net_list;
	struct list_head v1_list;
	struct net *ns;
	struct list_head list;
	struct xarray keys;
	u32 next_key;
	u32 next_ah;
	struct xarray ahs;
	u32 mc_groups;
	u32 mc_members;
	struct sroce_qp __rcu *gsi;
	struct sroce_stats __percpu *stats;
	struct xarray counters;
	struct sroce_stats past;
	struct sroce_knobs knobs;
	struct sroce_cc_dev cc;
	struct dentry *debugfs;
	u8 mac[ETH_ALEN];
	bool down;
	bool dead;
	bool port_up;
	bool rocev1;
	bool v1_listed;
};

static inline struct sroce_dev *to_sroce_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct sroce_dev, ib);
}

/**
 * struct sroce_ucontext - a process that has the device open
 * @ibuc: the core's part
 */
struct sroce_ucontext {
	struct ib_ucontext ibuc;
};

/**
 * struct sroce_pd - a protection domain
 * @ibpd: the core's part
 */
struct sroce_pd {
	struct ib_pd ibpd;
};

#endif /* SROCE_DEV_H */
