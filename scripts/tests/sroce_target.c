// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs to be shot at: an RC one in each state, UC and UD ones, the latter in a
 * multicast group, a few to be sacrificed, and
 * memory whose every byte is watched. packets.py drives it over a pipe:
 *
 *   check      nothing at all may have changed
 *   guards     only the exported page may have changed
 *   refresh    new sacrificial queue pairs; prints them
 *   quit
 *
 * Answers are lines that begin with "qp", "mr", "good", "bad" or "ready".
 * Options: -f 4|6 DEVICE PEER-GID-OF-THIS-DEVICE
 */
#include "pair.h"

#define PAGE 4096u
#define SACRIFICES 4
#define FILL 0x3c

static struct tl_dev peer;
static uint8_t *mem;
static struct ibv_mr *exported;
static struct ibv_cq *cq;
#define UD_QKEY 0x5555

static struct ibv_qp *fixed[7];
static struct ibv_qp *victim[SACRIFICES];
static const int fixed_state[7] = {
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR,
	IBV_QPS_RTS, IBV_QPS_RTS,
};

static struct ibv_qp *make_qp(int state, const char *role)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { 8, 8, 1, 1, 0 },
	};
	struct tl_conn c = tl_conn_default();
	uint32_t psn = tl_rand() & 0xffffff;
	struct ibv_qp_attr attr;
	struct ibv_recv_wr *bad, wr = {};
	struct ibv_sge sge;
	struct ibv_qp *qp;
	int i, rc = 0;

	qp = ibv_create_qp(dev_a.pd, &init);
	if (!qp)
		tl_die("create_qp");
	sge = (struct ibv_sge) { (uintptr_t)mem + PAGE, PAGE, exported->lkey };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (state != IBV_QPS_RESET)
		rc = tl_qp_init(qp, c.access);
	if (!rc && (state == IBV_QPS_RTR || state == IBV_QPS_RTS)) {
		tl_fill_rtr(&attr, &c, &dev_a, &peer.gid, 0x77, psn);
		rc = ibv_modify_qp(qp, &attr, TL_RTR_MASK);
		for (i = 0; i < 4; i++)
			ibv_post_recv(qp, &wr, &bad);
	}
	if (!rc && state == IBV_QPS_RTS) {
		tl_fill_rts(&attr, &c, psn);
		rc = ibv_modify_qp(qp, &attr, TL_RTS_MASK);
	}
	if (!rc && state == IBV_QPS_ERR)
		rc = tl_qp_to(qp, IBV_QPS_ERR);
	if (rc)
		tl_die("modify: %d", rc);
	printf("qp %s %u %u\n", role, qp->qp_num, psn);
	return qp;
}

/* Both accept packets as soon as they are made; no receive request is posted. */
static struct ibv_qp *make_unreliable(enum ibv_qp_type type, const char *role)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq,
		.cap = { 8, 8, 1, 1, 0 },
	};
	bool ud = type == IBV_QPT_UD;
	struct tl_conn c = tl_conn_default();
	uint32_t psn = tl_rand() & 0xffffff;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qkey = UD_QKEY, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_qp *qp = ibv_create_qp(dev_a.pd, &init);

	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				 IBV_QP_PORT | (ud ? IBV_QP_QKEY :
						IBV_QP_ACCESS_FLAGS)))
		tl_die("%s: INIT", role);
	tl_fill_rtr(&attr, &c, &dev_a, &peer.gid, 0x77, psn);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE |
			  (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU |
			   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)))
		tl_die("%s: RTR", role);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = psn;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		tl_die("%s: RTS", role);
	printf("qp %s %u %u\n", role, qp->qp_num, psn);
	return qp;
}

static void join(struct ibv_qp *qp, int family)
{
	union ibv_gid group;

	inet_pton(AF_INET6, family == 6 ? "ff0e::9:9:9" : "::ffff:239.9.9.9",
		  group.raw);
	if (!dev_a.is_rxe && ibv_attach_mcast(qp, &group, 0))
		tl_die("attach");
}

static bool filled(const uint8_t *at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (at[i] != FILL) {
			printf("bad byte %zu of the memory\n",
			       (size_t)(at + i - mem));
			return false;
		}
	return true;
}

static void check_guards(void)
{
	if (filled(mem, PAGE) && filled(mem + 2 * PAGE, PAGE))
		printf("good\n");
}

static void check_all(void)
{
	struct ibv_wc wc;
	size_t i;

	if (!filled(mem, 3 * PAGE))
		return;
	if (ibv_poll_cq(cq, 1, &wc)) {
		printf("bad completion: qp %u %s opcode %d\n", wc.qp_num,
		       ibv_wc_status_str(wc.status), wc.opcode);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(fixed); i++)
		if ((int)tl_qp_state(fixed[i]) != fixed_state[i]) {
			printf("bad state %d, was %d\n", tl_qp_state(fixed[i]),
			       fixed_state[i]);
			return;
		}
	printf("good\n");
}

static void refresh(void)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < SACRIFICES; i++) {
		if (victim[i] && ibv_destroy_qp(victim[i]))
			tl_die("destroy_qp");
		victim[i] = make_qp(IBV_QPS_RTS, "victim");
	}
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
	memset(mem, FILL, 3 * PAGE);
}

int main(int argc, char **argv)
{
	static const char *const roles[] = { "reset", "init", "rtr", "rts",
		"err" };
	int c, family = 4;
	char line[64];
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "f:")) != -1)
		family = c == 'f' ? atoi(optarg) : 4;
	if (argc - optind != 2)
		tl_die("options: [-f 4|6] DEVICE PEER");
	tl_open(&dev_a, argv[optind], family);
	tl_open(&peer, argv[optind + 1], family);
	tl_seed(getpid());
	mem = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(mem, FILL, 3 * PAGE);
	exported = ibv_reg_mr(dev_a.pd, mem + PAGE, PAGE, ACCESS_ALL);
	cq = ibv_create_cq(dev_a.ctx, 1000, NULL, NULL, 0);
	if (!exported || !cq)
		tl_die("setup");
	printf("mr %" PRIu64 " %u\n", (uint64_t)(uintptr_t)mem + PAGE,
	       exported->rkey);
	for (i = 0; i < ARRAY_SIZE(roles); i++)
		fixed[i] = make_qp(fixed_state[i], roles[i]);
	fixed[5] = make_unreliable(IBV_QPT_UC, "uc");
	fixed[6] = make_unreliable(IBV_QPT_UD, "ud");
	join(fixed[6], family);
	refresh();
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "check", 5)) {
			check_all();
		} else if (!strncmp(line, "guards", 6)) {
			check_guards();
		} else if (!strncmp(line, "refresh", 7)) {
			refresh();
			printf("ready\n");
		} else {
			break;
		}
	}
	return 0;
}
