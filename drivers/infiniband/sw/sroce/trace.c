// SPDX-License-Identifier: GPL-2.0
/*
 * Drops and errors as trace events: the one way to say why.
 *
 * Owns the words.  Nothing here is on a path that things go well on, so all of it
 * is out of line; without a tracer a call ends at once.  Any context, called by
 * whoever drops a packet or fails a QP.  Must not know QPs.
 */
#include "trace.h"
#include "dev.h"

#include <rdma/ib_verbs.h>
#include <trace/events/sroce.h>

static const char * const verdicts[SROCE_V_N] = {
	[SROCE_V_OK] = "ok",
	[SROCE_V_DUP] = "duplicate",
	[SROCE_V_DROP] = "dropped",
	[SROCE_V_SEQ_ERR] = "earlier packet missing",
	[SROCE_V_RNR] = "no receive request",
	[SROCE_V_INV_REQ] = "invalid request",
	[SROCE_V_INV_REQ_LEN] = "longer than the receive request",
	[SROCE_V_ACCESS] = "remote access error",
	[SROCE_V_ACCESS_TAKEN] = "remote access error after a receive request was taken",
	[SROCE_V_RQ_PROT] = "receive request's memory not accessible",
	[SROCE_V_REM_OP] = "responder cannot go on",
};

/**
 * sroce_trace_drop() - a packet is dropped
 * @dev: the device that counts it
 * @qpn: QP it was for or from, 0 when there is none
 * @reason: the counter that counted it
 *
 * Context: Any.
 */
void sroce_trace_drop(struct sroce_dev *dev, u32 qpn, enum sroce_stat reason)
{
	if (trace_sroce_drop_enabled())
		trace_sroce_drop(&dev->ib, qpn, sroce_stats_name(reason));
}

/**
 * sroce_trace_wc() - a work request of the sender failed
 * @dev: the device
 * @qpn: number of the QP
 * @wr_id: the request
 * @status: enum ib_wc_status
 *
 * Context: Any.
 */
void sroce_trace_wc(struct sroce_dev *dev, u32 qpn, u64 wr_id, u8 status)
{
	trace_sroce_qp_error(&dev->ib, qpn, "request failed",
			     ib_wc_status_msg(status), wr_id);
}

/**
 * sroce_trace_verdict() - a packet of the peer is refused
 * @dev: the device
 * @qpn: number of the QP
 * @verdict: why
 *
 * Context: Any.
 */
void sroce_trace_verdict(struct sroce_dev *dev, u32 qpn,
			 enum sroce_verdict verdict)
{
	trace_sroce_qp_error(&dev->ib, qpn, "peer refused",
			     verdicts[verdict] ?: "other", 0);
}

/**
 * sroce_trace_event() - an asynchronous event is raised
 * @dev: the device
 * @qpn: number of the QP
 * @event: enum ib_event_type
 *
 * Context: Process.
 */
void sroce_trace_event(struct sroce_dev *dev, u32 qpn, u8 event)
{
	trace_sroce_qp_error(&dev->ib, qpn, "event", ib_event_msg(event), 0);
}
