// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast: who gets what is sent to a group, on the other host and on the
 * sender's own, and how groups are joined and left.
 *
 * usage: sroce_mcast [-L SECONDS] [-w] [-s MS] DEVICE_A DEVICE_B
 *
 * -s waits after each join, for switches that have to hear of it.
 * -w stops once everything is attached, says "attached", and goes on when a line
 * can be read. One process has both ends. Prints "ok - x" and "not ok - x" lines;
 * exits 1 when a case failed.
 */
#include "testlib.h"

#define GRH 40
#define QKEY 0x22222222
#define SLOT 2048
#define SLOTS 16
#define GROUPS 100

struct end {
	struct tl_dev *d;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct tl_dev dev_a, dev_b;
static union ibv_gid group;
static bool wait_for_line;
static unsigned int settle_ms;

#define SETTLE_TRIES 50

static void post_slot(struct end *e, int i)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + i * SLOT, SLOT,
			       e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		tl_die("post_recv");
}

static void end_open(struct end *e, struct tl_dev *d, uint32_t qkey)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { 32, SLOTS, 1, 1, 0 },
	};
	int i;

	memset(e, 0, sizeof(*e));
	e->d = d;
	e->buf = aligned_alloc(4096, SLOT * (SLOTS + 1));
	e->mr = ibv_reg_mr(d->pd, e->buf, SLOT * (SLOTS + 1),
			   IBV_ACCESS_LOCAL_WRITE);
	e->cq = ibv_create_cq(d->ctx, 64, NULL, NULL, 0);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	e->qp = ibv_create_qp(d->pd, &init);
	if (!e->buf || !e->mr || !e->cq || !e->qp || tl_ud_to_rts(e->qp, qkey, 0))
		tl_die("%s: no queue pair", d->name);
	for (i = 0; i < SLOTS; i++)
		post_slot(e, i);
}

static void end_close(struct end *e)
{
	if (ibv_destroy_qp(e->qp) || ibv_destroy_cq(e->cq) ||
	    ibv_dereg_mr(e->mr))
		tl_die("%s: close", e->d->name);
	free(e->buf);
}

static uint8_t byte_of(uint32_t i, int id)
{
	return i * 11 + id;
}

static bool send_one(struct end *e, struct ibv_ah *ah, uint32_t bytes, int id)
{
	uint8_t *p = e->buf + SLOTS * SLOT;
	struct ibv_sge sge = { (uintptr_t)p, bytes, e->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1000, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(id),
		.wr.ud = { ah, 0xffffff, QKEY },
	}, *bad;
	uint32_t i;

	for (i = 0; i < bytes; i++)
		p[i] = byte_of(i, id);
	return !ibv_post_send(e->qp, &wr, &bad);
}

static struct ibv_ah *make_ah(struct tl_dev *d, const union ibv_gid *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *to, .hop_limit = 8,
			 .sgid_index = d->gid_index },
	};
	struct ibv_ah *ah = ibv_create_ah(d->pd, &attr);

	if (!ah)
		tl_die("no address handle");
	return ah;
}

/* Does the buffer begin with the header of a packet from A to the group? */
static bool header_ok(const uint8_t *p)
{
	if (!gid_is_v4(&group))
		return p[0] >> 4 == 6 && !memcmp(p + 8, dev_a.gid.raw, 16) &&
		       !memcmp(p + 24, group.raw, 16) && p[7] == 8;
	p += 20;
	return p[0] == 0x45 && p[8] == 8 &&
	       !memcmp(p + 12, dev_a.gid.raw + 12, 4) &&
	       !memcmp(p + 16, group.raw + 12, 4);
}

/* The next datagram there must be @id, of @bytes, from @from. */
static bool got(struct end *e, struct end *from, uint32_t bytes, int id)
{
	const uint8_t *p;
	struct ibv_wc wc;
	uint32_t i;

	if (!tl_poll_wait(e->cq, &wc, 2000)) {
		printf("# %s qpn %u: nothing\n", e->d->name, e->qp->qp_num);
		return false;
	}
	p = e->buf + wc.wr_id * SLOT;
	if (wc.status || wc.opcode != IBV_WC_RECV || wc.wr_id >= SLOTS ||
	    wc.byte_len != GRH + bytes || wc.src_qp != from->qp->qp_num ||
	    ntohl(wc.imm_data) != (uint32_t)id || !header_ok(p)) {
		printf("# %s: %s, %u bytes, from %u, id %u, header %d\n",
		       e->d->name, ibv_wc_status_str(wc.status), wc.byte_len,
		       wc.src_qp, ntohl(wc.imm_data), header_ok(p));
		return false;
	}
	for (i = 0; i < bytes; i++)
		if (p[GRH + i] != byte_of(i, id))
			return false;
	return true;
}

