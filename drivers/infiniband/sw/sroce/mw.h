/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory windows, and the end of keys by request.
 *
 * A window is an entry of the key table that shows a part of a region's pages
 * under a key and rights of its own, so that an access through it costs what an
 * access to a region costs.
 */
#ifndef SROCE_MW_H
#define SROCE_MW_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct sroce_dev;
struct sroce_mr;
struct sroce_party;

/**
 * struct sroce_mw - a memory window
 * @ibmw: the core's part
 * @mr: its entry in the key table
 */
struct sroce_mw {
	struct ib_mw ibmw;
	struct sroce_mr *mr;
};

/**
 * struct sroce_bind - what BIND_MW asks for
 * @addr: first byte, as the region names it
 * @bytes: length; 0 unbinds a window of type 1
 * @lkey: the region
 * @old_key: the window's key; of type 2 only the index counts
 * @key: its new key; only the key byte may differ
 * @access: IB_ACCESS_* rights of the window
 */
struct sroce_bind {
	u64 addr;
	u64 bytes;
	u32 lkey;
	u32 old_key;
	u32 key;
	u32 access;
};

int sroce_mw_bind(struct sroce_dev *dev, const struct sroce_party *who,
		  const struct sroce_bind *b);
int sroce_mw_invalidate(struct sroce_dev *dev, const struct sroce_party *who,
			u32 key);

int sroce_mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata);
int sroce_mw_dealloc(struct ib_mw *ibmw);

#endif /* SROCE_MW_H */
