// SPDX-License-Identifier: GPL-2.0
/*
 * The device as ib_core sees it.
 *
 * Owns the table of operations, the attributes of device and port, and the
 * verbs too small for a file.  Process context, except what the table takes
 * from other files.  Called by main.c, once per device, and by ib_core.  Must
 * not know how devices come and go.
 *
 * The user ABI is that of rdma_rxe, so the stock provider drives the device.
 * The device stays out of ib_core's netdev hash, where rdma_rxe looks for its
 * own: there is a get_netdev op instead of ib_device_set_netdev().
 */
#include "verbs.h"
#include "ah.h"
#include "counter.h"
#include "cq.h"
#include "dev.h"
#include "doorbell.h"
#include "mad.h"
#include "mcast.h"
#include "mw.h"
#include "net.h"
#include "odp.h"
#include "qp.h"
#include "qpmod.h"
#include "reg.h"
#include "ring.h"
#include "srq.h"
#include "stats.h"

#include <linux/cpumask.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"

#define DEVICE_CAPS	(IB_DEVICE_UD_AV_PORT_ENFORCE | \
			 IB_DEVICE_PORT_ACTIVE_EVENT | \
			 IB_DEVICE_SYS_IMAGE_GUID | \
			 IB_DEVICE_BAD_PKEY_CNTR | \
			 IB_DEVICE_BAD_QKEY_CNTR | \
			 IB_DEVICE_RC_RNR_NAK_GEN | \
			 IB_DEVICE_SRQ_RESIZE | \
			 IB_DEVICE_MEM_MGT_EXTENSIONS | \
			 IB_DEVICE_MEM_WINDOW | \
			 IB_DEVICE_MEM_WINDOW_TYPE_2B | \
			 IB_DEVICE_FLUSH_GLOBAL | \
			 IB_DEVICE_ATOMIC_WRITE)

/* 4.096 us * 2^15: what a busy receiver may take to answer (IBA 9.7.6.1.3). */
#define LOCAL_ACK_DELAY	15

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	int err = ib_no_udata_io(udata);

	if (err)
		return err;
	*attr = (struct ib_device_attr) {
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = U64_MAX,
		.page_size_cap = GENMASK(31, 12),
		.vendor_id = SROCE_VENDOR_ID,
		.max_qp = SROCE_MAX_QP,
		.max_qp_wr = SROCE_MAX_QP_WR,
		.device_cap_flags = DEVICE_CAPS,
		.kernel_cap_flags = IBK_ALLOW_USER_UNREG,
		.max_send_sge = SROCE_MAX_SGE,
		.max_recv_sge = SROCE_MAX_SGE,
		.max_sge_rd = SROCE_MAX_SGE,
		.max_cq = SROCE_MAX_CQ,
		.max_cqe = SROCE_MAX_CQE,
		.cq_caps = {
			.max_cq_moderation_count = U16_MAX,
			.max_cq_moderation_period = U16_MAX,
		},
		.max_srq = SROCE_MAX_SRQ,
		.max_srq_wr = SROCE_MAX_SRQ_WR,
		.max_srq_sge = SROCE_MAX_SGE,
		.max_mr = SROCE_MAX_MR,
		.max_mw = SROCE_MAX_MW,
		.max_pd = SROCE_MAX_PD,
		.max_qp_rd_atom = SROCE_MAX_RD_ATOM,
		.max_qp_init_rd_atom = SROCE_MAX_RD_ATOM,
		.max_res_rd_atom = SROCE_MAX_RD_ATOM * SROCE_MAX_QP,
		.atomic_cap = IB_ATOMIC_GLOB,
		.max_mcast_grp = SROCE_MAX_MCG,
		.max_mcast_qp_attach = SROCE_MAX_MCG_QP,
		.max_total_mcast_qp_attach = SROCE_MAX_MCG_TOTAL,
		.max_ah = SROCE_MAX_AH,
		.max_fast_reg_page_list_len = SROCE_MAX_FRWR_PAGES,
		.max_pkeys = 1,
		.local_ca_ack_delay = LOCAL_ACK_DELAY,
	};
	sroce_odp_caps(attr);
	return 0;
}

