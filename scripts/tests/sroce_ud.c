// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of datagrams: Q_Keys, what a buffer begins with, lengths, errors
 * that stop the send queue alone, addresses by number and in the work request.
 *
 * usage: sroce_ud [-L SECONDS] DEVICE_A DEVICE_B
 *
 * One process has both ends. Prints "ok - x" and "not ok - x" lines; exits 1
 * when a case failed.
 */
#include "testlib.h"

#define GRH 40
#define QKEY 0x11111111
#define SLOT 8192
#define SLOTS 8
#define BYTES (SLOT * SLOTS)

struct end {
	struct tl_dev d;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct end a, b;

static void open_end(struct end *e, const char *name, int family)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 32, .max_recv_wr = 32,
			 .max_send_sge = 2, .max_recv_sge = 2,
			 .max_inline_data = 64 },
	};

	tl_open(&e->d, name, family);
	e->buf = aligned_alloc(4096, BYTES);
	e->mr = ibv_reg_mr(e->d.pd, e->buf, BYTES, IBV_ACCESS_LOCAL_WRITE);
	e->cq = ibv_create_cq(e->d.ctx, 64, NULL, NULL, 0);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->d.pd, &init);
	if (!e->buf || !e->mr || !e->cq || !e->qp || tl_ud_to_rts(e->qp, QKEY, 0xfffff0))
		tl_die("%s: no queue pair", name);
}

static void close_end(struct end *e)
{
	if (ibv_destroy_qp(e->qp) || ibv_destroy_cq(e->cq) ||
	    ibv_dereg_mr(e->mr))
		tl_die("%s: close", e->d.name);
	free(e->buf);
	tl_close(&e->d);
}

static struct ibv_ah *make_ah(struct end *from, struct end *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = to->d.gid, .hop_limit = 64,
			 .traffic_class = 0x20,
			 .sgid_index = from->d.gid_index },
	};
	struct ibv_ah *ah = ibv_create_ah(from->d.pd, &attr);

	if (!ah)
		tl_die("no address handle");
	return ah;
}

static void post_recv(struct end *e, int slot, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + slot * SLOT, bytes,
			       e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	memset(e->buf + slot * SLOT, 0xee, SLOT);
	if (ibv_post_recv(e->qp, &wr, &bad))
		tl_die("post_recv");
}

struct what {
	struct ibv_ah *ah;
	uint32_t qpn, qkey, bytes;
	bool imm, bad_key, inl;
};

static int post_send(struct end *e, const struct what *w, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + (SLOTS - 2) * SLOT, w->bytes,
			       w->bad_key ? 0x1234 : e->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = w->imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED |
			      (w->inl ? IBV_SEND_INLINE : 0),
		.imm_data = htonl(0xc0ffee),
		.wr.ud = { w->ah, w->qpn, w->qkey },
	}, *bad;
	uint32_t i;

	for (i = 0; i < w->bytes && i < 2 * SLOT; i++)
		e->buf[(SLOTS - 2) * SLOT + i] = i * 7 + id;
	return ibv_post_send(e->qp, &wr, &bad);
}

static enum ibv_wc_status send_status(struct end *e)
{
	struct ibv_wc wc;

	if (!tl_poll_wait(e->cq, &wc, 3000))
		return (enum ibv_wc_status)-1;
	return wc.status;
}

static bool payload_ok(const struct end *e, int slot, uint32_t bytes, int id)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		if (e->buf[slot * SLOT + GRH + i] != (uint8_t)(i * 7 + id))
			return false;
	return e->buf[slot * SLOT + GRH + bytes] == 0xee;
}

static bool ip6_ok(const struct end *from, const struct end *to,
		   const uint8_t *p, uint32_t len, int next_header)
{
	return p[0] >> 4 == 6 && p[6] == next_header &&
	       (uint32_t)(p[4] << 8 | p[5]) == len &&
	       !memcmp(p + 8, from->d.gid.raw, 16) &&
	       !memcmp(p + 24, to->d.gid.raw, 16);
}

