// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP stream between two network namespaces by kernel sockets: what the
 * network stack itself costs where system calls would hide it.
 *
 * Writing "listen" to debugfs tcpref/run makes the receiving end in the writer's
 * namespace; writing "ADDRESS MS" sends to it from the writer's namespace for
 * MS milliseconds and takes it down. Reading gives "BYTES NS BUSY_NS" of the
 * last run.
 *
 * The sender runs in the writer's context, the receiver in a kernel thread; both
 * copy, as programs do. One run at a time. Not part of the driver.
 */
#include <linux/debugfs.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "busy.h"

#define PORT		5999
#define SEND_BYTES	SZ_128K
#define RECV_BYTES	SZ_256K

static DEFINE_MUTEX(run_lock);	/* all below */
static struct socket *listener;
static struct dentry *debugfs_dir;
static char result[80];

/* The receiving end; its thread writes, who joined the thread reads. */
struct receiver {
	struct socket *sock;
	u8 *buf;
	u64 bytes;
	struct completion over;
};

static int receive(void *arg)
{
	struct receiver *r = arg;
	int n;

	do {
		struct kvec vec = { .iov_base = r->buf, .iov_len = RECV_BYTES };
		struct msghdr msg = {};

		n = kernel_recvmsg(r->sock, &msg, &vec, 1, RECV_BYTES, 0);
		if (n > 0)
			r->bytes += n;
	} while (n > 0);
	complete(&r->over);
	return 0;
}

static int send_for(struct socket *sock, u8 *buf, u32 ms)
{
	u64 end = ktime_get_ns() + ms * (u64)NSEC_PER_MSEC;
	int n = 1;

	while (n > 0 && ktime_get_ns() < end && !signal_pending(current)) {
		struct kvec vec = { .iov_base = buf, .iov_len = SEND_BYTES };
		struct msghdr msg = {};

		n = kernel_sendmsg(sock, &msg, &vec, 1, SEND_BYTES);
	}
	return n < 0 ? n : 0;
}

static int stream(struct socket *out, struct receiver *r, u8 *buf, u32 ms)
{
	struct task_struct *task;
	u64 start, busy;
	int err;

	init_completion(&r->over);
	task = kthread_run(receive, r, "tcpref");
	if (IS_ERR(task))
		return PTR_ERR(task);
	busy = busy_ns();
	start = ktime_get_ns();
	err = send_for(out, buf, ms);
	kernel_sock_shutdown(out, SHUT_WR);
	wait_for_completion(&r->over);
	if (!err)
		scnprintf(result, sizeof(result), "%llu %llu %llu\n", r->bytes,
			  ktime_get_ns() - start, busy_ns() - busy);
	return err;
}

static int run(struct net *net, __be32 addr, u32 ms)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
		.sin_addr.s_addr = addr,
	};
	struct receiver r = {};
	struct socket *out;
	u8 *buf;
	int err;

	err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &out);
	if (err)
		return err;
	buf = kvzalloc(SEND_BYTES, GFP_KERNEL);
	r.buf = kvzalloc(RECV_BYTES, GFP_KERNEL);
	err = -ENOMEM;
	if (!buf || !r.buf)
		goto free;
	err = kernel_connect(out, (void *)&to, sizeof(to), 0);
	if (!err)
		err = kernel_accept(listener, &r.sock, 0);
	if (!err) {
		err = stream(out, &r, buf, ms);
		sock_release(r.sock);
	}
free:
	kvfree(buf);
	kvfree(r.buf);
	sock_release(out);
	return err;
}

static int listen_here(struct net *net)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
	};
	struct socket *sock;
	int err;

	err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	err = kernel_bind(sock, (void *)&any, sizeof(any));
	if (!err)
		err = kernel_listen(sock, 1);
	if (err)
		sock_release(sock);
	else
		listener = sock;
	return err;
}

static void unlisten(void)
{
	if (listener)
		sock_release(listener);
	listener = NULL;
}

static ssize_t run_write(struct file *file, const char __user *ubuf,
			 size_t count, loff_t *ppos)
{
	struct net *net = current->nsproxy->net_ns;
	char text[64] = {}, addr[20];
	__be32 to;
	u32 ms;
	int err;

	if (count >= sizeof(text) || copy_from_user(text, ubuf, count))
		return -EFAULT;
	mutex_lock(&run_lock);
	if (sysfs_streq(text, "listen")) {
		unlisten();
		err = listen_here(net);
	} else if (listener && sscanf(text, "%19s %u", addr, &ms) == 2 &&
		   ms <= 20000 && in4_pton(addr, -1, (u8 *)&to, -1, NULL)) {
		err = run(net, to, ms);
		unlisten();
	} else {
		err = -EINVAL;
	}
	mutex_unlock(&run_lock);
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

static int __init tcpref_init(void)
{
	debugfs_dir = debugfs_create_dir("tcpref", NULL);
	debugfs_create_file("run", 0600, debugfs_dir, NULL, &run_fops);
	return 0;
}

static void __exit tcpref_exit(void)
{
	debugfs_remove(debugfs_dir);
	unlisten();
}

module_init(tcpref_init);
module_exit(tcpref_exit);
MODULE_DESCRIPTION("Reference for the speed of one TCP stream");
MODULE_LICENSE("GPL");