static bool nothing(struct end *e)
{
	struct ibv_wc wc;
	bool none = !tl_poll_wait(e->cq, &wc, 100);

	if (!none)
		printf("# %s qpn %u: got something\n", e->d->name,
		       e->qp->qp_num);
	return none;
}

static int attach(struct end *e)
{
	return ibv_attach_mcast(e->qp, &group, 0);
}

static int detach(struct end *e)
{
	return ibv_detach_mcast(e->qp, &group, 0);
}

/* Take what came there and has not been looked at; how many. */
static int drain(struct end *e)
{
	struct ibv_wc wc;
	int n = 0;

	for (; tl_poll_wait(e->cq, &wc, 50); n++)
		post_slot(e, wc.wr_id);
	return n;
}

/*
 * A bridge that snoops carries a group to a port some time after it heard of
 * the first member there.
 */
static void settle(struct end *a, struct end *b, struct ibv_ah *ah)
{
	unsigned int i;
	int carried = 0;

	for (i = 0; i < SETTLE_TRIES && settle_ms && !carried; i++) {
		tl_sleep_ms(settle_ms / 10);
		send_one(&a[0], ah, 8, 99);
		carried = drain(&b[0]);
		drain(&a[0]);
		drain(&a[1]);
		drain(&a[2]);
		drain(&b[1]);
	}
}

static void test_delivery(struct end *a, struct end *b)
{
	struct ibv_ah *ah = make_ah(&dev_a, &group);
	bool ok;
	int i;

	/* b[2] is no member */
	tl_ok(!attach(&a[0]) && !attach(&a[1]) && !attach(&a[2]) &&
	      !attach(&b[0]) && !attach(&b[1]), "attach");
	if (wait_for_line) {
		printf("# attached\n");
		if (getchar() == EOF)
			tl_die("no line");
	}
	settle(a, b, ah);
	ok = send_one(&a[0], ah, 300, 1);
	tl_ok(ok && got(&b[0], &a[0], 300, 1) && got(&b[1], &a[0], 300, 1),
	      "two members on the other host, each with header and data");
	tl_ok(nothing(&b[2]), "nothing for who is no member");
	tl_ok(got(&a[2], &a[0], 300, 1) && got(&a[1], &a[0], 300, 1),
	      "members on the sender's own host");
	tl_ok(got(&a[0], &a[0], 300, 1), "and the sender itself");
	for (ok = true, i = 0; i < 5; i++)
		ok &= send_one(&a[2], ah, 5, 7);
	for (i = 0; i < 5; i++)
		ok &= got(&b[0], &a[2], 5, 7) && got(&b[1], &a[2], 5, 7) &&
		      got(&a[0], &a[2], 5, 7);
	tl_ok(ok && nothing(&b[0]), "a burst, each datagram once");
	ibv_destroy_ah(ah);
}

static void test_qkey(struct end *a, struct end *b)
{
	struct ibv_ah *ah = make_ah(&dev_a, &group);
	struct end odd;
	bool ok;

	end_open(&odd, &dev_b, QKEY + 1);
	ok = !attach(&odd) && send_one(&a[0], ah, 64, 9);
	tl_ok(ok && got(&b[0], &a[0], 64, 9) && nothing(&odd) && !detach(&odd),
	      "a member with another Q_Key gets nothing, the others do");
	ibv_destroy_ah(ah);
	end_close(&odd);
}

