// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues: snapshots, validation and the rings behind them.
 *
 * Owns the private copies of what was posted.  The copying ends run under the
 * tx or rx lock of the QP in softirq or in the poster's context; kernel clients
 * post under the queue's own lock from any context.  Called by qp.c and the
 * roles.  Must not know packets or PSNs.
 */
#include "wq.h"

#include "compat.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dev.h"

/**
 * struct op_row - how a posted opcode is taken in
 * @op: enum sroce_op, SROCE_OP_N when unsupported
 * @wc: enum ib_wc_opcode of the completion
 * @kernel_only: user space may not post it
 * @inline_ok: may carry its payload in the WQE
 */
struct op_row {
	u8 op;
	u8 wc;
	bool kernel_only;
	bool inline_ok;
};

#define OP_ROW(wr, ...) [wr] = { __VA_ARGS__ }

static const struct op_row op_rows[] = {
	OP_ROW(IB_WR_RDMA_WRITE, SROCE_OP_WRITE, IB_WC_RDMA_WRITE, false, true),
	OP_ROW(IB_WR_RDMA_WRITE_WITH_IMM, SROCE_OP_WRITE_IMM, IB_WC_RDMA_WRITE,
	       false, true),
	OP_ROW(IB_WR_SEND, SROCE_OP_SEND, IB_WC_SEND, false, true),
	OP_ROW(IB_WR_SEND_WITH_IMM, SROCE_OP_SEND_IMM, IB_WC_SEND, false, true),
	OP_ROW(IB_WR_SEND_WITH_INV, SROCE_OP_SEND_INV, IB_WC_SEND, false, true),
	OP_ROW(IB_WR_RDMA_READ, SROCE_OP_READ, IB_WC_RDMA_READ),
	OP_ROW(IB_WR_ATOMIC_CMP_AND_SWP, SROCE_OP_CAS, IB_WC_COMP_SWAP),
	OP_ROW(IB_WR_ATOMIC_FETCH_AND_ADD, SROCE_OP_FADD, IB_WC_FETCH_ADD),
	OP_ROW(IB_WR_LOCAL_INV, SROCE_OP_LOCAL_INV, IB_WC_LOCAL_INV),
	OP_ROW(IB_WR_BIND_MW, SROCE_OP_BIND_MW, IB_WC_BIND_MW),
	OP_ROW(IB_WR_LSO, SROCE_OP_N),
	OP_ROW(IB_WR_RDMA_READ_WITH_INV, SROCE_OP_READ, IB_WC_RDMA_READ, true,
	       false),
	OP_ROW(IB_WR_MASKED_ATOMIC_CMP_AND_SWP, SROCE_OP_N),
	OP_ROW(IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, SROCE_OP_N),
	OP_ROW(IB_WR_FLUSH, SROCE_OP_FLUSH, IB_WC_FLUSH),
	OP_ROW(IB_WR_ATOMIC_WRITE, SROCE_OP_ATOMIC_WRITE, IB_WC_ATOMIC_WRITE,
	       false, true),
	[IB_WR_ATOMIC_WRITE + 1 ... IB_WR_REG_MR - 1] = { SROCE_OP_N },
	OP_ROW(IB_WR_REG_MR, SROCE_OP_REG_MR, IB_WC_REG_MR, true, false),
};

static const struct op_row op_unsupported = { .op = SROCE_OP_N };

static const struct op_row *op_row(u32 opcode, enum sroce_qp_type type,
				   bool user)
{
	const struct op_row *row;

	if (opcode >= ARRAY_SIZE(op_rows))
		return &op_unsupported;
	row = &op_rows[array_index_nospec(opcode, ARRAY_SIZE(op_rows))];
	if (row->op == SROCE_OP_N || (user && row->kernel_only) ||
	    !(sroce_op_info(row->op)->qp_types & BIT(type)))
		return &op_unsupported;
	return row;
}

