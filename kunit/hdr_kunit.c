// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/hdr.c: golden bytes, build and parse as inverses, refusal of
 * every packet that is too short. Packets lie at the very end of their
 * allocation, so that KASAN sees a read beyond.
 */
#include "proto/hdr.h"
#include "proto/opcode.h"
#include "proto/wire.h"
#include "hex.h"

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/prandom.h>
#include <linux/string.h>

struct golden_case {
	const char *name;
	const char *hex[HEX_PARTS];	/* BTH and extension headers */
	struct sroce_hdr h;
};

static const struct golden_case golden_cases[] = {
	{
		"RC SEND_ONLY, all BTH bits",
		{ "04f0fffe", "c0012345", "80fedcba" },
		{ .opcode = 0x04, .solicited = true, .mig = true, .pad = 3,
		  .pkey = 0xfffe, .fecn = true, .becn = true, .dqpn = 0x012345,
		  .ackreq = true, .psn = 0xfedcba },
	}, {
		"RC WRITE_ONLY_IMM",
		{ "0b00ffff", "00000011", "00000022", "0123456789abcdef",
		  "deadbeef", "00001000", "0a0b0c0d" },
		{ .opcode = 0x0b, .pkey = 0xffff, .dqpn = 0x11, .psn = 0x22,
		  .va = 0x0123456789abcdef, .rkey = 0xdeadbeef, .dmalen = 4096,
		  .imm = cpu_to_be32(0x0a0b0c0d) },
	}, {
		"RC READ_RESP_LAST",
		{ "0f10ffff", "00000011", "00000022", "1f000007" },
		{ .opcode = 0x0f, .pad = 1, .pkey = 0xffff, .dqpn = 0x11,
		  .psn = 0x22, .syndrome = 0x1f, .msn = 7 },
	}, {
		"RC NAK",
		{ "1100ffff", "00000011", "00ffffff", "60fffffe" },
		{ .opcode = 0x11, .pkey = 0xffff, .dqpn = 0x11,
		  .psn = 0xffffff, .syndrome = 0x60, .msn = 0xfffffe },
	}, {
		"RC CAS",
		{ "1300ffff", "00000011", "80000022", "1122334455667788",
		  "cafebabe", "a1a2a3a4a5a6a7a8", "b1b2b3b4b5b6b7b8" },
		{ .opcode = 0x13, .pkey = 0xffff, .dqpn = 0x11, .ackreq = true,
		  .psn = 0x22, .va = 0x1122334455667788, .rkey = 0xcafebabe,
		  .swap_add = 0xa1a2a3a4a5a6a7a8,
		  .compare = 0xb1b2b3b4b5b6b7b8 },
	}, {
		"RC ATOMIC_ACK",
		{ "1200ffff", "00000011", "00000022", "1f000001",
		  "0102030405060708" },
		{ .opcode = 0x12, .pkey = 0xffff, .dqpn = 0x11, .psn = 0x22,
		  .syndrome = 0x1f, .msn = 1,
		  .atomic_orig = 0x0102030405060708 },
	}, {
		"RC SEND_ONLY_INV",
		{ "1780ffff", "00000011", "00000022", "11223344" },
		{ .opcode = 0x17, .solicited = true, .pkey = 0xffff,
		  .dqpn = 0x11, .psn = 0x22, .inv_rkey = 0x11223344 },
	}, {
		"RC FLUSH",
		{ "1c00ffff", "00000011", "00000022", "00000013",
		  "0000000000001000", "00000005", "00000200" },
		{ .opcode = 0x1c, .pkey = 0xffff, .dqpn = 0x11, .psn = 0x22,
		  .flush_type = 3, .flush_sel = 1, .va = 0x1000, .rkey = 5,
		  .dmalen = 0x200 },
	}, {
		"UD SEND_ONLY_IMM",
		{ "6500ffff", "00000001", "00000022", "80010000", "00000001",
		  "00000009" },
		{ .opcode = 0x65, .pkey = 0xffff, .dqpn = 1, .psn = 0x22,
		  .qkey = 0x80010000, .src_qpn = 1,
		  .imm = cpu_to_be32(9) },
	}, {
		"CNP",
		{ "8100ffff", "40000118", "00000000",
		  "00000000000000000000000000000000" },
		{ .opcode = 0x81, .pkey = 0xffff, .becn = true,
		  .dqpn = 0x118 },
	},
};

