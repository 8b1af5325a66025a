// SPDX-License-Identifier: GPL-2.0
/*
 * Who runs a QP's roles, when, and the one clock.
 *
 * Owns the event word, the hrtimer and the work items of a QP, and the way into
 * and out of the role locks.  Runs in any context: doorbells in process context,
 * packets and timers in softirq.  Called by the roles, rx.c and qp.c; runs the
 * roles through the functions main.c gave it.  Must not know packets or WQEs.
 */
#include "engine.h"

#include "compat.h"

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/workqueue.h>
#include <net/sock.h>

/* Timers may be this late to share an interrupt with others, ns. */
#define TIMER_SLACK_NS	5000

/* Holding fewer requests than this back does not pay, and is not tried again soon. */
#define COMPANY		4
#define ALONE		250

static sroce_sched_run_fn run_tx __read_mostly;
static sroce_sched_run_fn run_rx __read_mostly;
static void (*run_err)(struct sroce_qp *qp) __read_mostly;

/**
 * sroce_sched_init() - module start: learn what to run
 * @tx_run: requester
 * @rx_run: responder
 * @err: flush and events of a QP, in process context
 *
 * Context: Process.
 */
void sroce_sched_init(sroce_sched_run_fn tx_run, sroce_sched_run_fn rx_run,
		      void (*err)(struct sroce_qp *qp))
{
	run_tx = tx_run;
	run_rx = rx_run;
	run_err = err;
}

/* This CPU receives what another one handed to it. */
static DEFINE_PER_CPU(bool, guest);

static void queue_bh(struct sroce_qp *qp)
{
	if (!READ_ONCE(qp->dead))
		queue_work(system_bh_wq, &qp->bh_work);
}

/*
 * A work item of its own: one that runs here would be queued here again, whatever
 * CPU is asked for.  None goes offline while bottom halves are off here.
 */
static void queue_tx_on(struct sroce_qp *qp, int cpu)
{
	if (!READ_ONCE(qp->dead))
		queue_work_on(cpu, system_bh_wq, &qp->tx_work);
}

/*
 * Where the requester runs: here, but for packets that another CPU handed to this
 * one, and while what is received elsewhere has not left the CPU that sent it.
 * Sending from there and from here would put packets out of order.
 */
static int tx_cpu(const struct sroce_qp *qp)
{
	int cpu = READ_ONCE(qp->tx.cpu);

	if (likely(!this_cpu_read(guest)) &&
	    (likely(!READ_ONCE(qp->path.away)) ||
	     !sroce_net_path_queued(&qp->path)))
		return WORK_CPU_UNBOUND;
	return cpu != smp_processor_id() && cpu_online(cpu) ?
		cpu : WORK_CPU_UNBOUND;
}

/**
 * sroce_sched_guest() - what this CPU receives was handed to it by another one
 * @on: from here on, else no more
 *
 * Requesters that sent from elsewhere go on there.
 *
 * Context: Bottom halves off.
 */
void sroce_sched_guest(bool on)
{
	this_cpu_write(guest, on);
}

/**
 * sroce_sched_err_after() - have the error work run
 * @qp: the QP
 * @delay: jiffies from now
 *
 * Context: Any.
 */
void sroce_sched_err_after(struct sroce_qp *qp, unsigned long delay)
{
	if (!READ_ONCE(qp->dead))
		mod_delayed_work(sroce_compat_wq, &qp->err_work, delay);
}

/**
 * sroce_sched_event() - tell the error work about something
 * @qp: the QP
 * @ev: what happened
 *
 * Context: Any.
 */
void sroce_sched_event(struct sroce_qp *qp, enum sroce_event_bit ev)
{
	set_bit(ev, &qp->events);
	sroce_sched_err_after(qp, 0);
}

/**
 * sroce_sched_fatal_tx() - the requester met an error the QP does not survive
 * @qp: the QP, tx.lock held
 *
 * The rest of the send queue and the receive queue are flushed by the error
 * work.
 *
 * Context: Bottom halves off.
 */
void sroce_sched_fatal_tx(struct sroce_qp *qp)
{
	lockdep_assert_held(&qp->tx.lock);
	qp->tx.state = SROCE_QPS_ERR;
	sroce_sched_event(qp, SROCE_EV_FATAL);
}

/**
 * sroce_sched_sqe_tx() - the requester met an error the receive side survives
 * @qp: the QP, tx.lock held
 *
 * The rest of the send queue is flushed by the error work.
 *
 * Context: Bottom halves off.
 */
