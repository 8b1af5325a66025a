// SPDX-License-Identifier: GPL-2.0
/*
 * The module: devices come and go.
 *
 * Owns the list of devices, "rdma link add|del", the netdev notifier, and the
 * wiring between layers.  Process context; the notifier runs under rtnl.
 * Called by ib_core and the network core.  Must not know verbs or packets.
 *
 * Locks, outermost first: link_mutex (one newlink at a time; may take rtnl),
 * rtnl, list_mutex (the list and the flags of its devices; nothing sleeps on
 * anything else under it).
 *
 * A device is on the list from before it is registered until it is reaped, and
 * the list holds a reference to it.  It goes by ib_core's unregistration, from
 * whatever thread: the user's, the notifier's, another module's, or ours.  The
 * last thing that thread does here is to mark the device dead; the thread that
 * reaps it waits for the first by way of ib_unregister_device(), which returns
 * when every other unregistration has.  So no code of this module is left
 * running when it is unloaded.
 */
#include "ah.h"
#include "answer.h"
#include "cc.h"
#include "comp.h"
#include "debugfs.h"
#include "dev.h"
#include "engine.h"
#include "flush.h"
#include "grh.h"
#include "net.h"
#include "qp.h"
#include "req.h"
#include "rx.h"
#include "steer.h"
#include "train.h"
#include "ud.h"
#include "verbs.h"

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "compat.h"

#define DEF_WINDOW_BYTES	(512 * SZ_1K)
#define DEF_INFLIGHT_BYTES	(400 * SZ_1K)

/* A fraction of what a message and its ACK take through the stack. */
#define DEF_DOORBELL_US		30

static bool rocev1;
module_param(rocev1, bool, 0644);
MODULE_PARM_DESC(rocev1, "RoCEv1 beside RoCEv2 on devices added from now on (default N)");

static DEFINE_MUTEX(link_mutex);
static DEFINE_MUTEX(list_mutex);
static LIST_HEAD(devices);

/* --- lifetime of one device ------------------------------------------------ */

/* ib_core shows the device to its clients next; the name is settled. */
static int enable_driver(struct ib_device *ibdev)
{
	sroce_debugfs_publish(to_sroce_dev(ibdev));
	return 0;
}

/* The last operation ib_core calls: all objects and users are gone. */
static void dealloc_driver(struct ib_device *ibdev)
{
	struct sroce_dev *dev = to_sroce_dev(ibdev);

	/* 1. no more packets: the sockets forget the device, or close */
	sroce_grh_detach(dev);
	if (dev->net)
		sroce_net_detach(dev);
	/* 2. what had found a QP of it is done with it */
	sroce_qp_wait_reaped();
	/* 3. and so are the packets they had another CPU receive */
	sroce_steer_flush();
	/* 4. no more readers of the switches */
	sroce_debugfs_unpublish(dev);
	/* 5. the tables are empty, their objects were destroyed by ib_core */
	xa_destroy(&dev->keys);
	xa_destroy(&dev->ahs);
	xa_destroy(&dev->counters);
	free_percpu(dev->stats);
	/* 6. the netdev may go */
	netdev_put(dev->ndev, &dev->ndev_tracker);
	/* 7. the list may forget it */
	mutex_lock(&list_mutex);
	dev->dead = true;
	mutex_unlock(&list_mutex);
}

static const struct ib_device_ops main_ops = {
	.dealloc_driver = dealloc_driver,
	.enable_driver = enable_driver,
};

/* GUIDs are made of the MAC address; netdevs without one get a random one. */
static void init_mac(struct sroce_dev *dev)
{
	const struct net_device *ndev = dev->ndev;

	if (ndev->addr_len == ETH_ALEN && !is_zero_ether_addr(ndev->dev_addr))
		ether_addr_copy(dev->mac, ndev->dev_addr);
	else
		eth_random_addr(dev->mac);
}

static struct sroce_dev *dev_alloc(struct net_device *ndev)
{
	struct sroce_dev *dev;

	dev = ib_alloc_device_with_net(sroce_dev, ib, dev_net(ndev));
	if (!dev)
		return NULL;
	dev->stats = alloc_percpu(struct sroce_stats);
	if (!dev->stats) {
		ib_dealloc_device(&dev->ib);
		return NULL;
	}
	dev->ndev = ndev;
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	dev->ns = dev_net(ndev);
	INIT_LIST_HEAD(&dev->list);
	xa_init_flags(&dev->keys, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	/* the table finds a free index from here on, and wraps */
	dev->next_key = get_random_u32() >> 8 ?: 1;
	dev->knobs = (struct sroce_knobs) {
		.trains = true,
		.hook = true,
		.gro = true,
		.coalesce_acks = true,
		.inline_doorbell = true,
		.packs = true,
		.steer = true,
		.doorbell_us = DEF_DOORBELL_US,
		.window_bytes = DEF_WINDOW_BYTES,
		.inflight_bytes = DEF_INFLIGHT_BYTES,
	};
	init_mac(dev);
	/* it is a protocol of Ethernet; ib_core asks once, at registration */
	dev->rocev1 = READ_ONCE(rocev1) && ndev->type == ARPHRD_ETHER;
	sroce_verbs_init(dev);
	/* from here on ib_dealloc_device() undoes all of it */
	ib_set_device_ops(&dev->ib, &main_ops);
	return dev;
}

/* --- the list -------------------------------------------------------------- */

static struct sroce_dev *find_locked(const struct net_device *ndev)
{
	struct sroce_dev *dev;

