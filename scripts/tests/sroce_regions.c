// SPDX-License-Identifier: GPL-2.0
/*
 * Ways to register memory: on demand, again, from a dma-buf, and what is refused.
 * What the library of the stock provider has no call for goes to the kernel by
 * system calls of its own.
 *
 * usage: sroce_regions [-f 4|6] [-c CASE] [-L SECONDS] DEVICE_A DEVICE_B
 *
 * One process has both ends. Prints "ok - x" and "not ok - x" lines; exits 1
 * when a case failed.
 */
#include "memory.h"

#include <linux/udmabuf.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <sys/ioctl.h>

#define BIG (3u << 20)
#define ODP (ACCESS_ALL | IBV_ACCESS_ON_DEMAND)

/* ---- memory that comes on demand ---- */

struct area {
	uint8_t *p;
	struct ibv_mr *mr;
};

static struct area area_new(struct pair_end *e, size_t bytes, int access)
{
	struct area m;

	m.p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m.p == MAP_FAILED)
		tl_die("mmap");
	m.mr = ibv_reg_mr(e->d->pd, m.p, bytes, access);
	if (!m.mr)
		tl_die("reg_mr");
	return m;
}

static void area_drop(struct area *m, size_t bytes)
{
	if (ibv_dereg_mr(m->mr))
		tl_die("dereg_mr");
	munmap(m->p, bytes);
}

static void pattern(uint8_t *p, size_t n, uint32_t seed)
{
	size_t i;

	for (i = 0; i < n; i += 4)
		*(uint32_t *)(p + i) = seed + i * 2654435761u;
}

/* One operation of a between two areas, at an odd place and length. */
static void transfer(struct pair *p, enum ibv_wr_opcode op, struct area *a,
		     struct area *b, uint32_t off, uint32_t len, int status)
{
	struct post x = {
		.op = op, .id = 80, .addr = (uintptr_t)a->p + off, .len = len,
		.lkey = a->mr->lkey, .raddr = (uintptr_t)b->p + off,
		.rkey = b->mr->rkey, .flags = IBV_SEND_SIGNALED,
	};

	EXPECT(!post_raw(&p->a, &x), "post");
	expect_wc(p->a.scq, 80, status, 20000);
}

/* Forget every page of @m. */
static void forget(struct area *m)
{
	if (madvise(m->p, BIG, MADV_DONTNEED))
		tl_die("madvise");
}

static void case_odp_ops(struct pair *p)
{
	struct area a = area_new(&p->a, BIG, ODP), b = area_new(&p->b, BIG, ODP);
	uint32_t off = 4097, len = BIG - 9000;
	int i;

	for (i = 0; i < 4 && case_good; i++) {
		pattern(a.p, BIG, i);
		forget(&b);
		transfer(p, IBV_WR_RDMA_WRITE, &a, &b, off, len, 0);
		EXPECT(!memcmp(a.p + off, b.p + off, len), "WRITE %d", i);
		EXPECT(!b.p[off - 1] && !b.p[off + len], "WRITE %d: more", i);
		forget(&a);
		transfer(p, IBV_WR_RDMA_READ, &a, &b, off, len, 0);
		EXPECT(!memcmp(a.p + off, b.p + off, len), "READ %d", i);

		pattern(a.p, BIG, i + 77);
		forget(&b);
		EXPECT(!post_recv_at(&p->b, 81, (uintptr_t)b.p + off, len,
				     b.mr->lkey), "post_recv");
		transfer(p, IBV_WR_SEND, &a, &b, off, len, 0);
		expect_wc(p->b.rcq, 81, IBV_WC_SUCCESS, 5000);
		EXPECT(!memcmp(a.p + off, b.p + off, len), "SEND %d", i);

		forget(&a);		/* zeros are sent, and a hole answers */
		forget(&b);
		transfer(p, IBV_WR_ATOMIC_FETCH_AND_ADD, &a, &b, 8192, 8, 0);
		EXPECT(*(uint64_t *)(a.p + 8192) == 0, "FADD %d", i);
		transfer(p, IBV_WR_SEND_WITH_IMM, &a, &b, 0, 0,
			 IBV_WC_RNR_RETRY_EXC_ERR);
		pair_again(p);
	}
	area_drop(&a, BIG);
	area_drop(&b, BIG);
}

