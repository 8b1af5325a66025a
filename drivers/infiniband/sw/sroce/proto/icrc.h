/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Invariant CRC: which bytes it covers.
 *
 * Owns the masked copy of the headers that the ICRC runs over and its byte
 * order on the wire. Pure; runs per packet, in softirq or in the sender's
 * context. Called by frame.c and rx.c, which own the CRC engine and the walk
 * over the payload; this file computes no CRC.
 *
 *	n = sroce_icrc_pseudo(buf, l3, l3hdr, udp, bth);
 *	crc = crc32_le(SROCE_ICRC_SEED, buf, n);
 *	crc = crc32_le(crc, bth + 12, everything up to the ICRC);
 *	sroce_icrc_put(p, sroce_icrc_final(crc));
 */
#ifndef SROCE_PROTO_ICRC_H
#define SROCE_PROTO_ICRC_H

#include <linux/types.h>
#include <linux/unaligned.h>

/* crc32_le(~0, 8 bytes of 0xff): the dummy LRH in front (IBA A17.9.2). */
#define SROCE_ICRC_SEED		0xdebb20e3U

/* Room for IPv6 or GRH, UDP and BTH, bytes. */
#define SROCE_ICRC_PSEUDO_MAX	(40 + 8 + 12)

/**
 * enum sroce_l3 - what is in front of the transport headers
 * @SROCE_L3_IPV4: RoCEv2: IPv4 without options and UDP
 * @SROCE_L3_IPV6: RoCEv2: IPv6 without extension headers and UDP
 * @SROCE_L3_GRH: RoCEv1: GRH, no UDP
 */
enum sroce_l3 {
	SROCE_L3_IPV4,
	SROCE_L3_IPV6,
	SROCE_L3_GRH,
};

size_t sroce_icrc_pseudo(u8 *out, enum sroce_l3 l3, const void *l3hdr,
			 const void *udp, const void *bth);

/**
 * sroce_icrc_final() - turn the state of crc32_le() into an ICRC
 * @crc: state after the last byte
 *
 * Context: Any.
 * Return: the ICRC as a number, as sroce_icrc_get() reads it.
 */
static inline u32 sroce_icrc_final(u32 crc)
{
	return ~crc;
}

/**
 * sroce_icrc_put() - write an ICRC to the wire
 * @p: where the ICRC goes, 4 bytes, any alignment
 * @icrc: from sroce_icrc_final()
 *
 * Context: Any.
 */
static inline void sroce_icrc_put(void *p, u32 icrc)
{
	put_unaligned_le32(icrc, p);
}

/**
 * sroce_icrc_get() - read an ICRC from the wire
 * @p: the ICRC, 4 bytes, any alignment
 *
 * Context: Any.
 * Return: the ICRC as a number, to compare with sroce_icrc_final().
 */
static inline u32 sroce_icrc_get(const void *p)
{
	return get_unaligned_le32(p);
}

#endif /* SROCE_PROTO_ICRC_H */
