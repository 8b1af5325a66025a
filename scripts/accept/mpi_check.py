#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Messages and collectives between MPI ranks, every byte checked."""

import array
import sys

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()


def pattern(rank, count):
    return array.array("q", ((rank + 1) * 1000003 + i for i in range(count)))


def check(what, good):
    if not good:
        print(f"rank {RANK}: {what} is wrong", flush=True)
        WORLD.Abort(1)


def main():
    for count in (1, 100, 4096, 50000):
        mine = pattern(RANK, count)
        got = array.array("q", bytes(8 * count))
        WORLD.Sendrecv(mine, (RANK + 1) % SIZE, 0, got, (RANK - 1) % SIZE, 0)
        check(f"ring, {count}", got == pattern((RANK - 1) % SIZE, count))
        WORLD.Allreduce(mine, got, MPI.SUM)
        total = array.array("q", (sum((r + 1) * 1000003 + i
                                      for r in range(SIZE))
                                  for i in range(count)))
        check(f"allreduce, {count}", got == total)
        every = array.array("q", bytes(8 * count * SIZE))
        WORLD.Allgather(mine, every)
        for r in range(SIZE):
            check(f"allgather, {count}",
                  every[r * count:(r + 1) * count] == pattern(r, count))
    text = WORLD.bcast("x" * 100000 if RANK == 0 else None)
    check("broadcast", text == "x" * 100000)
    WORLD.Barrier()
    if RANK == 0:
        print(f"{SIZE} ranks agree", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
