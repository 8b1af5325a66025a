/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events: packets dropped, queue pairs in error, and what congestion control
 * did to a queue pair.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sroce

#if !defined(_TRACE_SROCE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_SROCE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

struct sroce_dcqcn;
struct sroce_qp;

TRACE_EVENT(sroce_drop,
	TP_PROTO(struct ib_device *ibdev, u32 qpn, const char *reason),

	TP_ARGS(ibdev, qpn, reason),

	TP_STRUCT__entry(
		__string(dev, dev_name(&ibdev->dev))
		__field(u32, qpn)
		__string(reason, reason)
	),

	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qpn;
		__assign_str(reason);
	),

	TP_printk("%s qpn %u: %s", __get_str(dev), __entry->qpn,
		  __get_str(reason))
);

TRACE_EVENT(sroce_qp_error,
	TP_PROTO(struct ib_device *ibdev, u32 qpn, const char *what,
		 const char *reason, u64 wr_id),

	TP_ARGS(ibdev, qpn, what, reason, wr_id),

	TP_STRUCT__entry(
		__string(dev, dev_name(&ibdev->dev))
		__field(u32, qpn)
		__string(what, what)
		__string(reason, reason)
		__field(u64, wr_id)
	),

	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qpn;
		__assign_str(what);
		__assign_str(reason);
		__entry->wr_id = wr_id;
	),

	TP_printk("%s qpn %u: %s: %s, wr_id %#llx", __get_str(dev),
		  __entry->qpn, __get_str(what), __get_str(reason),
		  __entry->wr_id)
);

TRACE_EVENT(sroce_cc_rate,
	TP_PROTO(struct sroce_qp *qp, const struct sroce_dcqcn *rp, u64 before),

	TP_ARGS(qp, rp, before),

	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ib.dev))
		__field(u32, qpn)
		__field(u32, alpha)
		__field(u64, before)
		__field(u64, rate)
		__field(u64, target)
	),

	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qp->qpn;
		__entry->alpha = rp->alpha_q30 >> 20;
		__entry->before = before;
		__entry->rate = rp->cur_bytes_per_s;
		__entry->target = rp->target_bytes_per_s;
	),

	TP_printk("%s qpn %u: %s from %llu to %llu bytes/s, target %llu, alpha %u/1024",
		  __get_str(dev), __entry->qpn,
		  __entry->rate < __entry->before ? "cut" : "increase",
		  __entry->before, __entry->rate, __entry->target,
		  __entry->alpha)
);

TRACE_EVENT(sroce_cc_rehash,
	TP_PROTO(struct sroce_qp *qp, bool answers, u16 sport),

	TP_ARGS(qp, answers, sport),

	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ib.dev))
		__field(u32, qpn)
		__field(bool, answers)
		__field(u16, sport)
	),

	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qp->qpn;
		__entry->answers = answers;
		__entry->sport = sport;
	),

	TP_printk("%s qpn %u: %s now from port %u", __get_str(dev),
		  __entry->qpn, __entry->answers ? "answers" : "requests",
		  __entry->sport)
);

DECLARE_EVENT_CLASS(sroce_cnp,
	TP_PROTO(struct sroce_qp *qp),

	TP_ARGS(qp),

	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ib.dev))
		__field(u32, qpn)
		__field(u32, peer)
	),

	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qp->qpn;
		__entry->peer = qp->dqpn;
	),

	TP_printk("%s qpn %u, peer's qpn %u", __get_str(dev), __entry->qpn,
		  __entry->peer)
);

DEFINE_EVENT(sroce_cnp, sroce_cnp_sent,
	TP_PROTO(struct sroce_qp *qp),
	TP_ARGS(qp)
);

DEFINE_EVENT(sroce_cnp, sroce_cnp_received,
	TP_PROTO(struct sroce_qp *qp),
	TP_ARGS(qp)
);

#endif /* _TRACE_SROCE_H */

#include <trace/define_trace.h>