	lockdep_assert_held(&list_mutex);
	list_for_each_entry(dev, &devices, list)
		if (dev->ndev == ndev && !dev->dead)
			return dev;
	return NULL;
}

/*
 * Under rtnl, so that the netdev's removal or its move to another namespace
 * comes entirely before, and is seen, or after, and finds the device.
 */
static int list_insert(struct sroce_dev *dev)
{
	int err = 0;

	ASSERT_RTNL();
	if (dev->ndev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (dev->ns != dev_net(dev->ndev))
		return -ENODEV;
	dev->port_up =
		ib_get_curr_port_state(dev->ndev) == IB_PORT_ACTIVE;
	mutex_lock(&list_mutex);
	if (find_locked(dev->ndev)) {
		err = -EEXIST;
	} else {
		get_device(&dev->ib.dev);
		list_add_tail(&dev->list, &devices);
	}
	mutex_unlock(&list_mutex);
	return err;
}

/* Undo list_insert(), unless a reaper was faster and took the reference. */
static void list_remove(struct sroce_dev *dev)
{
	bool listed;

	mutex_lock(&list_mutex);
	listed = !list_empty(&dev->list);
	list_del_init(&dev->list);
	mutex_unlock(&list_mutex);
	if (listed)
		put_device(&dev->ib.dev);
}

/* Take the first device off the list that @want wants. */
static struct sroce_dev *
list_take(bool (*want)(const struct sroce_dev *dev, const void *arg),
	  const void *arg)
{
	struct sroce_dev *dev, *found = NULL;

	mutex_lock(&list_mutex);
	list_for_each_entry(dev, &devices, list) {
		if (want(dev, arg)) {
			list_del_init(&dev->list);
			found = dev;
			break;
		}
	}
	mutex_unlock(&list_mutex);
	return found;
}

/*
 * Unregister, or wait for whoever does, every device that @want wants, and let
 * them go.
 */
static void reap(bool (*want)(const struct sroce_dev *dev, const void *arg),
		 const void *arg)
{
	struct sroce_dev *dev;

	while ((dev = list_take(want, arg))) {
		ib_unregister_device(&dev->ib);
		put_device(&dev->ib.dev);
	}
}

static bool want_all(const struct sroce_dev *dev, const void *arg)
{
	return true;
}

static bool want_dead(const struct sroce_dev *dev, const void *arg)
{
	return dev->dead;
}

static bool want_net(const struct sroce_dev *dev, const void *arg)
{
	return dev->ns == arg;
}

/* A namespace goes: its devices go first.  Handed to net.c. */
static void purge_net(struct net *net)
{
	reap(want_net, net);
}

/* --- rdma link ------------------------------------------------------------- */

static bool type_supported(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER || ndev->type == ARPHRD_LOOPBACK ||
	       ndev->type == ARPHRD_NONE;
}

static const char *why(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "UDP port 4791 is taken in this namespace, by rdma_rxe?";
	case -EEXIST:
		return "the netdev or the name is already used";
	case -ENODEV:
		return "the netdev is going away";
	default:
		return "out of resources";
	}
}

static int dev_register(struct sroce_dev *dev, const char *name)
{
	int err;

	err = sroce_net_attach(dev);
	if (err)
		return err;
	sroce_grh_attach(dev);
	err = ib_register_device(&dev->ib, name, NULL);
	/* ib_core's word for a name that exists is "file table overflow" */
	return err == -ENFILE ? -EEXIST : err;
}

static int dev_add(const char *name, struct net_device *ndev)
{
	struct sroce_dev *dev = dev_alloc(ndev);
	int err;

	if (!dev)
		return -ENOMEM;
	rtnl_lock();
	sroce_cc_dev_init(dev);
	err = list_insert(dev);
	rtnl_unlock();
	if (err) {
		ib_dealloc_device(&dev->ib);
		return err;
	}
	err = dev_register(dev, name);
	if (err) {
		get_device(&dev->ib.dev);
		ib_dealloc_device(&dev->ib);
		list_remove(dev);
		put_device(&dev->ib.dev);
		return err;
	}
	/* the netdev may have gone before there was a device to unregister */
	if (READ_ONCE(dev->down)) {
		ib_unregister_device(&dev->ib);
		return -ENODEV;
	}
	return 0;
}

static int newlink(const char *name, struct net_device *ndev)
{
	int err;

	if (!type_supported(ndev)) {
		netdev_info(ndev, "sroce: %s: not a netdev that carries IP like Ethernet\n",
			    name);
		return -EINVAL;
	}
	mutex_lock(&link_mutex);
	reap(want_dead, NULL);
	err = dev_add(name, ndev);
	mutex_unlock(&link_mutex);
	if (err)
		netdev_info(ndev, "sroce: %s: cannot add: %s (%d)\n", name,
			    why(err), err);
	return err;
}

static int __maybe_unused dellink(struct ib_device *ibdev)
{
	/* ib_core unregisters the device after this; that does everything */
	return 0;
}

static struct rdma_link_ops link_ops = {
	.type = "sroce",
	.newlink = newlink,
	SROCE_OP_DELLINK(dellink)
};

/* --- the netdev ------------------------------------------------------------ */

static void port_event(struct sroce_dev *dev)
{
	bool up = ib_get_curr_port_state(dev->ndev) == IB_PORT_ACTIVE;
	struct ib_event ev = {
		.device = &dev->ib,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
		.element.port_num = 1,
	};

	ASSERT_RTNL();
	if (dev->port_up == up)
		return;
	dev->port_up = up;
	if (!up)
		sroce_stat_inc(dev, LINK_DOWNED);
	ib_dispatch_event(&ev);
}

/*
 * The MTU needs no event: every port query reads it from the netdev, and a
 * connected QP keeps the path MTU its user chose.
 */
static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct sroce_dev *dev;

