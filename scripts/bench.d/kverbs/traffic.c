// SPDX-License-Identifier: GPL-2.0
/*
 * The traffic of the benchmark without user space: RC queue pairs between two
 * RDMA devices, driven through the kernel's verbs as an NVMe or SMB host does.
 *
 * What it costs is the driver's and the network stack's alone. In User-Mode
 * Linux, where entering the kernel costs more than a message, that is the one
 * way to see it.
 *
 * Writing "DEVICE DEVICE KEY=VALUE..." to debugfs kverbs/run measures:
 *   op=write|read|send|read_inv  size=BYTES  mtu=BYTES  qps=N  list=N (WRs per doorbell)
 *   signal=N (one completion per N WRs)  depth=N  warm=MS  ms=MS  held=N (held.h)
 * Reading it gives "MESSAGES NS BUSY_NS ALL_MESSAGES" of the last run: messages
 * completed in the measured time, that time, and the processor time in it.
 *
 * Memory is registered with REG_MR at both ends, so every access goes by pages,
 * as with a process's memory; with read_inv, whose end must take the key away,
 * anew for each message, one at a time. The data are compared behind the run. All
 * runs in the writer's context, one at a time; it sleeps for completions. Must not
 * know which driver it measures. Not part of the driver.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "busy.h"
#include "held.h"

#define QPS_MAX		64
#define LIST_MAX	64
#define WC_MAX		64
#define WAIT		(5 * HZ)
#define ACCESS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ)

/* A device that ib_core has told us of. */
struct known {
	struct list_head node;
	struct ib_device *ib;
};

struct spec {
	enum ib_wr_opcode op;
	u32 size, mtu, qps, list, signal, depth, warm, ms, held;
};

struct end {
	struct ib_device *ib;
	struct ib_pd *pd;
	struct ib_cq *scq, *rcq;
	union ib_gid gid;
	u32 gid_index;
	u8 mac[ETH_ALEN];
};

/* A connection: the first end sends or asks, the second one is the target. */
struct conn {
	struct ib_qp *qp[2];
	struct ib_mr *mr[2];
	struct scatterlist sg[2];
	u8 *buf[2];
	u32 out;	/* WRs posted and not known to be done */
	u32 unsignaled;	/* since the last that gives a completion */
};

static LIST_HEAD(devices);
static DEFINE_MUTEX(run_lock);	/* one run at a time; devices do not go in it */
static struct dentry *debugfs_dir;
static char result[96];

static struct spec spec;
static struct end ends[2];
static struct conn *conns;
static struct completion woken;
static struct ib_wc wc[WC_MAX];
static u64 done;

/* ---- memory ---- */

static int buf_open(struct conn *c, int i, u8 seed)
{
	struct end *e = &ends[i];
	u32 b, n;

	c->buf[i] = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
					   get_order(spec.size));
	if (!c->buf[i])
		return -ENOMEM;
	for (b = 0; b < spec.size; b++)
		c->buf[i][b] = (b * 31) ^ (b >> 8) ^ seed;
	n = DIV_ROUND_UP(spec.size, PAGE_SIZE);
	c->mr[i] = ib_alloc_mr(e->pd, IB_MR_TYPE_MEM_REG, n);
	if (IS_ERR(c->mr[i])) {
		n = PTR_ERR(c->mr[i]);
		c->mr[i] = NULL;
		return n;
	}
	sg_init_one(&c->sg[i], c->buf[i], spec.size);
	if (ib_dma_map_sg(e->ib, &c->sg[i], 1, DMA_BIDIRECTIONAL) != 1)
		return -ENOMEM;
	return ib_map_mr_sg(c->mr[i], &c->sg[i], 1, NULL, PAGE_SIZE) == 1 ?
	       0 : -EINVAL;
}

static void buf_close(struct conn *c, int i)
{
	if (c->mr[i])
		ib_dereg_mr(c->mr[i]);
	if (c->buf[i])
		free_pages((unsigned long)c->buf[i], get_order(spec.size));
}

/* ---- completions ---- */

static void cq_event(struct ib_cq *cq, void *context)
{
	complete(&woken);
}

