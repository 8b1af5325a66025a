// SPDX-License-Identifier: GPL-2.0
/*
 * The bound of the benchmark: trains of frames between two network namespaces
 * with nothing but the work that moving the bytes takes.
 *
 * A frame is a 12-byte header with a number, payload copied from a buffer, and
 * the CRC over both; the receiver checks the CRC, counts gaps and copies the
 * payload out. There is no queue pair, no completion, no acknowledgment, no
 * user space. No driver that copies and checks each byte on both ends of this
 * path is faster.
 *
 * Writing "SADDR DADDR PAYLOAD FRAMES MS" to debugfs trainref/run sends from
 * the writer's namespace for MS milliseconds, trains of FRAMES frames of PAYLOAD
 * bytes; reading it gives "FRAMES BYTES NS BUSY_NS BAD" of the last run: frames
 * and payload received, the time and the processor time that took, and how many
 * frames were wrong or lost.
 *
 * Sending runs in the writer's context with bottom halves off, receiving in the
 * softirq behind it. One run at a time. Not part of the driver.
 */
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/nsproxy.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>

#include "busy.h"

#define PORT		4792
#define BUF_BYTES	(256 * 1024)
#define RING		16
#define ORDER		3
#define HDR_BYTES	12
#define CRC_BYTES	4
#define L34_BYTES	(sizeof(struct iphdr) + sizeof(struct udphdr))
#define ROOM		ALIGN(NET_SKB_PAD + 32 + L34_BYTES, SMP_CACHE_BYTES)
#define TAIL		SKB_DATA_ALIGN(sizeof(struct skb_shared_info))
#define INFLIGHT	(400 * 1024)

/* What a run sends and where its memory comes from. */
static struct {
	struct page *ring[RING];
	u32 page, used;		/* of the ring: current one, bytes taken */
	struct socket *sock;
	struct dst_entry *dst;
	__be32 saddr, daddr;
	u32 payload, frames, ms;
	u32 seq, at;
	u8 *src;
} out;

/* What arrived. */
static struct {
	u64 frames, bytes, bad;
	u32 seq, at;
	u8 *dst;
} in;

static DEFINE_MUTEX(run_lock);	/* one run at a time */
static struct dentry *debugfs_dir;
static char result[112];

/* ---- receiving ---- */

static void take(const u8 *p, u32 bytes)
{
	u32 payload;
	__le32 crc;

	if (bytes < HDR_BYTES + CRC_BYTES) {
		in.bad++;
		return;
	}
	payload = bytes - HDR_BYTES - CRC_BYTES;
	memcpy(&crc, p + HDR_BYTES + payload, CRC_BYTES);
	if (le32_to_cpu(crc) != crc32_le(~0, p, HDR_BYTES + payload) ||
	    *(const u32 *)p != in.seq) {
		in.bad++;
		in.seq = *(const u32 *)p;
	}
	in.seq++;
	if (in.at + payload > BUF_BYTES)
		in.at = 0;
	memcpy(in.dst + in.at, p + HDR_BYTES, payload);
	in.at += payload;
	in.frames++;
	in.bytes += payload;
}

static unsigned int hook(void *priv, struct sk_buff *skb,
			 const struct nf_hook_state *state)
{
	const struct iphdr *iph = ip_hdr(skb);
	const struct udphdr *uh;
	struct sk_buff *m;

	if (iph->protocol != IPPROTO_UDP || skb_headlen(skb) < L34_BYTES)
		return NF_ACCEPT;
	uh = (const struct udphdr *)(skb->data + sizeof(*iph));
	if (uh->dest != htons(PORT))
		return NF_ACCEPT;
	take(skb->data + L34_BYTES, skb_headlen(skb) - L34_BYTES);
	skb_walk_frags(skb, m)
		take(m->data, m->len);
	consume_skb(skb);
	return NF_STOLEN;
}

static const struct nf_hook_ops hook_ops = {
	.hook = hook,
	.pf = NFPROTO_IPV4,
	.hooknum = NF_INET_LOCAL_IN,
	.priority = INT_MAX - 1,
};