static void golden_desc(const struct golden_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(golden, golden_cases, golden_desc);

/* Everything but what only sroce_hdr_parse() sets. */
static void expect_same(struct kunit *test, const struct sroce_hdr *a,
			const struct sroce_hdr *b)
{
	KUNIT_EXPECT_EQ(test, a->opcode, b->opcode);
	KUNIT_EXPECT_EQ(test, a->pad, b->pad);
	KUNIT_EXPECT_EQ(test, a->tver, b->tver);
	KUNIT_EXPECT_EQ(test, a->syndrome, b->syndrome);
	KUNIT_EXPECT_EQ(test, a->solicited, b->solicited);
	KUNIT_EXPECT_EQ(test, a->mig, b->mig);
	KUNIT_EXPECT_EQ(test, a->ackreq, b->ackreq);
	KUNIT_EXPECT_EQ(test, a->fecn, b->fecn);
	KUNIT_EXPECT_EQ(test, a->becn, b->becn);
	KUNIT_EXPECT_EQ(test, a->pkey, b->pkey);
	KUNIT_EXPECT_EQ(test, a->dqpn, b->dqpn);
	KUNIT_EXPECT_EQ(test, a->psn, b->psn);
	KUNIT_EXPECT_EQ(test, a->rkey, b->rkey);
	KUNIT_EXPECT_EQ(test, a->dmalen, b->dmalen);
	KUNIT_EXPECT_EQ(test, a->msn, b->msn);
	KUNIT_EXPECT_EQ(test, a->qkey, b->qkey);
	KUNIT_EXPECT_EQ(test, a->src_qpn, b->src_qpn);
	KUNIT_EXPECT_EQ(test, a->inv_rkey, b->inv_rkey);
	KUNIT_EXPECT_EQ(test, a->flush_type, b->flush_type);
	KUNIT_EXPECT_EQ(test, a->flush_sel, b->flush_sel);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(a->imm), be32_to_cpu(b->imm));
	KUNIT_EXPECT_EQ(test, a->va, b->va);
	KUNIT_EXPECT_EQ(test, a->compare, b->compare);
	KUNIT_EXPECT_EQ(test, a->swap_add, b->swap_add);
	KUNIT_EXPECT_EQ(test, a->atomic_orig, b->atomic_orig);
}

static void golden_test(struct kunit *test)
{
	const struct golden_case *c = test->param_value;
	size_t n, body = c->h.pad ? 4 : 0;
	u8 want[SROCE_MAX_HDR_BYTES + 8] = {};
	u8 out[SROCE_MAX_HDR_BYTES];
	struct sroce_hdr h;

	n = hex_load(want, SROCE_MAX_HDR_BYTES, c->hex);
	KUNIT_ASSERT_NE(test, n, 0);
	KUNIT_ASSERT_EQ(test, sroce_hdr_build(out, &c->h), n);
	KUNIT_EXPECT_MEMEQ(test, out, want, n);

	memset(&h, 0, sizeof(h));
	h.tver = 0xa5;
	KUNIT_ASSERT_EQ(test, sroce_hdr_parse(&h, want,
					      n + body + SROCE_ICRC_BYTES),
			SROCE_HDR_OK);
	expect_same(test, &h, &c->h);
	KUNIT_EXPECT_EQ(test, h.hdr_bytes, n);
	KUNIT_EXPECT_EQ(test, h.payload_bytes, body - c->h.pad);
	KUNIT_EXPECT_PTR_EQ(test, h.info, sroce_opcode_info(c->h.opcode));
}

static u64 random_u64(struct rnd_state *rnd)
{
	return (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);
}

