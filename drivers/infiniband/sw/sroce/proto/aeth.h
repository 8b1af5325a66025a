/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Acknowledge codes and the fault table.
 *
 * Owns the translation of AETH codes to nanoseconds and credits, and the one
 * table that says what a responder does about each verdict on a request:
 * read-only data and pure functions, any context. Called by the roles. Must not
 * know QPs, queues or packets; completion statuses and events are numbers of
 * its own which verbs code maps to those of the RDMA core.
 */
#ifndef SROCE_PROTO_AETH_H
#define SROCE_PROTO_AETH_H

#include <linux/types.h>

#include "opcode.h"

/* sroce_aeth_credits() of the code that means: no end-to-end credits */
#define SROCE_CREDITS_NONE	0xffffffffU

/**
 * enum sroce_verdict - what a responder finds out about a request
 * @SROCE_V_OK: execute it
 * @SROCE_V_DUP: seen before
 * @SROCE_V_DROP: not for us, or not worth an answer
 * @SROCE_V_SEQ_ERR: an earlier PSN is missing
 * @SROCE_V_RNR: no receive WQE
 * @SROCE_V_INV_REQ: malformed, out of order in its message, not allowed
 * @SROCE_V_INV_REQ_LEN: SEND longer than its receive WQE
 * @SROCE_V_ACCESS: key, rights or bounds, no receive WQE taken
 * @SROCE_V_ACCESS_TAKEN: the same after a receive WQE was taken
 * @SROCE_V_RQ_PROT: the receive WQE's own SGEs are not accessible
 * @SROCE_V_REM_OP: the responder itself cannot go on
 * @SROCE_V_N: number of verdicts
 */
enum sroce_verdict {
	SROCE_V_OK,
	SROCE_V_DUP,
	SROCE_V_DROP,
	SROCE_V_SEQ_ERR,
	SROCE_V_RNR,
	SROCE_V_INV_REQ,
	SROCE_V_INV_REQ_LEN,
	SROCE_V_ACCESS,
	SROCE_V_ACCESS_TAKEN,
	SROCE_V_RQ_PROT,
	SROCE_V_REM_OP,
	SROCE_V_N,
};

/**
 * enum sroce_wc_status - completion statuses, named as in enum ib_wc_status
 * @SROCE_WC_SUCCESS: success
 * @SROCE_WC_LOC_LEN_ERR: local length error
 * @SROCE_WC_LOC_QP_OP_ERR: local QP operation error
 * @SROCE_WC_LOC_PROT_ERR: local protection error
 * @SROCE_WC_WR_FLUSH_ERR: work request flushed
 * @SROCE_WC_MW_BIND_ERR: memory window bind error
 * @SROCE_WC_BAD_RESP_ERR: bad response
 * @SROCE_WC_LOC_ACCESS_ERR: local access error
 * @SROCE_WC_REM_INV_REQ_ERR: remote invalid request
 * @SROCE_WC_REM_ACCESS_ERR: remote access error
 * @SROCE_WC_REM_OP_ERR: remote operation error
 * @SROCE_WC_RETRY_EXC_ERR: transport retries exhausted
 * @SROCE_WC_RNR_RETRY_EXC_ERR: RNR retries exhausted
 * @SROCE_WC_FATAL_ERR: fatal error
 * @SROCE_WC_GENERAL_ERR: anything else
 * @SROCE_WC_N: number of statuses
 */
enum sroce_wc_status {
	SROCE_WC_SUCCESS,
	SROCE_WC_LOC_LEN_ERR,
	SROCE_WC_LOC_QP_OP_ERR,
	SROCE_WC_LOC_PROT_ERR,
	SROCE_WC_WR_FLUSH_ERR,
	SROCE_WC_MW_BIND_ERR,
	SROCE_WC_BAD_RESP_ERR,
	SROCE_WC_LOC_ACCESS_ERR,
	SROCE_WC_REM_INV_REQ_ERR,
	SROCE_WC_REM_ACCESS_ERR,
	SROCE_WC_REM_OP_ERR,
	SROCE_WC_RETRY_EXC_ERR,
	SROCE_WC_RNR_RETRY_EXC_ERR,
	SROCE_WC_FATAL_ERR,
	SROCE_WC_GENERAL_ERR,
	SROCE_WC_N,
};

/**
 * enum sroce_event - asynchronous events of a faulty request
 * @SROCE_EVENT_NONE: none
 * @SROCE_EVENT_QP_REQ_ERR: invalid request
 * @SROCE_EVENT_QP_ACCESS_ERR: access violation
 * @SROCE_EVENT_QP_FATAL: the QP cannot go on
 * @SROCE_EVENT_N: number of events
 */
enum sroce_event {
	SROCE_EVENT_NONE,
	SROCE_EVENT_QP_REQ_ERR,
	SROCE_EVENT_QP_ACCESS_ERR,
	SROCE_EVENT_QP_FATAL,
	SROCE_EVENT_N,
};

/**
 * enum sroce_action - what becomes of the request and the QP
 * @SROCE_ACTION_NONE: go on
 * @SROCE_ACTION_DROP: forget the packet (UC, UD: its whole message)
 * @SROCE_ACTION_NAK_RETRY: forget the packet, the peer sends it again
 * @SROCE_ACTION_FATAL: the QP goes to the error state
 * @SROCE_ACTION_N: number of actions
 */
enum sroce_action {
	SROCE_ACTION_NONE,
	SROCE_ACTION_DROP,
	SROCE_ACTION_NAK_RETRY,
	SROCE_ACTION_FATAL,
	SROCE_ACTION_N,
};

/**
 * struct sroce_fault - what to do about a verdict
 * @syndrome: AETH syndrome to answer with, SROCE_AETH_NONE for no answer; for
 *	SROCE_AETH_RNR the caller adds its timer code
 * @wc: enum sroce_wc_status of the receive WQE the request had taken, if any;
 *	SROCE_WC_SUCCESS: the verdict does not end it
 * @event: enum sroce_event, raised only when no receive WQE was completed
 * @action: enum sroce_action
 */
struct sroce_fault {
	u8 syndrome;
	u8 wc;
	u8 event;
	u8 action;
};

u64 sroce_aeth_rnr_ns(u8 code);
u32 sroce_aeth_credits(u8 code);
u8 sroce_aeth_credit_code(u32 credits);
u64 sroce_aeth_timeout_ns(u8 code);
enum sroce_wc_status sroce_aeth_nak_wc(u8 syndrome);
const struct sroce_fault *sroce_fault(enum sroce_verdict verdict,
				      enum sroce_qp_type type);

#endif /* SROCE_PROTO_AETH_H */
