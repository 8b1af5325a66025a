// SPDX-License-Identifier: GPL-2.0
/*
 * Run-time switches: /sys/kernel/debug/sroce/<device>/.
 *
 * Owns the files; the values are members of the device that the data path reads
 * locklessly, so a write holds from the next burst on.  Process context, called
 * by main.c and by whoever opens a file.  Must not know what a switch does.
 */
#include "debugfs.h"
#include "dev.h"

#include "compat.h"

#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/sizes.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <net/net_namespace.h>

/* Bytes a window or a queue limit may have: a frame, and 10 ms at 200 Gb/s. */
#define KNOB_BYTES_MIN	SZ_8K
#define KNOB_BYTES_MAX	SZ_256M

/* A request that waits longer than this would be noticed, µs. */
#define KNOB_WAIT_MAX	1000

/* Bytes of a directory's name: a device's, and a namespace's number. */
#define DIR_NAME_BYTES	(IB_DEVICE_NAME_MAX + 16)

static struct dentry *debugfs_root;

/*
 * In the exclusive mode of RDMA namespaces each may have a device of the same name;
 * here all are in one place, so who comes second gets his namespace's number too.
 */
static void dir_name(const struct sroce_dev *dev, char *buf)
{
	const char *name = dev_name(&dev->ib.dev);
	struct dentry *other = debugfs_lookup(name, debugfs_root);

	if (IS_ERR_OR_NULL(other) || other == dev->debugfs)
		strscpy(buf, name, DIR_NAME_BYTES);
	else
		snprintf(buf, DIR_NAME_BYTES, "%s.%u", name, dev->ns->ns.inum);
	if (!IS_ERR_OR_NULL(other))
		dput(other);
}

static int wait_set(void *data, u64 val)
{
	if (val > KNOB_WAIT_MAX)
		return -EINVAL;
	WRITE_ONCE(*(u32 *)data, val);
	return 0;
}

static int number_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(u32 *)data);
	return 0;
}

static int bytes_set(void *data, u64 val)
{
	if (val < KNOB_BYTES_MIN || val > KNOB_BYTES_MAX)
		return -EINVAL;
	WRITE_ONCE(*(u32 *)data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(bytes_fops, number_get, bytes_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(wait_fops, number_get, wait_set, "%llu\n");

/* The device a knob's number belongs to: the numbers lie in a row in it. */
static struct sroce_dev *knob_dev(u8 *id)
{
	return container_of(id - *id, struct sroce_dev, cc.ids[0]);
}

static int knob_get(void *data, u64 *val)
{
	u8 *id = data;

	*val = sroce_dcqcn_knob_get(&knob_dev(id)->cc.param, *id);
	return 0;
}

static int knob_set(void *data, u64 val)
{
	u8 *id = data;

	return sroce_dcqcn_knob_set(&knob_dev(id)->cc.param, *id, val) ?
	       0 : -EINVAL;
}
DEFINE_DEBUGFS_ATTRIBUTE(knob_fops, knob_get, knob_set, "%llu\n");

static void publish_cc(struct sroce_dev *dev, struct dentry *parent)
{
	struct dentry *dir = debugfs_create_dir("cc_params", parent);
	u32 i;

	debugfs_create_bool("enable", 0644, dir, &dev->cc.enable);
	for (i = 0; i < SROCE_DCQCN_KNOBS; i++)
		debugfs_create_file_unsafe(sroce_dcqcn_knobs[i].name, 0644, dir,
					   &dev->cc.ids[i], &knob_fops);
}

/**
 * sroce_debugfs_init() - make the module's directory
 *
 * Context: Process, may sleep.
 */
void sroce_debugfs_init(void)
{
	debugfs_root = debugfs_create_dir("sroce", NULL);
}

/**
 * sroce_debugfs_exit() - remove the module's directory
 *
 * Context: Process, may sleep.
 */
void sroce_debugfs_exit(void)
{
	debugfs_remove(debugfs_root);
}

/**
 * sroce_debugfs_rename() - a device has another name
 * @dev: the device, published
 *
 * Context: Process, may sleep.
 */
void sroce_debugfs_rename(struct sroce_dev *dev)
{
	char name[DIR_NAME_BYTES];

	if (IS_ERR_OR_NULL(dev->debugfs))
		return;
	dir_name(dev, name);
	if (strcmp(name, dev->debugfs->d_name.name))
		debugfs_change_name(dev->debugfs, "%s", name);
}

/**
 * sroce_debugfs_publish() - show a device's switches
 * @dev: the device, named; calling it again takes over a new name
 *
 * Context: Process, may sleep.
 */
void sroce_debugfs_publish(struct sroce_dev *dev)
{
	struct sroce_knobs *k = &dev->knobs;
	char name[DIR_NAME_BYTES];
	struct dentry *dir;

	if (dev->debugfs) {
		sroce_debugfs_rename(dev);
		return;
	}
	dir_name(dev, name);
	dir = debugfs_create_dir(name, debugfs_root);
	debugfs_create_bool("trains", 0644, dir, &k->trains);
	debugfs_create_bool("hook", 0644, dir, &k->hook);
	debugfs_create_bool("gro", 0644, dir, &k->gro);
	debugfs_create_bool("coalesce_acks", 0644, dir, &k->coalesce_acks);
	debugfs_create_bool("inline_doorbell", 0644, dir, &k->inline_doorbell);
	debugfs_create_bool("packs", 0644, dir, &k->packs);
	debugfs_create_bool("steer", 0644, dir, &k->steer);
	debugfs_create_file_unsafe("doorbell_us", 0644, dir, &k->doorbell_us,
				   &wait_fops);
	debugfs_create_file_unsafe("window_bytes", 0644, dir, &k->window_bytes,
				   &bytes_fops);
	debugfs_create_file_unsafe("inflight_bytes", 0644, dir,
				   &k->inflight_bytes, &bytes_fops);
	debugfs_create_bool("rocev1", 0444, dir, &dev->rocev1);
	publish_cc(dev, dir);
	dev->debugfs = dir;
}

/**
 * sroce_debugfs_unpublish() - remove a device's switches
 * @dev: the device; when this returns nobody is in one of its files
 *
 * Context: Process, may sleep.
 */
void sroce_debugfs_unpublish(struct sroce_dev *dev)
{
	debugfs_remove(dev->debugfs);
	dev->debugfs = NULL;
}
