/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes of a frame: headers, payload, pad, ICRC.
 */
#ifndef SROCE_FRAME_H
#define SROCE_FRAME_H

#include <linux/types.h>

#include "proto/icrc.h"

struct sk_buff;
struct sroce_hdr;
struct sroce_mr;
struct sroce_sgl;
struct sroce_train;

/**
 * struct sroce_src - where the payload of a frame comes from
 * @inline_data: it stands here, or
 * @sgl: walk over pieces, stands at the first byte wanted, or
 * @mr: region, with
 * @va: address of the first byte; or nothing of all this: no payload
 */
struct sroce_src {
	const u8 *inline_data;
	struct sroce_sgl *sgl;
	struct sroce_mr *mr;
	u64 va;
};

u32 sroce_frame_bytes(u32 hdr_bytes, u32 payload_bytes);
int sroce_frame_add(struct sroce_train *t, struct sroce_hdr *h, u32 hdr_bytes,
		    const struct sroce_src *src, u32 payload_bytes);
void sroce_frame_grh(u8 *grh, const void *l3, enum sroce_l3 kind, u32 bytes);
bool sroce_frame_icrc_ok(const void *l3, enum sroce_l3 kind, u16 id,
			 const u8 *bth, u32 bytes);

#endif /* SROCE_FRAME_H */
