// SPDX-License-Identifier: GPL-2.0
/*
 * Management datagrams the device answers by itself.
 *
 * Owns the performance counters of the port in the form of IBA 16.1.3, which is
 * also where sysfs takes ports/1/counters from.  Process context, called by
 * ib_core.  Must not know QPs.
 */
#include "mad.h"

#include "dev.h"
#include "stats.h"

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

/* Where the attribute of a performance MAD begins. */
#define PMA_DATA	40

/* Data counters count words. */
#define WORD_BYTES	4

#define REPLY		(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)

static int port_info(void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
	return REPLY;
}

/* Counters stop at their largest value (IBA 16.1.3.5). */
static int counters(struct sroce_dev *dev, void *data)
{
	struct ib_pma_portcounters *c = data;
	u64 words;

	c->port_select = 1;
	c->link_downed_counter =
		min(sroce_stats_sum(dev, SROCE_STAT_LINK_DOWNED), U8_MAX);
	c->port_rcv_errors = cpu_to_be16(min(sroce_stats_sum(dev, SROCE_STAT_ICRC),
					     U16_MAX));
	c->port_xmit_discards =
		cpu_to_be16(min(sroce_stats_sum(dev, SROCE_STAT_TX_DROPPED),
				U16_MAX));
	words = sroce_stats_sum(dev, SROCE_STAT_SENT_BYTES) / WORD_BYTES;
	c->port_xmit_data = cpu_to_be32(min(words, U32_MAX));
	words = sroce_stats_sum(dev, SROCE_STAT_RCVD_BYTES) / WORD_BYTES;
	c->port_rcv_data = cpu_to_be32(min(words, U32_MAX));
	c->port_xmit_packets =
		cpu_to_be32(min(sroce_stats_sum(dev, SROCE_STAT_SENT_PKTS),
				U32_MAX));
	c->port_rcv_packets =
		cpu_to_be32(min(sroce_stats_sum(dev, SROCE_STAT_RCVD_PKTS),
				U32_MAX));
	return REPLY;
}

static int counters_ext(struct sroce_dev *dev, void *data)
{
	struct ib_pma_portcounters_ext *c = data;
	/* the parts first: what grows meanwhile must not exceed the whole */
	u64 mc_sent = sroce_stats_sum(dev, SROCE_STAT_SENT_MCAST);
	u64 mc_rcvd = sroce_stats_sum(dev, SROCE_STAT_RCVD_MCAST);
	u64 sent = sroce_stats_sum(dev, SROCE_STAT_SENT_PKTS);
	u64 rcvd = sroce_stats_sum(dev, SROCE_STAT_RCVD_PKTS);

	c->port_select = 1;
	c->port_xmit_data = cpu_to_be64(sroce_stats_sum(dev, SROCE_STAT_SENT_BYTES) /
					WORD_BYTES);
	c->port_rcv_data = cpu_to_be64(sroce_stats_sum(dev, SROCE_STAT_RCVD_BYTES) /
				       WORD_BYTES);
	c->port_xmit_packets = cpu_to_be64(sent);
	c->port_rcv_packets = cpu_to_be64(rcvd);
	c->port_multicast_xmit_packets = cpu_to_be64(mc_sent);
	c->port_multicast_rcv_packets = cpu_to_be64(mc_rcvd);
	c->port_unicast_xmit_packets = cpu_to_be64(sent - mc_sent);
	c->port_unicast_rcv_packets = cpu_to_be64(rcvd - mc_rcvd);
	return REPLY;
}

/**
 * sroce_mad_process() - process_mad op
 * @ibdev: the device
 * @flags: IB_MAD_IGNORE_*
 * @port: its port, 1
 * @in_wc: completion the MAD came with, or NULL
 * @in_grh: its header, or NULL
 * @in: the MAD
 * @out: the answer
 * @out_bytes: its size, bytes
 * @out_pkey_index: not set, there is one P_Key
 *
 * Context: Process.
 * Return: IB_MAD_RESULT_* bits; without a reply the MAD goes on to whoever
 *	registered for it.
 */
int sroce_mad_process(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_bytes, u16 *out_pkey_index)
{
	struct sroce_dev *dev = to_sroce_dev(ibdev);
	void *data = (u8 *)out->data + PMA_DATA;

	if (port != 1)
		return IB_MAD_RESULT_FAILURE;
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		return port_info(data);
	case IB_PMA_PORT_COUNTERS:
		return counters(dev, data);
	case IB_PMA_PORT_COUNTERS_EXT:
		return counters_ext(dev, data);
	default:
		out->mad_hdr.status =
			cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
		return REPLY;
	}
}
