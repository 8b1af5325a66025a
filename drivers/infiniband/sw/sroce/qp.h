/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pair: types only.
 *
 * Two owners work on a QP without sharing a line they write: the requester and
 * completer under tx.lock, the responder under rx.lock.  Neither lock is taken
 * while the other is held.  What one has to tell the other is a bit in events.
 */
#ifndef SROCE_QP_H
#define SROCE_QP_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "ah.h"
#include "cq.h"
#include "dev.h"
#include "mr.h"
#include "net.h"
#include "proto/dcqcn.h"
#include "proto/hdr.h"
#include "proto/qpstate.h"
#include "proto/rehash.h"
#include "proto/rtt.h"
#include "proto/window.h"
#include "srq.h"
#include "wq.h"

/* Bits of sroce_qp.events; set by anyone, cleared by the owner named. */
enum sroce_event_bit {
	SROCE_EV_TX,		/* requester has something to look at; tx owner */
	SROCE_EV_RX,		/* responder has something to send; rx owner */
	SROCE_EV_TX_BLOCKED,	/* requester waits for queued bytes to drain */
	SROCE_EV_RX_BLOCKED,	/* responder waits for queued bytes to drain */
	SROCE_EV_FATAL,		/* an owner met a fatal error; err_work */
	SROCE_EV_COMM_EST,	/* first packet in RTR; err_work */
	SROCE_EV_DRAINED,	/* send queue drained; err_work */
	SROCE_EV_REQ_ERR,	/* IB_EVENT_QP_REQ_ERR is due; err_work */
	SROCE_EV_ACCESS_ERR,	/* IB_EVENT_QP_ACCESS_ERR is due; err_work */
	SROCE_EV_QP_FATAL,	/* IB_EVENT_QP_FATAL is due; err_work */
	SROCE_EV_LAST_WQE,	/* IB_EVENT_QP_LAST_WQE_REACHED is due; err_work */
	SROCE_EV_SCQ_OVERFLOW,	/* the send CQ lost completions; err_work */
	SROCE_EV_RCQ_OVERFLOW,	/* the receive CQ lost completions; err_work */
};

enum sroce_pagein_state {
	SROCE_PAGEIN_IDLE,
	SROCE_PAGEIN_BUSY,	/* the work is at it and owns the struct */
	SROCE_PAGEIN_DONE,	/* the role has not looked yet */
};

/**
 * struct sroce_pagein - a hole in an ODP region that a role waits for
 * @work: fills it
 * @state: enum sroce_pagein_state
 * @failed: the last one could not be filled
 * @repeat: something was dropped that the peer is to repeat
 * @key: the region
 * @va: the byte that was not there
 * @bytes: bytes to bring
 */
struct sroce_pagein {
	struct work_struct work;
	enum sroce_pagein_state state;
	bool failed;
	bool repeat;
	u32 key;
	u64 va;
	u64 bytes;
};

#define SROCE_WC_BATCH	16

/**
 * struct sroce_wc_batch - completions collected under a QP lock
 * @n: number of entries in use
 * @notify: the CQ's handler is due once the lock is gone
 * @wc: the completions
 */
struct sroce_wc_batch {
	u32 n;
	bool notify;
	struct sroce_wc wc[SROCE_WC_BATCH];
};

/**
 * struct sroce_cc - how fast a role may send
 * @rp: reaction point
 * @pacer: turns the rate into send times
 * @pace_ns: the role waits for its pacer until then; 0 when it does not.  That
 *	of the responder is read without its lock
 * @sent_ns: time of the last data sent; read without the lock
 * @limit_kbps: the user's limit, kbit/s, 0: none
 * @told: a CNP came: the peer answers marks
 * @rehash: when packets take another source port
 * @peer_sport: responder: source port of the peer's requests, 0: none came yet
 */
struct sroce_cc {
	struct sroce_dcqcn rp;
	struct sroce_pacer pacer;
	u64 pace_ns;
	u64 sent_ns;
	u32 limit_kbps;
	bool told;
	u16 peer_sport;
	struct sroce_rehash rehash;
};

