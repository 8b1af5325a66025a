/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a device: per-CPU, named once in SROCE_STATS.
 *
 * Every dropped packet and every protocol event a user may want to know about
 * adds to exactly one of these.  Names are what monitoring scripts grep for:
 * those of rdma_rxe and of mlx5, plus rx_drop_<reason> for each reason a
 * packet is thrown away.  Called from any context.
 */
#ifndef SROCE_STATS_H
#define SROCE_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct ib_device;
struct rdma_hw_stats;
struct sroce_dev;

/* X(enumerator, sysfs name) */
#define SROCE_STATS(X)						\
	X(SENT_PKTS,		sent_pkts)			\
	X(RCVD_PKTS,		rcvd_pkts)			\
	X(SENT_BYTES,		sent_bytes)			\
	X(RCVD_BYTES,		rcvd_bytes)			\
	X(SENT_MCAST,		sent_mcast_pkts)		\
	X(RCVD_MCAST,		rcvd_mcast_pkts)		\
	X(SENT_TRAINS,		sent_trains)			\
	X(SENT_PACKS,		sent_packs)				\
	X(RCVD_TRAINS,		rcvd_trains)			\
	X(RCVD_CHAINS,		rcvd_chains)			\
	X(HELD_DOORBELLS,	held_doorbells)			\
	X(RCVD_STEERED,		rcvd_steered)			\
	X(DUP_REQUEST,		duplicate_request)		\
	X(OUT_OF_SEQ,		out_of_sequence)		\
	X(RCVD_RNR,		rcvd_rnr_err)			\
	X(SENT_RNR,		send_rnr_err)			\
	X(SEQ_ERR,		packet_seq_err)			\
	X(IMPLIED_NAK,		implied_nak_seq_err)		\
	X(ACK_TIMEOUT,		local_ack_timeout_err)		\
	X(RETRY_EXC,		req_transport_retries_exceeded)	\
	X(RNR_EXC,		req_rnr_retries_exceeded)	\
	X(RETRANS_PKTS,		retrans_pkts)			\
	X(TLP,			tlp_sent)			\
	X(SEND_ERR,		send_err)			\
	X(TX_DROPPED,		tx_dropped)			\
	X(OUT_OF_BUFFER,	out_of_buffer)			\
	X(LINK_DOWNED,		link_downed)			\
	X(RX_WRITE,		rx_write_requests)		\
	X(RX_READ,		rx_read_requests)		\
	X(RX_ATOMIC,		rx_atomic_requests)		\
	X(RDMA_SENDS,		rdma_sends)			\
	X(RDMA_RECVS,		rdma_recvs)			\
	X(REQ_REM_INV,		req_remote_invalid_request)	\
	X(REQ_REM_ACCESS,	req_remote_access_errors)	\
	X(RESP_LOC_LEN,		resp_local_length_error)	\
	X(RESP_REM_ACCESS,	resp_remote_access_errors)	\
	X(CQE_ERR,		req_cqe_error)			\
	X(CQE_FLUSH,		req_cqe_flush_error)		\
	X(RESP_CQE_ERR,		resp_cqe_error)			\
	X(RESP_CQE_FLUSH,	resp_cqe_flush_error)		\
	X(ICRC,			rx_icrc_encapsulated)		\
	X(DROP_SHORT,		rx_drop_short)			\
	X(DROP_TVER,		rx_drop_tver)			\
	X(DROP_OPCODE,		rx_drop_opcode)			\
	X(DROP_LENGTH,		rx_drop_length)			\
	X(DROP_QPN,		rx_drop_qpn)			\
	X(DROP_TYPE,		rx_drop_type)			\
	X(DROP_STATE,		rx_drop_state)			\
	X(DROP_ADDR,		rx_drop_addr)			\
	X(DROP_GID_TYPE,	rx_drop_gid_type)		\
	X(DROP_PKEY,		rx_drop_pkey)			\
	X(DROP_QKEY,		rx_drop_qkey)			\
	X(DROP_GHOST,		rx_drop_ghost_ack)		\
	X(DROP_NOMEM,		rx_drop_nomem)			\
	X(DROP_STEER,		rx_drop_steer)			\
	X(NP_CNP_SENT,		np_cnp_sent)			\
	X(NP_ECN_MARKED,	np_ecn_marked_roce_packets)	\
	X(RP_CNP_HANDLED,	rp_cnp_handled)			\
	X(RP_CNP_IGNORED,	rp_cnp_ignored)		\
	X(RP_LOSS_HANDLED,	rp_loss_handled)		\
	X(RP_REHASH,		rp_rehash)

/*
 * X(enumerator, name): the same counter under the name another driver has for it,
 * rdma_rxe's where ours is mlx5's, and mlx5's where ours is rdma_rxe's.
 */
#define SROCE_STATS_ALIASES(X)					\
	X(OUT_OF_SEQ,		out_of_seq_request)		\
	X(SEQ_ERR,		rcvd_seq_err)			\
	X(RETRY_EXC,		retry_exceeded_err)		\
	X(RNR_EXC,		retry_rnr_exceeded_err)		\
	X(RCVD_RNR,		rnr_nak_retry_err)

enum sroce_stat {
#define X(e, n) SROCE_STAT_##e,
	SROCE_STATS(X)
#undef X
	SROCE_STAT_N
};

/**
 * struct sroce_stats - one CPU's share of a device's counters
 * @v: the counters, indexed by enum sroce_stat; packets or events, bytes where
 *     the name says so
 */
struct sroce_stats {
	u64 v[SROCE_STAT_N];
};

/**
 * struct sroce_stats_set - counters of the QPs bound to one of ib_core's counters
 * @stats: per-CPU counters
 */
struct sroce_stats_set {
	struct sroce_stats __percpu *stats;
};

/* @at: what has a pointer to counters: a device, a QP, a path. */
#define sroce_stat_add(at, stat, n) \
	this_cpu_add(READ_ONCE((at)->stats)->v[SROCE_STAT_##stat], n)
#define sroce_stat_inc(at, stat) sroce_stat_add(at, stat, 1)

const char *sroce_stats_name(enum sroce_stat stat);
u64 sroce_stats_of(const struct sroce_stats __percpu *stats,
		   enum sroce_stat stat);
void sroce_stats_fill(const struct sroce_stats __percpu *stats,
		      struct rdma_hw_stats *out);

u64 sroce_stats_sum(struct sroce_dev *dev, enum sroce_stat stat);
struct rdma_hw_stats *sroce_stats_alloc(struct ib_device *ibdev, u32 port);
int sroce_stats_read(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index);

#endif /* SROCE_STATS_H */
