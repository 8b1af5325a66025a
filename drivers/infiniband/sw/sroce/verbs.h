/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs of a device that belong to no object of their own.
 */
#ifndef SROCE_VERBS_H
#define SROCE_VERBS_H

struct sroce_dev;

void sroce_verbs_init(struct sroce_dev *dev);

#endif /* SROCE_VERBS_H */