/*
 * Netdevs without a speed (tun, lo) count as the slowest, quietly: ib_core
 * would say so in the log at every query.
 */
static void query_speed(struct sroce_dev *dev, struct ib_port_attr *attr)
{
	const struct ethtool_ops *ops = dev->ndev->ethtool_ops;

	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	if (ops && ops->get_link_ksettings)
		ib_get_eth_speed(&dev->ib, 1, &attr->active_speed,
				 &attr->active_width);
}

static int query_port(struct ib_device *ibdev, u32 port,
		      struct ib_port_attr *attr)
{
	struct sroce_dev *dev = to_sroce_dev(ibdev);
	struct net_device *ndev = dev->ndev;

	if (port != 1)
		return -EINVAL;
	attr->gid_tbl_len = SROCE_GID_TBL_LEN;
	attr->ip_gids = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = SROCE_MAX_MSG_BYTES;
	attr->pkey_tbl_len = 1;
	attr->bad_pkey_cntr = sroce_stats_sum(dev, SROCE_STAT_DROP_PKEY);
	attr->qkey_viol_cntr = sroce_stats_sum(dev, SROCE_STAT_DROP_QKEY);
	attr->max_vl_num = 1;
	attr->max_mtu = IB_MTU_4096;
	attr->phys_mtu = sroce_net_mtu(dev);
	attr->active_mtu = ib_mtu_int_to_enum(attr->phys_mtu);
	attr->state = READ_ONCE(dev->down) ? IB_PORT_DOWN :
					     ib_get_curr_port_state(ndev);
	if (attr->state == IB_PORT_ACTIVE)
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	else if (netif_running(ndev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	else
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	query_speed(dev, attr);
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (port != 1 || index)
		return -EINVAL;
	*pkey = SROCE_DEF_PKEY;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *imm)
{
	if (port != 1)
		return -EINVAL;
	imm->pkey_tbl_len = 1;
	imm->gid_tbl_len = SROCE_GID_TBL_LEN;
	imm->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	if (to_sroce_dev(ibdev)->rocev1)
		imm->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE;
	imm->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/*
 * ib_core gives a device the addresses of its netdev and of the VLANs above that,
 * and to one on a VLAN none.  So it is told of the netdev below the VLAN, whose
 * addresses come with it.
 */
static struct net_device *get_netdev(struct ib_device *ibdev, u32 port)
{
	struct sroce_dev *dev = to_sroce_dev(ibdev);
	struct net_device *ndev = dev->ndev;

	if (port != 1 || READ_ONCE(dev->down))
		return NULL;
	if (is_vlan_dev(ndev))
		ndev = vlan_dev_real_dev(ndev);
	dev_hold(ndev);
	return ndev;
}

static void get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, SROCE_VERSION, IB_FW_VERSION_NAME_MAX);
}

static int alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}

static void dealloc_ucontext(struct ib_ucontext *ibuc)
{
}

/*
 * Its presence lets the device go while processes have it open.  There is
 * nothing to revoke: a queue that is still mapped is plain memory nobody reads.
 */
static void disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return ib_no_udata_io(udata);
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

/* The LID means nothing here (IBA A17.5.6). */
static int attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return sroce_mcast_attach(to_sroce_dev(ibqp->device), to_sroce_qp(ibqp),
				  gid);
}

static int detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return sroce_mcast_detach(to_sroce_dev(ibqp->device), to_sroce_qp(ibqp),
				  gid);
}

SROCE_COMPAT_DEFINE_COUNTERS(sroce_counter)

SROCE_COMPAT_DEFINE_REG_USER_MR(reg_user_mr, sroce_reg_user)
SROCE_COMPAT_DEFINE_REG_DMABUF(reg_dmabuf, sroce_reg_dmabuf)

static int resize_user_cq(struct ib_cq *ibcq, SROCE_COMPAT_CQE cqe,
			  struct ib_udata *udata)
{
	return sroce_cq_resize(ibcq, cqe, udata);
}

/* rdma-core and scripts take a device with this attribute for soft-RoCE. */
static ssize_t parent_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	struct sroce_dev *dev =
		rdma_device_to_drv_device(device, struct sroce_dev, ib);

	return sysfs_emit(buf, "%s\n", netdev_name(dev->ndev));
}
static DEVICE_ATTR_RO(parent);

