// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledge codes and the fault table; see aeth.h.
 *
 * Owns the code tables of the AETH and the table from verdict and service to
 * what the responder does. Read-only, any context. Must not know QPs.
 */
#include "aeth.h"

#include <linux/build_bug.h>
#include <linux/array_size.h>

#include "wire.h"

/* RNR NAK timer codes in units of 10 us (IBA table 45). */
static const u16 rnr_10us[] = {
	0, 1, 2, 3, 4, 6, 8, 12,
	16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static_assert(ARRAY_SIZE(rnr_10us) == SROCE_AETH_VALUE_MASK + 1);

/* Code 0 is the longest timer, and too long for the table's type. */
#define RNR_CODE_0_10US		65536
#define RNR_UNIT_NS		10000ULL

#define CREDIT_CODE_NONE	31
#define CREDIT_CODE_MAX		30

/* Credits by credit code 0 to 30 (IBA table 46). */
static const u16 credit_table[] = {
	0, 1, 2, 3, 4, 6, 8, 12,
	16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

static_assert(ARRAY_SIZE(credit_table) == CREDIT_CODE_MAX + 1);

/* Unit of the local ACK timeout (IBA 9.7.6.1.3). */
#define TIMEOUT_UNIT_NS		4096ULL

/* What a verdict means depends on the service (IBA 9.9.3, tables 58 to 60). */
static const struct sroce_fault fault_table[SROCE_QPT_N][SROCE_V_N] = {
	[SROCE_QPT_RC] = {
		[SROCE_V_OK] = {
			.syndrome = SROCE_AETH_ACK_NO_CREDITS,
			.action = SROCE_ACTION_NONE,
		},
		[SROCE_V_DUP] = {
			.syndrome = SROCE_AETH_ACK_NO_CREDITS,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_DROP] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_SEQ_ERR] = {
			.syndrome = SROCE_AETH_NAK_SEQ,
			.action = SROCE_ACTION_NAK_RETRY,
		},
		[SROCE_V_RNR] = {
			.syndrome = SROCE_AETH_RNR,
			.action = SROCE_ACTION_NAK_RETRY,
		},
		[SROCE_V_INV_REQ] = {
			.syndrome = SROCE_AETH_NAK_INV_REQ,
			.wc = SROCE_WC_REM_INV_REQ_ERR,
			.event = SROCE_EVENT_QP_REQ_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_INV_REQ_LEN] = {
			.syndrome = SROCE_AETH_NAK_INV_REQ,
			.wc = SROCE_WC_LOC_LEN_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_ACCESS] = {
			.syndrome = SROCE_AETH_NAK_ACCESS,
			.event = SROCE_EVENT_QP_ACCESS_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_ACCESS_TAKEN] = {
			.syndrome = SROCE_AETH_NAK_ACCESS,
			.wc = SROCE_WC_LOC_ACCESS_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_RQ_PROT] = {
			.syndrome = SROCE_AETH_NAK_OP,
			.wc = SROCE_WC_LOC_PROT_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_REM_OP] = {
			.syndrome = SROCE_AETH_NAK_OP,
			.wc = SROCE_WC_LOC_QP_OP_ERR,
			.event = SROCE_EVENT_QP_FATAL,
			.action = SROCE_ACTION_FATAL,
		},
	},
	/*
	 * UC never answers. What the peer did wrong costs it the message; what
	 * is wrong with the local receive queue is an error of this QP.
	 */
	[SROCE_QPT_UC] = {
		[SROCE_V_OK] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_NONE,
		},
		[SROCE_V_DUP] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_DROP] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_SEQ_ERR] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_RNR] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_INV_REQ] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_INV_REQ_LEN] = {
			.syndrome = SROCE_AETH_NONE,
			.wc = SROCE_WC_LOC_LEN_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_ACCESS] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_ACCESS_TAKEN] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_RQ_PROT] = {
			.syndrome = SROCE_AETH_NONE,
			.wc = SROCE_WC_LOC_PROT_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_REM_OP] = {
			.syndrome = SROCE_AETH_NONE,
			.wc = SROCE_WC_LOC_QP_OP_ERR,
			.event = SROCE_EVENT_QP_FATAL,
			.action = SROCE_ACTION_FATAL,
		},
	},
	/*
	 * UD as UC, except that a datagram too long for its buffer ends that
	 * receive WQE only: anybody can send one, the QP must outlive it.
	 */
	[SROCE_QPT_UD] = {
		[SROCE_V_OK] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_NONE,
		},
		[SROCE_V_DUP] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_DROP] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_SEQ_ERR] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_RNR] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_INV_REQ] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_INV_REQ_LEN] = {
			.syndrome = SROCE_AETH_NONE,
			.wc = SROCE_WC_LOC_LEN_ERR,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_ACCESS] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_ACCESS_TAKEN] = {
			.syndrome = SROCE_AETH_NONE,
			.action = SROCE_ACTION_DROP,
		},
		[SROCE_V_RQ_PROT] = {
			.syndrome = SROCE_AETH_NONE,
			.wc = SROCE_WC_LOC_PROT_ERR,
			.action = SROCE_ACTION_FATAL,
		},
		[SROCE_V_REM_OP] = {
			.syndrome = SROCE_AETH_NONE,
			.wc = SROCE_WC_LOC_QP_OP_ERR,
			.event = SROCE_EVENT_QP_FATAL,
			.action = SROCE_ACTION_FATAL,
		},
	},
};

