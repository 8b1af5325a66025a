/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work queues: what a user or a kernel client posted, as safe private copies.
 *
 * The send queue keeps one private WQE per slot: copied once from the shared
 * ring (user QP) or written there by post_send (kernel QP), validated, and never
 * compared with the ring again.  All protocol state of a WQE lives in the copy.
 * The receive queue hands out one private copy at a time.
 */
#ifndef SROCE_WQ_H
#define SROCE_WQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ah.h"
#include "proto/opcode.h"
#include "ring.h"
#include "sgl.h"

static_assert(sizeof(struct rxe_send_wqe) == 208);
static_assert(offsetof(struct rxe_send_wqe, dma) == 184);
static_assert(offsetof(struct rxe_recv_wqe, dma) == 16);
static_assert(sizeof(struct sroce_sge) == sizeof(struct rxe_sge));

#define SROCE_SWQE_STARTED	BIT(0)	/* PSNs are assigned */
#define SROCE_SWQE_DONE		BIT(1)	/* local operation was executed */
#define SROCE_SWQE_INLINE	BIT(2)	/* payload is in the WQE */
#define SROCE_SWQE_SIGNALED	BIT(3)	/* wants a CQE on success */
#define SROCE_SWQE_RD_ATOMIC	BIT(4)	/* counts against max_rd_atomic */
#define SROCE_SWQE_INV		BIT(5)	/* READ that ends with an invalidation */

/**
 * struct sroce_swqe - private copy of a send work request and its state
 * @wr_id: the poster's cookie
 * @remote_addr: address in the peer's memory
 * @rkey: key of the peer's memory
 * @length: bytes of the message (8 for atomics, 0 for local operations)
 * @send_flags: IB_SEND_*
 * @imm: immediate data as on the wire
 * @inv_rkey: key to invalidate, here or at the peer
 * @num_sge: pieces at @sge
 * @first_psn: PSN of the first packet, once started
 * @npsn: PSNs the message takes; 0 for local operations
 * @op: enum sroce_op
 * @flags: SROCE_SWQE_*
 * @wc_opcode: enum ib_wc_opcode of its completion
 * @status: enum ib_wc_status; an error found at the snapshot shows up when the
 *	WQE's turn comes
 * @compare_add: atomic operand
 * @swap: atomic operand
 * @bind_bytes: length of the window (BIND_MW); @remote_addr is its first byte,
 *	@rkey its old key, @inv_rkey the new one
 * @bind_lkey: region to bind to
 * @bind_access: rights of the window
 * @flush_type: FLUSH: what is to be done, SROCE_FLUSH_*
 * @flush_sel: FLUSH: to which memory, SROCE_FLUSH_SEL_*
 * @reg_mr: region to map (kernel REG_MR)
 * @reg_key: its new key
 * @reg_access: its new rights
 * @sge: pieces of the payload
 * @inline_data: or the payload itself
 */
struct sroce_swqe {
	u64 wr_id;
	u64 remote_addr;
	u32 rkey;
	u32 length;
	u32 send_flags;
	__be32 imm;
	u32 inv_rkey;
	u32 num_sge;
	u32 first_psn;
	u32 npsn;
	u8 op;
	u8 flags;
	u8 wc_opcode;
	u8 status;
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		struct {
			u64 bind_bytes;
			u32 bind_lkey;
			u32 bind_access;
		};
		struct {
			u8 flush_type;
			u8 flush_sel;
		};
		struct {
			struct ib_mr *reg_mr;
			u32 reg_key;
			u32 reg_access;
		};
	};
	union {
		DECLARE_FLEX_ARRAY(struct sroce_sge, sge);
		DECLARE_FLEX_ARRAY(u8, inline_data);
	};
};

/**
 * struct sroce_dest - where a datagram goes
 * @av: address
 * @dqpn: QPN there
 * @qkey: its Q_Key; with the high bit set that of the sending QP counts
 */
struct sroce_dest {
	struct sroce_av av;
	u32 dqpn;
	u32 qkey;
};

