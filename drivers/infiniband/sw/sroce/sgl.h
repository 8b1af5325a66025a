/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scatter/gather walks: the bytes of a message, piece by piece.
 *
 * A walk holds the region it used last for one bottom-half section, so that the
 * next message finds it there; between sections it keeps its place and holds
 * nothing.
 */
#ifndef SROCE_SGL_H
#define SROCE_SGL_H

#include <linux/types.h>

#include "mr.h"

struct sroce_dev;
struct sroce_party;

/**
 * struct sroce_sge - one piece of a message; layout of the ABI's struct rxe_sge
 * @addr: first byte
 * @length: bytes
 * @lkey: region it lies in
 */
struct sroce_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

/**
 * struct sroce_sgl - a walk over the pieces of a message
 * @dev: key table
 * @who: QP and protection domain every piece must belong to
 * @sge: the pieces, in kernel memory
 * @num_sge: number of pieces
 * @idx: current piece
 * @off: bytes of the current piece already done
 * @access: rights needed locally (IB_ACCESS_LOCAL_WRITE or 0)
 * @mr: region of the current piece, held by @hold, or NULL: not looked at yet
 * @hold: the region held, through all messages of a section
 */
struct sroce_sgl {
	struct sroce_dev *dev;
	const struct sroce_party *who;
	const struct sroce_sge *sge;
	u32 num_sge;
	u32 idx;
	u32 off;
	int access;
	struct sroce_mr *mr;
	struct sroce_mr_hold hold;
};

void sroce_sgl_init(struct sroce_sgl *sgl, struct sroce_dev *dev,
		    const struct sroce_party *who, const struct sroce_sge *sge,
		    u32 num_sge, int access);
int sroce_sgl_seek(struct sroce_sgl *sgl, u64 bytes);
int sroce_sgl_read(struct sroce_sgl *sgl, void *dst, u32 bytes);
int sroce_sgl_write(struct sroce_sgl *sgl, const void *src, u32 bytes);
void sroce_sgl_fini(struct sroce_sgl *sgl);

#endif /* SROCE_SGL_H */
