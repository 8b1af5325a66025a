// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile user: writes anything into the rings it shares with the kernel
 * (send, receive and completion queues), rings doorbells meanwhile, unmaps,
 * forks and dies. Nobody but itself may suffer.
 *
 * The parent opens no device. Each attack is a child with a time limit; after
 * each another child proves that both devices still work. A child that ends
 * by a signal has only hurt itself: the provider library trusts the rings too.
 * The suite runs checked traffic of another process beside it.
 *
 * Options: -t seconds per attack, -s seed, -c only attacks of this name.
 */
#include "rogue_ring.h"
#include <pthread.h>
#include <sys/prctl.h>

static int attack_seconds = 3;
static uint64_t deadline_ns;

static bool time_left(void)
{
	return tl_now_ns() < deadline_ns;
}

/* ---- the attacks ---- */

/* One valid request with one field replaced, whatever the field. */
static void attack_fields(struct rogue *g)
{
	uint32_t i = *word(&g->ring[SQ], RING_PROD);
	volatile uint8_t *w;
	size_t off;
	int n;

	for (n = 0; n < 4; n++) {
		w = valid_wqe(g, i + n, some_opcode(), tl_rand_in(0, 5000));
		off = tl_rand_in(0, (1u << g->ring[SQ].log2) / 4 - 1) * 4;
		put32(w, off, nasty());
		if (tl_chance(30))
			put32(w, tl_rand_in(3, 63) * 4, nasty());
	}
	publish(g, n);
	swallow(g);
}

/* Every opcode from 0 to 255, and some that are further away. */
static void attack_opcodes(struct rogue *g)
{
	static uint32_t next;
	uint32_t i = *word(&g->ring[SQ], RING_PROD);
	volatile uint8_t *w;

	w = valid_wqe(g, i, IBV_WR_RDMA_WRITE, 64);
	put32(w, WQE_OPCODE, next < 256 ? next : (uint32_t)tl_rand());
	/* where a fast registration would keep a kernel pointer */
	if (next > 15)
		put64(w, WQE_RADDR, tl_chance(50) ? 0xffff888000000000ull :
		      tl_rand());
	next++;
	publish(g, 1);
	swallow(g);
}

/* Lengths, counts and offsets of the scatter list and of inline data. */
static void attack_lengths(struct rogue *g)
{
	static const uint16_t fields[] = {
		DMA_LENGTH, DMA_RESID, DMA_CUR_SGE, DMA_NUM_SGE, DMA_OFFSET,
		DMA_SGE + 8, DMA_SGE + 24, DMA_SGE + 4,
	};
	uint32_t i = *word(&g->ring[SQ], RING_PROD);
	volatile uint8_t *w;
	int k, n;

	for (n = 0; n < 3; n++) {
		w = valid_wqe(g, i + n, some_opcode(), 32);
		if (tl_chance(50))
			put32(w, WQE_FLAGS, IBV_SEND_SIGNALED |
			      IBV_SEND_INLINE);
		for (k = tl_rand_in(1, 3); k; k--)
			put32(w, fields[tl_rand_in(0, ARRAY_SIZE(fields) - 1)],
			      nasty());
	}
	publish(g, n);
	swallow(g);
}

static void attack_indices(struct rogue *g)
{
	static const uint16_t fields[] = {
		RING_PROD, RING_CONS, RING_LOG2, RING_MASK,
	};
	struct ring *r = &g->ring[tl_rand_in(0, RINGS - 1)];
	uint32_t i = *word(&g->ring[SQ], RING_PROD), v;
	int n;

	for (n = 0; n < 3; n++)
		valid_wqe(g, i + n, some_opcode(), tl_rand_in(0, 3000));
	publish(g, n);
	switch (tl_rand_in(0, 3)) {
	case 0:
		v = r->mask + tl_rand_in(0, 2);
		break;
	case 1:
		v = *word(r, RING_CONS) + tl_rand_in(0, 3) - 1;
		break;
	default:
		v = nasty();
	}
	*word(r, fields[tl_rand_in(0, ARRAY_SIZE(fields) - 1)]) = v;
	doorbell(g);
	ibv_req_notify_cq(g->p.a.scq, 0);
	ibv_req_notify_cq(g->p.a.rcq, 1);
}

