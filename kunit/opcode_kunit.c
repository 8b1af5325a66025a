// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/opcode.c against a second, independent reading of the
 * specification: every value of the opcode byte, every pair of opcodes, every
 * combination of service, operation and place.
 */
#include "proto/opcode.h"

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>

/*
 * One line per opcode of the specification.
 * kind: S send, W write, Q read request, T atomic, F flush, A atomic write;
 *	r read response, k acknowledge, t atomic acknowledge, c CNP
 * place: F first, M middle, L last, O only
 * headers, in order: R RETH, A AETH, T AtomicETH, O AtomicAckETH, I ImmDt,
 *	K IETH, D DETH, F FETH, C the 16 bytes of a CNP
 */
struct spec {
	u8 opcode;
	u8 type;
	char kind;
	char place;
	const char *headers;
};

static const struct spec specs[] = {
	{ 0x00, SROCE_QPT_RC, 'S', 'F', "" },
	{ 0x01, SROCE_QPT_RC, 'S', 'M', "" },
	{ 0x02, SROCE_QPT_RC, 'S', 'L', "" },
	{ 0x03, SROCE_QPT_RC, 'S', 'L', "I" },
	{ 0x04, SROCE_QPT_RC, 'S', 'O', "" },
	{ 0x05, SROCE_QPT_RC, 'S', 'O', "I" },
	{ 0x06, SROCE_QPT_RC, 'W', 'F', "R" },
	{ 0x07, SROCE_QPT_RC, 'W', 'M', "" },
	{ 0x08, SROCE_QPT_RC, 'W', 'L', "" },
	{ 0x09, SROCE_QPT_RC, 'W', 'L', "I" },
	{ 0x0a, SROCE_QPT_RC, 'W', 'O', "R" },
	{ 0x0b, SROCE_QPT_RC, 'W', 'O', "RI" },
	{ 0x0c, SROCE_QPT_RC, 'Q', 'O', "R" },
	{ 0x0d, SROCE_QPT_RC, 'r', 'F', "A" },
	{ 0x0e, SROCE_QPT_RC, 'r', 'M', "" },
	{ 0x0f, SROCE_QPT_RC, 'r', 'L', "A" },
	{ 0x10, SROCE_QPT_RC, 'r', 'O', "A" },
	{ 0x11, SROCE_QPT_RC, 'k', 'O', "A" },
	{ 0x12, SROCE_QPT_RC, 't', 'O', "AO" },
	{ 0x13, SROCE_QPT_RC, 'T', 'O', "T" },
	{ 0x14, SROCE_QPT_RC, 'T', 'O', "T" },
	{ 0x16, SROCE_QPT_RC, 'S', 'L', "K" },
	{ 0x17, SROCE_QPT_RC, 'S', 'O', "K" },
	{ 0x1c, SROCE_QPT_RC, 'F', 'O', "FR" },
	{ 0x1d, SROCE_QPT_RC, 'A', 'O', "R" },
	{ 0x20, SROCE_QPT_UC, 'S', 'F', "" },
	{ 0x21, SROCE_QPT_UC, 'S', 'M', "" },
	{ 0x22, SROCE_QPT_UC, 'S', 'L', "" },
	{ 0x23, SROCE_QPT_UC, 'S', 'L', "I" },
	{ 0x24, SROCE_QPT_UC, 'S', 'O', "" },
	{ 0x25, SROCE_QPT_UC, 'S', 'O', "I" },
	{ 0x26, SROCE_QPT_UC, 'W', 'F', "R" },
	{ 0x27, SROCE_QPT_UC, 'W', 'M', "" },
	{ 0x28, SROCE_QPT_UC, 'W', 'L', "" },
	{ 0x29, SROCE_QPT_UC, 'W', 'L', "I" },
	{ 0x2a, SROCE_QPT_UC, 'W', 'O', "R" },
	{ 0x2b, SROCE_QPT_UC, 'W', 'O', "RI" },
	{ 0x64, SROCE_QPT_UD, 'S', 'O', "D" },
	{ 0x65, SROCE_QPT_UD, 'S', 'O', "DI" },
	{ 0x81, SROCE_QPT_N, 'c', 'O', "C" },
};