/* Check the pieces of @w and set its length; the copy is private by now. */
static void check_sges(struct sroce_swqe *w)
{
	u64 total = 0;
	u32 i;

	for (i = 0; i < w->num_sge; i++)
		total += w->sge[i].length;
	if (total > SROCE_MAX_MSG_BYTES)
		w->status = IB_WC_LOC_LEN_ERR;
	else
		w->length = total;
	if (w->op == SROCE_OP_CAS || w->op == SROCE_OP_FADD ||
	    w->op == SROCE_OP_ATOMIC_WRITE) {
		if (total != sizeof(u64))
			w->status = IB_WC_LOC_LEN_ERR;
		w->length = sizeof(u64);
	}
}

static void begin_wqe(struct sroce_sq *sq, struct sroce_swqe *w,
		      const struct op_row *row)
{
	w->op = row->op;
	w->wc_opcode = row->wc;
	w->status = row->op == SROCE_OP_N ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
	w->flags = 0;
	if (sq->sig_all || (w->send_flags & IB_SEND_SIGNALED))
		w->flags |= SROCE_SWQE_SIGNALED;
	if (row->op != SROCE_OP_N &&
	    (sroce_op_info(row->op)->flags & SROCE_OPI_RD_ATOMIC))
		w->flags |= SROCE_SWQE_RD_ATOMIC;
	w->length = 0;
	w->num_sge = 0;
	w->npsn = 0;
}

