/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Older kernels by the names of the newest one.
 *
 * The code is written for Linux 7.3.  Where an older supported kernel (Debian's
 * 6.12) lacks a name, this file supplies it, so that no other file tests a
 * version.  What is a macro is tested for itself, because stable kernels get
 * things back-ported; only functions and changed signatures are tested by
 * version.  Included last among the local headers, by the files that need it.
 */
#ifndef SROCE_COMPAT_H
#define SROCE_COMPAT_H

#include <linux/build_bug.h>
#include <linux/array_size.h>
#include <linux/crc32.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <net/flow.h>
#include <net/inet_dscp.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#define SROCE_COMPAT_BEFORE(a, b) (KERNEL_VERSION(a, b, 0) > LINUX_VERSION_CODE)

#if !IS_ENABLED(CONFIG_64BIT)
#error "sroce needs a 64-bit kernel: payload is reached through the direct map"
#endif

#if SROCE_COMPAT_BEFORE(7, 3)
#define ib_umem_get_va ib_umem_get
#endif

/* Before 6.16 an ODP umem had lists of its own; the access it asks for, too. */
#include <linux/hmm.h>
#include <rdma/ib_umem_odp.h>
#if SROCE_COMPAT_BEFORE(6, 16)
#define sroce_compat_odp_pfns(odp) ((odp)->pfn_list)
#define SROCE_COMPAT_ODP_READ ODP_READ_ALLOWED_BIT
#define SROCE_COMPAT_ODP_WRITE ODP_WRITE_ALLOWED_BIT
#else
#define sroce_compat_odp_pfns(odp) ((odp)->map.pfn_list)
#define SROCE_COMPAT_ODP_READ 0
#define SROCE_COMPAT_ODP_WRITE HMM_PFN_WRITE
#endif
#if !IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING)
static inline int ib_umem_odp_map_dma_and_lock(struct ib_umem_odp *odp,
					       u64 start, u64 bytes, u64 access,
					       bool fault)
{
	return -EOPNOTSUPP;
}

static inline void ib_umem_odp_unmap_dma_pages(struct ib_umem_odp *odp,
					       u64 start, u64 end)
{
}
#endif

#if SROCE_COMPAT_BEFORE(6, 18)
#define sroce_compat_unbound_wq system_unbound_wq
#define sroce_compat_wq system_wq
#else
#define sroce_compat_wq system_percpu_wq
#define sroce_compat_unbound_wq system_dfl_wq
#endif

#if SROCE_COMPAT_BEFORE(6, 13)
#define SROCE_COMPAT_IMPORT_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#else
#define SROCE_COMPAT_IMPORT_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#endif

#ifndef timer_container_of
#define timer_container_of from_timer
#endif

#ifndef kzalloc_obj
#define kzalloc_obj(P, ...) kzalloc(sizeof(P), GFP_KERNEL)
#endif

#ifndef __guarded_by
#define __guarded_by(...)
#endif
#ifndef __pt_guarded_by
#define __pt_guarded_by(...)
#endif

#ifndef ib_alloc_device_with_net
#define ib_alloc_device_with_net(drv_struct, member, ...) \
	ib_alloc_device(drv_struct, member)
#endif

#if SROCE_COMPAT_BEFORE(6, 13)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = fn;
}
#endif

#if SROCE_COMPAT_BEFORE(6, 15)
#include <linux/debugfs.h>

static inline void sroce_compat_debugfs_rename(struct dentry *dentry,
					       const char *name)
{
	debugfs_rename(dentry->d_parent, dentry, dentry->d_parent, name);
}

#define debugfs_change_name(dentry, fmt, name) \
	sroce_compat_debugfs_rename(dentry, name)
#endif

/* Tunnel helpers took a struct socket. */
#if SROCE_COMPAT_BEFORE(7, 3)
static inline void
sroce_compat_setup_udp_tunnel_sock(struct net *net, struct sock *sk,
				   struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk->sk_socket, cfg);
}

