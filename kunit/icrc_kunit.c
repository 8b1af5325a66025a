// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of proto/icrc.c: packets whose ICRC is known, a CRC computed bit by
 * bit, and which header bits the ICRC depends on.
 */
#include "proto/icrc.h"
#include "hex.h"

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/crc32.h>
#include <linux/hex.h>
#include <linux/string.h>

#define MAX_BYTES	128

struct golden_case {
	const char *name;
	enum sroce_l3 l3;
	/* From the L3 header to the end of the pad. */
	const char *hex[HEX_PARTS];
	const char *icrc;	/* as on the wire */
};

static const struct golden_case golden_cases[] = {
	{
		"IPv4 UC SEND_ONLY of a hardware NIC", SROCE_L3_IPV4,
		{ "45010040047840004011b4d5c0a80007c0a80007",
		  "c00012b7002c0000", "2460ffff000000d300cf1710",
		  "4630818be28935d90e9a95505401be885e500000" },
		"78f353f3",
	}, {
		"IPv4 CNP of a hardware NIC", SROCE_L3_IPV4,
		{ "45c2003c718c4000401191610a0011010a001201",
		  "000012b700280000", "8100ffff4000011800000000",
		  "00000000000000000000000000000000" },
		"82fd002a",
	}, {
		"IPv6 RC SEND_ONLY", SROCE_L3_IPV6,
		{ "6020000000281140fe800000000000000000000000000001",
		  "fe800000000000000000000000000002", "c00012b700280000",
		  "0400ffff0000001180123456", "000102030405060708090a0b0c0d0e0f" },
		"7a376d1c",
	}, {
		"RoCEv1 RC SEND_ONLY", SROCE_L3_GRH,
		{ "6000000000201b40fe800000000000000000000000000001",
		  "fe800000000000000000000000000002", "0400ffff0000001180123456",
		  "000102030405060708090a0b0c0d0e0f" },
		"c64ccd29",
	},
};