static void copy_operands(struct sroce_swqe *w, const struct rxe_send_wr *wr)
{
	w->imm = wr->ex.imm_data;
	w->inv_rkey = wr->ex.invalidate_rkey;
	switch (w->op) {
	case SROCE_OP_CAS:
	case SROCE_OP_FADD:
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
		break;
	case SROCE_OP_BIND_MW:
		w->remote_addr = wr->wr.mw.addr;
		w->rkey = wr->wr.mw.mw_rkey;
		w->inv_rkey = wr->wr.mw.rkey;
		w->bind_bytes = wr->wr.mw.length;
		w->bind_lkey = wr->wr.mw.mr_lkey;
		w->bind_access = wr->wr.mw.access;
		break;
	case SROCE_OP_FLUSH:
		w->remote_addr = wr->wr.flush.remote_addr;
		w->rkey = wr->wr.flush.rkey;
		w->flush_type = wr->wr.flush.type;
		w->flush_sel = wr->wr.flush.level;
		break;
	default:
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
}

/* A datagram's WQE says where it goes: by AH number, or with the address. */
static void take_dest(struct sroce_sq *sq, struct sroce_swqe *w,
		      const struct rxe_send_wr *wr)
{
	struct sroce_dest *dest = sroce_sq_dest(sq, sq->prod);
	struct sroce_dev *dev = to_sroce_dev(sq->pd->device);
	bool found;

	dest->dqpn = wr->wr.ud.remote_qpn;
	dest->qkey = wr->wr.ud.remote_qkey;
	if (wr->wr.ud.ah_num)
		found = sroce_ah_lookup(dev, sq->pd, wr->wr.ud.ah_num,
					&dest->av);
	else
		found = !sroce_ah_av_user(&dest->av, dev, &wr->wr.ud.av);
	if (!found)
		w->status = IB_WC_LOC_QP_OP_ERR;
}

/* What a request on a connection has: the largest are atomic and MW bind. */
#define CONNECTED_WR_BYTES	offsetofend(struct rxe_send_wr, wr.mw)
static_assert(CONNECTED_WR_BYTES ==
	      offsetofend(struct rxe_send_wr, wr.atomic));

/*
 * The provider's ibv_wr_set_inline_data() does not set the flag, and programs
 * need not.  Nothing else that can be inline has a length and no pieces; the
 * value of an ATOMIC WRITE is there anyway.
 */
static bool is_inline(const struct op_row *row, const struct rxe_send_wqe *u)
{
	return u->wr.send_flags & IB_SEND_INLINE ||
	       row->op == SROCE_OP_ATOMIC_WRITE ||
	       (!u->dma.num_sge && u->dma.length && row->inline_ok);
}

/*
 * Copy one slot of the shared ring.  User space may write it meanwhile: each
 * byte is read once, into memory it cannot reach, and only then looked at.
 */
static void snapshot(struct sroce_sq *sq, enum sroce_qp_type type,
		     const struct rxe_send_wqe *slot, struct sroce_swqe *w)
{
	struct rxe_send_wqe u __uninitialized;
	const struct op_row *row;

	/* an address takes half of the request; only datagrams have one */
	if (unlikely(type == SROCE_QPT_UD))
		memcpy(&u.wr, &slot->wr, sizeof(u.wr));
	else
		memcpy(&u.wr, &slot->wr, CONNECTED_WR_BYTES);
	memcpy(&u.dma, &slot->dma, sizeof(u.dma));
	barrier_data(&u);	/* u is what is validated and used */

	row = op_row(u.wr.opcode, type, true);
	w->wr_id = u.wr.wr_id;
	w->send_flags = u.wr.send_flags;
	begin_wqe(sq, w, row);
	if (w->status)
		return;
	copy_operands(w, &u.wr);
	if (sroce_op_info(w->op)->flags & SROCE_OPI_LOCAL)
		return;
	if (type == SROCE_QPT_UD)
		take_dest(sq, w, &u.wr);
	if (w->status)
		return;

	if (w->op == SROCE_OP_FLUSH) {
		w->length = u.dma.length;
		return;
	}
	if (is_inline(row, &u)) {
		if (!row->inline_ok || u.dma.length > sq->max_inline ||
		    (w->op == SROCE_OP_ATOMIC_WRITE &&
		     u.dma.length != sizeof(u64))) {
			w->status = IB_WC_LOC_QP_OP_ERR;
			return;
		}
		w->flags |= SROCE_SWQE_INLINE;
		w->length = u.dma.length;
		memcpy(w->inline_data, slot->dma.inline_data, w->length);
		return;
	}
	if (u.dma.num_sge > sq->max_sge) {
		w->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	w->num_sge = u.dma.num_sge;
	memcpy(w->sge, slot->dma.sge, w->num_sge * sizeof(w->sge[0]));
	barrier_data(w->sge);	/* the sum below is taken of the copy */
	check_sges(w);
}

/**
 * sroce_wq_fetch() - copy newly posted send WQEs out of the shared ring
 * @sq: the send queue
 * @type: transport, decides which opcodes are legal
 *
 * Takes everything user space has made visible, at most one ring full.
 *
 * Context: tx owner, bottom halves off.
 * Return: 0, or -EIO when the producer index moved backwards, which only a
 *	program that writes the ring's header by itself can do.
 */
int sroce_wq_fetch(struct sroce_sq *sq, enum sroce_qp_type type)
{
	u32 have, pending;

	if (!sq->user) {
		/* pairs with the store-release in sroce_wq_post_send() */
		(void)smp_load_acquire(&sq->prod);
		return 0;
	}
	have = sq->prod - sq->tail;
	pending = sroce_ring_pending(&sq->ring);
	if (pending < have)
		return -EIO;
	for (; have < pending; have++, sq->prod++)
		snapshot(sq, type, sroce_ring_slot(&sq->ring,
						   sq->ring.index + have),
			 sroce_sq_wqe(sq, sq->prod));
	return 0;
}

/**
 * sroce_wq_complete() - give the @n oldest send WQEs back to the poster
 * @sq: the send queue
 * @n: number of WQEs
 *
 * Context: tx owner, bottom halves off.
 */
void sroce_wq_complete(struct sroce_sq *sq, u32 n)
{
	/* pairs with the load-acquire of the room check in post_send */
	smp_store_release(&sq->tail, sq->tail + n);
	if (sq->user)
		sroce_ring_consume(&sq->ring, n);
}

static void take_kernel_operands(struct sroce_swqe *w,
				 const struct ib_send_wr *wr)
{
	w->imm = wr->ex.imm_data;
	w->inv_rkey = wr->ex.invalidate_rkey;
	switch (w->op) {
	case SROCE_OP_CAS:
	case SROCE_OP_FADD:
		w->remote_addr = atomic_wr(wr)->remote_addr;
		w->rkey = atomic_wr(wr)->rkey;
		w->compare_add = atomic_wr(wr)->compare_add;
		w->swap = atomic_wr(wr)->swap;
		break;
	case SROCE_OP_WRITE:
	case SROCE_OP_WRITE_IMM:
	case SROCE_OP_READ:
	case SROCE_OP_ATOMIC_WRITE:
		w->remote_addr = rdma_wr(wr)->remote_addr;
		w->rkey = rdma_wr(wr)->rkey;
		break;
	case SROCE_OP_REG_MR:
		w->reg_mr = reg_wr(wr)->mr;
		w->reg_key = reg_wr(wr)->key;
		w->reg_access = reg_wr(wr)->access;
		break;
	default:
		break;
	}
}

static int take_kernel_dest(struct sroce_sq *sq, const struct ib_send_wr *wr)
{
	struct sroce_dest *dest = sroce_sq_dest(sq, sq->prod);
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (!ud->ah)
		return -EINVAL;
	dest->av = to_sroce_ah(ud->ah)->av;
	dest->dqpn = ud->remote_qpn;
	dest->qkey = ud->remote_qkey;
	return 0;
}

/* Copy the inline payload a kernel client points to by address. */
static int take_kernel_inline(struct sroce_sq *sq, struct sroce_swqe *w,
			      const struct ib_send_wr *wr)
{
	u32 off = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		u32 n = wr->sg_list[i].length;

		if (n > sq->max_inline - off)
			return -EINVAL;
		memcpy(w->inline_data + off, (void *)(uintptr_t)wr->sg_list[i].addr, n);
		off += n;
	}
	if (w->op == SROCE_OP_ATOMIC_WRITE && off != sizeof(u64))
		return -EINVAL;
	w->flags |= SROCE_SWQE_INLINE;
	w->length = off;
	return 0;
}

static int take_kernel_wr(struct sroce_sq *sq, enum sroce_qp_type type,
			  struct sroce_swqe *w, const struct ib_send_wr *wr)
{
	const struct op_row *row = op_row(wr->opcode, type, false);
	int i;

	/* ib_core has no windows and no FLUSH for kernel clients */
	if (row->op == SROCE_OP_N || row->op == SROCE_OP_BIND_MW ||
	    row->op == SROCE_OP_FLUSH)
		return -EOPNOTSUPP;
	if (wr->num_sge < 0)
		return -EINVAL;
	w->wr_id = wr->wr_id;
	w->send_flags = wr->send_flags;
	begin_wqe(sq, w, row);
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV)
		w->flags |= SROCE_SWQE_INV;
	take_kernel_operands(w, wr);
	if (sroce_op_info(w->op)->flags & SROCE_OPI_LOCAL)
		return 0;
	if (type == SROCE_QPT_UD && take_kernel_dest(sq, wr))
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE)
		return row->inline_ok ? take_kernel_inline(sq, w, wr) : -EINVAL;
	if (wr->num_sge > sq->max_sge)
		return -EINVAL;
	w->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		w->sge[i].addr = wr->sg_list[i].addr;
		w->sge[i].length = wr->sg_list[i].length;
		w->sge[i].lkey = wr->sg_list[i].lkey;
	}
	check_sges(w);
	return 0;
}

