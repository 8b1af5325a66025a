/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the roles of a QP are entered, run and left.
 *
 * A role runs under its lock with bottom halves off.  Whoever wants it to run
 * sets its event bit and tries the lock; who holds the lock looks at the bit
 * again after letting go.  So no request is lost and nobody waits for another
 * CPU's burst.  Leaving a role flushes its completions, arms the clock and, with
 * no lock held, calls completion handlers.
 */
#ifndef SROCE_ENGINE_H
#define SROCE_ENGINE_H

#include "qp.h"

/* Frames a role sends before it makes room for other softirq work. */
#define SROCE_RUN_FRAMES	256

/* How long a QP keeps still after a local shortage, ns. */
#define SROCE_HOLD_NS		100000ULL

/* One that lasts, a route or MTU that is gone, makes the pause this much longer. */
#define SROCE_HOLD_DOUBLINGS	7

/**
 * typedef sroce_sched_run_fn - send what a role has to send
 * @qp: the QP, role lock held
 *
 * Return: true when the budget ended before the work did.
 */
typedef bool (*sroce_sched_run_fn)(struct sroce_qp *qp);

void sroce_sched_init(sroce_sched_run_fn tx_run, sroce_sched_run_fn rx_run,
		      void (*err)(struct sroce_qp *qp));
void sroce_sched_qp_init(struct sroce_qp *qp);
void sroce_sched_qp_stop(struct sroce_qp *qp);
void sroce_sched_guest(bool on);
void sroce_sched_kick_tx(struct sroce_qp *qp);
void sroce_sched_kick_tx_soon(struct sroce_qp *qp);
bool sroce_sched_hold(struct sroce_qp *qp, u64 until_ns);
void sroce_sched_unhold(struct sroce_qp *qp);
void sroce_sched_kick_rx(struct sroce_qp *qp);
void sroce_sched_tx_begin(struct sroce_qp *qp);
void sroce_sched_rx_begin(struct sroce_qp *qp);
void sroce_sched_tx_end(struct sroce_qp *qp);
void sroce_sched_rx_end(struct sroce_qp *qp);
bool sroce_sched_tx_blocked(struct sroce_qp *qp);
bool sroce_sched_rx_blocked(struct sroce_qp *qp);
void sroce_sched_event(struct sroce_qp *qp, enum sroce_event_bit ev);
void sroce_sched_err_after(struct sroce_qp *qp, unsigned long delay);
void sroce_sched_write_space(struct sock *sk);
void sroce_sched_complete_tx(struct sroce_qp *qp, const struct sroce_wc *wc);
void sroce_sched_complete_rx(struct sroce_qp *qp, const struct sroce_wc *wc);
void sroce_sched_fatal_tx(struct sroce_qp *qp);
void sroce_sched_sqe_tx(struct sroce_qp *qp);
void sroce_sched_fatal_rx(struct sroce_qp *qp);

#endif /* SROCE_ENGINE_H */