static int __net_init netns_init(struct net *net)
{
	return nf_register_net_hook(net, &hook_ops);
}

static void __net_exit netns_exit(struct net *net)
{
	nf_unregister_net_hook(net, &hook_ops);
}

static struct pernet_operations net_ops = {
	.init = netns_init,
	.exit = netns_exit,
};

/* ---- sending ---- */

/* A piece of a page that nobody uses any more, or of a new page. */
static u8 *piece(u32 bytes)
{
	struct page *page = out.ring[out.page];

	if (!page || out.used + bytes > (PAGE_SIZE << ORDER)) {
		out.page = (out.page + 1) % RING;
		out.used = 0;
		page = out.ring[out.page];
		if (page && page_ref_count(page) != 1) {
			put_page(page);
			page = NULL;
		}
		if (!page)
			page = alloc_pages(GFP_ATOMIC | __GFP_COMP, ORDER);
		out.ring[out.page] = page;
		if (!page)
			return NULL;
	}
	get_page(page);
	out.used += bytes;
	return (u8 *)page_address(page) + out.used - bytes;
}

static void put_headers(u8 *l3, u32 frame_bytes, u16 id)
{
	struct udphdr *uh = (struct udphdr *)(l3 + sizeof(struct iphdr));
	struct iphdr *iph = (struct iphdr *)l3;

	*iph = (struct iphdr) {
		.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
		.frag_off = htons(IP_DF), .id = htons(id),
		.tot_len = htons(L34_BYTES + frame_bytes),
		.saddr = out.saddr, .daddr = out.daddr,
	};
	*uh = (struct udphdr) {
		.source = htons(PORT), .dest = htons(PORT),
		.len = htons(sizeof(*uh) + frame_bytes),
	};
}

static struct sk_buff *frame(void)
{
	u32 bytes = HDR_BYTES + out.payload + CRC_BYTES;
	u32 size = SKB_DATA_ALIGN(ROOM + bytes) + TAIL;
	struct sk_buff *skb;
	__le32 crc;
	u8 *p;

	p = piece(size);
	if (!p)
		return NULL;
	skb = napi_build_skb(p, size);
	if (!skb) {
		put_page(virt_to_head_page(p));
		return NULL;
	}
	skb_reserve(skb, ROOM);
	p = skb_put(skb, bytes);
	put_headers(p - L34_BYTES, bytes, out.seq);
	skb_set_network_header(skb, -(int)L34_BYTES);
	skb_set_transport_header(skb, -(int)sizeof(struct udphdr));
	memset(p, 0, HDR_BYTES);
	*(u32 *)p = out.seq++;
	if (out.at + out.payload > BUF_BYTES)
		out.at = 0;
	memcpy(p + HDR_BYTES, out.src + out.at, out.payload);
	out.at += out.payload;
	crc = cpu_to_le32(crc32_le(~0, p, HDR_BYTES + out.payload));
	memcpy(p + HDR_BYTES + out.payload, &crc, CRC_BYTES);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	return skb;
}

static struct sk_buff *train(void)
{
	struct sk_buff *head = frame(), **last, *skb;
	u32 i, bytes;

	if (!head || out.frames == 1)
		return head;
	bytes = head->len;
	skb_shinfo(head)->gso_type = SKB_GSO_FRAGLIST | SKB_GSO_UDP_L4;
	skb_shinfo(head)->gso_size = bytes;
	last = &skb_shinfo(head)->frag_list;
	for (i = 1; i < out.frames; i++) {
		skb = frame();
		if (!skb) {
			kfree_skb(head);
			return NULL;
		}
		*last = skb;
		last = &skb->next;
		head->len += skb->len;
		head->data_len += skb->len;
		head->truesize += skb->truesize;
	}
	skb_shinfo(head)->gso_segs = out.frames;
	udp_hdr(head)->len = htons(sizeof(struct udphdr) + head->len);
	return head;
}