static void random_hdr(struct rnd_state *rnd, struct sroce_hdr *h,
		       const struct sroce_opcode_info *info)
{
	u32 flags = info->flags, bits = prandom_u32_state(rnd);

	h->solicited = bits & 1;
	h->mig = bits & 2;
	h->ackreq = bits & 4;
	h->fecn = bits & 8;
	h->becn = bits & 16;
	h->pad = flags & SROCE_OPF_PAYLOAD ? bits >> 30 : 0;
	h->pkey = prandom_u32_state(rnd);
	h->dqpn = prandom_u32_state(rnd) & 0xffffff;
	h->psn = prandom_u32_state(rnd) & 0xffffff;
	if (flags & (SROCE_OPF_RETH | SROCE_OPF_ATOMICETH)) {
		h->va = random_u64(rnd);
		h->rkey = prandom_u32_state(rnd);
	}
	if (flags & SROCE_OPF_RETH)
		h->dmalen = prandom_u32_state(rnd);
	if (flags & SROCE_OPF_ATOMICETH) {
		h->compare = random_u64(rnd);
		h->swap_add = random_u64(rnd);
	}
	if (flags & SROCE_OPF_AETH) {
		h->syndrome = prandom_u32_state(rnd);
		h->msn = prandom_u32_state(rnd) & 0xffffff;
	}
	if (flags & SROCE_OPF_ATOMICACK)
		h->atomic_orig = random_u64(rnd);
	if (flags & SROCE_OPF_DETH) {
		h->qkey = prandom_u32_state(rnd);
		h->src_qpn = prandom_u32_state(rnd) & 0xffffff;
	}
	if (flags & SROCE_OPF_FETH) {
		h->flush_type = bits >> 8 & 0xf;
		h->flush_sel = bits >> 12 & 0x3;
	}
	if (flags & SROCE_OPF_IMM)
		h->imm = cpu_to_be32(prandom_u32_state(rnd));
	if (flags & SROCE_OPF_INV)
		h->inv_rkey = prandom_u32_state(rnd);
}

static void random_test(struct kunit *test)
{
	u8 packet[SROCE_MAX_HDR_BYTES + 64 + SROCE_ICRC_BYTES] = {};
	const struct sroce_opcode_info *info;
	unsigned int op, i;
	struct rnd_state rnd;
	size_t n, body;

	prandom_seed_state(&rnd, 2);
	for (op = 0; op < 256; op++) {
		info = sroce_opcode_info(op);
		for (i = 0; info && i < 200; i++) {
			struct sroce_hdr in = { .opcode = op }, out;

			random_hdr(&rnd, &in, info);
			body = info->flags & SROCE_OPF_PAYLOAD ?
				4 * (1 + prandom_u32_state(&rnd) % 16) : 0;
			n = sroce_hdr_build(packet, &in);
			KUNIT_ASSERT_EQ(test, n, info->hdr_bytes);
			KUNIT_ASSERT_EQ(test,
					sroce_hdr_parse(&out, packet, n + body +
							SROCE_ICRC_BYTES),
					SROCE_HDR_OK);
			expect_same(test, &in, &out);
			KUNIT_EXPECT_EQ(test, out.payload_bytes, body - in.pad);
		}
	}
}