/* Any byte of any ring. */
static void attack_bytes(struct rogue *g)
{
	struct ring *r = &g->ring[tl_rand_in(0, RINGS - 1)];
	int n = tl_rand_in(1, 400);
	size_t at = tl_rand_in(0, r->size - 1);

	valid_wqe(g, *word(&g->ring[SQ], RING_PROD), some_opcode(), 3000);
	publish(g, 1);
	while (n--) {
		if (tl_chance(5))
			at = tl_rand_in(0, r->size - 1);
		r->base[at++ % r->size] = tl_rand();
	}
	doorbell(g);
}

/* Receives made of noise, taken by messages of the honest other end. */
static void attack_receives(struct rogue *g)
{
	struct ring *r = &g->ring[RQ];
	uint32_t n, k, prod = *word(r, RING_PROD);
	struct ibv_sge sge = { (uintptr_t)g->p.b.buf, 2000, g->p.b.mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1,
		.opcode = tl_chance(70) ? IBV_WR_SEND :
			  IBV_WR_RDMA_WRITE_WITH_IMM };
	size_t off;

	wr.wr.rdma.remote_addr = (uintptr_t)g->p.a.buf;
	wr.wr.rdma.rkey = g->p.a.mr->rkey;
	for (n = 0; n < 4; n++) {
		volatile uint8_t *w = slot(r, prod + n);

		for (off = 0; off < 1u << r->log2; off += 4)
			put32(w, off, 0);
		put32(w, 16, 2000);
		put32(w, 20, 2000);
		put32(w, 28, 1);
		put64(w, 40, (uintptr_t)g->p.a.buf);
		put32(w, 48, 2000);
		put32(w, 52, g->p.a.mr->lkey);
		for (k = tl_rand_in(0, 2); k; k--)
			put32(w, tl_rand_in(0, (1u << r->log2) / 4 - 1) * 4,
			      nasty());
	}
	*word(r, RING_PROD) = (prod + n) & r->mask;
	for (n = 0; n < 2; n++)
		ibv_post_send(g->p.b.qp, &wr, &bad);
	swallow(g);
}

/* The same to an SRQ, its indices too, while it is resized. */
static void attack_shared(struct rogue *g)
{
	struct ring *r = &g->ring[RQ];
	static uint64_t answer[2];

	attack_receives(g);
	if (tl_chance(30))
		*word(r, tl_chance(50) ? RING_PROD : RING_CONS) =
			tl_chance(50) ? nasty() : r->mask + tl_rand_in(0, 2);
	if (tl_chance(20))
		resize_srq(g, tl_chance(70) ? tl_rand_in(1, 64) : nasty(),
			   tl_chance(80) ? (uintptr_t)answer : tl_rand());
}

static struct rogue *race_target;
static volatile bool race_stop;

/* Rewrites what the kernel may be reading. */
static void *race_thread(void *arg)
{
	uint32_t x = 12345;

	(void)arg;
	while (!race_stop) {
		struct rogue *g = __atomic_load_n(&race_target,
						  __ATOMIC_ACQUIRE);
		int k;

		for (k = 0; g && k < 64; k++) {
			x = x * 1664525 + 1013904223;
			put32(slot(&g->ring[SQ], x >> 8),
			      (x >> 16) % (1u << g->ring[SQ].log2) & ~3u,
			      k & 1 ? x : x >> 28);
			put32(slot(&g->ring[RQ], x >> 9),
			      (x >> 15) % (1u << g->ring[RQ].log2) & ~3u,
			      k & 2 ? x : x >> 27);
		}
		if (!g)
			sched_yield();
	}
	return NULL;
}

