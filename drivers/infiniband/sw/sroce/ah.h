/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address vectors and address handles.
 *
 * An address vector is where packets go, checked and in one form for both IP
 * versions; QPs and address handles embed one.
 */
#ifndef SROCE_AH_H
#define SROCE_AH_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "proto/icrc.h"

struct rxe_av;
struct sroce_ah_slot;
struct sroce_dev;

/**
 * struct sroce_av - address vector
 * @l3: enum sroce_l3
 * @traffic_class: DSCP and ECN
 * @ttl: hop limit
 * @sl: service level
 * @flow_label: 20 bits
 * @saddr: source; IPv4 as v4-mapped
 * @daddr: destination; IPv4 as v4-mapped
 * @dmac: next hop as ib_core resolved it; used by RoCEv1 alone
 * @sgid_index: where @saddr stands in the GID table
 * @reserved: 0; two addresses are equal when all their bytes are
 * @ifindex: netdev of the source GID
 */
struct sroce_av {
	u8 l3;
	u8 traffic_class;
	u8 ttl;
	u8 sl;
	u32 flow_label;
	struct in6_addr saddr;
	struct in6_addr daddr;
	u8 dmac[ETH_ALEN];
	u8 sgid_index;
	u8 reserved;
	int ifindex;
};

/**
 * struct sroce_ah - an address handle
 * @ibah: the core's part
 * @av: where it points
 * @slot: entry of the table a user's work requests name it by, or NULL
 */
struct sroce_ah {
	struct ib_ah ibah;
	struct sroce_av av;
	struct sroce_ah_slot *slot;
};

static inline struct sroce_ah *to_sroce_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct sroce_ah, ibah);
}

int sroce_ah_av_init(struct sroce_av *av, const struct rdma_ah_attr *attr);
int sroce_ah_av_user(struct sroce_av *av, struct sroce_dev *dev,
		     const struct rxe_av *user);
void sroce_ah_av_fill(const struct sroce_av *av, struct rdma_ah_attr *attr);
bool sroce_ah_lookup(struct sroce_dev *dev, struct ib_pd *pd, u32 ah_num,
		     struct sroce_av *av);

int sroce_ah_create(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int sroce_ah_modify(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int sroce_ah_query(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int sroce_ah_destroy(struct ib_ah *ibah, u32 flags);

#endif /* SROCE_AH_H */