static volatile bool stop;

/* Takes pages away, makes them copy-on-write, gives them back. */
static void *take_away(void *arg)
{
	struct area *m = arg;

	while (!stop) {
		size_t at = tl_rand_in(0, BIG / 4096 - 1) * 4096;
		pid_t pid;

		madvise(m[1].p + at, 4096, MADV_DONTNEED);
		madvise(m[0].p, BIG, MADV_PAGEOUT);
		if (tl_chance(3)) {
			pid = fork();
			if (!pid)
				_exit(0);
			if (pid > 0)
				waitpid(pid, NULL, 0);
		}
		usleep(5000);
	}
	return NULL;
}

/* The area written to loses pages all the time; the one read keeps its bytes. */
static void case_odp_churn(struct pair *p)
{
	struct area m[2] = { area_new(&p->a, BIG, ODP),
			     area_new(&p->b, BIG, ODP) };
	pthread_t t;
	int i;

	pattern(m[0].p, BIG, 5);
	stop = false;
	pthread_create(&t, NULL, take_away, m);
	for (i = 0; i < 10 && case_good; i++) {
		transfer(p, IBV_WR_RDMA_WRITE, &m[0], &m[1], i * 64, BIG / 6,
			 IBV_WC_SUCCESS);
	}
	stop = true;
	pthread_join(t, NULL);
	transfer(p, IBV_WR_RDMA_WRITE, &m[0], &m[1], 0, BIG, IBV_WC_SUCCESS);
	EXPECT(!memcmp(m[0].p, m[1].p, BIG), "data");
	area_drop(&m[0], BIG);
	area_drop(&m[1], BIG);
}

/* Addresses without memory behind them: an error, and no end of waiting. */
static void case_odp_nothing_there(struct pair *p)
{
	struct area a = area_new(&p->a, BIG, ODP), b = area_new(&p->b, BIG, ODP);

	munmap(b.p + 65536, 65536);
	transfer(p, IBV_WR_RDMA_WRITE, &a, &b, 65536, 100, IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
	transfer(p, IBV_WR_RDMA_READ, &a, &b, 65536, 100, IBV_WC_REM_OP_ERR);
	pair_again(p);
	transfer(p, IBV_WR_RDMA_WRITE, &a, &b, 0, 65536, IBV_WC_SUCCESS);
	munmap(a.p, 65536);
	transfer(p, IBV_WR_RDMA_WRITE, &a, &b, 0, 100, IBV_WC_LOC_PROT_ERR);
	pair_again(p);
	transfer(p, IBV_WR_RDMA_READ, &a, &b, 0, 100, IBV_WC_LOC_PROT_ERR);
	pair_again(p);
	EXPECT(!post_recv_at(&p->b, 82, (uintptr_t)b.p + 65536, 100,
			     b.mr->lkey), "post_recv");
	transfer(p, IBV_WR_SEND, &b, &b, 0, 0, IBV_WC_SUCCESS);
	expect_wc(p->b.rcq, 82, IBV_WC_SUCCESS, 5000);
	area_drop(&a, BIG);
	area_drop(&b, BIG);
	expect_alive();
}

/* A region may go while pages of it are being waited for. */
static void case_odp_dereg(struct pair *p)
{
	struct area b;
	struct post x;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 50; i++) {
		b = area_new(&p->b, BIG, ODP);
		x = post_of(p, IBV_WR_RDMA_WRITE, 83, BUF_SIZE);
		x.raddr = (uintptr_t)b.p + i * 8192;
		x.rkey = b.mr->rkey;
		EXPECT(!post_raw(&p->a, &x), "post");
		usleep(tl_rand_in(0, 300));
		area_drop(&b, BIG);
		EXPECT(tl_poll_wait(p->a.scq, &wc, 5000) &&
		       (wc.status == IBV_WC_SUCCESS ||
			wc.status == IBV_WC_REM_ACCESS_ERR), "%s",
		       ibv_wc_status_str(wc.status));
		if (wc.status)
			pair_again(p);
	}
}

