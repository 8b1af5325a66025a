/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport headers as they are on the wire.
 *
 * Owns the layout of the InfiniBand transport headers of RoCE packets: packed,
 * big-endian, each with its size asserted. Only hdr.c, icrc.c and the code that
 * frames packets read or write these; everybody else uses struct sroce_hdr.
 * Definitions only, so no context. Must not know L2 or L3.
 */
#ifndef SROCE_PROTO_WIRE_H
#define SROCE_PROTO_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define SROCE_UDP_PORT		4791	/* RoCEv2 destination port (IANA) */
#define SROCE_GRH_BYTES		40	/* layout of an IPv6 header (IBA 8.3) */
#define SROCE_GRH_NEXTHDR	0x1b	/* a BTH follows (IBA 8.3.4) */
#define SROCE_ICRC_BYTES	4
#define SROCE_MAX_PMTU		4096	/* bytes */
#define SROCE_MIN_PMTU		256	/* bytes */
#define SROCE_MAX_MSG_BYTES	0x80000000U	/* 2^31 (IBA 9.3.3, RETH) */
#define SROCE_QPN_MASK		0xffffffU
#define SROCE_ATOMIC_BYTES	8	/* operand of every atomic */

/* BTH byte 1: SE, M, PadCnt, TVer */
#define SROCE_BTH_SE		0x80
#define SROCE_BTH_MIG		0x40
#define SROCE_BTH_PAD_MASK	0x30
#define SROCE_BTH_PAD_SHIFT	4
#define SROCE_BTH_TVER_MASK	0x0f

/* BTH word 1: FECN, BECN, 6 reserved bits, destination QPN */
#define SROCE_BTH_FECN		0x80000000U
#define SROCE_BTH_BECN		0x40000000U
#define SROCE_BTH_QPN_MASK	0x00ffffffU

/* BTH word 2: AckReq, 7 reserved bits, PSN */
#define SROCE_BTH_ACKREQ	0x80000000U
#define SROCE_BTH_PSN_MASK	0x00ffffffU

/* The byte of the BTH that switches may change and the ICRC leaves out. */
#define SROCE_BTH_VARIANT_BYTE	4

/* AETH syndrome (IBA 9.7.5.1): bits 6:5 kind, 4:0 credits, timer or code */
#define SROCE_AETH_KIND_MASK	0xe0
#define SROCE_AETH_VALUE_MASK	0x1f
#define SROCE_AETH_ACK		0x00	/* | credit code */
#define SROCE_AETH_RNR		0x20	/* | RNR timer code */
#define SROCE_AETH_NAK		0x60	/* | NAK code */
#define SROCE_AETH_ACK_NO_CREDITS	0x1f	/* ACK of a QP without credits */
#define SROCE_AETH_NAK_SEQ	0x60	/* PSN sequence error */
#define SROCE_AETH_NAK_INV_REQ	0x61	/* invalid request */
#define SROCE_AETH_NAK_ACCESS	0x62	/* remote access error */
#define SROCE_AETH_NAK_OP	0x63	/* remote operational error */
#define SROCE_AETH_NONE		0xff	/* never on the wire: nothing to send */

/* FETH word (IBA A19): bits 3:0 placement type, 5:4 selectivity level */
#define SROCE_FETH_TYPE_MASK	0x0000000fU
#define SROCE_FETH_SEL_MASK	0x00000030U
#define SROCE_FETH_SEL_SHIFT	4

/**
 * struct sroce_bth - base transport header
 * @opcode: wire opcode, see opcode.h
 * @flags: SROCE_BTH_SE, _MIG, _PAD_MASK, _TVER_MASK
 * @pkey: partition key
 * @qpn: destination QPN with SROCE_BTH_FECN and _BECN above it
 * @psn: PSN with SROCE_BTH_ACKREQ above it
 */
struct sroce_bth {
	u8 opcode;
	u8 flags;
	__be16 pkey;
	__be32 qpn;
	__be32 psn;
} __packed;
static_assert(sizeof(struct sroce_bth) == 12);

/**
 * struct sroce_deth - datagram header
 * @qkey: Q_Key
 * @src_qpn: source QPN in the lower 24 bits
 */
struct sroce_deth {
	__be32 qkey;
	__be32 src_qpn;
} __packed;
static_assert(sizeof(struct sroce_deth) == 8);

/**
 * struct sroce_reth - RDMA header
 * @va: remote virtual address
 * @rkey: remote key
 * @dmalen: bytes of the whole message
 */
struct sroce_reth {
	__be64 va;
	__be32 rkey;
	__be32 dmalen;
} __packed;
static_assert(sizeof(struct sroce_reth) == 16);

/**
 * struct sroce_aeth - acknowledge header
 * @syn_msn: syndrome in the upper 8 bits, MSN in the lower 24
 */
struct sroce_aeth {
	__be32 syn_msn;
} __packed;
static_assert(sizeof(struct sroce_aeth) == 4);

/**
 * struct sroce_atomiceth - atomic request
 * @va: remote virtual address, a multiple of 8
 * @rkey: remote key
 * @swap_add: value to swap in or to add
 * @compare: value to compare with
 */
struct sroce_atomiceth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __packed;
static_assert(sizeof(struct sroce_atomiceth) == 28);

/**
 * struct sroce_atomicacketh - atomic response
 * @orig: what the memory held before
 */
struct sroce_atomicacketh {
	__be64 orig;
} __packed;
static_assert(sizeof(struct sroce_atomicacketh) == 8);

/**
 * struct sroce_immdt - immediate data
 * @imm: opaque to the transport
 */
struct sroce_immdt {
	__be32 imm;
} __packed;
static_assert(sizeof(struct sroce_immdt) == 4);

/**
 * struct sroce_ieth - key to invalidate
 * @rkey: remote key
 */
struct sroce_ieth {
	__be32 rkey;
} __packed;
static_assert(sizeof(struct sroce_ieth) == 4);

/**
 * struct sroce_feth - flush header
 * @bits: SROCE_FETH_TYPE_MASK, SROCE_FETH_SEL_MASK
 */
struct sroce_feth {
	__be32 bits;
} __packed;
static_assert(sizeof(struct sroce_feth) == 4);

/**
 * struct sroce_cnp - what follows the BTH of a congestion notification
 * @reserved: zero (IBA A17.9.3)
 */
struct sroce_cnp {
	u8 reserved[16];
} __packed;
static_assert(sizeof(struct sroce_cnp) == 16);

/* The longest stack of transport headers: BTH and AtomicETH. */
#define SROCE_MAX_HDR_BYTES	40
static_assert(sizeof(struct sroce_bth) + sizeof(struct sroce_atomiceth) ==
	      SROCE_MAX_HDR_BYTES);

#endif /* SROCE_PROTO_WIRE_H */