static void golden_desc(const struct golden_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(golden, golden_cases, golden_desc);

static size_t l3_bytes(enum sroce_l3 l3)
{
	return l3 == SROCE_L3_IPV4 ? 20 : 40;
}

/* Bytes from the L3 header to the end of the BTH. */
static size_t covered_bytes(enum sroce_l3 l3)
{
	return l3_bytes(l3) + (l3 == SROCE_L3_GRH ? 0 : 8) + 12;
}

/* The state of the CRC behind the BTH. */
static u32 header_state(const u8 *packet, enum sroce_l3 l3)
{
	const u8 *udp = l3 == SROCE_L3_GRH ? NULL : packet + l3_bytes(l3);
	const u8 *bth = packet + covered_bytes(l3) - 12;
	u8 pseudo[SROCE_ICRC_PSEUDO_MAX];
	size_t n;

	n = sroce_icrc_pseudo(pseudo, l3, packet, udp, bth);
	return n == covered_bytes(l3) ? crc32_le(SROCE_ICRC_SEED, pseudo, n) :
					0;
}

static u32 icrc_of(const u8 *packet, size_t len, enum sroce_l3 l3)
{
	size_t n = covered_bytes(l3);

	return sroce_icrc_final(crc32_le(header_state(packet, l3), packet + n,
					 len - n));
}

static size_t load(struct kunit *test, const struct golden_case *c, u8 *packet)
{
	size_t len = hex_load(packet, MAX_BYTES, c->hex);

	KUNIT_ASSERT_NE(test, len, 0);
	return len;
}

static void golden_test(struct kunit *test)
{
	const struct golden_case *c = test->param_value;
	u8 packet[MAX_BYTES], want[4], out[4];
	size_t len = load(test, c, packet);

	KUNIT_ASSERT_EQ(test, hex2bin(want, c->icrc, 4), 0);
	sroce_icrc_put(out, icrc_of(packet, len, c->l3));
	KUNIT_EXPECT_MEMEQ(test, out, want, 4);
	KUNIT_EXPECT_EQ(test, sroce_icrc_get(want),
			icrc_of(packet, len, c->l3));
}

/*
 * Bytes of the headers that may change on the way, spelled out once more:
 * counted from the L3 header, with the bits that are masked.
 */
struct masked {
	u8 byte;
	u8 bits;
};

static const struct masked masked_ipv4[] = {
	{ 1, 0xff }, { 8, 0xff }, { 10, 0xff }, { 11, 0xff },
	{ 20 + 6, 0xff }, { 20 + 7, 0xff }, { 28 + 4, 0xff }, {}
};

static const struct masked masked_ipv6[] = {
	{ 0, 0x0f }, { 1, 0xff }, { 2, 0xff }, { 3, 0xff }, { 7, 0xff },
	{ 40 + 6, 0xff }, { 40 + 7, 0xff }, { 48 + 4, 0xff }, {}
};

static const struct masked masked_grh[] = {
	{ 0, 0x0f }, { 1, 0xff }, { 2, 0xff }, { 3, 0xff }, { 7, 0xff },
	{ 40 + 4, 0xff }, {}
};

static u8 masked_bits(enum sroce_l3 l3, size_t byte)
{
	static const struct masked * const lists[] = {
		[SROCE_L3_IPV4] = masked_ipv4,
		[SROCE_L3_IPV6] = masked_ipv6,
		[SROCE_L3_GRH] = masked_grh,
	};
	const struct masked *m;

	for (m = lists[l3]; m->bits; m++)
		if (m->byte == byte)
			return m->bits;
	return 0;
}

/* CRC-32 as the specification words it, one bit at a time. */
static u32 crc_bit(u32 crc, u8 byte)
{
	unsigned int bit;

	crc ^= byte;
	for (bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return crc;
}

static void reference_test(struct kunit *test)
{
	const struct golden_case *c = test->param_value;
	u8 packet[MAX_BYTES];
	size_t len = load(test, c, packet), i;
	u32 crc = ~0U;

	for (i = 0; i < 8; i++)
		crc = crc_bit(crc, 0xff);
	KUNIT_EXPECT_EQ(test, crc, SROCE_ICRC_SEED);
	for (i = 0; i < len; i++)
		crc = crc_bit(crc, packet[i] | (i < covered_bytes(c->l3) ?
						masked_bits(c->l3, i) : 0));
	KUNIT_EXPECT_EQ(test, ~crc, icrc_of(packet, len, c->l3));
}

static void every_bit_test(struct kunit *test)
{
	const struct golden_case *c = test->param_value;
	u8 packet[MAX_BYTES];
	size_t len = load(test, c, packet), i;
	u32 want = icrc_of(packet, len, c->l3);
	unsigned int bit;
	bool masked;

	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			masked = i < covered_bytes(c->l3) &&
				 masked_bits(c->l3, i) & BIT(bit);
			packet[i] ^= BIT(bit);
			KUNIT_EXPECT_EQ_MSG(test,
					    icrc_of(packet, len, c->l3) == want,
					    masked, "byte %zu bit %u", i, bit);
			packet[i] ^= BIT(bit);
		}
}

static void split_test(struct kunit *test)
{
	const struct golden_case *c = test->param_value;
	u8 packet[MAX_BYTES];
	size_t len = load(test, c, packet), n = covered_bytes(c->l3), cut;
	u32 crc;

	for (cut = n; cut <= len; cut++) {
		crc = header_state(packet, c->l3);
		crc = crc32_le(crc, packet + n, cut - n);
		crc = crc32_le(crc, packet + cut, len - cut);
		KUNIT_EXPECT_EQ(test, sroce_icrc_final(crc),
				icrc_of(packet, len, c->l3));
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(golden_test, golden_gen_params),
	KUNIT_CASE_PARAM(reference_test, golden_gen_params),
	KUNIT_CASE_PARAM(every_bit_test, golden_gen_params),
	KUNIT_CASE_PARAM(split_test, golden_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "sroce_icrc",
	.test_cases = cases,
};

kunit_test_suite(suite);
