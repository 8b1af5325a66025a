/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What becomes of a request that waits for more of them.
 */
#ifndef HELD_H
#define HELD_H

#include <rdma/ib_verbs.h>

/**
 * enum held - what is done to a queue pair that holds a request
 * @HELD_TIMER: nothing; nobody polls, and it is sent all the same
 * @HELD_ERROR: it goes to ERR, and all requests complete
 * @HELD_SQD: it goes to SQD and back to RTS, and all requests complete
 * @HELD_RESET: it goes to RESET
 * @HELD_DESTROY: it is destroyed as it is
 * @HELD_POLL: the CQ is polled until it is empty, and the request leaves
 * @HELD_ARM: the CQ is armed, and the request leaves
 */
enum held {
	HELD_TIMER = 1,
	HELD_ERROR,
	HELD_SQD,
	HELD_RESET,
	HELD_DESTROY,
	HELD_POLL,
	HELD_ARM,
};

int held_check(struct ib_qp *qp, int (*post)(u32 q), u32 how);

#endif /* HELD_H */