static inline void sroce_compat_udp_tunnel_sock_release(struct sock *sk)
{
	udp_tunnel_sock_release(sk->sk_socket);
}

#define setup_udp_tunnel_sock sroce_compat_setup_udp_tunnel_sock
#define udp_tunnel_sock_release sroce_compat_udp_tunnel_sock_release
#endif

/**
 * sroce_compat_def_write_space() - write_space callback of a stopped socket
 * @sk: the socket
 *
 * The kernel's own default is not exported, and nobody sleeps on this socket.
 *
 * Context: Any.
 */
static inline void sroce_compat_def_write_space(struct sock *sk)
{
}

#if SROCE_COMPAT_BEFORE(7, 3)
static inline enum ib_port_state
ib_get_curr_port_state(struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev) ?
		IB_PORT_ACTIVE : IB_PORT_DOWN;
}
#endif

/**
 * sroce_compat_set_dsfield() - traffic class of a route lookup
 * @fl4: the flow
 * @tos: type of service byte; its ECN bits do not take part in routing
 *
 * Context: Any.
 */
static inline void sroce_compat_set_dsfield(struct flowi4 *fl4, u8 tos)
{
#ifdef flowi4_dscp
	fl4->flowi4_dscp = inet_dsfield_to_dscp(tos);
#else
	fl4->flowi4_tos = tos & INET_DSCP_MASK;
#endif
}

