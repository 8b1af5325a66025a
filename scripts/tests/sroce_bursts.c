// SPDX-License-Identifier: GPL-2.0
/*
 * Bursts: what one post list has to send leaves in as few skbs as can be, and it
 * must not matter to anybody how its packets share them. All that differs in
 * shape: messages of one full packet, some bytes less or more, in front of and
 * behind a long one whose packets fill one skb, two, or one and a few.
 *
 * One process, one thread, both ends; data compared, and a lost packet, which
 * nobody but the sender can have lost, fails the case.
 */
#include "pair.h"

#define PMTU 1024
#define LIST 8
#define MOST (140 * PMTU)

static const uint32_t shorts[] = { PMTU, PMTU - 3, PMTU - 4, 600, 1, PMTU + 1 };

static uint8_t *from, *to;
static struct ibv_mr *mr_from, *mr_to;

/* The device's count of packets sent again. */
static long repeated(void)
{
	char path[200];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/retrans_pkts",
		 dev_a.name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* WRITEs or READs of these sizes, back to back, in one list. */
static void burst(struct pair *p, enum ibv_wr_opcode op, const uint32_t *size,
		  int n, uint8_t seed)
{
	const bool read = op == IBV_WR_RDMA_READ;
	uint8_t *source = read ? to : from, *sink = read ? from : to;
	struct ibv_send_wr wr[LIST] = {}, *bad;
	struct ibv_sge sge[LIST];
	uint32_t at = 0, i;
	int k;

	for (k = 0; k < n; k++) {
		sge[k] = (struct ibv_sge){ (uintptr_t)from + at, size[k],
					   mr_from->lkey };
		wr[k].wr_id = k;
		wr[k].sg_list = &sge[k];
		wr[k].num_sge = 1;
		wr[k].opcode = op;
		wr[k].send_flags = k == n - 1 ? IBV_SEND_SIGNALED : 0;
		wr[k].next = k == n - 1 ? NULL : &wr[k + 1];
		wr[k].wr.rdma.remote_addr = (uintptr_t)to + at;
		wr[k].wr.rdma.rkey = mr_to->rkey;
		at += size[k];
	}
	for (i = 0; i < at; i++)
		source[i] = i * 7 + seed;
	memset(sink, ~seed, at);
	EXPECT(!ibv_post_send(p->a.qp, wr, &bad), "post_send");
	expect_wc(p->a.scq, n - 1, IBV_WC_SUCCESS, 10000);
	EXPECT(!memcmp(from, to, at), "data");
}

/* A long message with so many short ones before and behind it. */
static void shape(struct pair *p, enum ibv_wr_opcode op, uint32_t packets,
		  uint32_t bytes, int before, int behind)
{
	uint32_t size[LIST];
	int n = 0;

	while (n < before)
		size[n++] = bytes;
	size[n++] = packets * PMTU;
	while (n < before + 1 + behind)
		size[n++] = bytes;
	burst(p, op, size, n, n + bytes + packets);
}

static void shapes(struct pair *p, enum ibv_wr_opcode op, uint32_t packets)
{
	size_t i;
	int k;

	for (i = 0; i < ARRAY_SIZE(shorts) && case_good; i++)
		for (k = 0; k < 8; k++)
			shape(p, op, packets, shorts[i], k / 2, k % 2);
}

int main(int argc, char **argv)
{
	struct pair p;
	uint32_t packets;
	char name[80];
	long before;

	pair_main(argc, argv, 120);
	from = aligned_alloc(4096, MOST + 65536);
	to = aligned_alloc(4096, MOST + 65536);
	mr_from = ibv_reg_mr(dev_a.pd, from, MOST + 65536, ACCESS_ALL);
	mr_to = ibv_reg_mr(dev_b.pd, to, MOST + 65536, ACCESS_ALL);
	if (!from || !to || !mr_from || !mr_to)
		tl_die("memory");
	for (packets = 1; packets <= 136; packets += packets < 16 ? 5 :
	     packets % 61 < 14 || packets % 61 > 56 ? 1 : 6) {
		snprintf(name, sizeof(name), "bursts around %u packets", packets);
		if (!case_begin(name))
			continue;
		pair_init(&p);
		p.ca.pmtu = PMTU;
		p.cb.pmtu = PMTU;
		p.ca.timeout = 17;
		pair_make(&p);
		tl_sleep_ms(15);	/* counters are cached for 10 ms */
		before = repeated();
		/* the peer shows what it takes with its first ACKs */
		burst(&p, IBV_WR_RDMA_WRITE, (uint32_t[]){ 8 }, 1, 1);
		shapes(&p, IBV_WR_RDMA_WRITE, packets);
		shapes(&p, IBV_WR_RDMA_READ, packets);
		tl_sleep_ms(15);
		EXPECT(repeated() == before, "%ld packets repeated",
		       repeated() - before);
		pair_drop(&p);
		case_end();
	}
	ibv_dereg_mr(mr_from);
	ibv_dereg_mr(mr_to);
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