/* A packet of @len bytes that ends where its memory ends. */
static u8 *tight_packet(struct kunit *test, unsigned int opcode, size_t len)
{
	u8 *p = kunit_kzalloc(test, len ?: 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	if (len)
		p[0] = opcode;
	return p;
}

static void truncate_test(struct kunit *test)
{
	const struct sroce_opcode_info *info;
	enum sroce_hdr_fault want;
	struct sroce_hdr h;
	unsigned int op;
	size_t len;
	u8 *p;

	for (op = 0; op < 256; op++) {
		info = sroce_opcode_info(op);
		for (len = 0; len < 60; len++) {
			p = tight_packet(test, op, len);
			if (len < 16)
				want = SROCE_HDR_SHORT;
			else if (!info)
				want = SROCE_HDR_OPCODE;
			else if (len < info->hdr_bytes + 4)
				want = SROCE_HDR_SHORT;
			else if ((len - info->hdr_bytes) % 4)
				want = SROCE_HDR_LENGTH;
			else if (len > info->hdr_bytes + 4 &&
				 !(info->flags & SROCE_OPF_PAYLOAD))
				want = SROCE_HDR_LENGTH;
			else
				want = SROCE_HDR_OK;
			KUNIT_EXPECT_EQ_MSG(test, sroce_hdr_parse(&h, p, len),
					    want, "opcode %#x, %zu bytes", op,
					    len);
			kunit_kfree(test, p);
		}
	}
}

static void pad_test(struct kunit *test)
{
	u8 packet[12 + 8 + 4] = { SROCE_OPCODE_RC_SEND_ONLY };
	struct sroce_hdr h;
	unsigned int pad;

	for (pad = 0; pad < 4; pad++) {
		packet[1] = pad << SROCE_BTH_PAD_SHIFT;
		KUNIT_ASSERT_EQ(test, sroce_hdr_parse(&h, packet, 24),
				SROCE_HDR_OK);
		KUNIT_EXPECT_EQ(test, h.payload_bytes, 8 - pad);
		KUNIT_ASSERT_EQ(test, sroce_hdr_parse(&h, packet, 20),
				SROCE_HDR_OK);
		KUNIT_EXPECT_EQ(test, h.payload_bytes, 4 - pad);
		/* There is nothing to be padded. */
		KUNIT_EXPECT_EQ(test, sroce_hdr_parse(&h, packet, 16),
				pad ? SROCE_HDR_LENGTH : SROCE_HDR_OK);
	}
}

static void reserved_test(struct kunit *test)
{
	u8 packet[12 + 8 + 4] = { SROCE_OPCODE_UD_SEND_ONLY };
	struct sroce_hdr h;
	unsigned int tver;

	packet[4] = 0x3f;	/* BTH, reserved beside FECN and BECN */
	packet[8] = 0x7f;	/* BTH, reserved beside AckReq */
	packet[16] = 0xff;	/* DETH, reserved before the source QPN */
	KUNIT_ASSERT_EQ(test, sroce_hdr_parse(&h, packet, sizeof(packet)),
			SROCE_HDR_OK);
	KUNIT_EXPECT_EQ(test, h.dqpn, 0);
	KUNIT_EXPECT_EQ(test, h.psn, 0);
	KUNIT_EXPECT_EQ(test, h.src_qpn, 0);
	KUNIT_EXPECT_FALSE(test, h.fecn || h.becn || h.ackreq);
	for (tver = 1; tver < 16; tver++) {
		packet[1] = tver;
		KUNIT_EXPECT_EQ(test,
				sroce_hdr_parse(&h, packet, sizeof(packet)),
				SROCE_HDR_TVER);
	}
}

static void build_limits_test(struct kunit *test)
{
	struct sroce_hdr h = { .opcode = SROCE_OPCODE_RC_FLUSH, .pad = 0xff,
			       .tver = 0xf0, .dqpn = 0xff000001,
			       .psn = 0xff000002, .flush_type = 0x13,
			       .flush_sel = 0x5 };
	u8 out[SROCE_MAX_HDR_BYTES];

	/* Values too large for their field do not spill into the next. */
	KUNIT_ASSERT_EQ(test, sroce_hdr_build(out, &h), 32);
	KUNIT_EXPECT_EQ(test, out[1], SROCE_BTH_PAD_MASK);
	KUNIT_EXPECT_EQ(test, out[4], 0);
	KUNIT_EXPECT_EQ(test, out[8], 0);
	KUNIT_EXPECT_EQ(test, out[15], 0x13);

	memset(out, 0xa5, sizeof(out));
	h.opcode = 0x15;
	KUNIT_EXPECT_EQ(test, sroce_hdr_build(out, &h), 0);
	KUNIT_EXPECT_EQ(test, out[0], 0xa5);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(golden_test, golden_gen_params),
	KUNIT_CASE(random_test),
	KUNIT_CASE(truncate_test),
	KUNIT_CASE(pad_test),
	KUNIT_CASE(reserved_test),
	KUNIT_CASE(build_limits_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_hdr",
	.test_cases = cases,
};

kunit_test_suite(suite);
