/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues: one receive queue that feeds many QPs.
 *
 * The queue itself is one of wq.h.  What is added here is the lock that the
 * takers need, the limit that tells its owner to post more, and resizing.
 */
#ifndef SROCE_SRQ_H
#define SROCE_SRQ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "mr.h"
#include "wq.h"

/**
 * struct sroce_srq - a shared receive queue
 * @ibsrq: the core's part
 * @lock: protects the taking end of @rq and @limit; taken under a QP's rx.lock
 * @rq: the queue
 * @limit: the event is due when fewer WQEs are left, 0: it is not armed
 * @limit_work: raises the event
 * @mutex: serialises modify and query
 * @who: what memory its WQEs may use: that of its own protection domain, whatever
 *	that of the QP (IBA 10.2.9); constant
 */
struct sroce_srq {
	struct ib_srq ibsrq;
	spinlock_t lock;
	struct sroce_rq rq;
	u32 limit;
	struct work_struct limit_work;
	struct mutex mutex;
	struct sroce_party who;
};

static inline struct sroce_srq *to_sroce_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct sroce_srq, ibsrq);
}

int sroce_srq_take(struct sroce_srq *srq, struct sroce_rwqe *out);

/**
 * sroce_srq_or_rq_take() - take the oldest receive WQE of a QP
 * @srq: the SRQ the QP is on, or NULL
 * @rq: else the QP's own queue
 * @out: private copy, with room for the queue's max_sge pieces
 *
 * Context: rx owner, bottom halves off.
 * Return: as sroce_wq_take().
 */
static inline int sroce_srq_or_rq_take(struct sroce_srq *srq,
				       struct sroce_rq *rq,
				       struct sroce_rwqe *out)
{
	return likely(!srq) ? sroce_wq_take(rq, out) : sroce_srq_take(srq, out);
}

int sroce_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int sroce_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int sroce_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int sroce_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata);
int sroce_srq_post_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

#endif /* SROCE_SRQ_H */
