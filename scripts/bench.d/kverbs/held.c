// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of a request that waits for more of them: a test, no benchmark.
 *
 * "held=N" among the words of debugfs kverbs/run, with list=1 signal=1: a request
 * is posted, and when its completion lies in the CQ, six more in quick succession,
 * of which the last five are held; then what enum held says.
 * Runs in the writer's context, called by traffic.c.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "held.h"

#define SETTLE_MS	20
#define ALL		7
#define WAIT_NS		(1000 * NSEC_PER_USEC)	/* as the suite has it */

static int state(struct ib_qp *qp, enum ib_qp_state to)
{
	struct ib_qp_attr a = { .qp_state = to };

	return ib_modify_qp(qp, &a, IB_QP_STATE);
}

static int act(struct ib_qp *qp, u32 how)
{
	int err;

	switch (how) {
	case HELD_ERROR:
		return state(qp, IB_QPS_ERR);
	case HELD_SQD:
		err = state(qp, IB_QPS_SQD);
		msleep(SETTLE_MS);
		return err ? : state(qp, IB_QPS_RTS);
	case HELD_RESET:
		return state(qp, IB_QPS_RESET);
	default:
		return 0;
	}
}

/* Two are done; how long until all are, ns? */
static s64 leaves(struct ib_qp *qp, u32 how)
{
	struct ib_cq *cq = qp->send_cq;
	u64 start = ktime_get_ns();
	struct ib_wc wc[ALL];
	int left = ALL;

	if (how == HELD_ARM)
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	else
		left -= ib_poll_cq(cq, left, wc);
	while (cq->device->ops.peek_cq(cq, left) < left) {
		if (ktime_get_ns() - start > NSEC_PER_SEC)
			return -ETIMEDOUT;
		cpu_relax();
	}
	return ktime_get_ns() - start;
}

/* All are there, and good, unless an error was asked for. */
static int all_done(struct ib_qp *qp, u32 how)
{
	struct ib_wc wc[ALL];
	int n, i;

	msleep(SETTLE_MS);
	n = ib_poll_cq(qp->send_cq, ALL, wc);
	if (n != ALL)
		return n < 0 ? n : -ETIMEDOUT;
	for (i = 0; i < n; i++)
		if (wc[i].status &&
		    (how != HELD_ERROR || wc[i].status != IB_WC_WR_FLUSH_ERR))
			return -EIO;
	return 0;
}

/* Hold requests of a connected @qp that has sent nothing yet, and see. */
int held_check(struct ib_qp *qp, int (*post)(u32 q), u32 how)
{
	int i, err = post(0);
	s64 took;

	msleep(SETTLE_MS);
	for (i = 1; i < ALL && !err; i++)
		err = post(0);
	err = err ? : act(qp, how);
	if (err || how == HELD_RESET || how == HELD_DESTROY)
		return err;
	if (how != HELD_POLL && how != HELD_ARM)
		return all_done(qp, how);
	took = leaves(qp, how);
	return took < 0 ? took : took > WAIT_NS / 2 ? -ETIME : 0;
}