static void attack_race(struct rogue *g)
{
	uint32_t i = *word(&g->ring[SQ], RING_PROD);
	int n;

	__atomic_store_n(&race_target, g, __ATOMIC_RELEASE);
	for (n = 0; n < 6; n++)
		valid_wqe(g, i + n, some_opcode(), tl_rand_in(0, 5000));
	publish(g, n);
	swallow(g);
}

/* ---- the loop around one attack ---- */

/* What the attacks start from must work, or they prove nothing. */
static void check_valid(struct rogue *g)
{
	static const int ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_SEND,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint32_t i = *word(&g->ring[SQ], RING_PROD);
	uint64_t end = tl_now_ns() + 3000000000ull;
	size_t n;

	for (n = 0; n < ARRAY_SIZE(ops); n++)
		valid_wqe(g, i + n, ops[n], 3000);
	publish(g, n);
	while (*word(&g->ring[SCQ], RING_PROD) != n && tl_now_ns() < end)
		usleep(100);
	if (*word(&g->ring[SCQ], RING_PROD) != n ||
	    tl_qp_state(g->p.a.qp) != IBV_QPS_RTS)
		tl_die("a valid request fails, status %u",
		       *(uint32_t *)(g->ring[SCQ].base + RING_DATA + 8));
	swallow(g);
}

static void recycle(struct rogue *g, bool *made)
{
	__atomic_store_n(&race_target, NULL, __ATOMIC_RELEASE);
	if (race_stop || !*made) {
		rogue_make(g);
		*made = true;
		return;
	}
	/* the other thread may still hold the old pointer: let it pass */
	usleep(1000);
	rogue_drop(g);
	rogue_make(g);
}

/* Receives only hurt when a message meets them. */
static bool may_miss(void (*attack)(struct rogue *g))
{
	return attack == attack_receives || attack == attack_shared;
}

static void ring_attack(void (*attack)(struct rogue *g))
{
	static struct rogue g;
	uint64_t rounds = 0, shots = 0, fallen = 0;
	pthread_t thread;
	bool made = false;
	int n;

	if (attack == attack_race)
		pthread_create(&thread, NULL, race_thread, NULL);
	while (time_left()) {
		recycle(&g, &made);
		if (!rounds && attack != attack_race)
			check_valid(&g);
		rounds++;
		for (n = 0; n < 30 && time_left(); n++) {
			attack(&g);
			shots++;
			if (tl_qp_state(g.p.a.qp) != IBV_QPS_RTS) {
				fallen++;
				break;
			}
			if (n % 8 == 7)
				sched_yield();
		}
		if (tl_chance(20))
			tl_qp_to(g.p.a.qp, IBV_QPS_ERR);
	}
	printf("# %" PRIu64 " queue pairs, %" PRIu64 " fell, %" PRIu64 " shots\n",
	       rounds, fallen, shots);
	printf("# %" PRIu64 " of %" PRIu64 " doorbells heard\n",
	       doorbells_heard, doorbells);
	printf("# %" PRIu64 " resizes of SRQs\n", srq_resizes);
	/* an attack that never hits anything proves nothing */
	if (!fallen && !may_miss(attack))
		_exit(5);
	race_stop = true;
	if (attack == attack_race)
		pthread_join(thread, NULL);
	/* half of them leave everything to the kernel */
	if (tl_chance(50))
		rogue_drop(&g);
}

/* ---- attacks on the mappings and on lifetime ---- */

static void unmap_in_use(void)
{
	static struct rogue g;
	int i, n;

	while (time_left()) {
		rogue_make(&g);
		for (i = 0; i < 8; i++)
			valid_wqe(&g, i, some_opcode(), 5000);
		publish(&g, 8);
		for (n = 0; n < RINGS; n++)
			munmap((void *)g.ring[n].base, g.ring[n].size);
		doorbell(&g);
		if (tl_chance(50))
			usleep(500);
		ibv_req_notify_cq(g.p.a.scq, 0);
		tl_qp_to(g.p.a.qp, IBV_QPS_ERR);
		/* the provider unmaps again, which fails harmlessly */
		pair_drop(&g.p);
		known_n = 0;
	}
}