/**
 * struct sroce_tx - requester and completer
 * @lock: the tx owner's lock; protects everything here and the SQ
 * @state: state as this owner sees it
 * @window: PSNs, retries, deadlines
 * @sq: the send queue
 * @rd_out: READs and atomics sent and not answered
 * @since_ackreq: packets since the last one that asked for an ACK
 * @rtt_psn: PSN of the packet whose ACK is timed
 * @rtt_ns: when it left; 0: none is
 * @rtt: round-trip time so far
 * @tail_probe: send the last packet again and ask for an ACK
 * @fault: a WQE failed locally; no WQE is sent from it on
 * @fault_idx: that WQE; its error completes when all before it are done
 * @probe: the peer had no receive WQE: one packet at a time until it has
 * @waiting: the requester stopped because earlier WQEs must complete first
 * @sqd_event: SQ_DRAINED is wanted
 * @holds: local shortages in a row, since something was sent
 * @sgl: walk over the payload being sent; region held in one section only
 * @sgl_psn: PSN whose payload @sgl stands at
 * @rd_sgl: walk over the buffer a READ response goes to
 * @rd_psn: PSN @rd_sgl stands at, valid while @rd_sgl.dev is set
 * @hold_ns: nothing is sent before this; 0 when nothing holds
 * @tail_ns: an ACK is asked for again then; 0 when the last packet asked
 * @batch_ns: posted requests wait for more of them until then; 0: none do
 * @rang_ns: when the doorbell was done with last; written without the lock, by
 *	kernel users' only when completions lie there
 * @poor: the last hold brought too little company; kernel users
 * @alone: so many doorbells are not held, because two holds in a row did; kernel
 *	users
 * @cpu: which sent something last; read without the lock
 * @deep: it has more to do while that is received; likewise
 * @timer_ns: deadline the hrtimer is armed for, U64_MAX when it is not
 * @page: what the requester, or a READ's answer, waits for
 * @cc: how fast requests may leave
 * @batch: completions for the send CQ
 */
struct sroce_tx {
	spinlock_t lock;
	enum sroce_qps state;
	struct sroce_window window;
	struct sroce_sq sq;
	u32 rd_out;
	u32 since_ackreq;
	u32 rtt_psn;
	u64 rtt_ns;
	struct sroce_rtt rtt;
	bool tail_probe;
	bool fault;
	bool probe;
	bool waiting;
	bool sqd_event;
	u8 holds;
	bool poor;
	u8 alone;
	bool deep;
	u32 fault_idx;
	u32 cpu;
	struct sroce_sgl sgl;
	struct sroce_sgl rd_sgl;
	u32 sgl_psn;
	u32 rd_psn;
	u64 hold_ns;
	u64 tail_ns;
	u64 batch_ns;
	u64 rang_ns;
	u64 timer_ns;
	struct sroce_pagein page;
	struct sroce_cc cc;
	struct sroce_wc_batch batch;
};

enum sroce_rsp_kind {
	SROCE_RSP_READ,
	SROCE_RSP_ATOMIC,
	SROCE_RSP_DONE,		/* ATOMIC WRITE, FLUSH: nothing to return */
};

/**
 * struct sroce_rsp - a request the responder remembers or has to answer
 * @kind: enum sroce_rsp_kind
 * @valid: slot of the memory is in use
 * @first_psn: PSN of the request
 * @npsn: PSNs the answer takes
 * @next: packets of the answer sent so far
 * @va: first byte to read
 * @length: bytes to read
 * @rkey: region to read
 * @msn: MSN of the answer
 * @orig: value an atomic found
 */
struct sroce_rsp {
	u8 kind;
	bool valid;
	u32 first_psn;
	u32 npsn;
	u32 next;
	u64 va;
	u32 length;
	u32 rkey;
	u32 msn;
	u64 orig;
};

