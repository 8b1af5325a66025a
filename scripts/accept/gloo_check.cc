// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives of gloo over its ibverbs transport, every element checked.
 *
 * usage: gloo_check DEVICE GID-INDEX RANK SIZE DIRECTORY
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

typedef std::shared_ptr<gloo::rendezvous::Context> context;

static int rank, size;

static void check(const char *what, const std::vector<float> &v, int round,
		  bool sum)
{
	for (size_t i = 0; i < v.size(); i++) {
		float base = i % 1000 + round, want = base;

		if (sum)
			want = base * size + size * (size - 1) / 2;
		if (v[i] != want) {
			printf("rank %d: %s of %zu: [%zu] is %f, not %f\n",
			       rank, what, v.size(), i, v[i], want);
			exit(1);
		}
	}
}

static void fill(std::vector<float> &v, int round, int mine)
{
	for (size_t i = 0; i < v.size(); i++)
		v[i] = i % 1000 + round + mine;
}

/*
 * The algorithms are never freed: gloo gives up when it frees one whose last
 * send has not completed, and does not wait for that itself.
 */
template <class algorithm>
static void sums(const char *what, context ctx, size_t count)
{
	auto &v = *new std::vector<float>(count);
	auto &all = *new algorithm(ctx, std::vector<float *>{ v.data() },
				   count);

	for (int round = 0; round < 10; round++) {
		fill(v, round, rank);
		all.run();
		check(what, v, round, true);
	}
}

static void broadcast(context ctx, size_t count)
{
	auto &v = *new std::vector<float>(count);
	auto &all = *new gloo::BroadcastOneToAll<float>(ctx, { v.data() },
							count, 0);
	auto &barrier = *new gloo::BarrierAllToAll(ctx);

	for (int round = 0; round < 10; round++) {
		fill(v, rank ? -1 : round, 0);
		all.run();
		check("broadcast", v, round, false);
		barrier.run();
	}
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	rank = atoi(argv[3]);
	size = atoi(argv[4]);

	gloo::transport::ibverbs::attr attr = {};
	attr.name = argv[1];
	attr.port = 1;
	attr.index = atoi(argv[2]);
	std::shared_ptr<gloo::transport::Device> dev =
		gloo::transport::ibverbs::CreateDevice(attr);
	auto ctx = std::make_shared<gloo::rendezvous::Context>(rank, size);
	gloo::rendezvous::FileStore store(argv[5]);
	ctx->connectFullMesh(store, dev);

	for (size_t count : { 1, 1000, 50000, 1000000 }) {
		sums<gloo::AllreduceRing<float>>("ring", ctx, count);
		sums<gloo::AllreduceRingChunked<float>>("chunked", ctx, count);
		sums<gloo::AllreduceHalvingDoubling<float>>("halving", ctx,
							    count);
		broadcast(ctx, count);
	}
	printf("rank %d of %d: all sums are right\n", rank, size);
	fflush(stdout);
	/* nobody leaves while another still waits for it */
	std::vector<std::string> all;
	for (int i = 0; i < size; i++)
		all.push_back("done-" + std::to_string(i));
	store.set(all[rank], std::vector<char>(1, 'x'));
	store.wait(all);
	_exit(0);
}
