// SPDX-License-Identifier: GPL-2.0
/*
 * QP states: the way between them; see qpstate.h.
 *
 * Owns the transition matrix. Any context, no state. Must not know attributes
 * or QP types: which attributes a transition takes is the RDMA core's to check.
 */
#include "qpstate.h"

#define ALWAYS	(BIT(SROCE_QPS_RESET) | BIT(SROCE_QPS_ERR))

/* Bit sets of the states that can follow (IBA 10.3.1, figure 124). */
static const u8 next_states[SROCE_QPS_N] = {
	[SROCE_QPS_RESET] = BIT(SROCE_QPS_RESET) | BIT(SROCE_QPS_INIT),
	[SROCE_QPS_INIT] = ALWAYS | BIT(SROCE_QPS_INIT) | BIT(SROCE_QPS_RTR),
	[SROCE_QPS_RTR] = ALWAYS | BIT(SROCE_QPS_RTS),
	[SROCE_QPS_RTS] = ALWAYS | BIT(SROCE_QPS_RTS) | BIT(SROCE_QPS_SQD),
	[SROCE_QPS_SQD] = ALWAYS | BIT(SROCE_QPS_RTS) | BIT(SROCE_QPS_SQD),
	[SROCE_QPS_SQE] = ALWAYS | BIT(SROCE_QPS_RTS),
	[SROCE_QPS_ERR] = ALWAYS,
};

/**
 * sroce_qpstate_legal() - may a modify verb change one state to another
 * @from: present state
 * @to: state asked for
 *
 * The driver's own changes, to SQE or ERR, do not pass here.
 *
 * Context: Any.
 * Return: true if some QP type has the transition.
 */
bool sroce_qpstate_legal(enum sroce_qps from, enum sroce_qps to)
{
	return from < SROCE_QPS_N && sroce_qpstate_in(to, next_states[from]);
}
