// SPDX-License-Identifier: GPL-2.0
/*
 * Scatter/gather walks: the bytes of a message, piece by piece.
 *
 * Owns where a walk stands and which region it holds.  Runs with bottom halves
 * off, called by frame.c and the roles under their QP lock.  Must not know
 * packets or WQEs.
 */
#include "sgl.h"

#include <linux/errno.h>
#include <linux/minmax.h>

/**
 * sroce_sgl_init() - start a walk over the pieces of a message
 * @sgl: the walk
 * @dev: the device
 * @who: QP and protection domain, must outlive the walk
 * @sge: the pieces, in kernel memory that outlives the walk
 * @num_sge: how many
 * @access: IB_ACCESS_LOCAL_WRITE to write, 0 to read
 *
 * Context: Any.
 */
void sroce_sgl_init(struct sroce_sgl *sgl, struct sroce_dev *dev,
		    const struct sroce_party *who, const struct sroce_sge *sge,
		    u32 num_sge, int access)
{
	sgl->dev = dev;
	sgl->who = who;
	sgl->sge = sge;
	sgl->num_sge = num_sge;
	sgl->idx = 0;
	sgl->off = 0;
	sgl->access = access;
	sgl->mr = NULL;
}

/**
 * sroce_sgl_seek() - continue somewhere else
 * @sgl: the walk
 * @bytes: distance from the start of the message
 *
 * Context: As for sroce_sgl_read().
 * Return: 0, or -EFAULT behind the end of the message.
 */
int sroce_sgl_seek(struct sroce_sgl *sgl, u64 bytes)
{
	u32 i = 0;

	while (i < sgl->num_sge && bytes >= sgl->sge[i].length)
		bytes -= sgl->sge[i++].length;
	if (i != sgl->idx)
		sgl->mr = NULL;
	sgl->idx = i;
	sgl->off = bytes;
	return i == sgl->num_sge && bytes ? -EFAULT : 0;
}

/*
 * Step over finished and empty pieces and hold the region of the next.  A piece
 * that is read is used whole, and checked whole.  Of one that is written a short
 * message uses the beginning: the rest may lie outside the region, as perftest's
 * SRQ buffers do, and is not looked at.
 */
static int next_piece(struct sroce_sgl *sgl, u32 bytes)
{
	const struct sroce_sge *sge;
	u32 off = 0;

	while (sgl->idx < sgl->num_sge &&
	       sgl->off >= sgl->sge[sgl->idx].length) {
		sgl->mr = NULL;
		sgl->idx++;
		sgl->off = 0;
	}
	if (sgl->idx == sgl->num_sge)
		return -EFAULT;
	if (sgl->mr)
		return 0;
	sge = &sgl->sge[sgl->idx];
	if (sgl->access & IB_ACCESS_LOCAL_WRITE)
		off = sgl->off;
	else
		bytes = sge->length;
	sgl->mr = sroce_mr_use_local(&sgl->hold, sgl->dev, sgl->who, sge->lkey,
				     sgl->access, sge->addr + off,
				     min(bytes, sge->length - off));
	return sgl->mr ? 0 : -EFAULT;
}

/**
 * sroce_sgl_read() - copy the next bytes of a message out of its pieces
 * @sgl: the walk
 * @dst: kernel memory
 * @bytes: how many
 *
 * Context: Softirq or process; bottom halves off until sroce_sgl_fini().
 * Return: 0; -EFAULT when a piece is not allowed or the pieces end; -EAGAIN when
 *	a page of the piece where the walk now stands must come first.
 */
int sroce_sgl_read(struct sroce_sgl *sgl, void *dst, u32 bytes)
{
	const struct sroce_sge *sge;
	u32 n;
	int err;

	while (bytes) {
		err = next_piece(sgl, bytes);
		if (err)
			return err;
		sge = &sgl->sge[sgl->idx];
		n = min(bytes, sge->length - sgl->off);
		err = sroce_mr_read(sgl->mr, sge->addr + sgl->off, dst, n);
		if (err)
			return err;
		sgl->off += n;
		dst += n;
		bytes -= n;
	}
	return 0;
}

/**
 * sroce_sgl_write() - copy the next bytes of a message into its pieces
 * @sgl: the walk
 * @src: kernel memory
 * @bytes: how many
 *
 * Context: Softirq or process; bottom halves off until sroce_sgl_fini().
 * Return: 0; -EFAULT when a piece is not allowed or the pieces end; -EAGAIN when
 *	a page of the piece where the walk now stands must come first.
 */
int sroce_sgl_write(struct sroce_sgl *sgl, const void *src, u32 bytes)
{
	const struct sroce_sge *sge;
	u32 n;
	int err;

	while (bytes) {
		err = next_piece(sgl, bytes);
		if (err)
			return err;
		sge = &sgl->sge[sgl->idx];
		n = min(bytes, sge->length - sgl->off);
		err = sroce_mr_write(sgl->mr, sge->addr + sgl->off, src, n);
		if (err)
			return err;
		sgl->off += n;
		src += n;
		bytes -= n;
	}
	return 0;
}

/**
 * sroce_sgl_fini() - end a section of a walk
 * @sgl: the walk; it may go on where it stands in a later section
 *
 * Context: Any.
 */
void sroce_sgl_fini(struct sroce_sgl *sgl)
{
	sgl->mr = NULL;
	sroce_mr_release(&sgl->hold);
}
