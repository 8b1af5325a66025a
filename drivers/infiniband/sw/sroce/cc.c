// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control between the controller and the packets.
 *
 * Owns the reaction point and pacer of each role, what a congestion mark and a
 * CNP do to a QP, and the CNP itself.  Runs under a role's lock with bottom
 * halves off; set up in process context.  Called by the roles, rx.c, qp code and
 * main.c.  Must not know WQEs, PSNs or timers: sched.c wakes who waits.
 */
#include "cc.h"

#include "frame.h"
#include "proto/opcode.h"
#include "proto/wire.h"
#include "qp.h"
#include "trace.h"
#include "train.h"

#include "compat.h"

#include <linux/ethtool.h>
#include <linux/ktime.h>
#include <net/inet_ecn.h>
#include <net/route.h>

#define CREATE_TRACE_POINTS
#include <trace/events/sroce.h>

/* The line where the netdev does not know (lo, tun, a link that is down). */
#define LINE_UNKNOWN_KBPS	10000000U
#define KBPS_PER_MBPS		1000U
#define LINE_MOST_MBPS		4000000U

/* CNPs of all QPs of a device: as many in a period, so an attack costs little. */
#define CNP_CAP			1000
#define CNP_CAP_NS		1000000ULL

/* Answers change paths no sooner than this behind data, or another change, ns. */
#define FOLLOW_NS		1000000ULL

/* A CNP is about data sent no longer ago, ns: queues and slow paths are long. */
#define RECENT_NS		100000000ULL

/**
 * sroce_cc_dev_init() - set up congestion control of a device
 * @dev: the device, not yet registered
 *
 * The knobs follow from the speed the netdev has now.
 *
 * Context: Process, rtnl held.
 */
void sroce_cc_dev_init(struct sroce_dev *dev)
{
	struct ethtool_link_ksettings link = {};
	u32 kbps = LINE_UNKNOWN_KBPS;
	u32 i;

	if (!__ethtool_get_link_ksettings(dev->ndev, &link) &&
	    link.base.speed && link.base.speed <= LINE_MOST_MBPS)
		kbps = link.base.speed * KBPS_PER_MBPS;
	sroce_dcqcn_param_defaults(&dev->cc.param, kbps);
	for (i = 0; i < SROCE_DCQCN_KNOBS; i++)
		dev->cc.ids[i] = i;
	spin_lock_init(&dev->cc.cap_lock);
	dev->cc.enable = true;
}

/**
 * sroce_cc_qp_init() - set up congestion control of a QP
 * @qp: the QP, not yet published
 *
 * Context: Process.
 */
void sroce_cc_qp_init(struct sroce_qp *qp)
{
	spin_lock_init(&qp->np_lock);
	sroce_cc_start(qp, &qp->tx.cc);
	sroce_cc_start(qp, &qp->rx.cc);
}

/**
 * sroce_cc_start() - a role begins a new connection, not throttled
 * @qp: the QP
 * @cc: that role's part; its lock is held, or nobody else has the QP yet
 *
 * Context: Any.
 */
void sroce_cc_start(struct sroce_qp *qp, struct sroce_cc *cc)
{
	sroce_dcqcn_init(&cc->rp, &qp->dev->cc.param, ktime_get_ns());
	sroce_pacer_init(&cc->pacer);
	WRITE_ONCE(cc->pace_ns, 0);
	WRITE_ONCE(cc->sent_ns, 0);
	cc->limit_kbps = 0;
	cc->told = false;
	cc->peer_sport = 0;
	cc->rehash = (struct sroce_rehash){};
}

/* Give the pacer the lower of the controller's and the user's rate. */
static void apply_rate(struct sroce_qp *qp, struct sroce_cc *cc, u64 now_ns)
{
	sroce_pacer_set_rate(&cc->pacer,
			     sroce_dcqcn_pacing_rate(&cc->rp, cc->limit_kbps),
			     qp->pmtu + SROCE_MAX_OVERHEAD, now_ns);
}