static void case_refused(struct pair *p)
{
	struct ibv_device_attr_ex attr;
	struct ibv_mr *mr;

	mr = ibv_reg_mr(p->a.d->pd, NULL, SIZE_MAX, ODP);
	EXPECT(!mr && errno == EOPNOTSUPP, "implicit: %s", strerror(errno));
	mr = ibv_reg_mr(p->a.d->pd, p->a.buf, 0, ACCESS_ALL);
	EXPECT(!mr && errno == EINVAL, "empty: %s", strerror(errno));
	mr = ibv_reg_mr(p->a.d->pd, p->a.buf, BUF_SIZE,
			ACCESS_ALL | IBV_ACCESS_FLUSH_PERSISTENT);
	EXPECT(!mr && errno == EOPNOTSUPP, "persistent: %s", strerror(errno));
	mr = ibv_reg_mr(p->a.d->pd, p->a.buf, BUF_SIZE,
			ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING);
	EXPECT(mr && !ibv_dereg_mr(mr), "relaxed: %s", strerror(errno));
	mr = ibv_reg_mr(p->a.d->pd, p->a.buf, BUF_SIZE,
			ACCESS_ALL | IBV_ACCESS_HUGETLB);
	EXPECT(mr && !ibv_dereg_mr(mr), "huge: %s", strerror(errno));
	EXPECT(!ibv_query_device_ex(p->a.d->ctx, NULL, &attr), "query");
	EXPECT((attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
	       !(attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT),
	       "caps %" PRIx64, attr.odp_caps.general_caps);
}

/* ---- registering again ---- */

static int rereg(struct ibv_mr *mr, int flags, void *addr, uint64_t len,
		 int access, struct ibv_pd *pd)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} w = {
		.hdr = { IB_USER_VERBS_CMD_REREG_MR, sizeof(w) / 4,
			 sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp, .mr_handle = mr->handle,
			 .flags = flags, .start = (uintptr_t)addr, .length = len,
			 .hca_va = (uintptr_t)addr, .access_flags = access,
			 .pd_handle = pd ? pd->handle : 0 },
	};

	if (write(mr->context->cmd_fd, &w, sizeof(w)) != sizeof(w))
		return errno;
	return resp.lkey == mr->lkey && resp.rkey == mr->rkey ? 0 : -1;
}

static void case_rereg(struct pair *p)
{
	struct ibv_pd *pd = ibv_alloc_pd(dev_b.ctx);
	struct ibv_mr *mr = reg(&p->b, 8192, IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mr *ro = reg(&p->b, 8192, IBV_ACCESS_REMOTE_READ);
	uint64_t at = (uintptr_t)p->b.buf;
	uint8_t *other = p->b.buf + 32768;
	struct ibv_mw *mw;

	expect_rdma(p, IBV_WR_RDMA_WRITE, at, mr->rkey, 8, IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
	EXPECT(!rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0,
		      ACCESS_ALL | IBV_ACCESS_MW_BIND, NULL), "access");
	expect_rdma(p, IBV_WR_RDMA_WRITE, at, mr->rkey, 8, IBV_WC_SUCCESS);
	EXPECT(!rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, other, 20000, 0,
		      NULL), "translation");
	expect_rdma(p, IBV_WR_RDMA_WRITE, at, mr->rkey, 8, IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
	memset(p->a.buf, 0x3c, 20000);
	expect_rdma(p, IBV_WR_RDMA_WRITE, (uintptr_t)other, mr->rkey, 20000,
		    IBV_WC_SUCCESS);
	EXPECT(!memcmp(p->a.buf, other, 20000), "data");
	EXPECT(!rereg(mr, IBV_REREG_MR_CHANGE_PD, NULL, 0, 0, pd), "pd");
	expect_rdma(p, IBV_WR_RDMA_WRITE, (uintptr_t)other, mr->rkey, 8,
		    IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
	EXPECT(!rereg(mr, IBV_REREG_MR_CHANGE_PD, NULL, 0, 0, dev_b.pd), "pd");
	expect_rdma(p, IBV_WR_RDMA_WRITE, (uintptr_t)other, mr->rkey, 8,
		    IBV_WC_SUCCESS);
	/* what fails changes nothing */
	EXPECT(rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, (void *)4096, 4096,
		     0, NULL) > 0, "no memory there");
	EXPECT(rereg(ro, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, ACCESS_ALL,
		     NULL) == EOPNOTSUPP, "pages pinned to be read");
	mw = mw_new(&p->b, IBV_MW_TYPE_1);
	bind_ok(&p->b, mw, mr, ibv_inc_rkey(mw->rkey), other, 8, MW_ALL);
	EXPECT(rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, ACCESS_ALL,
		     NULL) == EBUSY, "window bound");
	EXPECT(!ibv_dealloc_mw(mw), "dealloc");
	expect_rdma(p, IBV_WR_RDMA_WRITE, (uintptr_t)other, mr->rkey, 8,
		    IBV_WC_SUCCESS);
	EXPECT(!ibv_dereg_mr(mr) && !ibv_dereg_mr(ro) && !ibv_dealloc_pd(pd),
	       "destroy");
}