static const struct spec *spec_of(unsigned int opcode)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (specs[i].opcode == opcode)
			return &specs[i];
	return NULL;
}

static void known_test(struct kunit *test)
{
	unsigned int op;

	for (op = 0; op < 256; op++)
		KUNIT_EXPECT_EQ_MSG(test, !!sroce_opcode_info(op),
				    !!spec_of(op), "opcode %#x", op);
	KUNIT_EXPECT_NULL(test, sroce_opcode_info(SROCE_OPCODE_NONE));
}

static u32 kind_flags(char kind)
{
	switch (kind) {
	case 'S':
		return SROCE_OPF_REQ | SROCE_OPF_SEND | SROCE_OPF_PAYLOAD;
	case 'W':
		return SROCE_OPF_REQ | SROCE_OPF_WRITE | SROCE_OPF_PAYLOAD;
	case 'Q':
		return SROCE_OPF_REQ | SROCE_OPF_READ;
	case 'T':
		return SROCE_OPF_REQ | SROCE_OPF_ATOMIC;
	case 'F':
		return SROCE_OPF_REQ | SROCE_OPF_FLUSH;
	case 'A':
		return SROCE_OPF_REQ | SROCE_OPF_ATOMIC_WRITE |
		       SROCE_OPF_PAYLOAD;
	case 'r':
		return SROCE_OPF_RESP | SROCE_OPF_READ | SROCE_OPF_PAYLOAD;
	case 'k':
		return SROCE_OPF_RESP;
	case 't':
		return SROCE_OPF_RESP | SROCE_OPF_ATOMIC;
	default:
		return SROCE_OPF_CNP;
	}
}

static u32 place_flags(char place)
{
	switch (place) {
	case 'F':
		return SROCE_OPF_FIRST;
	case 'M':
		return SROCE_OPF_MIDDLE;
	case 'L':
		return SROCE_OPF_LAST;
	default:
		return SROCE_OPF_FIRST | SROCE_OPF_LAST;
	}
}

struct header {
	char letter;
	u8 bytes;
	u32 flag;
	size_t off;
};

#define HEADER(letter, bytes, flag, member) \
	{ letter, bytes, flag, offsetof(struct sroce_opcode_info, member) }

static const struct header headers[] = {
	HEADER('R', 16, SROCE_OPF_RETH, off_reth),
	HEADER('A', 4, SROCE_OPF_AETH, off_aeth),
	HEADER('T', 28, SROCE_OPF_ATOMICETH, off_atomic),
	HEADER('O', 8, SROCE_OPF_ATOMICACK, off_atomicack),
	HEADER('I', 4, SROCE_OPF_IMM, off_imm),
	HEADER('K', 4, SROCE_OPF_INV, off_ieth),
	HEADER('D', 8, SROCE_OPF_DETH, off_deth),
	HEADER('F', 4, SROCE_OPF_FETH, off_feth),
};

static u8 header_bytes(char letter)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(headers); i++)
		if (headers[i].letter == letter)
			return headers[i].bytes;
	return 16;	/* C: the body of a CNP */
}