/**
 * sroce_wq_post_send() - take in one work request of a kernel client
 * @sq: the send queue
 * @type: transport, decides which opcodes are legal
 * @wr: the request
 *
 * Context: Any; the caller holds sq->lock.
 * Return: 0, -ENOMEM when the queue is full, -EOPNOTSUPP for an opcode the QP
 *	does not have, -EINVAL for a number of pieces or an inline length it
 *	does not allow.
 */
int sroce_wq_post_send(struct sroce_sq *sq, enum sroce_qp_type type,
		       const struct ib_send_wr *wr)
{
	u32 prod = sq->prod;
	int err;

	lockdep_assert_held(&sq->lock);
	/* pairs with the store-release in sroce_wq_complete() */
	if (prod - smp_load_acquire(&sq->tail) >= sq->max_wr)
		return -ENOMEM;
	err = take_kernel_wr(sq, type, sroce_sq_wqe(sq, prod), wr);
	if (err)
		return err;
	/* pairs with the load-acquire in sroce_wq_fetch() */
	smp_store_release(&sq->prod, prod + 1);
	return 0;
}

/**
 * sroce_wq_post_recv() - take in one receive request of a kernel client
 * @rq: the receive queue
 * @wr: the request
 *
 * Context: Any; the caller holds rq->lock.
 * Return: 0, -ENOMEM when the queue is full, -EINVAL for too many pieces.
 */