static void *write_always(void *arg)
{
	struct pair *p = arg;
	struct ibv_wc wc;
	struct post x;

	while (!stop) {
		x = post_of(p, IBV_WR_RDMA_WRITE, 1, 16384);
		x.rkey = *(volatile uint32_t *)&p->b.mr->rkey;
		if (post_raw(&p->a, &x) || !tl_poll_wait(p->a.scq, &wc, 5000))
			tl_die("writer");
		if (wc.status)
			pair_again(p);
	}
	return NULL;
}

static void case_rereg_traffic(struct pair *p)
{
	pthread_t t;
	int i;

	stop = false;
	pthread_create(&t, NULL, write_always, p);
	for (i = 0; i < 200; i++) {
		EXPECT(!rereg(p->b.mr, IBV_REREG_MR_CHANGE_TRANSLATION |
			      IBV_REREG_MR_CHANGE_ACCESS, p->b.buf,
			      i & 1 ? BUF_SIZE : 4096, ACCESS_ALL, NULL), "%d",
		       i);
		usleep(tl_rand_in(0, 1000));
	}
	stop = true;
	pthread_join(t, NULL);
}

/* ---- dma-buf ---- */

static int buffer_new(uint8_t **map, size_t bytes)
{
	struct udmabuf_create c = { .size = bytes };
	int dev = open("/dev/udmabuf", O_RDWR), fd;

	c.memfd = memfd_create("m", MFD_ALLOW_SEALING);
	if (dev < 0 || ftruncate(c.memfd, bytes) ||
	    fcntl(c.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	*map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c.memfd, 0);
	fd = ioctl(dev, UDMABUF_CREATE, &c);
	close(dev);
	close(c.memfd);
	return fd;
}

#define ATTR_IN(id, value) { .attr_id = (id), .len = sizeof(uint64_t), \
	.flags = UVERBS_ATTR_F_MANDATORY, .data = (value) }

static int reg_dmabuf(struct tl_dev *d, int fd, uint64_t offset, uint64_t len,
		      uint64_t iova, int access, struct ibv_mr *mr)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[9];
	} c = {
		.hdr = { .length = sizeof(c), .object_id = UVERBS_OBJECT_MR,
			 .method_id = UVERBS_METHOD_REG_DMABUF_MR,
			 .num_attrs = 9, .driver_id = RDMA_DRIVER_RXE },
		.attr = {
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY },
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = d->pd->handle },
			ATTR_IN(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset),
			ATTR_IN(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, len),
			ATTR_IN(UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova),
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_FD,
			  .len = 4, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = fd },
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
			  .len = 4, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = access },
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY,
			  .len = 4, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&mr->lkey },
			{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY,
			  .len = 4, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&mr->rkey },
		},
	};

	if (ioctl(d->ctx->cmd_fd, RDMA_VERBS_IOCTL, &c))
		return errno;
	mr->context = d->ctx;
	mr->handle = c.attr[0].data;
	return 0;
}

static int dereg_raw(struct ibv_mr *mr)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dereg_mr cmd;
	} w = {
		.hdr = { IB_USER_VERBS_CMD_DEREG_MR, sizeof(w) / 4, 0 },
		.cmd = { .mr_handle = mr->handle },
	};

	return write(mr->context->cmd_fd, &w, sizeof(w)) == sizeof(w) ?
	       0 : errno;
}