void sroce_sched_sqe_tx(struct sroce_qp *qp)
{
	lockdep_assert_held(&qp->tx.lock);
	qp->tx.state = SROCE_QPS_SQE;
	sroce_sched_err_after(qp, 0);
}

/**
 * sroce_sched_fatal_rx() - the responder met an error the QP does not survive
 * @qp: the QP, rx.lock held
 *
 * Context: Bottom halves off.
 */
void sroce_sched_fatal_rx(struct sroce_qp *qp)
{
	lockdep_assert_held(&qp->rx.lock);
	qp->rx.state = SROCE_QPS_ERR;
	sroce_sched_event(qp, SROCE_EV_FATAL);
}

static void flush_batch(struct sroce_qp *qp, struct sroce_cq *cq,
			struct sroce_wc_batch *b, enum sroce_event_bit overflow)
{
	unsigned int what;

	if (!b->n)
		return;
	what = sroce_cq_post(cq, b->wc, b->n);
	b->n = 0;
	if (what & SROCE_CQ_NOTIFY && !b->notify) {
		/* the QP may be gone when the handler runs: this holds the CQ */
		b->notify = true;
		sroce_cq_hold(cq);
	}
	if (unlikely(what & SROCE_CQ_OVERFLOW))
		sroce_sched_event(qp, overflow);
}

/**
 * sroce_sched_complete_tx() - complete a send WQE
 * @qp: the QP, tx.lock held
 * @wc: the completion; reaches the CQ when the role is left, or earlier
 *
 * Context: Bottom halves off.
 */
void sroce_sched_complete_tx(struct sroce_qp *qp, const struct sroce_wc *wc)
{
	struct sroce_wc_batch *b = &qp->tx.batch;

	b->wc[b->n++] = *wc;
	if (b->n == SROCE_WC_BATCH)
		flush_batch(qp, qp->scq, b, SROCE_EV_SCQ_OVERFLOW);
}

/**
 * sroce_sched_complete_rx() - complete a receive WQE
 * @qp: the QP, rx.lock held
 * @wc: the completion; reaches the CQ when the role is left, or earlier
 *
 * Context: Bottom halves off.
 */
void sroce_sched_complete_rx(struct sroce_qp *qp, const struct sroce_wc *wc)
{
	struct sroce_wc_batch *b = &qp->rx.batch;

	b->wc[b->n++] = *wc;
	if (b->n == SROCE_WC_BATCH)
		flush_batch(qp, qp->rcq, b, SROCE_EV_RCQ_OVERFLOW);
}

/* The responder's pacer; no matter when the responder will look at it anyway. */
static u64 responder_deadline(const struct sroce_qp *qp)
{
	u64 pace_ns = READ_ONCE(qp->rx.cc.pace_ns);

	if (!pace_ns || test_bit(SROCE_EV_RX, &qp->events))
		return SROCE_WINDOW_OFF;
	return pace_ns;
}

/* When the earliest of all deadlines is. */
static u64 deadline(const struct sroce_qp *qp)
{
	const struct sroce_tx *tx = &qp->tx;
	u64 when = responder_deadline(qp);

	/* in other states nobody looks at these, and they would strike for ever */
	if (!sroce_qpstate_can_transmit(tx->state))
		return when;
	when = min(when, sroce_window_deadline(&tx->window));
	if (tx->hold_ns)
		when = min(when, tx->hold_ns);
	if (tx->tail_ns)
		when = min(when, tx->tail_ns);
	if (tx->batch_ns)
		when = min(when, tx->batch_ns);
	if (tx->cc.pace_ns)
		when = min(when, tx->cc.pace_ns);
	return when;
}

/* Arm the hrtimer when the earliest deadline is before the one it has. */
static void arm_timer(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	u64 when;

	if (READ_ONCE(qp->dead))
		return;
	when = deadline(qp);
	if (when >= tx->timer_ns)
		return;
	WRITE_ONCE(tx->timer_ns, when);
	hrtimer_start_range_ns(&qp->timer, ns_to_ktime(when), TIMER_SLACK_NS,
			       HRTIMER_MODE_ABS_SOFT);
}

/**
 * sroce_sched_tx_begin() - enter the tx role, waiting for who is in it
 * @qp: the QP; its tx.lock is held on return
 *
 * Context: Bottom halves off.
 */
