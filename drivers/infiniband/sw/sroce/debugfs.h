/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run-time switches of a device in debugfs.
 */
#ifndef SROCE_DEBUGFS_H
#define SROCE_DEBUGFS_H

struct sroce_dev;

void sroce_debugfs_init(void);
void sroce_debugfs_exit(void);
void sroce_debugfs_publish(struct sroce_dev *dev);
void sroce_debugfs_rename(struct sroce_dev *dev);
void sroce_debugfs_unpublish(struct sroce_dev *dev);

#endif /* SROCE_DEBUGFS_H */