static void *map_thread(void *arg)
{
	uint64_t x = 7, size;
	void *at;

	(void)arg;
	while (!race_stop) {
		x = x * 6364136223846793005ull + 1;
		size = ((x >> 20) % 8 + 1) * 4096;
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			  dev_a.ctx->cmd_fd, ((x >> 33) % 4096) * 4096);
		if (at == MAP_FAILED)
			continue;
		*(volatile uint32_t *)((uint8_t *)at + RING_PROD) = x;
		munmap(at, size);
	}
	return NULL;
}

/* Maps whatever offset while rings come and go. */
static void map_race(void)
{
	pthread_t thread;
	struct pair p;

	pthread_create(&thread, NULL, map_thread, NULL);
	while (time_left()) {
		struct ibv_cq *cq = ibv_create_cq(dev_a.ctx, 100, NULL, NULL,
						  0);

		if (cq)
			ibv_destroy_cq(cq);
		if (tl_chance(20)) {
			pair_init(&p);
			end_make(&p.a, &dev_a, 4, 1);
			end_drop(&p.a);
		}
	}
	race_stop = true;
	pthread_join(thread, NULL);
}

static void bad_maps(void)
{
	static struct rogue g;
	int i, fd = dev_a.ctx->cmd_fd;
	uint64_t off;
	void *at;

	rogue_make(&g);
	for (i = 0; i < 2000 && time_left(); i++) {
		off = tl_chance(50) ? tl_rand() & 0xffffff000 :
		      tl_rand() & ~0xfffull & ~(1ull << 63);
		at = mmap(NULL, 4096 * tl_rand_in(1, 64),
			  tl_chance(20) ? PROT_READ | PROT_EXEC :
			  PROT_READ | PROT_WRITE,
			  tl_chance(20) ? MAP_PRIVATE : MAP_SHARED, fd, off);
		if (at != MAP_FAILED)
			printf("# offset %#" PRIx64 " could be mapped\n", off);
	}
	/* what is mapped can neither grow nor be split into trouble */
	at = mremap((void *)g.ring[SQ].base, g.ring[SQ].size,
		    g.ring[SQ].size * 4, MREMAP_MAYMOVE);
	if (at != MAP_FAILED) {
		printf("# the ring grew\n");
		memset(at, 0xff, g.ring[SQ].size * 4);
	}
	munmap((void *)g.ring[SCQ].base, 4096);
	mprotect((void *)g.ring[RQ].base, 4096, PROT_NONE);
	doorbell(&g);
	_exit(0);
}