/* Driver data of verbs: the same rules as the newest kernel's helpers. */
#ifndef ib_respond_udata
static inline int sroce_compat_udata_in(struct ib_udata *udata, void *req,
					size_t size, size_t min)
{
	int err;

	if (udata->inlen < min)
		return -EINVAL;
	err = copy_struct_from_user(req, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

static inline int sroce_compat_respond(struct ib_udata *udata, const void *rep,
				       size_t size)
{
	size_t n = min(size, udata->outlen);

	if (copy_to_user(udata->outbuf, rep, n) ||
	    clear_user(udata->outbuf + n, udata->outlen - n))
		return -EFAULT;
	return 0;
}

static inline int ib_is_udata_in_empty(struct ib_udata *udata)
{
	if (!udata || !udata->inlen)
		return 0;
	return ib_is_udata_cleared(udata, 0, udata->inlen) ? 0 : -EOPNOTSUPP;
}

static inline int ib_respond_empty_udata(struct ib_udata *udata)
{
	if (udata && udata->outlen && clear_user(udata->outbuf, udata->outlen))
		return -EFAULT;
	return 0;
}

static inline int ib_no_udata_io(struct ib_udata *udata)
{
	return ib_is_udata_in_empty(udata) ?: ib_respond_empty_udata(udata);
}

#define ib_copy_validate_udata_in(udata, req, end_member)		\
	sroce_compat_udata_in(udata, &(req), sizeof(req),		\
			      offsetofend(typeof(req), end_member))
#define ib_respond_udata(udata, rep) \
	sroce_compat_respond(udata, &(rep), sizeof(rep))
#endif

/*
 * Operations whose name or signature changed.  SROCE_COMPAT_DEFINE_x() makes
 * the adapter in the file with the ops table, SROCE_OP_x() puts it there.
 */
#if SROCE_COMPAT_BEFORE(6, 17)
#define SROCE_COMPAT_DEFINE_REG_USER_MR(name, fn)			\
static struct ib_mr *name(struct ib_pd *pd, u64 start, u64 length,	\
			  u64 iova, int access, struct ib_udata *udata)	\
{									\
	return fn(pd, start, length, iova, access, udata);		\
}
#else
#define SROCE_COMPAT_DEFINE_REG_USER_MR(name, fn)			\
static struct ib_mr *name(struct ib_pd *pd, u64 start, u64 length,	\
			  u64 iova, int access, struct ib_dmah *dmah,	\
			  struct ib_udata *udata)			\
{									\
	if (dmah)							\
		return ERR_PTR(-EOPNOTSUPP);				\
	return fn(pd, start, length, iova, access, udata);		\
}
#endif

/* Binding QPs to counters: the port became an argument, the size the core's. */
#if SROCE_COMPAT_BEFORE(6, 15)
#define SROCE_COMPAT_DEFINE_COUNTERS(fn)				\
static int counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp) \
{									\
	return fn##_bind(counter, ibqp, 1);				\
}									\
static int counter_unbind(struct ib_qp *ibqp)				\
{									\
	return fn##_unbind(ibqp, 1);					\
}

#define SROCE_OP_COUNTERS(fn)						\
	.counter_bind_qp = counter_bind,				\
	.counter_unbind_qp = counter_unbind,				\
	.counter_dealloc = fn##_dealloc,				\
	.counter_alloc_stats = fn##_alloc_stats,			\
	.counter_update_stats = fn##_update
#else
#include <rdma/rdma_counter.h>
struct sroce_compat_counter {
	struct rdma_counter core;
};

#define SROCE_COMPAT_DEFINE_COUNTERS(fn)				\
static void counter_init(struct rdma_counter *counter)			\
{									\
}

#define SROCE_OP_COUNTERS(fn)						\
	.counter_bind_qp = fn##_bind,					\
	.counter_unbind_qp = fn##_unbind,				\
	.counter_dealloc = fn##_dealloc,				\
	.counter_alloc_stats = fn##_alloc_stats,			\
	.counter_update_stats = fn##_update,				\
	.counter_init = counter_init,					\
	INIT_RDMA_OBJ_SIZE(rdma_counter, sroce_compat_counter, core)
#endif

#if SROCE_COMPAT_BEFORE(6, 17)
#define SROCE_COMPAT_DEFINE_REG_DMABUF(name, fn)			\
static struct ib_mr *name(struct ib_pd *pd, u64 offset, u64 length,	\
			  u64 iova, int fd, int access,			\
			  struct uverbs_attr_bundle *attrs)		\
{									\
	return fn(pd, offset, length, iova, fd, access);		\
}
#else
#define SROCE_COMPAT_DEFINE_REG_DMABUF(name, fn)			\
static struct ib_mr *name(struct ib_pd *pd, u64 offset, u64 length,	\
			  u64 iova, int fd, int access,			\
			  struct ib_dmah *dmah,				\
			  struct uverbs_attr_bundle *attrs)		\
{									\
	if (dmah)							\
		return ERR_PTR(-EOPNOTSUPP);				\
	return fn(pd, offset, length, iova, fd, access);		\
}
#endif

#if SROCE_COMPAT_BEFORE(7, 3)
#define SROCE_COMPAT_CQE		int
#define SROCE_OP_RESIZE_CQ(fn)		.resize_cq = (fn)
#define SROCE_OP_DELLINK(fn)
#else
#define SROCE_COMPAT_CQE		unsigned int
#define SROCE_OP_RESIZE_CQ(fn)		.resize_user_cq = (fn)
#define SROCE_OP_DELLINK(fn)		.dellink = (fn)
#endif

/*
 * CRC-32 over @n bytes at @p, continued from @crc, not inverted.  Before 6.14
 * crc32_le() is a table walk and only the crypto API knows the CPU's carry-less
 * multiplication.
 */
#if SROCE_COMPAT_BEFORE(6, 14)
#define SROCE_COMPAT_CRC_SHASH
u32 sroce_crc32(u32 crc, const u8 *p, size_t n);
int sroce_compat_init(void);
void sroce_compat_exit(void);
#else
static inline u32 sroce_crc32(u32 crc, const u8 *p, size_t n)
{
	return crc32_le(crc, p, n);
}

static inline int sroce_compat_init(void)
{
	return 0;
}

static inline void sroce_compat_exit(void)
{
}
#endif

#endif /* SROCE_COMPAT_H */
