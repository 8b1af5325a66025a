/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet sequence numbers: 24-bit serial arithmetic.
 *
 * Owns the only place where PSNs (and MSNs, which wrap the same way) are
 * compared, advanced and counted. Plain inline functions, any context. Called
 * by everything that touches a PSN; knows nothing of windows or packets.
 */
#ifndef SROCE_PROTO_PSN_H
#define SROCE_PROTO_PSN_H

#include <linux/types.h>

/* PSNs and MSNs are 24 bits wide on the wire (IBA 9.2.3, 9.5.2). */
#define SROCE_PSN_MASK		0xffffffU

/* Half of the number space: the most PSNs that may be outstanding. */
#define SROCE_PSN_HALF		0x800000U

/**
 * sroce_psn_diff() - signed distance between two PSNs
 * @a: PSN, upper 8 bits ignored
 * @b: PSN, upper 8 bits ignored
 *
 * Context: Any.
 * Return: how far @a lies ahead of @b, -2^23 to 2^23 - 1 PSNs.
 */
static inline s32 sroce_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/**
 * sroce_psn_dist() - distance forward from one PSN to another
 * @from: PSN to start at
 * @to: PSN to reach by counting up
 *
 * Unlike sroce_psn_diff() this tells 2^23 PSNs ahead from 2^23 behind; use it
 * where @to is known not to be older than @from.
 *
 * Context: Any.
 * Return: 0 to 2^24 - 1 PSNs.
 */
static inline u32 sroce_psn_dist(u32 from, u32 to)
{
	return (to - from) & SROCE_PSN_MASK;
}

/**
 * sroce_psn_add() - advance or set back a PSN
 * @psn: PSN to start at
 * @n: PSNs to add, negative to go back
 *
 * Context: Any.
 * Return: the new PSN, within 24 bits.
 */
static inline u32 sroce_psn_add(u32 psn, s32 n)
{
	return (psn + (u32)n) & SROCE_PSN_MASK;
}

/**
 * sroce_psn_count() - PSNs that a message consumes
 * @len_bytes: payload of the message, at most 2^31 bytes
 * @pmtu_bytes: path MTU, 256 to 4096 bytes
 *
 * A message without payload still is one packet. For a READ this is the number
 * of responses, which is what the request consumes (IBA 9.4.4).
 *
 * Context: Any.
 * Return: number of PSNs, at least 1.
 */
static inline u32 sroce_psn_count(u32 len_bytes, u32 pmtu_bytes)
{
	return len_bytes ? (len_bytes - 1) / pmtu_bytes + 1 : 1;
}

#endif /* SROCE_PROTO_PSN_H */
