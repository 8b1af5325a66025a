// SPDX-License-Identifier: GPL-2.0
/*
 * Transport headers in host order; see hdr.h.
 *
 * Owns the byte swapping of every transport header, and no state. Runs once for
 * each packet sent or received: no loops, one table row, and no read or write
 * outside of what the row and the length allow. Must not know payload or QPs.
 */
#include "hdr.h"

#include <linux/string.h>
#include <asm/byteorder.h>

#include "opcode.h"
#include "wire.h"

static void parse_request(struct sroce_hdr *h, const void *bth,
			  const struct sroce_opcode_info *info)
{
	if (info->flags & SROCE_OPF_RETH) {
		const struct sroce_reth *reth = bth + info->off_reth;

		h->va = be64_to_cpu(reth->va);
		h->rkey = be32_to_cpu(reth->rkey);
		h->dmalen = be32_to_cpu(reth->dmalen);
	}
	if (info->flags & SROCE_OPF_ATOMICETH) {
		const struct sroce_atomiceth *atomic = bth + info->off_atomic;

		h->va = be64_to_cpu(atomic->va);
		h->rkey = be32_to_cpu(atomic->rkey);
		h->swap_add = be64_to_cpu(atomic->swap_add);
		h->compare = be64_to_cpu(atomic->compare);
	}
	if (info->flags & SROCE_OPF_DETH) {
		const struct sroce_deth *deth = bth + info->off_deth;

		h->qkey = be32_to_cpu(deth->qkey);
		h->src_qpn = be32_to_cpu(deth->src_qpn) & SROCE_QPN_MASK;
	}
	if (info->flags & SROCE_OPF_FETH) {
		const struct sroce_feth *feth = bth + info->off_feth;
		u32 bits = be32_to_cpu(feth->bits);

		h->flush_type = bits & SROCE_FETH_TYPE_MASK;
		h->flush_sel = (bits & SROCE_FETH_SEL_MASK) >>
			       SROCE_FETH_SEL_SHIFT;
	}
	if (info->flags & SROCE_OPF_IMM) {
		const struct sroce_immdt *immdt = bth + info->off_imm;

		h->imm = immdt->imm;
	}
	if (info->flags & SROCE_OPF_INV) {
		const struct sroce_ieth *ieth = bth + info->off_ieth;

		h->inv_rkey = be32_to_cpu(ieth->rkey);
	}
}

static void parse_response(struct sroce_hdr *h, const void *bth,
			   const struct sroce_opcode_info *info)
{
	if (info->flags & SROCE_OPF_AETH) {
		const struct sroce_aeth *aeth = bth + info->off_aeth;
		u32 syn_msn = be32_to_cpu(aeth->syn_msn);

		h->syndrome = syn_msn >> 24;
		h->msn = syn_msn & SROCE_BTH_PSN_MASK;
	}
	if (info->flags & SROCE_OPF_ATOMICACK) {
		const struct sroce_atomicacketh *ack =
			bth + info->off_atomicack;

		h->atomic_orig = be64_to_cpu(ack->orig);
	}
}

/**
 * sroce_hdr_parse() - read the transport headers of a packet
 * @h: out: the headers; undefined unless SROCE_HDR_OK is returned
 * @bth: the packet from its BTH on, linear, any alignment
 * @len: bytes from the BTH to the end of the ICRC
 *
 * Payload and pad together are a multiple of 4 bytes (IBA 9.4.2).
 *
 * Context: Any.
 * Return: SROCE_HDR_OK, or the first thing wrong with the packet.
 */
enum sroce_hdr_fault sroce_hdr_parse(struct sroce_hdr *h, const void *bth,
				     size_t len)
{
	const struct sroce_opcode_info *info;
	const struct sroce_bth *b = bth;
	u32 qpn, psn;
	size_t body;
	u8 pad;

	if (len < sizeof(*b) + SROCE_ICRC_BYTES)
		return SROCE_HDR_SHORT;
	if (b->flags & SROCE_BTH_TVER_MASK)
		return SROCE_HDR_TVER;
	info = sroce_opcode_info(b->opcode);
	if (!info)
		return SROCE_HDR_OPCODE;
	if (len < info->hdr_bytes + SROCE_ICRC_BYTES)
		return SROCE_HDR_SHORT;
	body = len - info->hdr_bytes - SROCE_ICRC_BYTES;
	pad = (b->flags & SROCE_BTH_PAD_MASK) >> SROCE_BTH_PAD_SHIFT;
	if ((body & 3) || pad > body ||
	    (body && !(info->flags & SROCE_OPF_PAYLOAD)))
		return SROCE_HDR_LENGTH;

	qpn = be32_to_cpu(b->qpn);
	psn = be32_to_cpu(b->psn);
	h->info = info;
	h->opcode = b->opcode;
	h->pad = pad;
	h->tver = 0;
	h->solicited = b->flags & SROCE_BTH_SE;
	h->mig = b->flags & SROCE_BTH_MIG;
	h->ackreq = psn & SROCE_BTH_ACKREQ;
	h->fecn = qpn & SROCE_BTH_FECN;
	h->becn = qpn & SROCE_BTH_BECN;
	h->pkey = be16_to_cpu(b->pkey);
	h->hdr_bytes = info->hdr_bytes;
	h->dqpn = qpn & SROCE_BTH_QPN_MASK;
	h->psn = psn & SROCE_BTH_PSN_MASK;
	h->payload_bytes = body - pad;
	if (info->flags & SROCE_OPF_REQ)
		parse_request(h, bth, info);
	else
		parse_response(h, bth, info);
	return SROCE_HDR_OK;
}