/**
 * sroce_cc_limit() - the user limits the rate of requests (IB_QP_RATE_LIMIT)
 * @qp: the QP, tx.lock held
 * @limit_kbps: bits on the link per ms, Ethernet's overhead included; 0: none
 *
 * Context: Bottom halves off.
 */
void sroce_cc_limit(struct sroce_qp *qp, u32 limit_kbps)
{
	lockdep_assert_held(&qp->tx.lock);
	qp->tx.cc.limit_kbps = limit_kbps;
	apply_rate(qp, &qp->tx.cc, ktime_get_ns());
}

/**
 * sroce_cc_budget() - how much a role may send now
 * @cc: that role's part, role lock held
 * @now_ns: present time, ns
 *
 * Context: Bottom halves off.
 * Return: bytes for the next train; 0 when there is nothing before pace_ns.
 */
u32 sroce_cc_budget(struct sroce_cc *cc, u64 now_ns)
{
	u32 bytes;

	if (unlikely(cc->pace_ns))
		WRITE_ONCE(cc->pace_ns, 0);
	if (likely(!cc->pacer.rate_bytes_per_s))
		return SROCE_TRAIN_BYTES;
	bytes = sroce_pacer_budget_bytes(&cc->pacer, now_ns);
	if (!bytes)
		WRITE_ONCE(cc->pace_ns, sroce_pacer_ready_ns(&cc->pacer));
	return min_t(u32, bytes, SROCE_TRAIN_BYTES);
}

/**
 * sroce_cc_sent() - a role sent data
 * @qp: the QP
 * @cc: that role's part, role lock held
 * @bytes: what it took of the link
 * @now_ns: present time, ns
 *
 * Context: Bottom halves off.
 */
void sroce_cc_sent(struct sroce_qp *qp, struct sroce_cc *cc, u32 bytes,
		   u64 now_ns)
{
	const struct sroce_cc_dev *ccd = &qp->dev->cc;
	u64 before;

	WRITE_ONCE(cc->sent_ns, now_ns);
	if (likely(!cc->rp.active && !cc->pacer.rate_bytes_per_s))
		return;
	if (unlikely(!READ_ONCE(ccd->enable)) && cc->rp.active)
		sroce_dcqcn_init(&cc->rp, &ccd->param, now_ns);
	before = sroce_dcqcn_rate(&cc->rp);
	if (sroce_dcqcn_on_sent(&cc->rp, &ccd->param, bytes, now_ns) != before)
		trace_sroce_cc_rate(qp, &cc->rp, before);
	apply_rate(qp, cc, now_ns);
	sroce_pacer_charge(&cc->pacer, bytes, now_ns);
}

/* --- reaction point -------------------------------------------------------- */

static bool recent(const struct sroce_cc *cc, u64 now_ns)
{
	u64 sent_ns = READ_ONCE(cc->sent_ns);

	return sent_ns && sent_ns + RECENT_NS > now_ns;
}

/**
 * sroce_cc_reads_sent() - may a CNP be about READ responses
 * @qp: the QP
 * @now_ns: time of arrival
 *
 * A CNP names the QP and not what was marked.
 *
 * Context: Any.
 * Return: true when the responder sent data lately.
 */
bool sroce_cc_reads_sent(const struct sroce_qp *qp, u64 now_ns)
{
	return recent(&qp->rx.cc, now_ns);
}

/* CA17-45: what is sent from here on is sent more slowly */
static void slow_down(struct sroce_qp *qp, struct sroce_cc *cc, u64 now_ns)
{
	u64 before = sroce_dcqcn_rate(&cc->rp);

	if (sroce_dcqcn_on_cnp(&cc->rp, &qp->dev->cc.param, now_ns) != before)
		trace_sroce_cc_rate(qp, &cc->rp, before);
	apply_rate(qp, cc, now_ns);
}

/**
 * sroce_cc_cnp_tx() - a CNP came: slow the requester down
 * @qp: the QP, tx.lock held
 * @now_ns: time of arrival
 *
 * Context: Softirq.
 * Return: false when it is ignored: congestion control is off, the QP is for
 *	management or cannot send, or all it sent lately were READ responses.
 */