int sroce_wq_post_recv(struct sroce_rq *rq, const struct ib_recv_wr *wr)
{
	struct sroce_rwqe *w;
	int i;

	lockdep_assert_held(&rq->lock);
	if (rq->prod - rq->cons >= rq->max_wr)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	w = rq->wqe + (size_t)(rq->prod & rq->mask) * rq->stride;
	w->wr_id = wr->wr_id;
	w->num_sge = wr->num_sge;
	w->length = 0;
	for (i = 0; i < wr->num_sge; i++) {
		w->sge[i].addr = wr->sg_list[i].addr;
		w->sge[i].length = wr->sg_list[i].length;
		w->sge[i].lkey = wr->sg_list[i].lkey;
		w->length += wr->sg_list[i].length;
	}
	rq->prod++;
	return 0;
}

static int take_kernel(struct sroce_rq *rq, struct sroce_rwqe *out)
{
	const struct sroce_rwqe *w;
	unsigned long irq;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, irq);
	if (rq->prod != rq->cons) {
		w = rq->wqe + (size_t)(rq->cons & rq->mask) * rq->stride;
		memcpy(out, w, sroce_rwqe_bytes(w->num_sge));
		rq->cons++;
		ret = 1;
	}
	spin_unlock_irqrestore(&rq->lock, irq);
	return ret;
}

/**
 * sroce_wq_take() - take the oldest receive WQE
 * @rq: the receive queue
 * @out: private copy, with room for rq->max_sge pieces
 *
 * Context: rx owner, bottom halves off.
 * Return: 1 with @out filled, 0 when the queue is empty, -EINVAL when user
 *	space gave more pieces than the queue has (the WQE is used up, its wr_id
 *	is in @out).
 */
int sroce_wq_take(struct sroce_rq *rq, struct sroce_rwqe *out)
{
	const struct rxe_recv_wqe *slot;
	u32 i, n;

	if (!rq->user)
		return take_kernel(rq, out);
	if (!sroce_ring_pending(&rq->ring))
		return 0;
	slot = sroce_ring_slot(&rq->ring, rq->ring.index);
	out->wr_id = READ_ONCE(slot->wr_id);
	n = READ_ONCE(slot->dma.num_sge);
	out->length = 0;
	out->num_sge = n <= rq->max_sge ? n : 0;
	memcpy(out->sge, slot->dma.sge, out->num_sge * sizeof(out->sge[0]));
	barrier_data(out->sge);	/* the sum below is taken of the copy */
	for (i = 0; i < out->num_sge; i++)
		out->length += out->sge[i].length;
	sroce_ring_consume(&rq->ring, 1);
	rq->cons++;
	return n <= rq->max_sge ? 1 : -EINVAL;
}

/* Slots and bytes a send WQE of these capabilities takes; raises the caps to it. */
static u32 sq_payload_bytes(struct ib_qp_cap *cap)
{
	u32 bytes = max_t(u32, cap->max_send_sge * sizeof(struct sroce_sge),
			  cap->max_inline_data);

	bytes = min_t(u32, round_up(bytes, sizeof(struct sroce_sge)),
		      SROCE_MAX_INLINE);
	cap->max_send_sge = bytes / sizeof(struct sroce_sge);
	cap->max_inline_data = bytes;
	return bytes;
}