void sroce_sched_tx_begin(struct sroce_qp *qp)
	__acquires(&qp->tx.lock)
{
	spin_lock(&qp->tx.lock);
}

/**
 * sroce_sched_rx_begin() - enter the rx role, waiting for who is in it
 * @qp: the QP; its rx.lock is held on return
 *
 * Context: Bottom halves off.
 */
void sroce_sched_rx_begin(struct sroce_qp *qp)
	__acquires(&qp->rx.lock)
{
	spin_lock(&qp->rx.lock);
}

/**
 * sroce_sched_tx_end() - run the requester if it was kicked, and leave its role
 * @qp: the QP, tx.lock held; released here
 *
 * Context: Bottom halves off.  Calls the send CQ's handler with no lock held.
 */
void sroce_sched_tx_end(struct sroce_qp *qp)
	__releases(&qp->tx.lock)
{
	struct sroce_tx *tx = &qp->tx;
	bool again, away, notify;
	int cpu;

	do {
		cpu = tx_cpu(qp);
		again = false;
		away = cpu != WORK_CPU_UNBOUND &&
		       test_bit(SROCE_EV_TX, &qp->events);
		if (likely(!away) &&
		    test_and_clear_bit(SROCE_EV_TX, &qp->events) &&
		    likely(!READ_ONCE(qp->dead))) {
			sroce_sched_unhold(qp);
			again = run_tx(qp);
		}
		flush_batch(qp, qp->scq, &tx->batch, SROCE_EV_SCQ_OVERFLOW);
		notify = tx->batch.notify;
		tx->batch.notify = false;
		/* else who runs it does: a deadline may have passed */
		if (likely(!away))
			arm_timer(qp);
		spin_unlock(&tx->lock);
		if (notify)
			sroce_cq_notify(qp->scq);
		if (unlikely(away)) {
			queue_tx_on(qp, cpu);
			return;
		}
		if (again) {
			set_bit(SROCE_EV_TX, &qp->events);
			queue_bh(qp);
			return;
		}
		/* unlock before looking; pairs with the barrier in kick_tx */
		smp_mb();
	} while (test_bit(SROCE_EV_TX, &qp->events) && spin_trylock(&tx->lock));
}

/**
 * sroce_sched_rx_end() - run the responder if it was kicked, and leave its role
 * @qp: the QP, rx.lock held; released here
 *
 * Context: Bottom halves off.  Calls the receive CQ's handler with no lock held.
 */
void sroce_sched_rx_end(struct sroce_qp *qp)
	__releases(&qp->rx.lock)
{
	struct sroce_rx *rx = &qp->rx;
	bool again, notify;

	do {
		again = false;
		if (test_and_clear_bit(SROCE_EV_RX, &qp->events) &&
		    likely(!READ_ONCE(qp->dead)))
			again = run_rx(qp);
		flush_batch(qp, qp->rcq, &rx->batch, SROCE_EV_RCQ_OVERFLOW);
		notify = rx->batch.notify;
		rx->batch.notify = false;
		spin_unlock(&rx->lock);
		if (notify)
			sroce_cq_notify(qp->rcq);
		if (again) {
			set_bit(SROCE_EV_RX, &qp->events);
			queue_bh(qp);
			return;
		}
		/*
		 * unlock before looking; pairs with the barriers in kick_rx and
		 * timer_fired
		 */
		smp_mb();
	} while (test_bit(SROCE_EV_RX, &qp->events) && spin_trylock(&rx->lock));
	/* the clock is the requester's: it arms it for both */
	if (unlikely(responder_deadline(qp) < READ_ONCE(qp->tx.timer_ns)))
		sroce_sched_kick_tx(qp);
}

/**
 * sroce_sched_kick_tx() - have the requester look for work
 * @qp: the QP
 *
 * Runs it here unless somebody is at it, interrupts are off, or the
 * administrator wants doorbells to return at once.
 *
 * Context: Any.
 */
void sroce_sched_kick_tx(struct sroce_qp *qp)
{
	set_bit(SROCE_EV_TX, &qp->events);
	/* set before trying; pairs with the barrier in tx_end */
	smp_mb__after_atomic();
	if (in_hardirq() || irqs_disabled() ||
	    !READ_ONCE(qp->dev->knobs.inline_doorbell)) {
		queue_bh(qp);
		return;
	}
	local_bh_disable();
	if (spin_trylock(&qp->tx.lock))
		sroce_sched_tx_end(qp);
	local_bh_enable();
}

