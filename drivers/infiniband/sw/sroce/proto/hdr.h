/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport headers in host order.
 *
 * Owns the one conversion between the wire and struct sroce_hdr, in both
 * directions. Pure, runs for every packet in softirq or in the sender's
 * context. Called by rx.c (parse) and frame.c (build). Must not know payload,
 * ICRC values or QPs: it checks only what a packet can say about itself.
 */
#ifndef SROCE_PROTO_HDR_H
#define SROCE_PROTO_HDR_H

#include <linux/types.h>
#include <linux/unaligned.h>

#include "wire.h"

struct sroce_opcode_info;

/**
 * enum sroce_hdr_fault - why a packet cannot be understood
 * @SROCE_HDR_OK: it can
 * @SROCE_HDR_SHORT: it ends within its own headers or ICRC
 * @SROCE_HDR_TVER: its transport version is not 0
 * @SROCE_HDR_OPCODE: its opcode is unknown
 * @SROCE_HDR_LENGTH: payload or pad that its opcode or length rules out
 * @SROCE_HDR_FAULT_N: number of faults
 */
enum sroce_hdr_fault {
	SROCE_HDR_OK = 0,
	SROCE_HDR_SHORT,
	SROCE_HDR_TVER,
	SROCE_HDR_OPCODE,
	SROCE_HDR_LENGTH,
	SROCE_HDR_FAULT_N,
};

/**
 * struct sroce_hdr - all transport headers of one packet, in host order
 * @info: row of @opcode; set by sroce_hdr_parse(), not read by
 *	sroce_hdr_build()
 * @opcode: wire opcode
 * @pad: pad bytes behind the payload, 0 to 3
 * @tver: transport version, 0
 * @syndrome: AETH syndrome
 * @solicited: BTH SE
 * @mig: BTH M
 * @ackreq: BTH AckReq
 * @fecn: BTH FECN
 * @becn: BTH BECN
 * @pkey: BTH P_Key
 * @hdr_bytes: bytes from the BTH to the payload; set by sroce_hdr_parse()
 * @dqpn: BTH destination QPN
 * @psn: BTH PSN
 * @rkey: RETH or AtomicETH remote key
 * @dmalen: RETH length, bytes
 * @msn: AETH message sequence number
 * @qkey: DETH Q_Key
 * @src_qpn: DETH source QPN
 * @inv_rkey: IETH key to invalidate
 * @flush_type: FETH placement type
 * @flush_sel: FETH selectivity level
 * @imm: ImmDt, opaque: handed through in wire order
 * @payload_bytes: payload without pad and ICRC; set by sroce_hdr_parse()
 * @va: RETH or AtomicETH remote address
 * @compare: AtomicETH compare data
 * @swap_add: AtomicETH swap or add data
 * @atomic_orig: AtomicAckETH original data
 *
 * sroce_hdr_parse() leaves members of headers that the packet does not have as
 * they were.
 */
struct sroce_hdr {
	const struct sroce_opcode_info *info;
	u8 opcode;
	u8 pad;
	u8 tver;
	u8 syndrome;
	bool solicited;
	bool mig;
	bool ackreq;
	bool fecn;
	bool becn;
	u16 pkey;
	u16 hdr_bytes;
	u32 dqpn;
	u32 psn;
	u32 rkey;
	u32 dmalen;
	u32 msn;
	u32 qkey;
	u32 src_qpn;
	u32 inv_rkey;
	u32 flush_type;
	u32 flush_sel;
	__be32 imm;
	u32 payload_bytes;
	u64 va;
	u64 compare;
	u64 swap_add;
	u64 atomic_orig;
};

/**
 * sroce_hdr_dqpn() - destination QPN of a packet not yet parsed
 * @bth: its BTH, 12 readable bytes
 *
 * Context: Any.
 * Return: 24-bit QPN.
 */
static inline u32 sroce_hdr_dqpn(const void *bth)
{
	return get_unaligned_be32(bth + 4) & SROCE_BTH_QPN_MASK;
}

enum sroce_hdr_fault sroce_hdr_parse(struct sroce_hdr *h, const void *bth,
				     size_t len);
size_t sroce_hdr_build(void *bth, const struct sroce_hdr *h);

#endif /* SROCE_PROTO_HDR_H */
