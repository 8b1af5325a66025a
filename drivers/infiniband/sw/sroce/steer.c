// SPDX-License-Identifier: GPL-2.0
/*
 * Receive steering: trains that this CPU has sent are received on another one.
 *
 * Owns the gates, queues by QP number of what waits to be received elsewhere, and
 * the work items that empty them.  Sits between net.c, which hands it every
 * packet, and rx.c; runs in softirq on both sides, wired by main.c.  Must not
 * know what a frame contains behind its BTH.
 *
 * A packet to an address of this host (veth, lo, and what is built of them) is
 * received in softirq by the CPU that has sent it, so one CPU copies and checks
 * every byte twice while others idle.  Packets of a NIC, or which RPS has handed
 * over, come from memory of others and are never touched here.
 *
 * All packets of a QP that come while its gate holds something go behind that, so
 * their order stays what it was.
 */
#include "steer.h"

#include "engine.h"
#include "net.h"
#include "proto/hdr.h"
#include "proto/wire.h"
#include "proto/opcode.h"
#include "qp.h"
#include "rx.h"
#include "trace.h"
#include "train.h"

#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/netfilter.h>
#include <linux/sched/isolation.h>
#include <linux/skbuff.h>
#include <linux/topology.h>
#include <linux/udp.h>
#include <linux/workqueue.h>
#include <net/dst.h>

/* A CPU with this much to receive, in bytes of memory, gets no new gate. */
#define STEER_BUSY_BYTES	(256 * 1024)

/* Nor does one that sent big trains so short a time ago, ns. */
#define STEER_FREE_NS	(10 * NSEC_PER_MSEC)

/* And with this much nothing at all: as in a full backlog, it is lost. */
#define STEER_MOST_BYTES	(32 * 1024 * 1024)

/* Trains received here after which a path counts as one that is. */
#define AWAY_MEMORY	32

/* Skbs a gate delivers before others have their turn. */
#define STEER_BURST	4

#define GATE_BITS	8
#define GATES		BIT(GATE_BITS)

/**
 * struct gate - what is steered for the QPs of one hash value
 * @lock: protects @queue, @in and @cpu
 * @queue: packets, in order
 * @in: packets ever queued
 * @out: packets ever delivered; written by @work only
 * @cpu: where @work runs, as long as @in and @out differ
 * @work: delivers; never runs twice at a time, which keeps the order
 */
struct gate {
	spinlock_t lock;	/* innermost but for the workqueue's own */
	struct sk_buff_head queue;
	u32 in;
	u32 out;
	int cpu;
	struct work_struct work;
} ____cacheline_aligned_in_smp;

/**
 * struct steer_cb - what a queued skb remembers
 * @net: namespace it arrived in
 * @bytes: what it counts for in @cpu's load
 * @cpu: whose load that is
 * @tracker: of the reference to its netdev
 */
struct steer_cb {
	struct net *net;
	u32 bytes;
	int cpu;
	netdevice_tracker tracker;
};

static_assert(sizeof(struct steer_cb) <= sizeof_field(struct sk_buff, cb));

static struct gate gates[GATES];
static bool used;	/* a gate ever was: looked at also with one CPU left */
static DEFINE_PER_CPU(atomic_t, load);	/* bytes waiting for a CPU */
static DEFINE_PER_CPU(u64, sent_ns);	/* when it last received a train it sent */

static struct steer_cb *steer_cb(struct sk_buff *skb)
{
	return (struct steer_cb *)skb->cb;
}

static bool gate_busy(const struct gate *gate)
{
	/* what was delivered is seen by who goes on here; pairs with gate_run() */
	return READ_ONCE(gate->in) != smp_load_acquire(&gate->out);
}

/* --- delivering ------------------------------------------------------------ */

static void deliver(struct sk_buff *skb)
{
	struct steer_cb *cb = steer_cb(skb);

	atomic_sub(cb->bytes, per_cpu_ptr(&load, cb->cpu));
	sroce_sched_guest(true);
	sroce_rx_skb(cb->net, skb);
	sroce_sched_guest(false);
	netdev_put(skb->dev, &cb->tracker);
	consume_skb(skb);
}

static struct sk_buff *gate_take(struct gate *gate)
{
	struct sk_buff *skb;

	spin_lock(&gate->lock);
	skb = __skb_dequeue(&gate->queue);
	spin_unlock(&gate->lock);
	return skb;
}