static void case_dmabuf(struct pair *p)
{
	enum { BYTES = 1 << 20, OFF = 8192 + 100, LEN = BYTES - 20000 };
	uint64_t iova = 0x7000000000 + 100;
	struct ibv_mr mr = {};
	uint8_t *map;
	int fd = buffer_new(&map, BYTES), rc;

	if (fd < 0) {
		printf("# no udmabuf here\n");
		return;
	}
	EXPECT(reg_dmabuf(&dev_b, fd, 8192, BYTES, 0, ACCESS_ALL, &mr) ==
	       EINVAL, "beyond its end");
	EXPECT(reg_dmabuf(&dev_b, 0, 0, 4096, 0, ACCESS_ALL, &mr) == EINVAL,
	       "no dma-buf");
	rc = reg_dmabuf(&dev_b, fd, OFF, LEN, iova, ACCESS_ALL, &mr);
	EXPECT(!rc, "%s", strerror(rc));
	close(fd);
	if (rc)
		return;
	pattern(p->a.buf, BUF_SIZE, 9);
	expect_rdma(p, IBV_WR_RDMA_WRITE, iova + 5000, mr.rkey, 60000,
		    IBV_WC_SUCCESS);
	EXPECT(!memcmp(p->a.buf, map + OFF + 5000, 60000), "WRITE");
	memset(p->a.buf, 0, BUF_SIZE);
	expect_rdma(p, IBV_WR_RDMA_READ, iova + 5000, mr.rkey, 60000,
		    IBV_WC_SUCCESS);
	EXPECT(!memcmp(p->a.buf, map + OFF + 5000, 60000), "READ");
	expect_rdma(p, IBV_WR_RDMA_WRITE, iova + LEN - 7, mr.rkey, 8,
		    IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
	EXPECT(rereg(&mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, ACCESS_ALL,
		     NULL) == EOPNOTSUPP, "rereg");
	EXPECT(!dereg_raw(&mr), "dereg");
	expect_rdma(p, IBV_WR_RDMA_WRITE, iova, mr.rkey, 8,
		    IBV_WC_REM_ACCESS_ERR);
	pair_again(p);
	munmap(map, BYTES);
}

/* ---- prefetch, which librxe has no call for ---- */

static int advise(struct tl_dev *d, struct ibv_pd *pd, uint64_t advice,
		  struct ibv_sge *sg, int n)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[4];
	} c = {
		.hdr = { .length = sizeof(c), .object_id = UVERBS_OBJECT_MR,
			 .method_id = UVERBS_METHOD_ADVISE_MR,
			 .num_attrs = 4, .driver_id = RDMA_DRIVER_RXE },
		.attr = {
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_PD_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = pd->handle },
			ATTR_IN(UVERBS_ATTR_ADVISE_MR_ADVICE, advice),
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_FLAGS, .len = 4,
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = IB_UVERBS_ADVISE_MR_FLAG_FLUSH },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_SGE_LIST,
			  .len = n * sizeof(*sg),
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)sg },
		},
	};

	return ioctl(d->ctx->cmd_fd, RDMA_VERBS_IOCTL, &c) ? errno : 0;
}

/* How many pages of @m are in memory. */
static int resident(struct area *m)
{
	unsigned char there[BIG / 4096];
	int i, n = 0;

	if (mincore(m->p, BIG, there))
		tl_die("mincore");
	for (i = 0; i < BIG / 4096; i++)
		n += there[i] & 1;
	return n;
}

