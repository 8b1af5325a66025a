/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A role waits for a page.
 *
 * Each role of a QP has one fault under way at most. While it is, the requester
 * sends nothing; the responder takes packets and drops what meets the hole.
 */
#ifndef SROCE_PAGEIN_H
#define SROCE_PAGEIN_H

#include <linux/types.h>

struct sroce_pagein;
struct sroce_qp;
struct sroce_sgl;

void sroce_pagein_qp_init(struct sroce_qp *qp);
void sroce_pagein_qp_stop(struct sroce_qp *qp);
bool sroce_pagein_start(struct sroce_pagein *p, u32 key, u64 va, u64 bytes,
			bool repeat);
bool sroce_pagein_start_sgl(struct sroce_pagein *p, const struct sroce_sgl *sgl,
			    bool repeat);
bool sroce_pagein_busy(const struct sroce_pagein *p);
bool sroce_pagein_resume(struct sroce_pagein *p);

#endif /* SROCE_PAGEIN_H */