static void gate_run(struct work_struct *work)
{
	struct gate *gate = container_of(work, struct gate, work);
	struct sk_buff *skb;
	u32 n;

	for (n = 0; n < STEER_BURST; n++) {
		skb = gate_take(gate);
		if (!skb)
			return;
		deliver(skb);
		/* pairs with gate_busy() */
		smp_store_release(&gate->out, gate->out + 1);
	}
	queue_work_on(smp_processor_id(), system_bh_wq, work);
}

/* --- steering -------------------------------------------------------------- */

/* BTH of the first frame, or NULL; the others of a train are for the same QP. */
static const struct sroce_bth *skb_bth(const struct sk_buff *skb)
{
	const u8 *bth = skb_transport_header(skb) + sizeof(struct udphdr);
	const u8 *end = skb->data + skb_headlen(skb);

	if (bth + sizeof(struct sroce_bth) > end)
		return NULL;
	return (const struct sroce_bth *)bth;
}

static bool is_response(const struct sroce_bth *bth)
{
	const struct sroce_opcode_info *info = sroce_opcode_info(bth->opcode);

	return info && info->flags & SROCE_OPF_RESP;
}

/* A CPU that sends big trains itself has no time to spare. */
static bool is_free(int cpu, u64 now_ns)
{
	s64 gap_ns = now_ns - READ_ONCE(per_cpu(sent_ns, cpu));

	/* its stamp may be the later one */
	return gap_ns > (s64)STEER_FREE_NS &&
	       atomic_read(per_cpu_ptr(&load, cpu)) <= STEER_BUSY_BYTES;
}

static bool fits(int cpu, int self, u64 now_ns)
{
	return cpu != self && cpu_online(cpu) &&
	       housekeeping_cpu(cpu, HK_TYPE_DOMAIN) && is_free(cpu, now_ns);
}

/*
 * A CPU to receive on, -1 for none: the one @gate had last, else near this one if
 * there is any; gates spread over them.  None goes offline while bottom halves are
 * off here.
 */
static int away_cpu(const struct gate *gate, int self)
{
	u32 start = (gate - gates) % nr_cpu_ids;
	u64 now_ns = this_cpu_read(sent_ns);
	int cpu = gate->cpu;

	if (cpu >= 0 && fits(cpu, self, now_ns))
		return cpu;
	for_each_cpu_wrap(cpu, cpumask_of_node(numa_node_id()), start)
		if (fits(cpu, self, now_ns))
			return cpu;
	for_each_cpu_wrap(cpu, cpu_online_mask, start)
		if (fits(cpu, self, now_ns))
			return cpu;
	return -1;
}

/*
 * Where an answer goes to a requester whose trains are received elsewhere: to the
 * CPU that sends them.  On this one the requester would wait for the other's lock.
 */
static int home_cpu(const struct sroce_qp *qp, int self)
{
	int cpu = READ_ONCE(qp->tx.cpu);

	return cpu != self && cpu_online(cpu) ? cpu : -1;
}

/* The other end, of this host too, as it sent what has just arrived; or NULL. */
static struct sroce_qp *find_peer(const struct sroce_qp *qp)
{
	struct sroce_qp *peer = sroce_rx_find(READ_ONCE(qp->dqpn));

	return peer && READ_ONCE(peer->dqpn) == qp->qpn ? peer : NULL;
}

/* Let the sender of a big train know whether it is received elsewhere. */
static void tell(struct sroce_path *path, bool away)
{
	u8 memory = READ_ONCE(path->away);

	if (away && memory != AWAY_MEMORY)
		WRITE_ONCE(path->away, AWAY_MEMORY);
	else if (!away && memory)
		WRITE_ONCE(path->away, memory - 1);
}

/* Where @skb goes when its gate is empty; -1: nowhere. */
static int aim(const struct gate *gate, const struct sroce_qp *qp,
	       const struct sk_buff *skb, const struct sroce_bth *bth, bool own)
{
	bool response = is_response(bth);
	int self = smp_processor_id();
	struct sroce_qp *peer;
	int cpu = -1;

	if (!own || qp->type != SROCE_QPT_RC || !READ_ONCE(qp->dev->knobs.steer))
		return -1;
	if (response && READ_ONCE(qp->path.away))
		return home_cpu(qp, self);
	if (skb->len < SROCE_TRAIN_BULK)
		return -1;
	peer = find_peer(qp);
	if (!peer)
		return -1;
	if (READ_ONCE((response ? qp : peer)->tx.deep))
		cpu = away_cpu(gate, self);
	tell(&peer->path, cpu >= 0);
	return cpu;
}