static void row_test(struct kunit *test)
{
	const struct sroce_opcode_info *info;
	const struct spec *s;
	const char *at, *p;
	u32 flags, bytes;
	size_t i, h;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		s = &specs[i];
		info = sroce_opcode_info(s->opcode);
		KUNIT_ASSERT_NOT_NULL(test, info);
		flags = kind_flags(s->kind) | place_flags(s->place);
		for (h = 0; h < ARRAY_SIZE(headers); h++) {
			at = strchr(s->headers, headers[h].letter);
			bytes = 12;
			for (p = s->headers; at && p < at; p++)
				bytes += header_bytes(*p);
			flags |= at ? headers[h].flag : 0;
			KUNIT_EXPECT_EQ_MSG(test,
					    *((u8 *)info + headers[h].off),
					    at ? bytes : 0, "opcode %#x, %c",
					    s->opcode, headers[h].letter);
		}
		bytes = 12;
		for (p = s->headers; *p; p++)
			bytes += header_bytes(*p);
		KUNIT_EXPECT_EQ_MSG(test, info->hdr_bytes, bytes,
				    "opcode %#x", s->opcode);
		KUNIT_EXPECT_EQ_MSG(test, info->flags, flags,
				    "opcode %#x", s->opcode);
		KUNIT_EXPECT_EQ(test, info->type, s->type);
	}
}

static bool is_request(const struct spec *s)
{
	return strchr("SWQTFA", s->kind);
}

static bool may_follow(const struct spec *prev, const struct spec *next)
{
	bool begins, open;

	if (!next || !is_request(next) || next->type == SROCE_QPT_UD)
		return false;
	begins = next->place == 'F' || next->place == 'O';
	if (!prev)
		return begins;
	if (!is_request(prev) || prev->type != next->type)
		return false;
	open = prev->place == 'F' || prev->place == 'M';
	return open ? !begins && prev->kind == next->kind : begins;
}

static void follows_test(struct kunit *test)
{
	unsigned int prev, next, legal = 0;

	for (prev = 0; prev < 256; prev++)
		for (next = 0; next < 256; next++) {
			KUNIT_ASSERT_EQ_MSG(test,
					    sroce_opcode_follows(prev, next),
					    may_follow(spec_of(prev),
						       spec_of(next)),
					    "%#x after %#x", next, prev);
			legal += sroce_opcode_follows(prev, next);
		}
	KUNIT_EXPECT_GT(test, legal, 0);
	KUNIT_EXPECT_TRUE(test, sroce_opcode_follows(SROCE_OPCODE_NONE,
						     SROCE_OPCODE_RC_CAS));
	KUNIT_EXPECT_FALSE(test, sroce_opcode_follows(SROCE_OPCODE_NONE,
						      SROCE_OPCODE_RC_SEND_LAST));
}

struct op_spec {
	char kind;
	char extra;	/* header of the last packet, 0 for none */
	u8 qp_types;
	bool rd_atomic;
	bool rq;
};

#define RC	BIT(SROCE_QPT_RC)
#define UC	BIT(SROCE_QPT_UC)
#define UD	BIT(SROCE_QPT_UD)

static const struct op_spec op_specs[SROCE_OP_N] = {
	[SROCE_OP_SEND] = { 'S', 0, RC | UC | UD, false, true },
	[SROCE_OP_SEND_IMM] = { 'S', 'I', RC | UC | UD, false, true },
	[SROCE_OP_SEND_INV] = { 'S', 'K', RC, false, true },
	[SROCE_OP_WRITE] = { 'W', 0, RC | UC, false, false },
	[SROCE_OP_WRITE_IMM] = { 'W', 'I', RC | UC, false, true },
	[SROCE_OP_READ] = { 'Q', 0, RC, true, false },
	[SROCE_OP_CAS] = { 'T', 0, RC, true, false },
	[SROCE_OP_FADD] = { 'T', 0, RC, true, false },
	[SROCE_OP_ATOMIC_WRITE] = { 'A', 0, RC, true, false },
	[SROCE_OP_FLUSH] = { 'F', 0, RC, true, false },
	[SROCE_OP_LOCAL_INV] = { 0, 0, RC | UC, false, false },
	[SROCE_OP_REG_MR] = { 0, 0, RC | UC, false, false },
	[SROCE_OP_BIND_MW] = { 0, 0, RC | UC, false, false },
};