	mutex_lock(&list_mutex);
	dev = find_locked(ndev);
	if (dev && event == NETDEV_UNREGISTER)
		/* a device that is not registered yet looks at this later */
		WRITE_ONCE(dev->down, true);
	if (dev && !ib_device_try_get(&dev->ib))
		dev = NULL;
	mutex_unlock(&list_mutex);
	if (!dev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_UNREGISTER:
		/* or it moves to another namespace, which is the same to us */
		ib_unregister_device_queued(&dev->ib);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_event(dev);
		break;
	}
	ib_device_put(&dev->ib);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

/* --- names ----------------------------------------------------------------- */

static bool is_ours(const struct ib_device *ibdev)
{
	return ibdev->ops.dealloc_driver == dealloc_driver;
}

static int client_add(struct ib_device *ibdev)
{
	return is_ours(ibdev) ? 0 : -EOPNOTSUPP;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
}

static void client_rename(struct ib_device *ibdev, void *data)
{
	sroce_debugfs_rename(to_sroce_dev(ibdev));
}

/* The core tells its clients, not the driver, that a device is renamed. */
static struct ib_client name_client = {
	.name = "sroce",
	.add = client_add,
	.remove = client_remove,
	.rename = client_rename,
};

/* --- the module ------------------------------------------------------------ */

/* The tx role: what was acknowledged makes room for what is to be sent. */
static bool run_tx(struct sroce_qp *qp)
{
	bool again;

	if (unlikely(qp->type == SROCE_QPT_UD)) {
		again = sroce_ud_run(qp);
		sroce_comp_reap(qp);
		return again;
	}
	sroce_comp_reap(qp);
	do {
		again = sroce_req_run(qp);
	} while (sroce_comp_reap(qp) && qp->tx.waiting && !again);
	return again;
}

/*
 * Wiring: the calls that go up the layers.  sched.c gets the roles it runs;
 * net.c the function that receives packets, and the one that removes the devices
 * of a namespace; grh.c the one that receives packets of RoCEv1.
 */
static int wire(void)
{
	sroce_sched_init(run_tx, sroce_answer_run, sroce_flush_run);
	sroce_grh_init(sroce_rx_grh);
	sroce_steer_init();
	return sroce_net_init(sroce_steer_skb, purge_net);
}

static int __init sroce_init(void)
{
	int err;

	err = sroce_compat_init();
	if (err)
		return err;
	err = sroce_qp_init();
	if (err)
		goto exit_compat;
	sroce_debugfs_init();
	err = wire();
	if (err)
		goto exit_debugfs;
	err = ib_register_client(&name_client);
	if (err)
		goto exit_net;
	err = register_netdevice_notifier(&netdev_nb);
	if (err)
		goto exit_client;
	rdma_link_register(&link_ops);
	return 0;

exit_client:
	ib_unregister_client(&name_client);
exit_net:
	sroce_net_exit();
exit_debugfs:
	sroce_debugfs_exit();
	sroce_qp_exit();
exit_compat:
	sroce_compat_exit();
	return err;
}

static void __exit sroce_exit(void)
{
	/* 1. no new devices */
	rdma_link_unregister(&link_ops);
	/* 2. no more events; queued unregistrations go on */
	unregister_netdevice_notifier(&netdev_nb);
	/* 3. our devices, and no one else's of the same driver id */
	reap(want_all, NULL);
	ib_unregister_client(&name_client);
	/* 4. what they stood on */
	sroce_net_exit();
	sroce_steer_exit();
	sroce_train_exit();
	sroce_rx_exit();
	sroce_qp_exit();
	sroce_debugfs_exit();
	sroce_compat_exit();
	/* 5. regions, addresses and the like that RCU still has to free */
	rcu_barrier();
}

module_init(sroce_init);
module_exit(sroce_exit);

MODULE_DESCRIPTION("Soft RoCE over any netdev");
MODULE_LICENSE("GPL");
MODULE_VERSION(SROCE_VERSION);
MODULE_ALIAS_RDMA_LINK("sroce");
