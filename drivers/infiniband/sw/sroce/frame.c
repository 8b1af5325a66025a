// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes of a frame: headers, payload, pad, ICRC.
 *
 * Owns the one copy a payload byte makes on its way out and the CRC that is
 * taken of it while it is in the cache.  Runs with bottom halves off, called by
 * the roles under their QP lock, and by rx.c for the check.  Must not know WQEs,
 * PSN order or the stack.
 */
#include "frame.h"

#include "compat.h"

#include <linux/err.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "mr.h"
#include "net.h"
#include "proto/hdr.h"
#include "proto/icrc.h"
#include "proto/wire.h"
#include "sgl.h"
#include "train.h"

/*
 * Behind the BTH, so many bytes are copied to where the masked headers are: each
 * call of the CRC pays for the use of vector registers, and this saves one.
 */
#define SMALL_BYTES	96

/**
 * sroce_frame_bytes() - length of a frame, BTH to ICRC
 * @hdr_bytes: all transport headers
 * @payload_bytes: payload without pad
 *
 * Context: Any.
 * Return: bytes.
 */
u32 sroce_frame_bytes(u32 hdr_bytes, u32 payload_bytes)
{
	return hdr_bytes + ALIGN(payload_bytes, 4) + SROCE_ICRC_BYTES;
}

static int copy_payload(u8 *dst, const struct sroce_src *src, u32 bytes)
{
	if (src->inline_data) {
		memcpy(dst, src->inline_data, bytes);
		return 0;
	}
	if (src->sgl)
		return sroce_sgl_read(src->sgl, dst, bytes);
	return sroce_mr_read(src->mr, src->va, dst, bytes);
}

/* What differs from frame to frame of a train; no UDP header follows a GRH. */
static void put_lengths(u8 *pseudo, enum sroce_l3 l3, u16 id, u32 bytes)
{
	struct ipv6hdr *ip6 = (struct ipv6hdr *)pseudo;
	struct iphdr *iph = (struct iphdr *)pseudo;
	struct udphdr *uh;

	if (l3 == SROCE_L3_IPV4) {
		uh = (struct udphdr *)(iph + 1);
		uh->len = htons(sizeof(*uh) + bytes);
		iph->tot_len = htons(sizeof(*iph) + sizeof(*uh) + bytes);
		iph->id = htons(id);
	} else if (l3 == SROCE_L3_IPV6) {
		uh = (struct udphdr *)(ip6 + 1);
		uh->len = htons(sizeof(*uh) + bytes);
		ip6->payload_len = uh->len;
	} else {
		ip6->payload_len = htons(bytes);
	}
}

/*
 * CRC over a frame that may share its L3 and UDP headers with a whole train:
 * what is covered are the lengths and the IP ID the frame has on the wire.
 */
static u32 frame_icrc(enum sroce_l3 l3, const void *l3hdr, u16 id,
		      const u8 *bth, u32 bytes)
{
	const u32 l3_bytes = l3 == SROCE_L3_IPV4 ? sizeof(struct iphdr) :
						   sizeof(struct ipv6hdr);
	u8 pseudo[SROCE_ICRC_PSEUDO_MAX + SMALL_BYTES] __uninitialized;
	u32 crc, rest;
	size_t n;

	n = sroce_icrc_pseudo(pseudo, l3, l3hdr,
			      l3 == SROCE_L3_GRH ? NULL : l3hdr + l3_bytes,
			      bth);
	put_lengths(pseudo, l3, id, bytes);
	rest = bytes - sizeof(struct sroce_bth) - SROCE_ICRC_BYTES;
	if (rest <= SMALL_BYTES) {
		memcpy(pseudo + n, bth + sizeof(struct sroce_bth), rest);
		return sroce_icrc_final(sroce_crc32(SROCE_ICRC_SEED, pseudo,
						    n + rest));
	}
	crc = sroce_crc32(SROCE_ICRC_SEED, pseudo, n);
	crc = sroce_crc32(crc, bth + sizeof(struct sroce_bth), rest);
	return sroce_icrc_final(crc);
}

