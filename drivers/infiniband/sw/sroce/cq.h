/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues of user space and of kernel users.
 *
 * Producers hand over batches from softirq or process context under a QP's lock;
 * the lock here nests inside.  The completion handler is never called by the
 * producer's side of this file: sroce_cq_post() says that it is due and the
 * caller runs sroce_cq_notify() when it holds no lock (a handler may post).
 */
#ifndef SROCE_CQ_H
#define SROCE_CQ_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ring.h"

struct sk_buff;
struct sroce_qp;

/**
 * struct sroce_wc - a completion on its way into a CQ
 * @wr_id: of the work request
 * @status: enum ib_wc_status
 * @opcode: enum ib_wc_opcode
 * @byte_len: bytes received, or read for READ
 * @imm: immediate data as on the wire, valid with IB_WC_WITH_IMM
 * @inv_rkey: key invalidated by the peer, valid with IB_WC_WITH_INVALIDATE
 * @src_qp: sender's QPN (UD)
 * @wc_flags: IB_WC_* (kernel numbering; translated for user CQs)
 * @vendor_err: cause in the driver's own numbering, 0 when there is none
 * @vlan_id: VLAN, valid with IB_WC_WITH_VLAN
 * @hdr_type: enum rdma_network_type for UD
 * @solicited: counts for a CQ armed for solicited events
 * @qp: the QP that completes
 */
struct sroce_wc {
	u64 wr_id;
	u32 status;
	u32 opcode;
	u32 byte_len;
	__be32 imm;
	u32 inv_rkey;
	u32 src_qp;
	u32 wc_flags;
	u32 vendor_err;
	u16 vlan_id;
	u8 hdr_type;
	bool solicited;
	struct ib_qp *qp;
};

/**
 * struct sroce_cq_mod - moderation of a CQ's handler
 * @cq: the CQ
 * @timer: runs the handler when completions do not
 * @count: completions that make it due; 0: all of them do
 * @period_us: how long fewer may wait, us
 * @have: completions that wait
 * @timing: @timer is armed
 */
struct sroce_cq_mod {
	struct sroce_cq *cq;
	struct hrtimer timer;
	u16 count;
	u16 period_us;
	u32 have;
	bool timing;
};

/**
 * struct sroce_cq - a completion queue
 * @ibcq: the core's part
 * @lock: protects everything below but @holds (irqsave)
 * @ring: user CQ: shared ring; buf NULL for a kernel CQ
 * @kring: kernel CQ: array of (kmask + 1) completions
 * @kmask: kernel CQ: slots - 1
 * @kprod: kernel CQ: free-running producer index
 * @kcons: kernel CQ: free-running consumer index
 * @mod: moderation, NULL until it is asked for; its members are under @lock
 * @holds: handlers that are due or at work; atomic
 * @armed: 0, IB_CQ_SOLICITED or IB_CQ_NEXT_COMP
 * @parked: QP whose requests wait as long as completions do, or NULL; of kernel CQs
 * @overflowed: a completion was lost; every later post fails
 * @overflow_told: the event was raised
 * @user: completions go to @ring
 * @dead: it is being destroyed; older kernels let reports in behind that
 */
struct sroce_cq {
	struct ib_cq ibcq;
	spinlock_t lock; /* the members below */
	struct sroce_ring ring;
	struct sroce_wc *kring;
	u32 kmask;
	u32 kprod;
	u32 kcons;
	struct sroce_cq_mod *mod;
	atomic_t holds;
	struct sroce_qp *parked;
	u8 armed;
	bool overflowed;
	bool overflow_told;
	bool user;
	bool dead;
};

static inline struct sroce_cq *to_sroce_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct sroce_cq, ibcq);
}

/* What sroce_cq_post() asks of its caller. */
#define SROCE_CQ_NOTIFY		1	/* run sroce_cq_notify() unlocked */
#define SROCE_CQ_OVERFLOW	2	/* completions were lost: QP is fatal */

unsigned int sroce_cq_post(struct sroce_cq *cq, const struct sroce_wc *wc,
			   unsigned int n);
/**
 * sroce_cq_hold() - the handler is due: the CQ stays until it has run
 * @cq: the CQ; the caller holds a lock of a QP that uses it and is not dead
 *
 * Context: Any; followed by sroce_cq_notify().
 */
static inline void sroce_cq_hold(struct sroce_cq *cq)
{
	atomic_inc(&cq->holds);
}

bool sroce_cq_waiting(struct sroce_cq *cq);
bool sroce_cq_park(struct sroce_cq *cq, struct sroce_qp *qp, bool waiting);
void sroce_cq_unpark(struct sroce_cq *cq, const struct sroce_qp *qp);
struct sroce_qp *sroce_cq_wake(struct sroce_cq *cq);
void sroce_cq_notify(struct sroce_cq *cq);
void sroce_cq_overflow_event(struct sroce_cq *cq);

int sroce_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
int sroce_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata);
int sroce_cq_resize(struct ib_cq *ibcq, unsigned int cqe,
		    struct ib_udata *udata);
int sroce_cq_modify(struct ib_cq *ibcq, u16 count, u16 period_us);
int sroce_cq_poll(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int sroce_cq_peek(struct ib_cq *ibcq, int n);
int sroce_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int sroce_cq_fill_res(struct sk_buff *msg, struct ib_cq *ibcq);

#endif /* SROCE_CQ_H */