static void gate_add(struct gate *gate, struct net *net, struct sk_buff *skb)
{
	struct steer_cb *cb = steer_cb(skb);

	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	cb->net = net;
	cb->bytes = skb->truesize;
	cb->cpu = gate->cpu;
	netdev_hold(skb->dev, &cb->tracker, GFP_ATOMIC);
	atomic_add(cb->bytes, per_cpu_ptr(&load, cb->cpu));
	__skb_queue_tail(&gate->queue, skb);
	WRITE_ONCE(gate->in, gate->in + 1);
}

/* True: the skb was consumed. */
static bool steer(struct gate *gate, struct sroce_qp *qp, struct net *net,
		  struct sk_buff *skb, const struct sroce_bth *bth)
{
	bool own = sroce_train_is_own(skb);
	bool busy, lost = false;
	int cpu;

	if (own && skb->len >= SROCE_TRAIN_BULK)
		this_cpu_write(sent_ns, ktime_get_ns());
	spin_lock(&gate->lock);
	busy = gate_busy(gate);
	if (busy)
		lost = atomic_read(per_cpu_ptr(&load, gate->cpu)) >
		       STEER_MOST_BYTES;
	cpu = busy ? gate->cpu : aim(gate, qp, skb, bth, own);
	if (cpu >= 0 && !lost) {
		gate->cpu = cpu;
		gate_add(gate, net, skb);
		if (!READ_ONCE(used))
			WRITE_ONCE(used, true);
		if (!busy)
			queue_work_on(cpu, system_bh_wq, &gate->work);
	}
	spin_unlock(&gate->lock);
	if (cpu < 0)
		return false;
	if (unlikely(lost)) {
		sroce_drop(qp, DROP_STEER);
		kfree_skb(skb);
	} else {
		sroce_stat_inc(qp, RCVD_STEERED);
	}
	return true;
}

/* Is it worth while to take the lock of the gate? */
static bool is_candidate(const struct gate *gate, const struct sroce_qp *qp,
			 const struct sk_buff *skb)
{
	return gate_busy(gate) || skb->len >= SROCE_TRAIN_BULK ||
	       READ_ONCE(qp->path.away);
}

/*
 * Only what has a QP is queued: a device waits for those who have found one, and
 * then for the gates, so nothing of it is queued behind that.
 */
static bool steer_skb(struct net *net, struct sk_buff *skb)
{
	const struct sroce_bth *bth = skb_bth(skb);
	struct sroce_qp *qp;
	struct gate *gate;
	bool done;
	u32 qpn;

	if (!bth)
		return false;
	qpn = sroce_hdr_dqpn(bth);
	gate = &gates[hash_32(qpn, GATE_BITS)];
	rcu_read_lock();
	qp = sroce_rx_find(qpn);
	done = qp && qp->dev->ns == net && is_candidate(gate, qp, skb) &&
	       steer(gate, qp, net, skb, bth);
	rcu_read_unlock();
	return done;
}

/**
 * sroce_steer_skb() - take in a packet or a train, here or on another CPU
 * @net: namespace it arrived in
 * @skb: as sroce_rx_skb() wants it; consumed
 *
 * Context: Softirq or bottom halves off.
 */
void sroce_steer_skb(struct net *net, struct sk_buff *skb)
{
	if ((num_online_cpus() > 1 || READ_ONCE(used)) && steer_skb(net, skb))
		return;
	sroce_rx_skb(net, skb);
	consume_skb(skb);
}

/* --- module and devices ---------------------------------------------------- */

/**
 * sroce_steer_flush() - wait until all that is queued has been delivered
 *
 * What comes meanwhile is not waited for.
 *
 * Context: Process, may sleep.
 */
void sroce_steer_flush(void)
{
	struct gate *gate;
	u32 in;

	for (gate = gates; gate < gates + GATES; gate++) {
		in = READ_ONCE(gate->in);
		/* pairs with gate_run(): delivered means done with the device */
		while ((s32)(smp_load_acquire(&gate->out) - in) < 0)
			flush_work(&gate->work);
	}
}

/**
 * sroce_steer_init() - module start
 *
 * Context: Process.
 */
void sroce_steer_init(void)
{
	struct gate *gate;

	for (gate = gates; gate < gates + GATES; gate++) {
		spin_lock_init(&gate->lock);
		__skb_queue_head_init(&gate->queue);
		gate->cpu = -1;
		INIT_WORK(&gate->work, gate_run);
	}
}

/**
 * sroce_steer_exit() - module end; nothing arrives any more
 *
 * Context: Process, may sleep.
 */
void sroce_steer_exit(void)
{
	u32 i;

	sroce_steer_flush();
	for (i = 0; i < GATES; i++)
		cancel_work_sync(&gates[i].work);
}