/**
 * sroce_frame_add() - build a frame and add it to a train
 * @t: the train; must not be full for this frame
 * @h: its headers; pad is filled in here
 * @hdr_bytes: bytes of all transport headers of its opcode
 * @src: its payload
 * @payload_bytes: bytes of it
 *
 * Context: Bottom halves off, QP lock held.
 * Return: 0; -EFAULT when the payload cannot be read, -EAGAIN when a page of it
 *	must come first, -ENOMEM, -ENETUNREACH: the train is as before.
 */
int sroce_frame_add(struct sroce_train *t, struct sroce_hdr *h, u32 hdr_bytes,
		    const struct sroce_src *src, u32 payload_bytes)
{
	u32 bytes = sroce_frame_bytes(hdr_bytes, payload_bytes);
	u32 hdr_len;
	u8 *bth, *p;
	int err;

	bth = sroce_train_alloc(t, bytes, (u16)h->psn);
	if (IS_ERR(bth))
		return PTR_ERR(bth);
	h->pad = -payload_bytes & 3;
	hdr_len = sroce_hdr_build(bth, h);
	p = bth + hdr_len;
	if (payload_bytes) {
		err = copy_payload(p, src, payload_bytes);
		if (unlikely(err)) {
			sroce_train_abort(t);
			return err;
		}
		p += payload_bytes;
		if (h->pad)
			memset(p, 0, h->pad);
		p += h->pad;
	}
	/* the CRC does not cover what the path's headers lack (IBA A17.9.2) */
	sroce_icrc_put(p, frame_icrc(t->path->av.l3, t->lane->hdr,
				     sroce_train_id(t), bth, bytes));
	sroce_train_commit(t);
	return 0;
}

/**
 * sroce_frame_grh() - what a datagram's buffer begins with
 * @grh: SROCE_GRH_BYTES to be filled
 * @l3: IP header or GRH of the frame; its length and checksum may be those of a
 *	train
 * @kind: which of them it is
 * @bytes: BTH to the end of the ICRC
 *
 * An IPv4 header takes the second half, so that both versions end where the
 * payload begins (IBA A17.4.5.1).  User space checks its checksum.
 *
 * Context: Any.
 */
void sroce_frame_grh(u8 *grh, const void *l3, enum sroce_l3 kind, u32 bytes)
{
	const u32 udp_bytes = sizeof(struct udphdr) + bytes;
	struct ipv6hdr *ip6 = (struct ipv6hdr *)grh;
	struct iphdr *iph;

	BUILD_BUG_ON(sizeof(*ip6) != SROCE_GRH_BYTES);
	if (kind != SROCE_L3_IPV4) {
		memcpy(ip6, l3, sizeof(*ip6));
		if (kind == SROCE_L3_IPV6)
			ip6->payload_len = htons(udp_bytes);
		return;
	}
	iph = (struct iphdr *)(grh + SROCE_GRH_BYTES - sizeof(*iph));
	memset(grh, 0, SROCE_GRH_BYTES - sizeof(*iph));
	memcpy(iph, l3, sizeof(*iph));
	iph->tot_len = htons(sizeof(*iph) + udp_bytes);
	ip_send_check(iph);
}

/**
 * sroce_frame_icrc_ok() - check the ICRC of a received frame
 * @l3: its IP header, the UDP header behind it, or its GRH
 * @kind: which of them it is
 * @id: its IP ID; looked at for IPv4 only
 * @bth: its BTH
 * @bytes: BTH to the end of the ICRC, at least 16
 *
 * Context: Any.
 * Return: true when it is right (IBA A17.9.2).
 */
bool sroce_frame_icrc_ok(const void *l3, enum sroce_l3 kind, u16 id,
			 const u8 *bth, u32 bytes)
{
	u32 icrc = frame_icrc(kind, l3, id, bth, bytes);

	return icrc == sroce_icrc_get(bth + bytes - SROCE_ICRC_BYTES);
}