bool sroce_cc_cnp_tx(struct sroce_qp *qp, u64 now_ns)
{
	lockdep_assert_held(&qp->tx.lock);
	trace_sroce_cnp_received(qp);
	if (!READ_ONCE(qp->dev->cc.enable) || sroce_qp_is_gsi(qp) ||
	    !sroce_qpstate_can_responses(qp->tx.state))
		return false;
	/* anybody can say so to a UD QP; one that does not send is not to blame */
	if ((qp->type == SROCE_QPT_UD || recent(&qp->rx.cc, now_ns)) &&
	    !recent(&qp->tx.cc, now_ns))
		return false;
	qp->tx.cc.told = true;
	slow_down(qp, &qp->tx.cc, now_ns);
	sroce_rehash_congested(&qp->tx.cc.rehash, now_ns);
	return true;
}

/**
 * sroce_cc_loss() - requests were lost on their way
 * @qp: the QP, tx.lock held
 * @now_ns: present time, ns
 *
 * Stands in for a CNP where the administrator wants that and the peer, as
 * rdma_rxe does, sends none.
 *
 * Context: Bottom halves off.
 */
void sroce_cc_loss(struct sroce_qp *qp, u64 now_ns)
{
	const struct sroce_cc_dev *ccd = &qp->dev->cc;

	lockdep_assert_held(&qp->tx.lock);
	if (likely(!READ_ONCE(ccd->param.loss_is_mark)) ||
	    !READ_ONCE(ccd->enable) || qp->tx.cc.told)
		return;
	sroce_stat_inc(qp, RP_LOSS_HANDLED);
	slow_down(qp, &qp->tx.cc, now_ns);
	sroce_rehash_congested(&qp->tx.cc.rehash, now_ns);
}

/**
 * sroce_cc_cnp_rx() - a CNP came: slow READ responses down
 * @qp: the QP, rx.lock held; its responder sent data lately
 * @now_ns: time of arrival
 *
 * Context: Softirq.
 * Return: false when it is ignored.
 */
bool sroce_cc_cnp_rx(struct sroce_qp *qp, u64 now_ns)
{
	lockdep_assert_held(&qp->rx.lock);
	if (!READ_ONCE(qp->dev->cc.enable) ||
	    !sroce_qpstate_can_requests(qp->rx.state))
		return false;
	slow_down(qp, &qp->rx.cc, now_ns);
	return true;
}

/* --- another path ---------------------------------------------------------- */

/* A user who gave a flow label has chosen the port; RoCEv1 has none. */
static bool may_move(const struct sroce_qp *qp)
{
	return READ_ONCE(qp->dev->cc.enable) && !qp->path.av.flow_label &&
	       qp->path.av.l3 != SROCE_L3_GRH;
}

static void move(struct sroce_qp *qp, enum sroce_mover who)
{
	const struct sroce_cc *cc = who == SROCE_REQUESTS ? &qp->tx.cc :
							    &qp->rx.cc;
	u16 sport = sroce_rehash_port(&cc->rehash, qp->qpn, qp->dqpn);

	if (!sroce_net_path_move(&qp->path, who, sport))
		return;
	if (who == SROCE_REQUESTS)
		sroce_stat_inc(qp, RP_REHASH);
	trace_sroce_cc_rehash(qp, who == SROCE_ANSWERS, sport);
}

/* Has all that the requester sent arrived, as far as can be known? */
static bool requests_arrived(const struct sroce_qp *qp, u64 now_ns)
{
	u64 quiet_ns = READ_ONCE(qp->dev->cc.param.rehash_drain_us) *
		       NSEC_PER_USEC;

	/* what is queued still are repetitions: duplicates, whenever they come */
	if (qp->type == SROCE_QPT_RC)
		return !sroce_window_has_unacked(&qp->tx.window);
	return qp->tx.cc.sent_ns + quiet_ns <= now_ns &&
	       !sroce_net_path_queued(&qp->path);
}

/*
 * Would the window be empty soon if nothing more was sent, and nobody be
 * disturbed?  The last packet must have asked for an ACK, and the answer to a
 * READ may take any time.
 */
