// SPDX-License-Identifier: GPL-2.0
/*
 * Invariant CRC: which bytes it covers; see icrc.h.
 *
 * Owns the list of fields that may change on the way and hence count as ones
 * (IBA A17.9.2). Any context, no state. Computes no CRC.
 */
#include "icrc.h"

#include <linux/build_bug.h>
#include <linux/string.h>

#include "wire.h"

#define IPV4_BYTES	20
#define IPV4_TOS	1
#define IPV4_TTL	8
#define IPV4_CSUM	10	/* 2 bytes */

/* The GRH has the layout of the IPv6 header. */
#define IPV6_BYTES	40
#define IPV6_TCLASS	0	/* lower 4 bits; goes on in byte 1 */
#define IPV6_FLOW	1	/* 3 bytes, the rest of the class included */
#define IPV6_HOPLIMIT	7

#define UDP_BYTES	8
#define UDP_CSUM	6	/* 2 bytes */

static_assert(SROCE_ICRC_PSEUDO_MAX ==
	      IPV6_BYTES + UDP_BYTES + sizeof(struct sroce_bth));

static size_t mask_ipv4(u8 *out, const void *l3hdr)
{
	memcpy(out, l3hdr, IPV4_BYTES);
	out[IPV4_TOS] = 0xff;
	out[IPV4_TTL] = 0xff;
	memset(out + IPV4_CSUM, 0xff, 2);
	return IPV4_BYTES;
}

static size_t mask_ipv6(u8 *out, const void *l3hdr)
{
	memcpy(out, l3hdr, IPV6_BYTES);
	out[IPV6_TCLASS] |= 0x0f;
	memset(out + IPV6_FLOW, 0xff, 3);
	out[IPV6_HOPLIMIT] = 0xff;
	return IPV6_BYTES;
}

/**
 * sroce_icrc_pseudo() - masked copy of the headers for the ICRC
 * @out: room for SROCE_ICRC_PSEUDO_MAX bytes
 * @l3: what kind of header @l3hdr is
 * @l3hdr: IPv4 header (the caller has made sure that it is 20 bytes long),
 *	IPv6 header or GRH; final except for what routers change
 * @udp: UDP header, NULL for SROCE_L3_GRH
 * @bth: BTH
 *
 * The bytes behind the BTH follow in the CRC unmasked, up to the ICRC.
 *
 * Context: Any.
 * Return: bytes written to @out, 40 to 60.
 */
size_t sroce_icrc_pseudo(u8 *out, enum sroce_l3 l3, const void *l3hdr,
			 const void *udp, const void *bth)
{
	size_t n;

	n = l3 == SROCE_L3_IPV4 ? mask_ipv4(out, l3hdr) : mask_ipv6(out, l3hdr);
	if (udp) {
		memcpy(out + n, udp, UDP_BYTES);
		memset(out + n + UDP_CSUM, 0xff, 2);
		n += UDP_BYTES;
	}
	memcpy(out + n, bth, sizeof(struct sroce_bth));
	out[n + SROCE_BTH_VARIANT_BYTE] = 0xff;
	return n + sizeof(struct sroce_bth);
}