/* Do the 40 bytes carry this packet's own IP header? */
static bool grh_ok(const struct end *from, const struct end *to,
		   const uint8_t *p, uint32_t bytes, bool imm)
{
	uint32_t len = 8 + 20 + (imm ? 4 : 0) + bytes + (-bytes & 3) + 4;
	uint32_t sum = 0, i;

	if (tl_wants_v1())
		return ip6_ok(from, to, p, len - 8, 0x1b);
	if (!gid_is_v4(&to->d.gid))
		return ip6_ok(from, to, p, len, 17);
	p += 20;
	for (i = 0; i < 20; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return p[0] == 0x45 && p[9] == 17 && (p[1] & 0xfc) == 0x20 &&
	       (p[2] << 8 | p[3]) == (int)(len + 20) && sum == 0xffff &&
	       !memcmp(p + 12, from->d.gid.raw + 12, 4) &&
	       !memcmp(p + 16, to->d.gid.raw + 12, 4);
}

static bool one(struct end *from, struct end *to, struct what w, int id)
{
	enum ibv_wc_status status;
	struct ibv_wc wc;

	post_recv(to, 0, GRH + w.bytes + 4);
	if (post_send(from, &w, id))
		return false;
	status = send_status(from);
	if (status != IBV_WC_SUCCESS || !tl_poll_wait(to->cq, &wc, 3000)) {
		printf("# sent: %s, nothing received\n",
		       ibv_wc_status_str(status));
		return false;
	}
	return wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV &&
	       wc.byte_len == GRH + w.bytes && wc.src_qp == from->qp->qp_num &&
	       (wc.wc_flags & IBV_WC_GRH) &&
	       !!(wc.wc_flags & IBV_WC_WITH_IMM) == w.imm &&
	       (!w.imm || ntohl(wc.imm_data) == 0xc0ffee) &&
	       payload_ok(to, 0, w.bytes, id) &&
	       grh_ok(from, to, to->buf, w.bytes, w.imm);
}

static void test_delivery(struct what w)
{
	static const uint32_t sizes[] = { 0, 1, 3, 4, 63, 1024, 2048 };
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		w.bytes = sizes[i];
		ok &= one(&a, &b, w, i);
	}
	tl_ok(ok, "datagrams of all sizes, with header and sender");
	w.imm = true;
	tl_ok(one(&a, &b, w, 9), "immediate data");
	w.inl = true;
	w.bytes = 64;
	tl_ok(one(&a, &b, w, 10), "inline payload");
}

/* A burst crosses the stack as one skb: headers must still be each one's own. */
static void test_burst(struct what w)
{
	struct ibv_wc wc;
	bool ok = true;
	int i;

	for (i = 0; i < 5; i++)
		post_recv(&b, i, SLOT);
	w.inl = true;
	for (i = 0; i < 5; i++) {
		w.bytes = 8 + 11 * i;
		ok &= !post_send(&a, &w, i);
	}
	for (i = 0; i < 5; i++) {
		ok &= send_status(&a) == IBV_WC_SUCCESS;
		ok &= tl_poll_wait(b.cq, &wc, 3000) && wc.wr_id == (uint64_t)i &&
		      payload_ok(&b, i, 8 + 11 * i, i) &&
		      grh_ok(&a, &b, b.buf + i * SLOT, 8 + 11 * i,
			     false);
	}
	tl_ok(ok, "a burst keeps order, bytes and headers");
}

static void test_qkeys(struct what w)
{
	struct ibv_wc wc;

	w.bytes = 16;
	w.qkey = 0x80000000;
	tl_ok(one(&a, &b, w, 1), "a Q_Key with the high bit is the sender's own");
	w.qkey = QKEY + 1;
	post_recv(&b, 1, SLOT);
	tl_ok(!post_send(&a, &w, 2) && send_status(&a) == IBV_WC_SUCCESS &&
	      !tl_poll_wait(b.cq, &wc, 200),
	      "a wrong Q_Key is dropped in silence");
	w.qkey = QKEY;
	w.bytes = 16;
	tl_ok(!post_send(&a, &w, 3) && send_status(&a) == IBV_WC_SUCCESS &&
	      tl_poll_wait(b.cq, &wc, 3000) && wc.wr_id == 1,
	      "and takes no receive request");
}

static void test_too_long(struct what w)
{
	struct ibv_wc wc;

	w.bytes = 200;
	post_recv(&b, 2, GRH + 100);
	tl_ok(!post_send(&a, &w, 1) && send_status(&a) == IBV_WC_SUCCESS &&
	      tl_poll_wait(b.cq, &wc, 3000) &&
	      wc.status == IBV_WC_LOC_LEN_ERR &&
	      tl_qp_state(b.qp) == IBV_QPS_RTS,
	      "a datagram too long ends its receive request only");
	w.bytes = 64;
	tl_ok(!post_send(&a, &w, 1) && send_status(&a) == IBV_WC_SUCCESS &&
	      !tl_poll_wait(b.cq, &wc, 100),
	      "a datagram without receive request is dropped");
	tl_ok(one(&a, &b, w, 5), "and both go on");
}

/* An error of the sender: SQE, flush, and back to RTS. */
static void test_sqe(const char *name, struct what bad, struct what good,
		     enum ibv_wc_status want)
{
	struct what back = { NULL, a.qp->qp_num, QKEY, 32 };
	bool ok;