static void fork_in_use(void)
{
	static struct rogue g;
	int i, k;
	pid_t pid;

	while (time_left()) {
		rogue_make(&g);
		for (i = 0; i < 8; i++)
			valid_wqe(&g, i, some_opcode(), 5000);
		publish(&g, 8);
		pid = fork();
		if (!pid) {
			/* inherited mappings, inherited descriptor */
			signal(SIGSEGV, SIG_DFL);
			for (k = 0; k < 200; k++)
				attack_bytes(&g);
			_exit(0);
		}
		for (k = 0; k < 20; k++)
			attack_fields(&g);
		if (tl_chance(50))
			rogue_drop(&g);
		else
			known_n = 0;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static void killed_in_flight(void)
{
	int i, k, fds[2];
	char c;

	while (time_left()) {
		pid_t pid;

		if (pipe(fds))
			tl_die("pipe");
		pid = fork();
		if (!pid) {
			static struct rogue g[3];

			tl_open(&dev_a, dev_a.name, 4);
			tl_open(&dev_b, dev_b.name, 4);
			for (k = 0; k < 3; k++)
				rogue_make(&g[k]);
			if (write(fds[1], "x", 1) < 0)
				_exit(0);
			for (i = 0; ; i++) {
				uint32_t at = *word(&g[i % 3].ring[SQ],
						    RING_PROD);

				valid_wqe(&g[i % 3], at, some_opcode(), 60000);
				publish(&g[i % 3], 1);
				swallow(&g[i % 3]);
			}
		}
		close(fds[1]);
		if (read(fds[0], &c, 1) == 1)
			usleep(tl_rand_in(0, 5000));
		close(fds[0]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static const struct {
	const char *name;
	void (*ring)(struct rogue *g);
	void (*whole)(void);
} attacks[] = {
	{ "request fields", attack_fields, NULL },
	{ "opcodes", attack_opcodes, NULL },
	{ "lengths and inline data", attack_lengths, NULL },
	{ "indices and headers", attack_indices, NULL },
	{ "random bytes", attack_bytes, NULL },
	{ "receives", attack_receives, NULL },
	{ "shared receives", attack_shared, NULL },
	{ "rewriting under the kernel's eyes", attack_race, NULL },
	{ "munmap in use", NULL, unmap_in_use },
	{ "mmap against destroy", NULL, map_race },
	{ "mmap of anything", NULL, bad_maps },
	{ "fork in use", NULL, fork_in_use },
	{ "killed in flight", NULL, killed_in_flight },
};

/* Runs in a child: opens both devices and does its worst. */
static void child(size_t i)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(attack_seconds * 3 + 20);
	tl_open(&dev_a, dev_a.name, 4);
	tl_open(&dev_b, dev_b.name, 4);
	deadline_ns = tl_now_ns() + attack_seconds * 1000000000ull;
	rogue_shared = attacks[i].ring == attack_shared;
	if (attacks[i].ring)
		ring_attack(attacks[i].ring);
	else
		attacks[i].whole();
	_exit(0);
}

static void alive_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(30);
	tl_open(&dev_a, dev_a.name, 4);
	tl_open(&dev_b, dev_b.name, 4);
	case_good = true;
	expect_alive();
	tl_close(&dev_a);
	tl_close(&dev_b);
	_exit(!case_good);
}

/* SIGALRM of a child means that something in the kernel hung. */
static void run_attack(size_t i)
{
	uint64_t end;
	int status, round = 0;
	pid_t pid;

	end = tl_now_ns() + attack_seconds * 1000000000ull;
	/* a child that shoots itself early gets a successor */
	do {
		fflush(stdout);
		tl_seed(tl_rand());
		pid = fork();
		if (!pid)
			child(i);
		waitpid(pid, &status, 0);
		round++;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
			printf("# the attacker died of signal %d\n",
			       WTERMSIG(status));
		else
			break;
	} while (tl_now_ns() < end && round < 50);
	tl_ok(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) &&
	      !(WIFEXITED(status) && WEXITSTATUS(status)),
	      "%s: the attacker ends", attacks[i].name);
	fflush(stdout);
	pid = fork();
	if (!pid)
		alive_child();
	waitpid(pid, &status, 0);
	tl_ok(WIFEXITED(status) && !WEXITSTATUS(status),
	      "%s: the devices work", attacks[i].name);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "t:s:c:")) != -1) {
		if (c == 't')
			attack_seconds = atoi(optarg);
		else if (c == 's')
			seed = atoll(optarg);
		else if (c == 'c')
			case_only = optarg;
		else
			tl_die("options: [-t SECONDS] [-s SEED] [-c ATTACK] DEVICE DEVICE");
	}
	if (argc - optind != 2)
		tl_die("two devices");
	setvbuf(stdout, NULL, _IOLBF, 0);
	dev_a.name = argv[optind];
	dev_b.name = argv[optind + 1];
	case_name = "rogue";
	tl_seed(seed);
	for (i = 0; i < ARRAY_SIZE(attacks); i++)
		if (!case_only || strstr(attacks[i].name, case_only))
			run_attack(i);
	return tl_failures != 0;
}