/**
 * sroce_aeth_rnr_ns() - time an RNR NAK asks for
 * @code: timer code; bits above the lower 5 are ignored, so that a whole
 *	syndrome will do
 *
 * Context: Any.
 * Return: ns, 10 us to 655.36 ms.
 */
u64 sroce_aeth_rnr_ns(u8 code)
{
	code &= SROCE_AETH_VALUE_MASK;
	return (code ? rnr_10us[code] : RNR_CODE_0_10US) * RNR_UNIT_NS;
}

/**
 * sroce_aeth_credits() - credits an ACK grants
 * @code: credit code; bits above the lower 5 are ignored, so that a whole
 *	syndrome will do
 *
 * Context: Any.
 * Return: receive WQEs beyond the ACK's MSN, or SROCE_CREDITS_NONE when the
 * responder does not count credits.
 */
u32 sroce_aeth_credits(u8 code)
{
	code &= SROCE_AETH_VALUE_MASK;
	return code == CREDIT_CODE_NONE ? SROCE_CREDITS_NONE :
					  credit_table[code];
}

/**
 * sroce_aeth_credit_code() - credit code for a number of receive WQEs
 * @credits: receive WQEs there are, or SROCE_CREDITS_NONE
 *
 * Context: Any.
 * Return: the code of the largest number not above @credits.
 */
u8 sroce_aeth_credit_code(u32 credits)
{
	u8 code = CREDIT_CODE_MAX;

	if (credits == SROCE_CREDITS_NONE)
		return CREDIT_CODE_NONE;
	while (credit_table[code] > credits)
		code--;
	return code;
}

/**
 * sroce_aeth_timeout_ns() - local ACK timeout of a QP
 * @code: timeout of the QP's attributes; bits above the lower 5 are ignored
 *
 * Context: Any.
 * Return: ns, 4.096 us * 2^@code, or U64_MAX for 0, which is no timeout.
 */
u64 sroce_aeth_timeout_ns(u8 code)
{
	code &= SROCE_AETH_VALUE_MASK;
	return code ? TIMEOUT_UNIT_NS << code : ~0ULL;
}

/**
 * sroce_aeth_nak_wc() - completion status of a NAK at the requester
 * @syndrome: AETH syndrome
 *
 * Context: Any.
 * Return: the status for the WQE that was refused; SROCE_WC_BAD_RESP_ERR when
 * the syndrome is not a NAK that ends a WQE.
 */
enum sroce_wc_status sroce_aeth_nak_wc(u8 syndrome)
{
	switch (syndrome) {
	case SROCE_AETH_NAK_INV_REQ:
		return SROCE_WC_REM_INV_REQ_ERR;
	case SROCE_AETH_NAK_ACCESS:
		return SROCE_WC_REM_ACCESS_ERR;
	case SROCE_AETH_NAK_OP:
		return SROCE_WC_REM_OP_ERR;
	default:
		return SROCE_WC_BAD_RESP_ERR;
	}
}

/**
 * sroce_fault() - what to do about a verdict
 * @verdict: what the responder found out
 * @type: service of the QP
 *
 * Context: Any.
 * Return: the row of the table; that of a responder which cannot go on when
 * either argument is out of range. Never NULL.
 */
const struct sroce_fault *sroce_fault(enum sroce_verdict verdict,
				      enum sroce_qp_type type)
{
	if (verdict >= SROCE_V_N)
		verdict = SROCE_V_REM_OP;
	if (type >= SROCE_QPT_N)
		type = SROCE_QPT_UD;
	return &fault_table[type][verdict];
}