static void test_leave(struct end *a, struct end *b)
{
	struct ibv_ah *ah = make_ah(&dev_a, &group);
	bool ok;

	got(&b[1], &a[0], 64, 9);
	tl_ok(!attach(&b[1]) && !detach(&b[1]) && detach(&b[1]) == EINVAL,
	      "attached twice is once; who is no member cannot leave");
	ok = send_one(&a[0], ah, 64, 10);
	tl_ok(ok && got(&b[0], &a[0], 64, 10) && nothing(&b[1]),
	      "nothing for who left");
	tl_ok(ibv_destroy_qp(b[0].qp) == EBUSY && !detach(&b[0]),
	      "a member is not destroyed");
	ok = send_one(&a[0], ah, 64, 11);
	tl_ok(ok && nothing(&b[0]), "nothing for anybody when all left");
	tl_ok(!detach(&a[0]) && !detach(&a[1]) && !detach(&a[2]), "detach");
	ibv_destroy_ah(ah);
}

static void test_refused(struct end *a)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 },
		.send_cq = a->cq, .recv_cq = a->cq,
	};
	struct ibv_qp *rc = ibv_create_qp(a->d->pd, &init);

	tl_ok(rc && ibv_attach_mcast(rc, &group, 0) == EINVAL &&
	      !ibv_destroy_qp(rc), "a connected queue pair cannot join");
	tl_ok(ibv_attach_mcast(a->qp, &dev_b.gid, 0) == EINVAL,
	      "an address that is no group cannot be joined");
}

/* Many groups on one queue pair, and the limits it was promised. */
static void test_many(struct end *a, struct end *b)
{
	union ibv_gid g = group;
	struct ibv_ah *ah;
	bool ok = true;
	int i;

	for (i = 0; i < GROUPS; i++) {
		g.raw[15] = i + 100;
		ok &= !ibv_attach_mcast(b->qp, &g, 0);
	}
	tl_ok(ok && dev_b.attr.max_mcast_grp >= GROUPS &&
	      dev_b.attr.max_mcast_qp_attach > 1 &&
	      dev_b.attr.max_total_mcast_qp_attach >= GROUPS, "%d groups",
	      GROUPS);
	tl_sleep_ms(settle_ms);
	group.raw[15] = 100 + GROUPS / 2;
	ah = make_ah(&dev_a, &group);
	tl_ok(send_one(a, ah, 10, 3) && got(b, a, 10, 3),
	      "one of them is sent to");
	ibv_destroy_ah(ah);
	for (i = 0; i < GROUPS; i++) {
		g.raw[15] = i + 100;
		ok &= !ibv_detach_mcast(b->qp, &g, 0);
	}
	tl_ok(ok, "all of them are left");
}

static void set_group(int family)
{
	static const char * const groups[] = { "::ffff:239.1.2.3",
					       "ff0e::4:5:6" };

	inet_pton(AF_INET6, groups[family == 6], group.raw);
}

static void test_family(const char *name_a, const char *name_b, int family)
{
	struct end a[3], b[3];
	int i;

	tl_open(&dev_a, name_a, family);
	tl_open(&dev_b, name_b, family);
	set_group(family);
	for (i = 0; i < 3; i++) {
		end_open(&a[i], &dev_a, QKEY);
		end_open(&b[i], &dev_b, QKEY);
	}
	printf("# IPv%d\n", family);
	test_delivery(a, b);
	test_qkey(a, b);
	test_leave(a, b);
	test_refused(&a[0]);
	test_many(&a[0], &b[0]);
	for (i = 0; i < 3; i++) {
		end_close(&a[i]);
		end_close(&b[i]);
	}
	tl_close(&dev_a);
	tl_close(&dev_b);
}

/* A process that just ends leaves its groups. */
static void test_exit(const char *name)
{
	struct end e;

	if (!fork()) {
		tl_open(&dev_a, name, 4);
		set_group(4);
		end_open(&e, &dev_a, QKEY);
		_exit(attach(&e) ? 1 : 0);
	} else {
		int status;

		wait(&status);
		tl_ok(WIFEXITED(status) && !WEXITSTATUS(status),
		      "a process ends with members");
	}
}

int main(int argc, char **argv)
{
	int limit = 60, c;

	while ((c = getopt(argc, argv, "L:ws:")) != -1) {
		if (c == 'w')
			wait_for_line = true;
		else if (c == 's')
			settle_ms = atoi(optarg);
		else if (c == 'L')
			limit = atoi(optarg);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	tl_time_limit(limit);
	test_family(argv[optind], argv[optind + 1], 4);
	test_family(argv[optind], argv[optind + 1], 6);
	test_exit(argv[optind]);
	return tl_failures ? 1 : 0;
}