/**
 * sroce_sched_kick_tx_soon() - have the requester look for work, not in the caller
 * @qp: the QP; under RCU, it may be dead
 *
 * For callers whose locks a completion handler may want: it runs in a softirq,
 * right here where that can be.
 *
 * Context: Any.
 */
void sroce_sched_kick_tx_soon(struct sroce_qp *qp)
{
	const bool here = !in_hardirq() && !irqs_disabled();

	set_bit(SROCE_EV_TX, &qp->events);
	if (here)
		local_bh_disable();
	queue_bh(qp);
	if (here)
		local_bh_enable();
}

/**
 * sroce_sched_unhold() - no request waits for more of them any longer
 * @qp: the QP, tx.lock held
 *
 * Context: Bottom halves off.
 */
void sroce_sched_unhold(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;
	bool poor;

	lockdep_assert_held(&tx->lock);
	if (!tx->batch_ns)
		return;
	tx->batch_ns = 0;
	if (tx->sq.user)
		return;
	/* the rest of a long burst may be small, but not twice in a row */
	poor = READ_ONCE(tx->sq.prod) - tx->sq.next < COMPANY;
	if (poor && tx->poor)
		WRITE_ONCE(tx->alone, ALONE);
	tx->poor = poor;
	sroce_cq_unpark(qp->scq, qp);
	if (qp->rcq != qp->scq)
		sroce_cq_unpark(qp->rcq, qp);
}

/* Have the CQs of a kernel QP tell when their user has nothing left to look at. */
static bool park(struct sroce_qp *qp)
{
	if (qp->tx.sq.user)
		return true;
	if (!sroce_cq_park(qp->scq, qp, true))
		return false;
	if (qp->rcq == qp->scq || sroce_cq_park(qp->rcq, qp, false))
		return true;
	sroce_cq_unpark(qp->scq, qp);
	return false;
}

/**
 * sroce_sched_hold() - let the clock send what was posted
 * @qp: the QP
 * @until_ns: when, at the latest
 *
 * Context: Softirqs may run.
 * Return: false when it is to be sent at once: somebody is at it anyway, or the
 *	kernel user has looked at its completions or sleeps by now.
 */
bool sroce_sched_hold(struct sroce_qp *qp, u64 until_ns)
{
	struct sroce_tx *tx = &qp->tx;
	bool held;

	local_bh_disable();
	if (!spin_trylock(&tx->lock)) {
		local_bh_enable();
		return false;
	}
	held = park(qp);
	if (held) {
		sroce_stat_inc(qp, HELD_DOORBELLS);
		if (!tx->batch_ns)
			tx->batch_ns = until_ns;
	}
	sroce_sched_tx_end(qp);
	local_bh_enable();
	return held;
}

/**
 * sroce_sched_kick_rx() - have the responder look for something to send
 * @qp: the QP
 *
 * Context: Any.
 */
void sroce_sched_kick_rx(struct sroce_qp *qp)
{
	set_bit(SROCE_EV_RX, &qp->events);
	queue_bh(qp);
}

static void bh_work(struct work_struct *work)
{
	struct sroce_qp *qp = container_of(work, struct sroce_qp, bh_work);

	if (test_bit(SROCE_EV_TX, &qp->events) && spin_trylock(&qp->tx.lock))
		sroce_sched_tx_end(qp);
	if (test_bit(SROCE_EV_RX, &qp->events) && spin_trylock(&qp->rx.lock))
		sroce_sched_rx_end(qp);
}

static void tx_work(struct work_struct *work)
{
	struct sroce_qp *qp = container_of(work, struct sroce_qp, tx_work);

	if (test_bit(SROCE_EV_TX, &qp->events) && spin_trylock(&qp->tx.lock))
		sroce_sched_tx_end(qp);
}