static bool pause_helps(const struct sroce_qp *qp)
{
	const struct sroce_tx *tx = &qp->tx;

	return qp->type == SROCE_QPT_RC && !tx->since_ackreq && !tx->rd_out &&
	       !tx->hold_ns && !tx->probe &&
	       sroce_rehash_is_small(&qp->dev->cc.param,
				     sroce_dcqcn_rate(&tx->cc.rp)) &&
	       !sroce_window_resending(&tx->window);
}

/**
 * sroce_cc_pick_path() - let requests take another path when that is due
 * @qp: the QP, RC or UC; tx.lock held
 * @now_ns: present time, ns
 *
 * Between two requests, or two packets of one.  A pause for that is a hold of
 * the requester, and ends with the ACK that makes the window empty.
 *
 * Context: Bottom halves off.
 */
void sroce_cc_pick_path(struct sroce_qp *qp, u64 now_ns)
{
	struct sroce_rehash *r = &qp->tx.cc.rehash;
	struct sroce_tx *tx = &qp->tx;
	const bool paused = r->pause_ns;

	lockdep_assert_held(&qp->tx.lock);
	if (likely(!r->rounds))
		return;
	/* the congestion is over, and so is what is thought about it */
	if (!tx->cc.rp.active || !may_move(qp))
		*r = (struct sroce_rehash){ .draws = r->draws };
	/* a loss ends the pause: what is missing must be sent */
	if (paused && sroce_window_resending(&tx->window))
		r->pause_ns = 0;
	if (r->rounds) {
		switch (sroce_rehash_step(r, &qp->dev->cc.param,
					  requests_arrived(qp, now_ns),
					  pause_helps(qp), now_ns)) {
		case SROCE_REHASH_MOVE:
			move(qp, SROCE_REQUESTS);
			break;
		case SROCE_REHASH_WAIT:
			tx->hold_ns = r->pause_ns;
			return;
		case SROCE_REHASH_STAY:
			break;
		}
	}
	if (paused)
		tx->hold_ns = 0;
}

/**
 * sroce_cc_timeout() - the peer was not heard of for an ACK timeout
 * @qp: the QP, tx.lock held
 *
 * The second in a row: perhaps the path is dead, and another one is not.
 *
 * Context: Bottom halves off.
 */
void sroce_cc_timeout(struct sroce_qp *qp)
{
	struct sroce_tx *tx = &qp->tx;

	lockdep_assert_held(&qp->tx.lock);
	if (tx->cc.rehash.pause_ns)
		tx->hold_ns = 0;
	if (sroce_rehash_lost(&tx->cc.rehash, &qp->dev->cc.param,
			      tx->window.backoff) && may_move(qp))
		move(qp, SROCE_REQUESTS);
}

/* Could the peer miss an answer that another one overtakes? */
static bool answers_under_way(const struct sroce_qp *qp, u64 now_ns)
{
	const struct sroce_rx *rx = &qp->rx;

	/* an ACK stands for all before it */
	return rx->fifo_head != rx->fifo_tail ||
	       (rx->cc.sent_ns && rx->cc.sent_ns + FOLLOW_NS > now_ns);
}

/**
 * sroce_cc_follow() - the peer's requests come from another source port
 * @qp: the QP, RC; rx.lock held
 * @sport: the port
 *
 * It had a reason to change paths, so the answers do, too: each end knows only
 * of the congestion that its own data meets, and a path that lost everything may
 * have been that of the ACKs.  Peers that change ports all the time are followed
 * at times.
 *
 * Context: Softirq.
 */
void sroce_cc_follow(struct sroce_qp *qp, u16 sport)
{
	const bool off = !READ_ONCE(qp->dev->cc.param.rehash_rounds);
	struct sroce_cc *cc = &qp->rx.cc;
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&qp->rx.lock);
	if (!cc->peer_sport || off || !may_move(qp)) {
		cc->peer_sport = sport;
		return;
	}
	/* asked again with the next request */
	if (cc->rehash.round_ns + FOLLOW_NS > now_ns ||
	    answers_under_way(qp, now_ns))
		return;
	cc->peer_sport = sport;
	cc->rehash.round_ns = now_ns;
	cc->rehash.draws++;
	move(qp, SROCE_ANSWERS);
}

