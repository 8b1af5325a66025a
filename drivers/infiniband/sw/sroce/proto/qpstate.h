/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QP states: what each allows, and the way between them.
 *
 * Owns the state machine of IBA 10.3.1 as predicates. Pure, any context; the
 * fast paths ask for every post and packet. Called by qp.c, rx.c and the roles.
 * Must not know the QP: the caller reads the state under its own rules.
 */
#ifndef SROCE_PROTO_QPSTATE_H
#define SROCE_PROTO_QPSTATE_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * enum sroce_qps - QP states with the values of enum ib_qp_state
 * @SROCE_QPS_RESET: reset
 * @SROCE_QPS_INIT: initialized
 * @SROCE_QPS_RTR: ready to receive
 * @SROCE_QPS_RTS: ready to send
 * @SROCE_QPS_SQD: send queue drained
 * @SROCE_QPS_SQE: send queue error
 * @SROCE_QPS_ERR: error
 * @SROCE_QPS_N: number of states
 */
enum sroce_qps {
	SROCE_QPS_RESET = 0,
	SROCE_QPS_INIT = 1,
	SROCE_QPS_RTR = 2,
	SROCE_QPS_RTS = 3,
	SROCE_QPS_SQD = 4,
	SROCE_QPS_SQE = 5,
	SROCE_QPS_ERR = 6,
	SROCE_QPS_N,
};

/**
 * sroce_qpstate_in() - is a state one of a set
 * @state: state
 * @set: BIT(enum sroce_qps) of the states in question
 *
 * Context: Any.
 * Return: true if it is.
 */
static inline bool sroce_qpstate_in(enum sroce_qps state, u32 set)
{
	return state < SROCE_QPS_N && (set & BIT(state));
}

/**
 * sroce_qpstate_can_post_send() - may send WQEs be posted
 * @state: state of the QP
 *
 * In SQE and ERR they are accepted and flushed (IBA 10.8.2).
 *
 * Context: Any.
 * Return: false if posting is an immediate error.
 */
static inline bool sroce_qpstate_can_post_send(enum sroce_qps state)
{
	return sroce_qpstate_in(state, BIT(SROCE_QPS_RTS) | BIT(SROCE_QPS_SQD) |
				       BIT(SROCE_QPS_SQE) | BIT(SROCE_QPS_ERR));
}

/**
 * sroce_qpstate_can_post_recv() - may receive WQEs be posted
 * @state: state of the QP
 *
 * Context: Any.
 * Return: false if posting is an immediate error.
 */
static inline bool sroce_qpstate_can_post_recv(enum sroce_qps state)
{
	return state > SROCE_QPS_RESET && state < SROCE_QPS_N;
}

/**
 * sroce_qpstate_can_requests() - may packets for the responder come in
 * @state: state of the QP
 *
 * Context: Any.
 * Return: false if requests are dropped without an answer.
 */
static inline bool sroce_qpstate_can_requests(enum sroce_qps state)
{
	return sroce_qpstate_in(state, BIT(SROCE_QPS_RTR) | BIT(SROCE_QPS_RTS) |
				       BIT(SROCE_QPS_SQD) | BIT(SROCE_QPS_SQE));
}

/**
 * sroce_qpstate_can_responses() - may packets for the requester come in
 * @state: state of the QP
 *
 * Context: Any.
 * Return: false if responses are dropped.
 */
static inline bool sroce_qpstate_can_responses(enum sroce_qps state)
{
	return sroce_qpstate_in(state, BIT(SROCE_QPS_RTS) | BIT(SROCE_QPS_SQD) |
				       BIT(SROCE_QPS_SQE));
}

/**
 * sroce_qpstate_can_transmit() - may the requester send anything
 * @state: state of the QP
 *
 * True in SQD, where WQEs already begun are finished (IBA 10.3.1.5).
 *
 * Context: Any.
 * Return: false if the requester must be silent.
 */
static inline bool sroce_qpstate_can_transmit(enum sroce_qps state)
{
	return sroce_qpstate_in(state, BIT(SROCE_QPS_RTS) | BIT(SROCE_QPS_SQD));
}

/**
 * sroce_qpstate_can_transmit_new() - may the requester begin another WQE
 * @state: state of the QP
 *
 * Context: Any.
 * Return: true in RTS only.
 */
static inline bool sroce_qpstate_can_transmit_new(enum sroce_qps state)
{
	return state == SROCE_QPS_RTS;
}

/**
 * sroce_qpstate_flushes_sq() - are send WQEs completed without being executed
 * @state: state of the QP
 *
 * Context: Any.
 * Return: true in SQE and ERR.
 */
static inline bool sroce_qpstate_flushes_sq(enum sroce_qps state)
{
	return sroce_qpstate_in(state, BIT(SROCE_QPS_SQE) | BIT(SROCE_QPS_ERR));
}

bool sroce_qpstate_legal(enum sroce_qps from, enum sroce_qps to);

#endif /* SROCE_PROTO_QPSTATE_H */