static void err_work(struct work_struct *work)
{
	run_err(container_of(work, struct sroce_qp, err_work.work));
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct sroce_qp *qp = container_of(timer, struct sroce_qp, timer);

	if (responder_deadline(qp) <= ktime_get_ns()) {
		set_bit(SROCE_EV_RX, &qp->events);
		/* set before trying; pairs with the barrier in rx_end */
		smp_mb__after_atomic();
		if (spin_trylock(&qp->rx.lock))
			sroce_sched_rx_end(qp);
	}
	spin_lock(&qp->tx.lock);
	WRITE_ONCE(qp->tx.timer_ns, SROCE_WINDOW_OFF);
	/* disarmed before looking; pairs with the barrier in rx_end */
	smp_mb();
	/* a deadline that moved since is no reason to end a hold */
	if (!qp->tx.batch_ns || deadline(qp) <= ktime_get_ns())
		set_bit(SROCE_EV_TX, &qp->events);
	sroce_sched_tx_end(qp);
	return HRTIMER_NORESTART;
}

/* Wait for queued bytes to drain?  False when they already have. */
static bool blocked(struct sroce_qp *qp, enum sroce_event_bit bit)
{
	u32 limit = READ_ONCE(qp->dev->knobs.inflight_bytes);

	if (sroce_net_path_queued(&qp->path) < limit)
		return false;
	set_bit(bit, &qp->events);
	/* set before looking again; pairs with the atomics of sock_wfree() */
	smp_mb__after_atomic();
	if (sroce_net_path_queued(&qp->path) > limit / 2)
		return true;
	clear_bit(bit, &qp->events);
	return false;
}

/**
 * sroce_sched_tx_blocked() - must the requester wait for the device
 * @qp: the QP, tx.lock held
 *
 * Context: Bottom halves off.
 * Return: true when it must; it is kicked when half of the queued bytes left.
 */
bool sroce_sched_tx_blocked(struct sroce_qp *qp)
{
	return blocked(qp, SROCE_EV_TX_BLOCKED);
}

/**
 * sroce_sched_rx_blocked() - must the responder wait for the device
 * @qp: the QP, rx.lock held
 *
 * Context: Bottom halves off.
 * Return: true when it must; it is kicked when half of the queued bytes left.
 */
bool sroce_sched_rx_blocked(struct sroce_qp *qp)
{
	return blocked(qp, SROCE_EV_RX_BLOCKED);
}

/**
 * sroce_sched_write_space() - queued bytes were freed (sk_write_space)
 * @sk: socket of the path
 *
 * May run under a qdisc's lock, so it never sends: it leaves that to BH work.
 *
 * Context: Any.
 */
void sroce_sched_write_space(struct sock *sk)
{
	struct sroce_qp *qp;
	bool kick = false;

	rcu_read_lock();
	qp = READ_ONCE(sk->sk_user_data);
	if (qp && sk_wmem_alloc_get(sk) <=
		  READ_ONCE(qp->dev->knobs.inflight_bytes) / 2) {
		if (test_bit(SROCE_EV_TX_BLOCKED, &qp->events) &&
		    test_and_clear_bit(SROCE_EV_TX_BLOCKED, &qp->events)) {
			set_bit(SROCE_EV_TX, &qp->events);
			kick = true;
		}
		if (test_bit(SROCE_EV_RX_BLOCKED, &qp->events) &&
		    test_and_clear_bit(SROCE_EV_RX_BLOCKED, &qp->events)) {
			set_bit(SROCE_EV_RX, &qp->events);
			kick = true;
		}
		if (kick)
			queue_bh(qp);
	}
	rcu_read_unlock();
}

/**
 * sroce_sched_qp_init() - prepare locks, clock and work items of a QP
 * @qp: the QP, not yet published
 *
 * Context: Process.
 */
void sroce_sched_qp_init(struct sroce_qp *qp)
{
	spin_lock_init(&qp->tx.lock);
	spin_lock_init(&qp->rx.lock);
	qp->tx.timer_ns = SROCE_WINDOW_OFF;
	hrtimer_setup(&qp->timer, timer_fired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	INIT_WORK(&qp->bh_work, bh_work);
	INIT_WORK(&qp->tx_work, tx_work);
	INIT_DELAYED_WORK(&qp->err_work, err_work);
}

/**
 * sroce_sched_qp_stop() - no timer or work of a QP runs any more
 * @qp: the QP; dead, unpublished
 *
 * Softirqs that had found the QP before may still queue its BH work, which does
 * nothing then; the last of them is gone after a grace period.
 *
 * Context: Process, may sleep.
 */
void sroce_sched_qp_stop(struct sroce_qp *qp)
{
	hrtimer_cancel(&qp->timer);
	cancel_work_sync(&qp->bh_work);
	cancel_work_sync(&qp->tx_work);
	cancel_delayed_work_sync(&qp->err_work);
}
