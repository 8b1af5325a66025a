// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/qpstate: the whole matrix, and what each state allows.
 */
#include "proto/qpstate.h"

#include <kunit/test.h>
#include <linux/array_size.h>

/* Rows from, columns to: RESET INIT RTR RTS SQD SQE ERR */
static const char * const matrix[SROCE_QPS_N] = {
	[SROCE_QPS_RESET] = "11.....",
	[SROCE_QPS_INIT]  = "111...1",
	[SROCE_QPS_RTR]   = "1..1..1",
	[SROCE_QPS_RTS]   = "1..11.1",
	[SROCE_QPS_SQD]   = "1..11.1",
	[SROCE_QPS_SQE]   = "1..1..1",
	[SROCE_QPS_ERR]   = "1.....1",
};

static void matrix_test(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < SROCE_QPS_N; from++)
		for (to = 0; to < SROCE_QPS_N; to++)
			KUNIT_EXPECT_EQ_MSG(test, sroce_qpstate_legal(from, to),
					    matrix[from][to] == '1',
					    "%u to %u", from, to);
	KUNIT_EXPECT_FALSE(test, sroce_qpstate_legal(SROCE_QPS_N, 0));
	KUNIT_EXPECT_FALSE(test, sroce_qpstate_legal(0, SROCE_QPS_N));
	KUNIT_EXPECT_FALSE(test, sroce_qpstate_legal(0, ~0U));
}

struct may_case {
	const char *name;
	bool (*may)(enum sroce_qps state);
	const char *states;
};

static const struct may_case may_cases[] = {
	{ "post_send", sroce_qpstate_can_post_send, "...1111" },
	{ "post_recv", sroce_qpstate_can_post_recv, ".111111" },
	{ "requests", sroce_qpstate_can_requests, "..1111." },
	{ "responses", sroce_qpstate_can_responses, "...111." },
	{ "transmit", sroce_qpstate_can_transmit, "...11.." },
	{ "transmit_new", sroce_qpstate_can_transmit_new, "...1..." },
};

static void may_desc(const struct may_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(may, may_cases, may_desc);

static void may_test(struct kunit *test)
{
	const struct may_case *c = test->param_value;
	unsigned int state;

	for (state = 0; state < SROCE_QPS_N; state++)
		KUNIT_EXPECT_EQ_MSG(test, c->may(state),
				    c->states[state] == '1', "state %u", state);
	KUNIT_EXPECT_FALSE(test, c->may(SROCE_QPS_N));
	KUNIT_EXPECT_FALSE(test, c->may(~0U));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(matrix_test),
	KUNIT_CASE_PARAM(may_test, may_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_qpstate",
	.test_cases = cases,
};

kunit_test_suite(suite);