static void build_bth(struct sroce_bth *b, const struct sroce_hdr *h)
{
	b->opcode = h->opcode;
	b->flags = (h->solicited ? SROCE_BTH_SE : 0) |
		   (h->mig ? SROCE_BTH_MIG : 0) |
		   ((h->pad << SROCE_BTH_PAD_SHIFT) & SROCE_BTH_PAD_MASK) |
		   (h->tver & SROCE_BTH_TVER_MASK);
	b->pkey = cpu_to_be16(h->pkey);
	b->qpn = cpu_to_be32((h->dqpn & SROCE_BTH_QPN_MASK) |
			     (h->fecn ? SROCE_BTH_FECN : 0) |
			     (h->becn ? SROCE_BTH_BECN : 0));
	b->psn = cpu_to_be32((h->psn & SROCE_BTH_PSN_MASK) |
			     (h->ackreq ? SROCE_BTH_ACKREQ : 0));
}

static void build_request(void *bth, const struct sroce_hdr *h,
			  const struct sroce_opcode_info *info)
{
	if (info->flags & SROCE_OPF_RETH) {
		struct sroce_reth *reth = bth + info->off_reth;

		reth->va = cpu_to_be64(h->va);
		reth->rkey = cpu_to_be32(h->rkey);
		reth->dmalen = cpu_to_be32(h->dmalen);
	}
	if (info->flags & SROCE_OPF_ATOMICETH) {
		struct sroce_atomiceth *atomic = bth + info->off_atomic;

		atomic->va = cpu_to_be64(h->va);
		atomic->rkey = cpu_to_be32(h->rkey);
		atomic->swap_add = cpu_to_be64(h->swap_add);
		atomic->compare = cpu_to_be64(h->compare);
	}
	if (info->flags & SROCE_OPF_DETH) {
		struct sroce_deth *deth = bth + info->off_deth;

		deth->qkey = cpu_to_be32(h->qkey);
		deth->src_qpn = cpu_to_be32(h->src_qpn & SROCE_QPN_MASK);
	}
	if (info->flags & SROCE_OPF_FETH) {
		struct sroce_feth *feth = bth + info->off_feth;

		feth->bits = cpu_to_be32((h->flush_type & SROCE_FETH_TYPE_MASK) |
					 ((h->flush_sel << SROCE_FETH_SEL_SHIFT) &
					  SROCE_FETH_SEL_MASK));
	}
	if (info->flags & SROCE_OPF_IMM) {
		struct sroce_immdt *immdt = bth + info->off_imm;

		immdt->imm = h->imm;
	}
	if (info->flags & SROCE_OPF_INV) {
		struct sroce_ieth *ieth = bth + info->off_ieth;

		ieth->rkey = cpu_to_be32(h->inv_rkey);
	}
}

static void build_response(void *bth, const struct sroce_hdr *h,
			   const struct sroce_opcode_info *info)
{
	if (info->flags & SROCE_OPF_AETH) {
		struct sroce_aeth *aeth = bth + info->off_aeth;

		aeth->syn_msn = cpu_to_be32(((u32)h->syndrome << 24) |
					    (h->msn & SROCE_BTH_PSN_MASK));
	}
	if (info->flags & SROCE_OPF_ATOMICACK) {
		struct sroce_atomicacketh *ack = bth + info->off_atomicack;

		ack->orig = cpu_to_be64(h->atomic_orig);
	}
	if (info->flags & SROCE_OPF_CNP)
		memset(bth + sizeof(struct sroce_bth), 0,
		       sizeof(struct sroce_cnp));
}

/**
 * sroce_hdr_build() - write the transport headers of a packet
 * @bth: where the BTH goes, any alignment; room for SROCE_MAX_HDR_BYTES, or
 *	for the hdr_bytes of the opcode when the caller knows them
 * @h: the headers; members that the opcode has no header for are not read
 *
 * Context: Any.
 * Return: bytes written, BTH included; 0 for an opcode that does not exist.
 */
size_t sroce_hdr_build(void *bth, const struct sroce_hdr *h)
{
	const struct sroce_opcode_info *info = sroce_opcode_info(h->opcode);

	if (!info)
		return 0;
	build_bth(bth, h);
	if (info->flags & SROCE_OPF_REQ)
		build_request(bth, h, info);
	else
		build_response(bth, h, info);
	return info->hdr_bytes;
}
