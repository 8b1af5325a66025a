// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/aeth.c: the code tables against the figures printed in the
 * specification, and the completeness of the fault table.
 */
#include "proto/aeth.h"
#include "proto/wire.h"

#include <kunit/test.h>
#include <linux/array_size.h>

/* ms * 100, as printed (IBA table 45) */
static const u32 rnr_table_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
	32768, 49152,
};

static void rnr_test(struct kunit *test)
{
	unsigned int code;

	for (code = 0; code < 32; code++) {
		KUNIT_EXPECT_EQ(test, sroce_aeth_rnr_ns(code),
				rnr_table_10us[code] * 10000ULL);
		/* A whole syndrome will do. */
		KUNIT_EXPECT_EQ(test, sroce_aeth_rnr_ns(SROCE_AETH_RNR | code),
				sroce_aeth_rnr_ns(code));
	}
	for (code = 2; code < 32; code++)
		KUNIT_EXPECT_GT(test, sroce_aeth_rnr_ns(code),
				sroce_aeth_rnr_ns(code - 1));
	KUNIT_EXPECT_EQ(test, sroce_aeth_rnr_ns(0), 655360000ULL);
	KUNIT_EXPECT_EQ(test, sroce_aeth_rnr_ns(1), 10000ULL);
}

static void credit_test(struct kunit *test)
{
	unsigned int code;
	u32 n;

	for (code = 0; code < 31; code++) {
		n = sroce_aeth_credits(code);
		KUNIT_EXPECT_EQ(test, sroce_aeth_credit_code(n), code);
		if (code) {
			KUNIT_EXPECT_GT(test, n, sroce_aeth_credits(code - 1));
			KUNIT_EXPECT_EQ(test, sroce_aeth_credit_code(n - 1),
					code - 1);
		}
		/* From 2 on, two codes a doubling. */
		if (code >= 4)
			KUNIT_EXPECT_EQ(test, n,
					2 * sroce_aeth_credits(code - 2));
	}
	KUNIT_EXPECT_EQ(test, sroce_aeth_credits(30), 32768);
	KUNIT_EXPECT_EQ(test, sroce_aeth_credits(31), SROCE_CREDITS_NONE);
	KUNIT_EXPECT_EQ(test, sroce_aeth_credit_code(1000000), 30);
	KUNIT_EXPECT_EQ(test, sroce_aeth_credit_code(SROCE_CREDITS_NONE), 31);
	KUNIT_EXPECT_EQ(test, sroce_aeth_credit_code(5), 4);
}

static void timeout_test(struct kunit *test)
{
	unsigned int code;

	KUNIT_EXPECT_EQ(test, sroce_aeth_timeout_ns(0), U64_MAX);
	KUNIT_EXPECT_EQ(test, sroce_aeth_timeout_ns(1), 8192ULL);
	KUNIT_EXPECT_EQ(test, sroce_aeth_timeout_ns(14), 67108864ULL);
	for (code = 2; code < 32; code++)
		KUNIT_EXPECT_EQ(test, sroce_aeth_timeout_ns(code),
				2 * sroce_aeth_timeout_ns(code - 1));
}

static void nak_wc_test(struct kunit *test)
{
	unsigned int syndrome, status, want;

	for (syndrome = 0; syndrome < 256; syndrome++) {
		want = SROCE_WC_BAD_RESP_ERR;
		if (syndrome == 0x61)
			want = SROCE_WC_REM_INV_REQ_ERR;
		if (syndrome == 0x62)
			want = SROCE_WC_REM_ACCESS_ERR;
		if (syndrome == 0x63)
			want = SROCE_WC_REM_OP_ERR;
		status = sroce_aeth_nak_wc(syndrome);
		KUNIT_EXPECT_EQ(test, status, want);
	}
}

static bool is_answer(u8 syndrome)
{
	return syndrome == SROCE_AETH_ACK_NO_CREDITS ||
	       syndrome == SROCE_AETH_RNR ||
	       (syndrome >= SROCE_AETH_NAK_SEQ && syndrome <= SROCE_AETH_NAK_OP);
}

static void fault_row(struct kunit *test, unsigned int v, unsigned int type)
{
	const struct sroce_fault *f = sroce_fault(v, type);

	KUNIT_ASSERT_NOT_NULL(test, f);
	/* A row left out of the table would be all zeros, which no row is. */
	if (type == SROCE_QPT_RC && v != SROCE_V_DROP)
		KUNIT_EXPECT_TRUE_MSG(test, is_answer(f->syndrome),
				      "verdict %u", v);
	else
		KUNIT_EXPECT_EQ_MSG(test, f->syndrome, SROCE_AETH_NONE,
				    "verdict %u type %u", v, type);
	KUNIT_EXPECT_LT(test, f->wc, SROCE_WC_N);
	KUNIT_EXPECT_LT(test, f->event, SROCE_EVENT_N);
	KUNIT_EXPECT_LT(test, f->action, SROCE_ACTION_N);
	KUNIT_EXPECT_EQ(test, f->action == SROCE_ACTION_NONE, v == SROCE_V_OK);
	/* A QP never dies in silence, and an event means that it dies. */
	if (f->action == SROCE_ACTION_FATAL)
		KUNIT_EXPECT_TRUE(test, f->wc != SROCE_WC_SUCCESS ||
				  f->event != SROCE_EVENT_NONE);
	else
		KUNIT_EXPECT_EQ(test, f->event, SROCE_EVENT_NONE);
	/* Only RC can ask for another try. */
	KUNIT_EXPECT_EQ(test, f->action == SROCE_ACTION_NAK_RETRY,
			type == SROCE_QPT_RC &&
			(v == SROCE_V_SEQ_ERR || v == SROCE_V_RNR));
}