static int send_one(struct net *net)
{
	struct sock *sk = out.sock->sk;
	struct sk_buff *skb;
	int err = -ENOMEM;

	local_bh_disable();
	skb = train();
	if (skb) {
		__skb_push(skb, L34_BYTES);
		skb->protocol = htons(ETH_P_IP);
		memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
		skb_dst_set(skb, dst_clone(out.dst));
		skb_set_owner_w(skb, sk);
		err = ip_local_out(net, sk, skb);
		err = net_xmit_eval(err);
	}
	local_bh_enable();
	while (sk_wmem_alloc_get(sk) > INFLIGHT)
		cond_resched();
	return err;
}

static int run(struct net *net)
{
	struct flowi4 fl4 = {
		.daddr = out.daddr, .saddr = out.saddr,
		.flowi4_proto = IPPROTO_UDP,
	};
	u64 start, busy, end;
	int err;

	err = sock_create_kern(net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &out.sock);
	if (err)
		return err;
	out.dst = &ip_route_output_key(net, &fl4)->dst;
	if (IS_ERR(out.dst)) {
		err = PTR_ERR(out.dst);
		goto release;
	}
	memset(&in, 0, offsetof(typeof(in), dst));
	out.seq = 0;
	busy = busy_ns();
	start = ktime_get_ns();
	end = start + out.ms * (u64)NSEC_PER_MSEC;
	while (!err && ktime_get_ns() < end && !signal_pending(current)) {
		err = send_one(net);
		cond_resched();
	}
	while (sk_wmem_alloc_get(out.sock->sk))
		cond_resched();
	scnprintf(result, sizeof(result), "%llu %llu %llu %llu %llu\n",
		  in.frames, in.bytes, ktime_get_ns() - start,
		  busy_ns() - busy, in.bad + out.seq - in.frames);
	dst_release(out.dst);
release:
	sock_release(out.sock);
	return err;
}

/* ---- the file ---- */

static ssize_t run_write(struct file *file, const char __user *ubuf,
			 size_t count, loff_t *ppos)
{
	char text[96] = {}, saddr[20], daddr[20];
	u32 payload, frames, ms;
	int err;

	if (count >= sizeof(text) || copy_from_user(text, ubuf, count))
		return -EFAULT;
	if (sscanf(text, "%19s %19s %u %u %u", saddr, daddr, &payload, &frames,
		   &ms) != 5 || !payload || payload > 8192 || !frames ||
	    frames > 128 || ms > 20000 ||
	    frames * (payload + HDR_BYTES + CRC_BYTES) > 65000 ||
	    !in4_pton(saddr, -1, (u8 *)&out.saddr, -1, NULL) ||
	    !in4_pton(daddr, -1, (u8 *)&out.daddr, -1, NULL))
		return -EINVAL;
	mutex_lock(&run_lock);
	out.payload = payload;
	out.frames = frames;
	out.ms = ms;
	err = run(current->nsproxy->net_ns);
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

static int __init trainref_init(void)
{
	int err = -ENOMEM;

	out.src = kvzalloc(BUF_BYTES, GFP_KERNEL);
	in.dst = kvzalloc(BUF_BYTES, GFP_KERNEL);
	if (out.src && in.dst)
		err = register_pernet_subsys(&net_ops);
	if (err) {
		kvfree(out.src);
		kvfree(in.dst);
		return err;
	}
	debugfs_dir = debugfs_create_dir("trainref", NULL);
	debugfs_create_file("run", 0600, debugfs_dir, NULL, &run_fops);
	return 0;
}

static void __exit trainref_exit(void)
{
	int i;

	debugfs_remove(debugfs_dir);
	unregister_pernet_subsys(&net_ops);
	for (i = 0; i < RING; i++)
		if (out.ring[i])
			put_page(out.ring[i]);
	kvfree(out.src);
	kvfree(in.dst);
}

module_init(trainref_init);
module_exit(trainref_exit);
MODULE_DESCRIPTION("Reference for the speed of trains: copy and CRC only");
MODULE_LICENSE("GPL");