static void case_advise(struct pair *p)
{
	enum { FIRST = 3, PAGES = 20 };
	struct area a = area_new(&p->a, BIG, ODP), b = area_new(&p->b, BIG, ODP);
	struct ibv_pd *other = ibv_alloc_pd(dev_b.ctx);
	struct ibv_sge sg[2] = {
		{ (uintptr_t)b.p + FIRST * 4096, PAGES / 2 * 4096, b.mr->lkey },
		{ (uintptr_t)b.p + 40 * 4096, PAGES / 2 * 4096, b.mr->lkey },
	};

	/* a huge page would bring neighbours; kernels without them refuse */
	madvise(b.p, BIG, MADV_NOHUGEPAGE);
	forget(&b);
	EXPECT(!advise(&dev_b, dev_b.pd,
		       IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, sg, 2) &&
	       !resident(&b), "no fault: %d pages", resident(&b));
	EXPECT(!advise(&dev_b, dev_b.pd,
		       IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, sg, 2),
	       "to write");
	EXPECT(resident(&b) == PAGES, "to write: %d pages", resident(&b));
	forget(&b);
	EXPECT(!advise(&dev_b, dev_b.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
		       sg, 1), "prefetch");
	EXPECT(resident(&b) == PAGES / 2, "prefetch: %d pages", resident(&b));
	pattern(a.p, BIG, 5);
	transfer(p, IBV_WR_RDMA_WRITE, &a, &b, FIRST * 4096, PAGES * 4096, 0);
	EXPECT(!memcmp(a.p + FIRST * 4096, b.p + FIRST * 4096, PAGES * 4096),
	       "WRITE");

	EXPECT(advise(&dev_b, dev_b.pd, 99, sg, 1) == EOPNOTSUPP, "no advice");
	EXPECT(advise(&dev_b, other, 0, sg, 1) == EINVAL, "another domain");
	sg[1].lkey ^= 0x55;
	EXPECT(advise(&dev_b, dev_b.pd, 0, sg, 2) == EINVAL, "no such key");
	sg[0].length = BIG;
	EXPECT(advise(&dev_b, dev_b.pd, 0, sg, 1) == EINVAL, "beyond its end");
	sg[0].addr = 0;
	EXPECT(advise(&dev_b, dev_b.pd, 0, sg, 1) == EINVAL, "before it");
	ibv_dealloc_pd(other);
	area_drop(&a, BIG);
	area_drop(&b, BIG);
}

/* More memory than the machine has, of which little is used. */
static void case_odp_huge(struct pair *p)
{
	size_t bytes = 16ull << 30, at[] = { 0, bytes / 2 - 5000, bytes - 60000 };
	uint8_t *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			  MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;
	unsigned int i;

	if (m == MAP_FAILED)
		tl_die("mmap");
	mr = ibv_reg_mr(dev_b.pd, m, bytes, ODP);
	EXPECT(mr, "reg_mr: %s", strerror(errno));
	for (i = 0; i < ARRAY_SIZE(at) && mr; i++) {
		pattern(p->a.buf, BUF_SIZE, i);
		expect_rdma(p, IBV_WR_RDMA_WRITE, (uintptr_t)m + at[i],
			    mr->rkey, 60000, IBV_WC_SUCCESS);
		EXPECT(!memcmp(p->a.buf, m + at[i], 60000), "WRITE %u", i);
	}
	if (mr) {
		expect_rdma(p, IBV_WR_RDMA_WRITE, (uintptr_t)m + bytes - 7,
			    mr->rkey, 8, IBV_WC_REM_ACCESS_ERR);
		pair_again(p);
		EXPECT(!ibv_dereg_mr(mr), "dereg");
	}
	munmap(m, bytes);
}

int main(int argc, char **argv)
{
	struct pair p;

	pair_main(argc, argv, 150);
	pair_init(&p);
	p.ca.rnr_retry = 1;
	/* a page takes longer than an ACK where the sanitizers are at work */
	p.ca.timeout = 18;
	p.cb.timeout = 18;
	pair_make(&p);
	CASE("refused and accepted flags", case_refused(&p));
	CASE("rereg", case_rereg(&p));
	CASE("rereg under traffic", case_rereg_traffic(&p));
	CASE("dma-buf", case_dmabuf(&p));
	CASE("on demand: every operation", case_odp_ops(&p));
	CASE("on demand: pages that go", case_odp_churn(&p));
	CASE("on demand: nothing there", case_odp_nothing_there(&p));
	CASE("on demand: dereg meanwhile", case_odp_dereg(&p));
	CASE("on demand: prefetch", case_advise(&p));
	CASE("on demand: 16 GiB", case_odp_huge(&p));
	pair_drop(&p);
	tl_close(&dev_a);
	tl_close(&dev_b);
	return tl_failures != 0;
}
