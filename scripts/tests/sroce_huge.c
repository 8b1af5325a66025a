// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of 2 GiB - 1: WRITE, READ and SEND, in one or in many SGEs.
 *
 * Two gibibytes of address space stand on a few megabytes of memory, mapped
 * again and again, so that a small machine can do it. The last piece of the
 * target is memory of its own: there the end of the message and the byte
 * behind it are checked.
 */
#include "pair.h"

#define HUGE_LEN 0x7fffffffu
#define SPAN 0x80000000ull
#define PERIOD (4u << 20)
#define TAIL 0x100000u

struct span {
	uint8_t *at;
	struct ibv_mr *mr;
};

/* @span bytes of address space over PERIOD + TAIL bytes of memory */
static void make_span(struct span *s, struct tl_dev *d)
{
	int fd = memfd_create("huge", 0);
	uint64_t off;
	uint8_t *at;

	if (fd < 0 || ftruncate(fd, PERIOD + TAIL))
		tl_die("memfd");
	s->at = mmap(NULL, SPAN, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (off = 0; off < SPAN; off += PERIOD) {
		at = mmap(s->at + off, PERIOD, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, fd, 0);
		if (at == MAP_FAILED)
			tl_die("map at %" PRIu64, off);
	}
	at = mmap(s->at + SPAN - TAIL, TAIL, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED, fd, PERIOD);
	if (at == MAP_FAILED)
		tl_die("map of the tail");
	close(fd);
	s->mr = ibv_reg_mr(d->pd, s->at, SPAN, ACCESS_ALL);
	if (!s->mr)
		tl_die("reg_mr of 2 GiB");
}

static void fill(struct span *s, uint64_t seed)
{
	size_t i;

	tl_seed(seed);
	for (i = 0; i < PERIOD; i += 8)
		*(uint64_t *)(s->at + i) = tl_rand();
	for (i = SPAN - TAIL; i < SPAN; i += 8)
		*(uint64_t *)(s->at + i) = tl_rand();
}

/* @to must be @from but for the last byte, which must be @last. */
static void same(struct span *from, struct span *to, uint8_t last)
{
	EXPECT(!memcmp(from->at, to->at, PERIOD), "the beginning");
	EXPECT(!memcmp(from->at + SPAN - TAIL, to->at + SPAN - TAIL, TAIL - 1),
	       "the end");
	EXPECT(to->at[SPAN - 1] == last, "the byte behind the message");
}

static void huge_case(const char *name, enum ibv_wr_opcode op, int sges)
{
	bool read = op == IBV_WR_RDMA_READ;
	struct span a, b;
	struct ibv_sge sge[4];
	struct ibv_recv_wr *rbad, rwr = { .wr_id = 7, .sg_list = sge,
		.num_sge = 1 };
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .opcode = op,
		.sg_list = sge, .send_flags = IBV_SEND_SIGNALED };
	uint64_t start, done = 0;
	struct ibv_wc wc;
	struct pair p;
	uint8_t last;
	int i;

	if (!case_begin(name))
		return;
	pair_init(&p);
	p.ca.pmtu = 4096;
	p.ca.timeout = 18;
	p.cb = p.ca;
	pair_make(&p);
	make_span(&a, &dev_a);
	make_span(&b, &dev_b);
	fill(read ? &b : &a, 1);
	fill(read ? &a : &b, 2);
	last = (read ? &a : &b)->at[SPAN - 1];
	sge[0] = (struct ibv_sge) { (uintptr_t)b.at, HUGE_LEN, b.mr->lkey };
	if (op == IBV_WR_SEND)
		EXPECT(!ibv_post_recv(p.b.qp, &rwr, &rbad), "post_recv");
	for (i = 0; i < sges; i++) {
		sge[i].addr = (uintptr_t)a.at + done;
		sge[i].length = i == sges - 1 ? HUGE_LEN - done :
				HUGE_LEN / sges + i;
		sge[i].lkey = a.mr->lkey;
		done += sge[i].length;
	}
	wr.num_sge = sges;
	wr.wr.rdma.remote_addr = (uintptr_t)b.at;
	wr.wr.rdma.rkey = b.mr->rkey;
	start = tl_now_ns();
	EXPECT(!ibv_post_send(p.a.qp, &wr, &bad), "post_send");
	EXPECT(tl_poll_wait(p.a.scq, &wc, 100000) && !wc.status, "%s",
	       ibv_wc_status_str(wc.status));
	if (op == IBV_WR_SEND)
		EXPECT(tl_poll_wait(p.b.rcq, &wc, 1000) && !wc.status &&
		       wc.byte_len == HUGE_LEN, "byte_len %u", wc.byte_len);
	printf("# %s: %.0f MB/s\n", name,
	       HUGE_LEN * 1e3 / (tl_now_ns() - start));
	same(read ? &b : &a, read ? &a : &b, last);
	ibv_dereg_mr(a.mr);
	ibv_dereg_mr(b.mr);
	munmap(a.at, SPAN);
	munmap(b.at, SPAN);
	pair_drop(&p);
	case_end();
}

int main(int argc, char **argv)
{
	pair_main(argc, argv, 300);
	huge_case("WRITE of 2 GiB - 1", IBV_WR_RDMA_WRITE, 1);
	huge_case("READ of 2 GiB - 1", IBV_WR_RDMA_READ, 1);
	huge_case("SEND of 2 GiB - 1 from 4 SGEs", IBV_WR_SEND, 4);
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