	ok = !post_send(&a, &bad, 1) && send_status(&a) == want &&
	     tl_qp_state(a.qp) == IBV_QPS_SQE;
	tl_ok(ok, "%s: %s and SQE", name, ibv_wc_status_str(want));
	ok = !post_send(&a, &good, 2) &&
	     send_status(&a) == IBV_WC_WR_FLUSH_ERR;
	tl_ok(ok, "%s: flushed in SQE", name);
	back.ah = make_ah(&b, &a);
	tl_ok(one(&b, &a, back, 3), "%s: still receives", name);
	ibv_destroy_ah(back.ah);
	ok = !tl_qp_to(a.qp, IBV_QPS_RTS) &&
	     one(&a, &b, good, 4);
	tl_ok(ok, "%s: back in RTS", name);
}

/* Providers before rdma-core 39 put the address into the work request. */
static void test_address_in_wr(struct what w)
{
	uint8_t *av = (uint8_t *)w.ah + sizeof(struct ibv_ah);
	int *num = (int *)(av + 88);
	struct what bad = w;
	int save = *num;

	if (save < 1 || save > 0x100000) {
		tl_skip("address in the work request (unknown provider)");
		return;
	}
	*num = 0;
	av[0] = 1;
	av[1] = gid_is_v4(&b.d.gid) ? 1 : 2;
	memcpy(av + 8, b.d.gid.raw, 16);
	av[28] = a.d.gid_index;
	av[29] = 64;
	av[30] = 0x20;
	w.bytes = 100;
	bad.bytes = 100;
	if (tl_wants_v1()) {
		tl_ok(!post_send(&a, &bad, 1) &&
		      send_status(&a) == IBV_WC_LOC_QP_OP_ERR,
		      "RoCEv1 takes no address in the work request");
		tl_qp_to(a.qp, IBV_QPS_RTS);
	} else {
		tl_ok(one(&a, &b, w, 6), "address in the work request");
	}
	av[28] ^= 0xff;	/* a source GID there is not */
	tl_ok(!post_send(&a, &bad, 1) &&
	      send_status(&a) == IBV_WC_LOC_QP_OP_ERR,
	      "a source GID there is not is refused");
	av[28] ^= 0xff;
	*num = save;
	tl_qp_to(a.qp, IBV_QPS_RTS);
	*num = 0x0fffff;
	tl_ok(!post_send(&a, &bad, 1) &&
	      send_status(&a) == IBV_WC_LOC_QP_OP_ERR,
	      "a number without an address is refused");
	*num = save;
	tl_qp_to(a.qp, IBV_QPS_RTS);
}

static void test_reply(void)
{
	struct what w = { make_ah(&a, &b), b.qp->qp_num, QKEY, 20 };
	struct ibv_ah *ah;
	struct ibv_wc wc;

	post_recv(&b, 0, SLOT);
	if (post_send(&a, &w, 1) || send_status(&a) ||
	    !tl_poll_wait(b.cq, &wc, 3000))
		tl_die("no datagram");
	ah = ibv_create_ah_from_wc(b.d.pd, &wc, (struct ibv_grh *)b.buf, 1);
	ibv_destroy_ah(w.ah);
	if (!tl_ok(!!ah, "an address out of a completion"))
		return;
	w = (struct what){ ah, wc.src_qp, QKEY, 77 };
	post_recv(&a, 0, SLOT);
	tl_ok(!post_send(&b, &w, 4) && !send_status(&b) &&
	      tl_poll_wait(a.cq, &wc, 3000) && wc.status == IBV_WC_SUCCESS &&
	      payload_ok(&a, 0, 77, 4),
	      "and the answer arrives");
	ibv_destroy_ah(ah);
}

static void test_family(const char *name_a, const char *name_b, int family)
{
	struct what good, bad;

	open_end(&a, name_a, family);
	open_end(&b, name_b, family);
	good = (struct what){ make_ah(&a, &b), b.qp->qp_num, QKEY, 64 };
	test_delivery(good);
	test_burst(good);
	test_qkeys(good);
	test_too_long(good);
	bad = good;
	bad.bytes = 4097;
	test_sqe("longer than the MTU", bad, good, IBV_WC_LOC_LEN_ERR);
	bad = good;
	bad.bad_key = true;
	test_sqe("bad key", bad, good, IBV_WC_LOC_PROT_ERR);
	test_address_in_wr(good);
	test_reply();
	ibv_destroy_ah(good.ah);
	close_end(&b);
	close_end(&a);
}

int main(int argc, char **argv)
{
	int limit = 60, c;

	while ((c = getopt(argc, argv, "L:")) != -1) {
		if (c != 'L')
			return 2;
		limit = atoi(optarg);
	}
	if (argc - optind != 2)
		return 2;
	tl_time_limit(limit);
	test_family(argv[optind], argv[optind + 1], 4);
	test_family(argv[optind], argv[optind + 1], 6);
	return tl_failures ? 1 : 0;
}