/**
 * struct sroce_rx - responder
 * @lock: the rx owner's lock; protects everything here and the taking end of
 *	the RQ
 * @state: state as this owner sees it
 * @srq: the SRQ that serves in place of @rq, or NULL; constant
 * @who: what memory receive WQEs may use: as the QP, or as the SRQ; constant
 * @last_wqe_told: no WQE of the SRQ is in use any more, and its owner knows;
 *	under the QP's mutex
 * @rq: the receive queue
 * @epsn: PSN expected next
 * @msn: messages completed, 24 bits
 * @prev_opcode: opcode of the last request packet of the current message
 * @nak_sent: a NAK for @epsn is out; later packets are dropped silently
 * @ack_due: an ACK goes out when all responses before it have
 * @nak_due: a NAK goes out then; @nak_syndrome, @nak_psn
 * @nak_syndrome: AETH syndrome of the NAK
 * @nak_psn: its PSN
 * @fatal_after_nak: the QP goes to ERR behind the NAK
 * @comm_est: COMM_EST was raised
 * @shows: ACKs still to be sent as a train, to show that trains pass
 * @wr_va: next byte of the current WRITE
 * @wr_rkey: its key
 * @wr_left: bytes of it still to come
 * @wr_total: bytes of it
 * @wr_mr: its region, held by @hold, or NULL: not looked at in this section
 * @hold: the region the peer reached last, held in one section only
 * @rwqe: receive WQE in use, with room for the queue's max_sge pieces
 * @rwqe_held: @rwqe belongs to the current message
 * @rcvd: bytes of the current SEND
 * @sgl: walk over @rwqe
 * @mem: the last max_dest_rd_atomic READs and atomics, for duplicates
 * @mem_n: entries of @mem
 * @mem_head: where the next goes
 * @fifo: answers still to be sent, in order
 * @fifo_n: entries of @fifo (power of two)
 * @fifo_head: free-running producer index
 * @fifo_tail: free-running consumer index
 * @page: what a request, or the answer to a READ, waits for
 * @page_psn: PSN expected when a request met a hole
 * @cc: how fast READ responses may leave
 * @batch: completions for the receive CQ
 */
struct sroce_rx {
	spinlock_t lock;
	enum sroce_qps state;
	bool last_wqe_told;
	struct sroce_srq *srq;
	const struct sroce_party *who;
	struct sroce_rq rq;
	u32 epsn;
	u32 msn;
	u8 prev_opcode;
	u8 nak_syndrome;
	bool nak_sent;
	bool ack_due;
	bool nak_due;
	bool fatal_after_nak;
	bool comm_est;
	u8 shows;
	bool rwqe_held;
	u32 nak_psn;
	u32 wr_rkey;
	u64 wr_va;
	u32 wr_left;
	u32 wr_total;
	struct sroce_mr *wr_mr;
	struct sroce_mr_hold hold;
	struct sroce_rwqe *rwqe;
	u32 rcvd;
	struct sroce_sgl sgl;
	struct sroce_rsp *mem;
	u32 mem_n;
	u32 mem_head;
	struct sroce_rsp *fifo;
	u32 fifo_n;
	u32 fifo_head;
	u32 fifo_tail;
	u32 page_psn;
	struct sroce_pagein page;
	struct sroce_cc cc;
	struct sroce_wc_batch batch;
};