/* At least one completion, or an error: nothing came for long. */
static int reap(struct ib_cq *cq)
{
	int n, i;

	for (;;) {
		n = ib_poll_cq(cq, WC_MAX, wc);
		if (n)
			break;
		reinit_completion(&woken);
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
		n = ib_poll_cq(cq, WC_MAX, wc);
		if (n)
			break;
		if (!wait_for_completion_timeout(&woken, WAIT))
			return -ETIMEDOUT;
	}
	for (i = 0; i < n; i++) {
		if (wc[i].status) {
			pr_err("kverbs: completion: %s\n",
			       ib_wc_status_msg(wc[i].status));
			return -EIO;
		}
	}
	return n;
}

/* Make a region's key work; what it covers was mapped before. */
static int reg(struct conn *c, int i)
{
	const struct ib_send_wr *bad;
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .wr.send_flags = IB_SEND_SIGNALED,
		.mr = c->mr[i], .key = c->mr[i]->rkey, .access = ACCESS,
	};
	int err;

	err = ib_post_send(c->qp[i], &wr.wr, &bad);
	if (err)
		return err;
	err = reap(ends[i].scq);
	return err == 1 ? 0 : err < 0 ? err : -EPROTO;
}

/* ---- queue pairs ---- */

static int qp_open(struct conn *c, int i)
{
	struct end *e = &ends[i];
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = e->scq, .recv_cq = e->rcq,
		.cap.max_send_wr = spec.depth,
		.cap.max_recv_wr = 2 * spec.depth,
		.cap.max_send_sge = 1, .cap.max_recv_sge = 1,
	};
	struct ib_qp *qp = ib_create_qp(e->pd, &init);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	c->qp[i] = qp;
	return 0;
}

static void qp_path(struct ib_qp_attr *a, const struct end *e,
		    const struct end *peer)
{
	rdma_ah_set_port_num(&a->ah_attr, 1);
	a->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(&a->ah_attr, (union ib_gid *)&peer->gid, 0, e->gid_index,
			64, 0);
	ether_addr_copy(a->ah_attr.roce.dmac, peer->mac);
}