static void fault_test(struct kunit *test)
{
	unsigned int v, type;

	for (type = 0; type < SROCE_QPT_N; type++)
		for (v = 0; v < SROCE_V_N; v++)
			fault_row(test, v, type);
	KUNIT_EXPECT_PTR_EQ(test, sroce_fault(SROCE_V_N, SROCE_QPT_RC),
			    sroce_fault(SROCE_V_REM_OP, SROCE_QPT_RC));
	KUNIT_EXPECT_NOT_NULL(test, sroce_fault(SROCE_V_OK, SROCE_QPT_N));
}

struct fault_case {
	const char *name;
	u8 verdict;
	u8 type;
	struct sroce_fault fault;
};

static const struct fault_case fault_cases[] = {
	{ "RC sequence error", SROCE_V_SEQ_ERR, SROCE_QPT_RC,
	  { 0x60, SROCE_WC_SUCCESS, SROCE_EVENT_NONE,
	    SROCE_ACTION_NAK_RETRY } },
	{ "RC RNR", SROCE_V_RNR, SROCE_QPT_RC,
	  { 0x20, SROCE_WC_SUCCESS, SROCE_EVENT_NONE,
	    SROCE_ACTION_NAK_RETRY } },
	{ "RC invalid request", SROCE_V_INV_REQ, SROCE_QPT_RC,
	  { 0x61, SROCE_WC_REM_INV_REQ_ERR, SROCE_EVENT_QP_REQ_ERR,
	    SROCE_ACTION_FATAL } },
	{ "RC SEND too long", SROCE_V_INV_REQ_LEN, SROCE_QPT_RC,
	  { 0x61, SROCE_WC_LOC_LEN_ERR, SROCE_EVENT_NONE,
	    SROCE_ACTION_FATAL } },
	{ "RC access", SROCE_V_ACCESS, SROCE_QPT_RC,
	  { 0x62, SROCE_WC_SUCCESS, SROCE_EVENT_QP_ACCESS_ERR,
	    SROCE_ACTION_FATAL } },
	{ "RC access, WQE taken", SROCE_V_ACCESS_TAKEN, SROCE_QPT_RC,
	  { 0x62, SROCE_WC_LOC_ACCESS_ERR, SROCE_EVENT_NONE,
	    SROCE_ACTION_FATAL } },
	{ "RC receive SGE", SROCE_V_RQ_PROT, SROCE_QPT_RC,
	  { 0x63, SROCE_WC_LOC_PROT_ERR, SROCE_EVENT_NONE,
	    SROCE_ACTION_FATAL } },
	{ "UC access", SROCE_V_ACCESS, SROCE_QPT_UC,
	  { 0xff, SROCE_WC_SUCCESS, SROCE_EVENT_NONE, SROCE_ACTION_DROP } },
	{ "UC receive SGE", SROCE_V_RQ_PROT, SROCE_QPT_UC,
	  { 0xff, SROCE_WC_LOC_PROT_ERR, SROCE_EVENT_NONE,
	    SROCE_ACTION_FATAL } },
	{ "UD too long", SROCE_V_INV_REQ_LEN, SROCE_QPT_UD,
	  { 0xff, SROCE_WC_LOC_LEN_ERR, SROCE_EVENT_NONE,
	    SROCE_ACTION_DROP } },
};

static void fault_desc(const struct fault_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fault, fault_cases, fault_desc);

static void fault_row_test(struct kunit *test)
{
	const struct fault_case *c = test->param_value;
	const struct sroce_fault *f = sroce_fault(c->verdict, c->type);

	KUNIT_EXPECT_EQ(test, f->syndrome, c->fault.syndrome);
	KUNIT_EXPECT_EQ(test, f->wc, c->fault.wc);
	KUNIT_EXPECT_EQ(test, f->event, c->fault.event);
	KUNIT_EXPECT_EQ(test, f->action, c->fault.action);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rnr_test),
	KUNIT_CASE(credit_test),
	KUNIT_CASE(timeout_test),
	KUNIT_CASE(nak_wc_test),
	KUNIT_CASE(fault_test),
	KUNIT_CASE_PARAM(fault_row_test, fault_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_aeth",
	.test_cases = cases,
};

kunit_test_suite(suite);
