/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets written down as hexadecimal digits, one string a header.
 *
 * Owns the one function that turns them into bytes. Used by suites only.
 */
#ifndef SROCE_KUNIT_HEX_H
#define SROCE_KUNIT_HEX_H

#include <linux/hex.h>
#include <linux/string.h>
#include <linux/types.h>

#define HEX_PARTS	8

/**
 * hex_load() - put the parts of a packet together
 * @out: where the bytes go
 * @room: bytes that fit there
 * @parts: HEX_PARTS strings of digits, unused ones NULL
 *
 * Context: Any.
 * Return: bytes written, 0 if the digits are wrong or too many.
 */
static inline size_t hex_load(u8 *out, size_t room, const char * const *parts)
{
	size_t i, n, total = 0;

	for (i = 0; i < HEX_PARTS && parts[i]; i++) {
		n = strlen(parts[i]) / 2;
		if (n > room - total || hex2bin(out + total, parts[i], n))
			return 0;
		total += n;
	}
	return total;
}

#endif /* SROCE_KUNIT_HEX_H */