/**
 * struct sroce_qp - a queue pair
 * @ibqp: the core's part; not to be looked at once @dead is set
 * @qpn: its number
 * @dev: its device
 * @stats: where it counts: @dev's counters, or those it is bound to
 * @who: what memory it may use
 * @type: enum sroce_qp_type
 * @dead: being destroyed; set once
 * @mutex: serialises modify, query and destroy
 * @attr: attributes as the user set them, under @mutex
 * @pmtu: path MTU in bytes
 * @pmtu_shift: log2 of @pmtu
 * @dqpn: the peer's QPN
 * @pkey: P_Key of packets
 * @qkey: UD: Q_Key packets must have
 * @access: IB_ACCESS_REMOTE_* the peer may use
 * @max_rd_atomic: READs and atomics to have outstanding
 * @rnr_timer: RNR NAK timer code sent to the peer
 * @path: where packets go
 * @scq: send CQ
 * @rcq: receive CQ
 * @ref: one for the core's part, others for who reports about the QP
 * @reap: frees the struct, a grace period after the last reference
 * @events: enum sroce_event_bit
 * @timer: the one clock
 * @bh_work: continues tx and rx in softirq
 * @tx_work: runs tx on the CPU whose packets are still on their way
 * @err_work: flush and events, in process context
 * @flush_delay: jiffies to the next look for receive WQEs to flush
 * @np_lock: protects @np
 * @np: when a congestion mark is answered, whichever role it came to
 * @tx: requester and completer
 * @rx: responder
 *
 * Everything before @events is written in modify_qp with both roles stopped or
 * both locks taken in turn, and read by both.
 */
struct sroce_qp {
	struct ib_qp *ibqp;
	struct sroce_dev *dev;
	struct sroce_stats __percpu *stats;
	u32 qpn;
	struct sroce_party who;
	enum sroce_qp_type type;
	bool dead;
	u8 pmtu_shift;
	u8 rnr_timer;
	u16 pkey;
	u32 pmtu;
	u32 dqpn;
	u32 qkey;
	u32 access;
	u32 max_rd_atomic;
	struct sroce_path path;
	struct sroce_cq *scq;
	struct sroce_cq *rcq;
	struct mutex mutex;
	struct ib_qp_attr attr;
	refcount_t ref;
	struct rcu_work reap;
	unsigned long events ____cacheline_aligned_in_smp;
	struct hrtimer timer;
	struct work_struct bh_work;
	struct work_struct tx_work;
	struct delayed_work err_work;
	unsigned long flush_delay;
	spinlock_t np_lock;	/* taken under either role lock */
	struct sroce_dcqcn_np np;
	struct sroce_tx tx ____cacheline_aligned_in_smp;
	struct sroce_rx rx ____cacheline_aligned_in_smp;
};

/**
 * struct sroce_qp_handle - what ib_core has of a QP
 * @ibqp: the core's part
 * @qp: the QP; outlives the handle, which the core frees after destroy_qp, by
 *	a grace period.  NULL once destroyed
 */
struct sroce_qp_handle {
	struct ib_qp ibqp;
	struct sroce_qp __rcu *qp;
};

/* The management QP: its number exists once a device. */
#define SROCE_QPN_GSI	1

static inline bool sroce_qp_is_gsi(const struct sroce_qp *qp)
{
	return qp->qpn == SROCE_QPN_GSI;
}

static inline struct sroce_qp_handle *to_sroce_qp_handle(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct sroce_qp_handle, ibqp);
}

/* For verbs: the core keeps them and destroy_qp apart. */
static inline struct sroce_qp *to_sroce_qp(struct ib_qp *ibqp)
{
	return rcu_dereference_protected(to_sroce_qp_handle(ibqp)->qp, true);
}

/**
 * struct sroce_frame - a received packet after parsing
 * @h: its headers
 * @payload: first byte behind the headers
 * @l3: its IP header or GRH
 * @vlan: to QPN 1: VLAN of the netdev that has its destination address, 0xffff
 *	for none
 * @kind: which of them, enum sroce_l3
 * @ce: the network marked it (ECN CE)
 */
struct sroce_frame {
	struct sroce_hdr h;
	const u8 *payload;
	const void *l3;
	u16 vlan;
	u8 kind;
	bool ce;
};

/* qp.c: the verbs of a QP, for the ops table, and the end of QPs. */
int sroce_qp_init(void);
void sroce_qp_exit(void);
void sroce_qp_wait_reaped(void);
int sroce_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int sroce_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int sroce_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata);
int sroce_qp_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad);
int sroce_qp_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);
int sroce_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp);

#endif /* SROCE_QP_H */