/* --- notification point ---------------------------------------------------- */

static bool cnp_due(struct sroce_qp *qp, u64 now_ns)
{
	u32 interval_us = READ_ONCE(qp->dev->cc.param.cnp_interval_us);
	bool due;

	spin_lock(&qp->np_lock);
	due = sroce_dcqcn_np_mark(&qp->np, interval_us * NSEC_PER_USEC, now_ns);
	spin_unlock(&qp->np_lock);
	return due;
}

static bool below_cap(struct sroce_cc_dev *ccd, u64 now_ns)
{
	bool below;

	spin_lock(&ccd->cap_lock);
	if (now_ns - ccd->cap_ns >= CNP_CAP_NS) {
		ccd->cap_ns = now_ns;
		ccd->cap_n = 0;
	}
	below = ccd->cap_n < CNP_CAP;
	ccd->cap_n += below;
	spin_unlock(&ccd->cap_lock);
	return below;
}

/**
 * sroce_cc_mark_due() - a packet came with a congestion mark: answer it?
 * @qp: the QP
 * @may: there is somebody to answer; else the packet is only counted
 * @now_ns: time of arrival
 *
 * Context: Softirq.
 * Return: true when sroce_cc_send_cnp() is to be called.
 */
bool sroce_cc_mark_due(struct sroce_qp *qp, bool may, u64 now_ns)
{
	sroce_stat_inc(qp, NP_ECN_MARKED);
	/* what is not answered uses up no interval, and nothing of the cap */
	return READ_ONCE(qp->dev->cc.enable) && may && cnp_due(qp, now_ns) &&
	       below_cap(&qp->dev->cc, now_ns);
}

/**
 * sroce_cc_send_cnp() - tell who sent a marked packet
 * @qp: the QP that received it
 * @path: back to the sender
 * @dqpn: the QP that sent it
 * @pkey: its P_Key
 *
 * IBA A17.9.3: the marked packet's P_Key, the sender's QP, 16 zero bytes.
 *
 * Context: Softirq.
 */
void sroce_cc_send_cnp(struct sroce_qp *qp, struct sroce_path *path, u32 dqpn,
		       u16 pkey)
{
	const struct sroce_dcqcn_param *p = &qp->dev->cc.param;
	struct sroce_hdr h = {
		.opcode = SROCE_OPCODE_CNP,
		.becn = true,
		.pkey = pkey,
		.dqpn = dqpn,
	};
	struct sroce_src src = {};
	struct sroce_train train;

	sroce_train_init(&train, path);
	train.tos = READ_ONCE(p->cnp_dscp) << 2 | INET_ECN_ECT_0;
	train.priority = READ_ONCE(p->cnp_prio_mode) ?
			 rt_tos2priority(train.tos) : READ_ONCE(p->cnp_prio);
	if (sroce_frame_add(&train, &h,
			    sroce_opcode_info(h.opcode)->hdr_bytes, &src, 0)) {
		sroce_drop(qp, SEND_ERR);
		sroce_train_send(&train);	/* its route */
		return;
	}
	sroce_stat_inc(qp, NP_CNP_SENT);
	trace_sroce_cnp_sent(qp);
	sroce_train_send(&train);
}

/**
 * sroce_cc_marked() - a valid packet of a connection came with a congestion mark
 * @qp: the QP; the lock of the role the packet is for is held
 * @h: its headers; not a CNP
 * @responder: that role is the responder
 * @now_ns: time of arrival
 *
 * The CNP is sent at once, past pacer and window (CA17-44).
 *
 * Context: Softirq.
 */
void sroce_cc_marked(struct sroce_qp *qp, const struct sroce_hdr *h,
		     bool responder, u64 now_ns)
{
	/* what the role lock protects of the path, its state says */
	bool connected = responder ? sroce_qpstate_can_requests(qp->rx.state) :
				     sroce_qpstate_can_responses(qp->tx.state);

	if (sroce_cc_mark_due(qp, connected, now_ns))
		sroce_cc_send_cnp(qp, &qp->path, qp->dqpn, h->pkey);
}