/**
 * struct sroce_sq - send queue
 * @ring: user QP: the shared ring; its index is the consumer index
 * @wqe: private WQEs, (mask + 1) of @stride bytes
 * @dest: UD: destinations of the private WQEs
 * @pd: UD: protection domain the AHs must belong to
 * @stride: bytes from one private WQE to the next
 * @mask: slots - 1
 * @max_wr: WQEs that may be outstanding
 * @max_sge: pieces a WQE may have
 * @max_inline: bytes a WQE may carry
 * @user: @ring is used
 * @sig_all: every WQE is signaled
 * @lock: serialises kernel posters; protects @prod of a kernel QP (irqsave)
 * @prod: free-running count of WQEs copied or posted
 * @next: free-running index of the WQE to send from; tx owner only
 * @tail: free-running index of the oldest WQE not completed; tx owner writes
 */
struct sroce_sq {
	struct sroce_ring ring;
	void *wqe;
	struct sroce_dest *dest;
	struct ib_pd *pd;
	u32 stride;
	u32 mask;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	bool user;
	bool sig_all;
	spinlock_t lock;
	u32 prod;
	u32 next;
	u32 tail;
};

/**
 * struct sroce_rwqe - private copy of a receive work request
 * @wr_id: the poster's cookie
 * @length: bytes it can take
 * @num_sge: pieces
 * @reserved: aligns @sge
 * @sge: the pieces
 */
struct sroce_rwqe {
	u64 wr_id;
	u64 length;
	u32 num_sge;
	u32 reserved;
	struct sroce_sge sge[];
};

/**
 * struct sroce_rq - receive queue
 * @ring: user QP: the shared ring; its index is the consumer index
 * @wqe: kernel QP: (mask + 1) slots of struct sroce_rwqe with max_sge pieces
 * @stride: bytes from one kernel slot to the next
 * @mask: slots - 1
 * @max_wr: WQEs that may be outstanding
 * @max_sge: pieces a WQE may have
 * @user: @ring is used
 * @lock: serialises kernel posters and the taker (irqsave)
 * @prod: free-running count of WQEs a kernel client posted
 * @cons: free-running count of WQEs taken by the responder
 */
struct sroce_rq {
	struct sroce_ring ring;
	void *wqe;
	u32 stride;
	u32 mask;
	u32 max_wr;
	u32 max_sge;
	bool user;
	spinlock_t lock;
	u32 prod;
	u32 cons;
};

static inline struct sroce_swqe *sroce_sq_wqe(const struct sroce_sq *sq, u32 i)
{
	return sq->wqe + (size_t)(i & sq->mask) * sq->stride;
}

static inline struct sroce_dest *sroce_sq_dest(const struct sroce_sq *sq, u32 i)
{
	return &sq->dest[i & sq->mask];
}

/* Bytes of a receive WQE in the shared ring, with @max_sge pieces. */
static inline u32 sroce_rq_slot_bytes(u32 max_sge)
{
	return sizeof(struct rxe_recv_wqe) + max_sge * sizeof(struct sroce_sge);
}

/* Bytes of a private receive WQE with room for @max_sge pieces. */
static inline size_t sroce_rwqe_bytes(u32 max_sge)
{
	return struct_size_t(struct sroce_rwqe, sge, max_sge);
}

int sroce_wq_create_sq(struct sroce_sq *sq, struct ib_ucontext *uc,
		       struct ib_qp_cap *cap, bool sig_all, struct mminfo *mi);
int sroce_wq_create_dests(struct sroce_sq *sq, struct ib_pd *pd);
void sroce_wq_destroy_sq(struct sroce_sq *sq);
int sroce_wq_create_rq(struct sroce_rq *rq, struct ib_ucontext *uc,
		       struct ib_qp_cap *cap, struct mminfo *mi);
void sroce_wq_destroy_rq(struct sroce_rq *rq);

int sroce_wq_fetch(struct sroce_sq *sq, enum sroce_qp_type type);
void sroce_wq_complete(struct sroce_sq *sq, u32 n);
int sroce_wq_post_send(struct sroce_sq *sq, enum sroce_qp_type type,
		       const struct ib_send_wr *wr);
int sroce_wq_post_recv(struct sroce_rq *rq, const struct ib_recv_wr *wr);
int sroce_wq_take(struct sroce_rq *rq, struct sroce_rwqe *out);
void sroce_wq_reset_sq(struct sroce_sq *sq);
void sroce_wq_reset_rq(struct sroce_rq *rq);

#endif /* SROCE_WQ_H */