static struct attribute *dev_attrs[] = {
	&dev_attr_parent.attr,
	NULL
};

static const struct attribute_group dev_attr_group = {
	.attrs = dev_attrs,
};

/* A kernel user that looks for completions tells what may go on waiting. */
static int poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	int got = sroce_cq_poll(ibcq, n, wc);

	sroce_doorbell_polled(to_sroce_cq(ibcq));
	return got;
}

static int req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	int missed = sroce_cq_arm(ibcq, flags);

	sroce_doorbell_polled(to_sroce_cq(ibcq));
	return missed;
}

static const struct ib_device_ops verbs_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = SROCE_ABI_VERSION,
	.device_group = &dev_attr_group,

	.advise_mr = sroce_odp_advise,
	.alloc_hw_port_stats = sroce_stats_alloc,
	.alloc_mr = sroce_reg_alloc,
	.alloc_mw = sroce_mw_alloc,
	.alloc_pd = alloc_pd,
	.alloc_ucontext = alloc_ucontext,
	.attach_mcast = attach_mcast,
	.create_ah = sroce_ah_create,
	.create_cq = sroce_cq_create,
	.create_qp = sroce_qp_create,
	.create_srq = sroce_srq_create,
	.create_user_ah = sroce_ah_create,
	.dealloc_mw = sroce_mw_dealloc,
	SROCE_OP_COUNTERS(sroce_counter),
	.dealloc_pd = dealloc_pd,
	.dealloc_ucontext = dealloc_ucontext,
	.dereg_mr = sroce_reg_dereg,
	.destroy_ah = sroce_ah_destroy,
	.destroy_cq = sroce_cq_destroy,
	.destroy_qp = sroce_qp_destroy,
	.destroy_srq = sroce_srq_destroy,
	.detach_mcast = detach_mcast,
	.disassociate_ucontext = disassociate_ucontext,
	.fill_res_cq_entry = sroce_cq_fill_res,
	.fill_res_mr_entry = sroce_reg_fill_res,
	.fill_res_qp_entry = sroce_qp_fill_res,
	.get_dev_fw_str = get_dev_fw_str,
	.get_dma_mr = sroce_reg_get_dma,
	.get_hw_stats = sroce_stats_read,
	.get_link_layer = get_link_layer,
	.get_netdev = get_netdev,
	.get_port_immutable = get_port_immutable,
	.map_mr_sg = sroce_reg_map_sg,
	.mmap = sroce_ring_mmap,
	.mmap_free = sroce_ring_mmap_free,
	.modify_ah = sroce_ah_modify,
	.modify_cq = sroce_cq_modify,
	.modify_qp = sroce_qpmod_modify,
	.modify_srq = sroce_srq_modify,
	.peek_cq = sroce_cq_peek,
	.poll_cq = poll_cq,
	.post_recv = sroce_qp_post_recv,
	.post_send = sroce_qp_post_send,
	.post_srq_recv = sroce_srq_post_recv,
	.process_mad = sroce_mad_process,
	.query_ah = sroce_ah_query,
	.query_device = query_device,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.query_qp = sroce_qp_query,
	.query_srq = sroce_srq_query,
	.reg_user_mr = reg_user_mr,
	.reg_user_mr_dmabuf = reg_dmabuf,
	.req_notify_cq = req_notify_cq,
	.rereg_user_mr = sroce_reg_again,
	SROCE_OP_RESIZE_CQ(resize_user_cq),

	INIT_RDMA_OBJ_SIZE(ib_ah, sroce_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, sroce_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, sroce_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, sroce_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, sroce_qp_handle, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, sroce_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, sroce_ucontext, ibuc),
};

/**
 * sroce_verbs_init() - make a new device one that ib_core can register
 * @dev: the device; its netdev and MAC address are set
 *
 * Context: Process.
 */
void sroce_verbs_init(struct sroce_dev *dev)
{
	struct ib_device *ib = &dev->ib;

	strscpy(ib->node_desc, "sroce", sizeof(ib->node_desc));
	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_online_cpus();
	addrconf_addr_eui48((u8 *)&ib->node_guid, dev->mac);
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_set_device_ops(ib, &verbs_ops);
}