static void op_info_test(struct kunit *test)
{
	const struct sroce_op_info *info;
	const struct op_spec *s;
	unsigned int op;

	for (op = 0; op < SROCE_OP_N; op++) {
		s = &op_specs[op];
		info = sroce_op_info(op);
		KUNIT_ASSERT_NOT_NULL(test, info);
		KUNIT_EXPECT_EQ(test, info->qp_types, s->qp_types);
		KUNIT_EXPECT_EQ(test, !!(info->flags & SROCE_OPI_LOCAL),
				!s->kind);
		KUNIT_EXPECT_EQ(test, !!(info->flags & SROCE_OPI_RD_ATOMIC),
				s->rd_atomic);
		KUNIT_EXPECT_EQ(test, !!(info->flags & SROCE_OPI_REMOTE_RQ),
				s->rq);
		KUNIT_EXPECT_EQ(test, !!(info->flags & SROCE_OPI_RKEY),
				s->kind && s->kind != 'S');
		KUNIT_EXPECT_EQ(test, !!(info->flags & SROCE_OPI_SINGLE),
				s->kind && !strchr("SW", s->kind));
		KUNIT_EXPECT_EQ(test, !!(info->flags & SROCE_OPI_IMM),
				s->extra == 'I');
	}
	KUNIT_EXPECT_NULL(test, sroce_op_info(SROCE_OP_N));
	KUNIT_EXPECT_NULL(test, sroce_op_info(~0U));
}

static void pick_one(struct kunit *test, unsigned int type, unsigned int op,
		     bool first, bool last)
{
	char place = first ? (last ? 'O' : 'F') : (last ? 'L' : 'M');
	const struct op_spec *want = &op_specs[op];
	int opcode = sroce_opcode_pick(type, op, first, last);
	const struct spec *s;
	bool exists;

	exists = want->kind && (want->qp_types & BIT(type)) &&
		 (place == 'O' ||
		  (strchr("SW", want->kind) && type != SROCE_QPT_UD));
	if (!exists) {
		KUNIT_EXPECT_EQ(test, opcode, -EOPNOTSUPP);
		return;
	}
	s = spec_of(opcode);
	KUNIT_ASSERT_NOT_NULL_MSG(test, s, "type %u op %u %c", type, op, place);
	KUNIT_EXPECT_EQ(test, s->type, type);
	KUNIT_EXPECT_EQ(test, s->kind, want->kind);
	KUNIT_EXPECT_EQ(test, s->place, place);
	KUNIT_EXPECT_EQ(test, !!strchr(s->headers, 'I'),
			last && want->extra == 'I');
	KUNIT_EXPECT_EQ(test, !!strchr(s->headers, 'K'),
			last && want->extra == 'K');
}

static void pick_test(struct kunit *test)
{
	unsigned int type, op, place;

	for (type = 0; type < SROCE_QPT_N; type++)
		for (op = 0; op < SROCE_OP_N; op++)
			for (place = 0; place < 4; place++)
				pick_one(test, type, op, place & 1, place & 2);
	KUNIT_EXPECT_EQ(test, sroce_opcode_pick(SROCE_QPT_RC, SROCE_OP_CAS,
						true, true), 0x13);
	KUNIT_EXPECT_EQ(test, sroce_opcode_pick(SROCE_QPT_RC, SROCE_OP_FADD,
						true, true), 0x14);
	KUNIT_EXPECT_EQ(test, sroce_opcode_pick(SROCE_QPT_N, SROCE_OP_SEND,
						true, true), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, sroce_opcode_pick(SROCE_QPT_RC, SROCE_OP_N,
						true, true), -EOPNOTSUPP);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(known_test),
	KUNIT_CASE(row_test),
	KUNIT_CASE(follows_test),
	KUNIT_CASE(op_info_test),
	KUNIT_CASE(pick_test),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_opcode",
	.test_cases = cases,
};

kunit_test_suite(suite);