static int qp_connect(struct conn *c, int i)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_INIT, .port_num = 1,
		.qp_access_flags = ACCESS,
	};
	int err;

	err = ib_modify_qp(c->qp[i], &a, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	a = (struct ib_qp_attr) {
		.qp_state = IB_QPS_RTR,
		.path_mtu = ib_mtu_int_to_enum(spec.mtu),
		.dest_qp_num = c->qp[!i]->qp_num, .max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
	};
	qp_path(&a, &ends[i], &ends[!i]);
	err = ib_modify_qp(c->qp[i], &a, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	a = (struct ib_qp_attr) {
		.qp_state = IB_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 16,
	};
	return ib_modify_qp(c->qp[i], &a, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

/* ---- ends ---- */

/* The first GID that is an IPv4 address, and the MAC address behind it. */
static int find_gid(struct end *e)
{
	const struct ib_gid_attr *attr;
	int err = -EADDRNOTAVAIL;
	u32 i;

	for (i = 0; i < 16 && err; i++) {
		attr = rdma_get_gid_attr(e->ib, 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)&attr->gid)) {
			e->gid = attr->gid;
			e->gid_index = i;
			err = rdma_read_gid_l2_fields(attr, NULL, e->mac);
		}
		rdma_put_gid_attr(attr);
	}
	return err;
}

static int end_open(struct end *e, const char *name)
{
	struct ib_cq_init_attr attr = { .cqe = spec.depth * spec.qps + 16 };
	struct known *k;
	int err;

	list_for_each_entry(k, &devices, node)
		if (!strcmp(dev_name(&k->ib->dev), name))
			e->ib = k->ib;
	if (!e->ib)
		return -ENODEV;
	err = find_gid(e);
	if (err)
		return err;
	e->pd = ib_alloc_pd(e->ib, 0);
	e->scq = ib_create_cq(e->ib, cq_event, NULL, NULL, &attr);
	attr.cqe = 2 * spec.depth * spec.qps + 16;
	e->rcq = ib_create_cq(e->ib, cq_event, NULL, NULL, &attr);
	return PTR_ERR_OR_ZERO(e->pd) ? : PTR_ERR_OR_ZERO(e->scq) ? :
	       PTR_ERR_OR_ZERO(e->rcq);
}

static void end_close(struct end *e)
{
	if (!IS_ERR_OR_NULL(e->scq))
		ib_destroy_cq(e->scq);
	if (!IS_ERR_OR_NULL(e->rcq))
		ib_destroy_cq(e->rcq);
	if (!IS_ERR_OR_NULL(e->pd))
		ib_dealloc_pd(e->pd);
}

/* ---- traffic ---- */

static int post_recvs(u32 q, u32 n)
{
	struct conn *c = &conns[q];
	struct ib_sge sge = {
		.addr = c->mr[1]->iova, .length = spec.size,
		.lkey = c->mr[1]->lkey,
	};
	struct ib_recv_wr wr = { .wr_id = q, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;
	int err = 0;

	while (n-- && !err)
		err = ib_post_recv(c->qp[1], &wr, &bad);
	return err;
}

static int conn_open(u32 q)
{
	struct conn *c = &conns[q];
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++)
		err = buf_open(c, i, q * 2 + i) ? : qp_open(c, i);
	for (i = 0; i < 2 && !err; i++)
		err = qp_connect(c, i);
	/* read_inv registers its buffer each time */
	for (i = spec.op == IB_WR_RDMA_READ_WITH_INV; i < 2 && !err; i++)
		err = reg(c, i);
	if (!err && spec.op == IB_WR_SEND)
		err = post_recvs(q, 2 * spec.depth);
	return err;
}

static void conn_close(struct conn *c)
{
	int i;

	for (i = 0; i < 2; i++)
		if (c->qp[i])
			ib_destroy_qp(c->qp[i]);
	for (i = 0; i < 2; i++)
		buf_close(c, i);
}

/* One doorbell. wr_id: the queue pair, and how many WRs are complete by it. */
static int post_list(u32 q)
{
	static struct ib_rdma_wr wr[LIST_MAX];
	struct conn *c = &conns[q];
	const struct ib_send_wr *bad;
	struct ib_sge sge = {
		.addr = c->mr[0]->iova, .length = spec.size,
		.lkey = c->mr[0]->lkey,
	};
	u32 i;

	for (i = 0; i < spec.list; i++) {
		wr[i] = (struct ib_rdma_wr) {
			.wr.opcode = spec.op, .wr.sg_list = &sge,
			.wr.num_sge = 1, .remote_addr = c->mr[1]->iova,
			.rkey = c->mr[1]->rkey,
		};
		if (spec.op == IB_WR_RDMA_READ_WITH_INV)
			wr[i].wr.ex.invalidate_rkey = c->mr[0]->rkey;
		if (i)
			wr[i - 1].wr.next = &wr[i].wr;
		if (++c->unsignaled == spec.signal) {
			wr[i].wr.send_flags = IB_SEND_SIGNALED;
			wr[i].wr.wr_id = (u64)q << 32 | spec.signal;
			c->unsignaled = 0;
		}
	}
	c->out += spec.list;
	return ib_post_send(c->qp[0], &wr[0].wr, &bad);
}

static int fill(void)
{
	int err = 0;
	u32 q;

	for (q = 0; q < spec.qps && !err; q++) {
		while (conns[q].out + spec.list <= spec.depth && !err) {
			if (spec.op == IB_WR_RDMA_READ_WITH_INV)
				err = reg(&conns[q], 0);
			err = err ? : post_list(q);
		}
	}
	return err;
}

/* Receives that were used are posted again. */
static int refill(void)
{
	int n, i, err = 0;

	do {
		n = ib_poll_cq(ends[1].rcq, WC_MAX, wc);
		for (i = 0; i < n && !err; i++)
			err = wc[i].status ? -EIO : post_recvs(wc[i].wr_id, 1);
	} while (n == WC_MAX && !err);
	return err;
}

static int take(void)
{
	int n, i;

	n = reap(ends[0].scq);
	for (i = 0; i < n; i++) {
		conns[wc[i].wr_id >> 32].out -= (u32)wc[i].wr_id;
		done += (u32)wc[i].wr_id;
	}
	if (n >= 0 && spec.op == IB_WR_SEND)
		return refill();
	return n < 0 ? n : 0;
}

static int traffic(u32 ms)
{
	u64 end = ktime_get_ns() + ms * (u64)NSEC_PER_MSEC;
	u32 loops = 0;
	int err = 0;

	/* the clock is not looked at each time: in some machines it is dear */
	while (!err && (++loops % 8 || ktime_get_ns() < end)) {
		err = fill() ? : take();
		cond_resched();
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	return err;
}

/* Until all that gives a completion is done; a group's rest stays out. */
static int drain(void)
{
	int err = 0;
	u32 q;

	for (q = 0; q < spec.qps; q++)
		while (!err && conns[q].out != conns[q].unsignaled)
			err = take();
	return err;
}

static int compare(void)
{
	const bool fetch = spec.op == IB_WR_RDMA_READ ||
			   spec.op == IB_WR_RDMA_READ_WITH_INV;
	u32 q, b;

	for (q = 0; q < spec.qps; q++) {
		for (b = 0; b < spec.size; b++) {
			u8 want = (b * 31) ^ (b >> 8) ^ (q * 2 + fetch);

			if (conns[q].buf[!fetch][b] != want)
				return -EBADMSG;
		}
	}
	return 0;
}

/* The last READ took the key away: what uses it now must fail. */
static int key_is_dead(void)
{
	int err, tries;

	if (spec.op != IB_WR_RDMA_READ_WITH_INV)
		return 0;
	spec.op = IB_WR_RDMA_READ;
	err = post_list(0);
	for (tries = 0; !err && ib_poll_cq(ends[0].scq, 1, wc) != 1; tries++) {
		msleep(20);
		err = tries < 250 ? 0 : -ETIMEDOUT;
	}
	return err ? : wc[0].status ? 0 : -EKEYREJECTED;
}

/* ---- one run ---- */

static int measure(void)
{
	u64 start, busy, before, n;
	int err;
	u32 q;

	for (q = 0; q < spec.qps; q++) {
		err = conn_open(q);
		if (err)
			return err;
	}
	done = 0;
	if (spec.held)
		return held_check(conns[0].qp[0], post_list, spec.held);
	err = traffic(spec.warm);
	if (err)
		return err;
	before = done;
	busy = busy_ns();
	start = ktime_get_ns();
	err = traffic(spec.ms);
	if (err)
		return err;
	n = done - before;
	start = ktime_get_ns() - start;
	busy = busy_ns() - busy;
	err = drain() ? : compare() ? : key_is_dead();
	if (err)
		return err;
	scnprintf(result, sizeof(result), "%llu %llu %llu %llu\n", n, start,
		  busy, done);
	return 0;
}

static int run(const char *a, const char *b)
{
	int err, i;
	u32 q;

	conns = kvcalloc(spec.qps, sizeof(*conns), GFP_KERNEL);
	if (!conns)
		return -ENOMEM;
	init_completion(&woken);
	memset(ends, 0, sizeof(ends));
	err = end_open(&ends[0], a) ? : end_open(&ends[1], b);
	if (!err)
		err = measure();
	for (q = 0; q < spec.qps; q++)
		conn_close(&conns[q]);
	for (i = 0; i < 2; i++)
		end_close(&ends[i]);
	kvfree(conns);
	return err;
}

/* ---- the file ---- */

static int parse_op(const char *name)
{
	static const char * const names[] = {
		[IB_WR_RDMA_WRITE] = "write", [IB_WR_SEND] = "send",
		[IB_WR_RDMA_READ] = "read",
		[IB_WR_RDMA_READ_WITH_INV] = "read_inv",
	};

	for (spec.op = 0; spec.op < ARRAY_SIZE(names); spec.op++)
		if (names[spec.op] && !strcmp(names[spec.op], name))
			return 0;
	return -EINVAL;
}

static int parse_word(char *word)
{
	static const struct {
		const char *key;
		u32 *value;
	} keys[] = {
		{ "size", &spec.size }, { "mtu", &spec.mtu },
		{ "qps", &spec.qps }, { "list", &spec.list },
		{ "signal", &spec.signal }, { "depth", &spec.depth },
		{ "warm", &spec.warm }, { "ms", &spec.ms },
		{ "held", &spec.held },
	};
	char *value = strchr(word, '=');
	int i;

	if (!value)
		return -EINVAL;
	*value++ = 0;
	if (!strcmp(word, "op"))
		return parse_op(value);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(word, keys[i].key))
			return kstrtou32(value, 0, keys[i].value);
	return -EINVAL;
}

/* What was not given follows from what was, as in the program. */
static int complete_spec(void)
{
	if (!spec.size || spec.size > SZ_1M || !spec.qps ||
	    spec.qps > QPS_MAX || !spec.list || spec.list > LIST_MAX ||
	    spec.ms > 20000 || spec.warm > 20000)
		return -EINVAL;
	if (spec.op == IB_WR_RDMA_READ_WITH_INV)
		spec.depth = 1;
	if (!spec.depth)
		spec.depth = clamp(SZ_2M / spec.size / spec.qps, 4U, 128U);
	spec.depth = max(spec.depth / spec.list, 1U) * spec.list;
	if (!spec.signal)
		spec.signal = spec.size > 8192 ? 1 : 32;
	spec.signal = min(spec.signal, spec.depth);
	return 0;
}

static int parse(char *text, char **a, char **b)
{
	char *word;

	spec = (struct spec) {
		.op = IB_WR_RDMA_WRITE, .size = 65536, .mtu = 4096, .qps = 1,
		.list = 1, .warm = 50, .ms = 200,
	};
	*a = strsep(&text, " ");
	*b = strsep(&text, " ");
	if (!*b)
		return -EINVAL;
	while ((word = strsep(&text, " ")))
		if (*word && parse_word(word))
			return -EINVAL;
	return complete_spec();
}

static ssize_t run_write(struct file *file, const char __user *ubuf,
			 size_t count, loff_t *ppos)
{
	char *text, *a, *b;
	int err;

	text = memdup_user_nul(ubuf, min(count, 500UL));
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&run_lock);
	err = parse(strim(text), &a, &b);
	if (!err)
		err = run(a, b);
	mutex_unlock(&run_lock);
	kfree(text);
	return err ? err : count;
}

