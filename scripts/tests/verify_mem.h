/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of the data-checking program: areas whose every byte is known at
 * every moment.
 *
 * An area that nobody uses holds a background, a fixed function of the
 * position. An operation takes a chunk, with a guard of background on both
 * sides; when it is done the chunk is checked against what must be there, the
 * guards against the background, and the background is put back. At the end
 * the whole area must be background again, so a stray write anywhere is seen.
 *
 * Used only by sroce_verify.c, in one thread. It knows nothing of verbs but
 * the scatter list it cuts a chunk into.
 */
#ifndef SROCE_VERIFY_MEM_H
#define SROCE_VERIFY_MEM_H

#include "testlib.h"

#define GUARD 64
#define BG_SIZE 65536
#define MAX_PIECES 32

static uint8_t bg_image[BG_SIZE + 8];

struct area {
	const char *name;
	uint8_t *base;
	size_t size;
	size_t head;	/* next byte to hand out */
	size_t tail;	/* oldest byte in use */
	bool empty;
};

/* A piece list inside one chunk: the payload's bytes in order, with gaps. */
struct chunk {
	struct area *area;
	size_t off;		/* of the chunk's first byte after the guard */
	size_t len;		/* payload and gaps */
	size_t end;		/* where the area's tail goes afterwards */
	int pieces;
	struct {
		uint32_t off;	/* from the chunk's start */
		uint32_t len;
	} piece[MAX_PIECES];
};

static void mem_init_background(uint64_t seed)
{
	uint64_t x = seed | 1;
	size_t i;

	for (i = 0; i < sizeof(bg_image); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bg_image[i] = x >> 32;
	}
}

static void area_put_background(struct area *a, size_t off, size_t len)
{
	while (len) {
		size_t at = off % BG_SIZE;
		size_t n = BG_SIZE - at < len ? BG_SIZE - at : len;

		memcpy(a->base + off, bg_image + at, n);
		off += n;
		len -= n;
	}
}

/* Tells where [off, off + len) differs from the background at @at. */
static void report_difference(struct area *a, size_t off, size_t at,
			      const char *what)
{
	size_t i = 0;

	while (a->base[off + i] == bg_image[at + i])
		i++;
	printf("# %s: %s: byte %zu is %02x, not %02x\n", a->name, what,
	       off + i, a->base[off + i], bg_image[at + i]);
}

/* Returns whether [off, off + len) is untouched. */
static bool area_check_background(struct area *a, size_t off, size_t len,
				  const char *what)
{
	while (len) {
		size_t at = off % BG_SIZE;
		size_t n = BG_SIZE - at < len ? BG_SIZE - at : len;

		if (memcmp(a->base + off, bg_image + at, n)) {
			report_difference(a, off, at, what);
			return false;
		}
		off += n;
		len -= n;
	}
	return true;
}

static void area_init(struct area *a, const char *name, uint8_t *base,
		      size_t size)
{
	a->name = name;
	a->base = base;
	a->size = size;
	a->head = 0;
	a->tail = 0;
	a->empty = true;
	area_put_background(a, 0, size);
}

/*
 * Takes the next @len bytes and guards, first in first out. Returns false
 * when there is no room.
 */
static bool area_take(struct area *a, size_t len, size_t align,
		      struct chunk *c)
{
	size_t need = len + 2 * GUARD + 64;
	size_t start;

	if (a->empty) {
		a->head = tl_rand_in(0, 63);
		if (need + a->head > a->size)
			a->head = 0;
		a->tail = a->head;
	}
	if (a->empty || a->head > a->tail) {
		if (a->head + need <= a->size)
			start = a->head;
		else if (!a->empty && need < a->tail)
			start = 0;
		else
			return false;
	} else {
		if (a->head + need >= a->tail)
			return false;
		start = a->head;
	}
	c->area = a;
	c->off = start + GUARD + tl_rand_in(0, 31);
	c->off = (c->off + align - 1) / align * align;
	c->len = len;
	c->end = start + need;
	a->head = c->end;
	a->empty = false;
	return true;
}

/* Gives back the oldest chunk; checks its guards. */
static bool area_give(struct chunk *c)
{
	struct area *a = c->area;
	bool ok;

	ok = area_check_background(a, c->off - GUARD, GUARD, "guard before");
	ok &= area_check_background(a, c->off + c->len, GUARD, "guard after");
	area_put_background(a, c->off, c->len);
	a->tail = c->end;
	if (a->tail == a->head)
		a->empty = true;
	return ok;
}

/* the payload of an operation: a stream made from its seed */
static void payload_make(uint8_t *buf, size_t len, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 0x7f4a7c15;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		memcpy(buf + i, &x, 8);
	}
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	memcpy(buf + i, &x, len - i);
}

/*
 * Takes a chunk for @len bytes and cuts it into at most @max pieces with gaps
 * between them, some of them empty.
 */
static bool chunk_take(struct area *a, size_t len, int max, struct chunk *c)
{
	uint32_t cut[MAX_PIECES + 1], pos = 0;
	int n = 1, i, j;

	if (max > 1 && tl_chance(50))
		n = tl_rand_in(1, tl_chance(20) ? max : max < 4 ? max : 4);
	cut[0] = 0;
	for (i = 1; i < n; i++)
		cut[i] = tl_rand_in(0, len);
	cut[n] = len;
	for (i = 1; i < n; i++)
		for (j = i; j > 0 && cut[j] < cut[j - 1]; j--) {
			uint32_t t = cut[j];

			cut[j] = cut[j - 1];
			cut[j - 1] = t;
		}
	for (i = 0; i < n; i++) {
		c->piece[i].off = pos;
		c->piece[i].len = cut[i + 1] - cut[i];
		pos += c->piece[i].len;
		if (i < n - 1)
			pos += tl_rand_in(0, 24);
	}
	c->pieces = n;
	return area_take(a, pos, 1, c);
}

static uint8_t *chunk_addr(const struct chunk *c)
{
	return c->area->base + c->off;
}

static void chunk_fill(struct chunk *c, const uint8_t *payload)
{
	int i;

	for (i = 0; i < c->pieces; i++) {
		memcpy(chunk_addr(c) + c->piece[i].off, payload,
		       c->piece[i].len);
		payload += c->piece[i].len;
	}
}

/*
 * The first @len payload bytes must be @payload, every other byte of the
 * chunk background.
 */
static bool chunk_check(struct chunk *c, const uint8_t *payload, size_t len,
			const char *what)
{
	size_t pos = 0, done = 0;
	int i;

	for (i = 0; i < c->pieces; i++) {
		size_t n = c->piece[i].len;
		uint8_t *at = chunk_addr(c) + c->piece[i].off;

		if (n > len - done)
			n = len - done;
		if (!area_check_background(c->area, c->off + pos,
					   c->piece[i].off - pos, "gap"))
			return false;
		if (memcmp(at, payload + done, n)) {
			size_t k = 0;

			while (at[k] == payload[done + k])
				k++;
			printf("# %s: %s: payload byte %zu of %zu is %02x, not %02x (piece %d)\n",
			       c->area->name, what, done + k, len, at[k],
			       payload[done + k], i);
			return false;
		}
		done += n;
		pos = c->piece[i].off + n;
	}
	return area_check_background(c->area, c->off + pos, c->len - pos,
				     "behind the payload");
}

#endif
