// SPDX-License-Identifier: GPL-2.0
/*
 * What older kernels need beyond names: a fast CRC-32 before Linux 6.14.
 *
 * Owns the crypto transform behind sroce_crc32().  Runs in any context that may
 * use the transform: process and softirq.  Called per frame by the frame and
 * receive code, and once by the module's init and exit.  Knows nothing of
 * packets.  Empty where crc32_le() is fast by itself.
 */
#include "compat.h"

#ifdef SROCE_COMPAT_CRC_SHASH

#include <crypto/hash.h>
#include <linux/err.h>

/* Below this the FPU section costs more than the table walk, bytes. */
#define CRC_SHASH_MIN	128

static struct crypto_shash *crc_tfm;

/**
 * sroce_crc32() - CRC-32 of a piece of data
 * @crc: state so far, ~0 to start
 * @p: the data
 * @n: bytes of it
 *
 * Context: Process or softirq.
 * Return: the state after the data, not inverted.
 */
u32 sroce_crc32(u32 crc, const u8 *p, size_t n)
{
	SHASH_DESC_ON_STACK(desc, crc_tfm);
	u32 *state = shash_desc_ctx(desc);

	if (n < CRC_SHASH_MIN || !crc_tfm)
		return crc32_le(crc, p, n);
	/* the whole state of every "crc32" implementation is the CRC itself */
	desc->tfm = crc_tfm;
	*state = crc;
	if (crypto_shash_update(desc, p, n))
		return crc32_le(crc, p, n);
	return *state;
}

/**
 * sroce_compat_init() - get the fastest CRC-32 the kernel has
 *
 * Context: Process, may sleep and load modules.
 * Return: 0; a kernel without the algorithm is served by crc32_le().
 */
int sroce_compat_init(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (!IS_ERR(tfm))
		crc_tfm = tfm;
	return 0;
}

/**
 * sroce_compat_exit() - undo sroce_compat_init()
 *
 * Context: Process.
 */
void sroce_compat_exit(void)
{
	if (crc_tfm)
		crypto_free_shash(crc_tfm);
	crc_tfm = NULL;
}

#endif /* SROCE_COMPAT_CRC_SHASH */