static ssize_t run_read(struct file *file, char __user *ubuf, size_t count,
			loff_t *ppos)
{
	return simple_read_from_buffer(ubuf, count, ppos, result,
				       strlen(result));
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.read = run_read,
	.write = run_write,
	.llseek = default_llseek,
};

/* ---- devices come and go ---- */

static int client_add(struct ib_device *ib)
{
	struct known *k = kzalloc(sizeof(*k), GFP_KERNEL);

	if (!k)
		return -ENOMEM;
	k->ib = ib;
	mutex_lock(&run_lock);
	list_add(&k->node, &devices);
	mutex_unlock(&run_lock);
	return 0;
}

static void client_remove(struct ib_device *ib, void *data)
{
	struct known *k, *next;

	mutex_lock(&run_lock);
	list_for_each_entry_safe(k, next, &devices, node) {
		if (k->ib != ib)
			continue;
		list_del(&k->node);
		kfree(k);
	}
	mutex_unlock(&run_lock);
}

static struct ib_client client = {
	.name = "kverbs",
	.add = client_add,
	.remove = client_remove,
};

static int __init kverbs_init(void)
{
	int err = ib_register_client(&client);

	if (err)
		return err;
	debugfs_dir = debugfs_create_dir("kverbs", NULL);
	debugfs_create_file("run", 0600, debugfs_dir, NULL, &run_fops);
	return 0;
}

static void __exit kverbs_exit(void)
{
	debugfs_remove(debugfs_dir);
	ib_unregister_client(&client);
}

module_init(kverbs_init);
module_exit(kverbs_exit);
MODULE_DESCRIPTION("Benchmark traffic through the kernel's verbs");
MODULE_LICENSE("GPL");
