// SPDX-License-Identifier: GPL-2.0
/*
 * Regions on a dma-buf, memory that another driver exports.
 *
 * Owns the kernel mapping through which the copies reach such memory: there is
 * no DMA device to map it for. Runs in process context, called by reg.c. Must
 * not know keys. Memory that the CPU cannot reach like its own is refused.
 */
#include "dmabuf.h"
#include "mr.h"
#include "proto/access.h"

#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"

SROCE_COMPAT_IMPORT_DMA_BUF;

static int list_pages(struct sroce_mr *mr, u64 offset, u64 length)
{
	u64 n = DIV_ROUND_UP((offset & (PAGE_SIZE - 1)) + length, PAGE_SIZE);
	void *p = mr->map.vaddr + ALIGN_DOWN(offset, PAGE_SIZE);

	if (n > U32_MAX)
		return -EINVAL;
	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	mr->max_pages = n;
	mr->page_shift = PAGE_SHIFT;
	mr->offset = offset & (PAGE_SIZE - 1);
	for (; mr->npages < n; p += PAGE_SIZE)
		mr->pages[mr->npages++] = p;
	return 0;
}

/**
 * sroce_dmabuf_map() - give a new region the pages of a dma-buf
 * @mr: the region, not published; sroce_dmabuf_unmap() is due also on failure
 * @fd: file descriptor of the dma-buf
 * @offset: where the region begins in it, bytes
 * @length: bytes
 *
 * Context: Process, may sleep.
 * Return: 0; -EOPNOTSUPP when the exporter has no mapping for the CPU; -EINVAL
 *	for what lies outside the buffer, or another negative errno.
 */
int sroce_dmabuf_map(struct sroce_mr *mr, int fd, u64 offset, u64 length)
{
	struct dma_buf *buf = dma_buf_get(fd);

	if (IS_ERR(buf))
		return PTR_ERR(buf);
	if (!sroce_access_range_ok(0, buf->size, offset, length)) {
		dma_buf_put(buf);
		return -EINVAL;
	}
	if (dma_buf_vmap_unlocked(buf, &mr->map)) {
		dma_buf_put(buf);
		return -EOPNOTSUPP;
	}
	mr->dmabuf = buf;
	if (mr->map.is_iomem)
		return -EOPNOTSUPP;
	if (dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL))
		return -EOPNOTSUPP;
	return list_pages(mr, offset, length);
}

/**
 * sroce_dmabuf_unmap() - let the dma-buf of a region go
 * @mr: a region that nobody can find; need not have one
 *
 * Context: Process, may sleep.
 */
void sroce_dmabuf_unmap(struct sroce_mr *mr)
{
	struct dma_buf *buf = mr->dmabuf;

	if (!buf)
		return;
	if (mr->pages)
		dma_buf_end_cpu_access(buf, DMA_BIDIRECTIONAL);
	dma_buf_vunmap_unlocked(buf, &mr->map);
	dma_buf_put(buf);
	mr->dmabuf = NULL;
}