/**
 * sroce_wq_create_sq() - allocate a send queue
 * @sq: the queue
 * @uc: user context, NULL for a kernel QP
 * @cap: wanted capabilities, within the device's limits; set to the real ones
 * @sig_all: every WQE is to be signaled
 * @mi: how to map the ring, for user space
 *
 * Context: Process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int sroce_wq_create_sq(struct sroce_sq *sq, struct ib_ucontext *uc,
		       struct ib_qp_cap *cap, bool sig_all, struct mminfo *mi)
{
	u32 payload = sq_payload_bytes(cap);
	int err;

	spin_lock_init(&sq->lock);
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	sq->sig_all = sig_all;
	sq->stride = ALIGN(sizeof(struct sroce_swqe) + payload,
			   SMP_CACHE_BYTES);
	sq->mask = roundup_pow_of_two(max(cap->max_send_wr, 1U) + 1) - 1;
	if (uc) {
		sq->user = true;
		err = sroce_ring_create(&sq->ring, uc, cap->max_send_wr,
					sizeof(struct rxe_send_wqe) + payload,
					mi);
		if (err)
			return err;
		sq->mask = sq->ring.mask;
	}
	sq->max_wr = sq->mask;
	cap->max_send_wr = sq->max_wr;
	sq->wqe = kvcalloc(sq->mask + 1, sq->stride, GFP_KERNEL_ACCOUNT);
	if (!sq->wqe) {
		if (uc)
			sroce_ring_destroy(&sq->ring);
		return -ENOMEM;
	}
	return 0;
}

/**
 * sroce_wq_create_dests() - room for the destinations of datagrams
 * @sq: the queue of a UD QP, complete otherwise
 * @pd: protection domain its AHs must belong to
 *
 * Context: Process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int sroce_wq_create_dests(struct sroce_sq *sq, struct ib_pd *pd)
{
	sq->pd = pd;
	sq->dest = kvcalloc(sq->mask + 1, sizeof(*sq->dest), GFP_KERNEL_ACCOUNT);
	return sq->dest ? 0 : -ENOMEM;
}

/**
 * sroce_wq_destroy_sq() - free a send queue
 * @sq: the queue; no owner uses it any more
 *
 * Context: Process, may sleep.
 */
void sroce_wq_destroy_sq(struct sroce_sq *sq)
{
	kvfree(sq->dest);
	kvfree(sq->wqe);
	sq->dest = NULL;
	sq->wqe = NULL;
	if (sq->user)
		sroce_ring_destroy(&sq->ring);
}

/**
 * sroce_wq_create_rq() - allocate a receive queue
 * @rq: the queue
 * @uc: user context, NULL for a kernel QP
 * @cap: wanted capabilities, within the device's limits; set to the real ones
 * @mi: how to map the ring, for user space
 *
 * Context: Process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int sroce_wq_create_rq(struct sroce_rq *rq, struct ib_ucontext *uc,
		       struct ib_qp_cap *cap, struct mminfo *mi)
{
	int err;

	spin_lock_init(&rq->lock);
	rq->max_sge = cap->max_recv_sge;
	rq->mask = roundup_pow_of_two(max(cap->max_recv_wr, 1U) + 1) - 1;
	if (uc) {
		rq->user = true;
		err = sroce_ring_create(&rq->ring, uc, cap->max_recv_wr,
					sroce_rq_slot_bytes(rq->max_sge), mi);
		if (err)
			return err;
		rq->mask = rq->ring.mask;
	} else {
		rq->stride = sroce_rwqe_bytes(rq->max_sge);
		rq->wqe = kvcalloc(rq->mask + 1, rq->stride, GFP_KERNEL);
		if (!rq->wqe)
			return -ENOMEM;
	}
	rq->max_wr = rq->mask;
	cap->max_recv_wr = rq->max_wr;
	return 0;
}

/**
 * sroce_wq_destroy_rq() - free a receive queue
 * @rq: the queue; no owner uses it any more
 *
 * Context: Process, may sleep.
 */
void sroce_wq_destroy_rq(struct sroce_rq *rq)
{
	kvfree(rq->wqe);
	rq->wqe = NULL;
	if (rq->user)
		sroce_ring_destroy(&rq->ring);
}

/**
 * sroce_wq_reset_sq() - forget everything posted (QP to RESET)
 * @sq: the queue
 *
 * Context: tx owner, bottom halves off.
 */
void sroce_wq_reset_sq(struct sroce_sq *sq)
{
	if (sq->user)
		sroce_ring_consume(&sq->ring, sroce_ring_pending(&sq->ring));
	sq->prod = 0;
	sq->next = 0;
	sq->tail = 0;
}

/**
 * sroce_wq_reset_rq() - forget everything posted (QP to RESET)
 * @rq: the queue
 *
 * Context: rx owner, bottom halves off.
 */
void sroce_wq_reset_rq(struct sroce_rq *rq)
{
	unsigned long irq;

	if (rq->user)
		sroce_ring_consume(&rq->ring, sroce_ring_pending(&rq->ring));
	spin_lock_irqsave(&rq->lock, irq);
	rq->prod = 0;
	rq->cons = 0;
	spin_unlock_irqrestore(&rq->lock, irq);
}
