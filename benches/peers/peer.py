"""By mpi4py, with its methods for buffers. The protocol is that of src/timing.rs."""
import os
import sys
import time
from array import array

import mpi4py

mpi4py.rc.thread_level = "multiple" if os.environ.get("BENCH_THREADS") == "multiple" else "single"
from mpi4py import MPI  # noqa: E402

BLOCKS = 20
world = MPI.COMM_WORLD
me = world.rank
peer = 1 - me


def timed(calls, body):
    """Microseconds of a call in the median block; body(n) makes n calls."""
    body(max(calls // 10, 1))
    each = max(calls // BLOCKS, 1)
    blocks = []
    for _ in range(BLOCKS):
        start = time.perf_counter()
        body(each)
        blocks.append((time.perf_counter() - start) * 1e6 / each)
    blocks.sort()
    return (blocks[BLOCKS // 2 - 1] + blocks[BLOCKS // 2]) / 2


def data(count):
    return memoryview(bytearray(b"\1") * count)


def messages(memory, size):
    return [[memory[at : at + size], MPI.BYTE] for at in range(0, len(memory), size)]


def doubles(count):
    return array("d", [1.0]) * count


def pingpong(size, calls):
    return there_and_back([data(size), MPI.BYTE], [data(size), MPI.BYTE], calls)


def relay(size, calls):
    one = [data(size), MPI.BYTE]
    return there_and_back(one, one, calls)


def there_and_back(send, recv, calls):
    def body(count):
        for _ in range(count):
            if me == 0:
                world.Send(send, peer, 1)
                world.Recv(recv, peer, 1)
            else:
                world.Recv(recv, peer, 1)
                world.Send(send, peer, 1)

    return timed(calls, body) / 2


def bw(size, calls):
    window = messages(data(size * (64 if size <= 65536 else 16)), size)
    answer = [data(1), MPI.BYTE]
    post = world.Isend if me == 0 else world.Irecv

    def body(count):
        for _ in range(count):
            MPI.Request.Waitall([post(message, peer, 1) for message in window])
            if me == 0:
                world.Recv(answer, peer, 2)
            else:
                world.Send(answer, peer, 2)

    return timed(calls, body)


def msgrate(size, calls):
    send, recv = messages(data(size * 32), size), messages(data(size * 32), size)

    def body(count):
        for _ in range(count):
            requests = [world.Irecv(message, peer, 1) for message in recv]
            requests += [world.Isend(message, peer, 1) for message in send]
            MPI.Request.Waitall(requests)

    return timed(calls, body)


def allreduce(size, calls):
    send, recv = [doubles(size // 8), MPI.DOUBLE], [doubles(size // 8), MPI.DOUBLE]

    def body(count):
        for _ in range(count):
            world.Allreduce(send, recv)

    return timed(calls, body)


def iallreduce(size, calls):
    send, recv = [doubles(size // 8), MPI.DOUBLE], [doubles(size // 8), MPI.DOUBLE]

    def body(count):
        for _ in range(count):
            world.Iallreduce(send, recv).Wait()

    return timed(calls, body)


def allgatherv(size, calls):
    n = size // 8
    send, recv = [doubles(n), MPI.DOUBLE], [doubles(2 * n), [n, n], [0, n], MPI.DOUBLE]

    def body(count):
        for _ in range(count):
            world.Allgatherv(send, recv)

    return timed(calls, body)


def one_sided(size, calls, call):
    window = MPI.Win.Allocate(size, 8, comm=world)
    window.tomemory()[:] = bytes(size)
    world.Barrier()

    def body(count):
        for _ in range(count):
            call(window)
            window.Flush(1)

    window.Lock_all()
    microseconds = timed(calls, body) if me == 0 else 0
    window.Unlock_all()
    window.Free()
    return microseconds


def put_flush(size, calls):
    send = [doubles(size // 8), MPI.DOUBLE]
    return one_sided(size, calls, lambda window: window.Put(send, 1))


def fetch_op(size, calls):
    one, old = [array("q", [1]), MPI.INT64_T], [array("q", [0]), MPI.INT64_T]
    return one_sided(size, calls, lambda window: window.Fetch_and_op(one, old, 1))


OPERATIONS = [pingpong, relay, bw, msgrate, allreduce, iallreduce, allgatherv, put_flush, fetch_op]
known = {operation.__name__: operation for operation in OPERATIONS}
for name, size, calls in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    if name in known:
        world.Barrier()
        microseconds = known[name](int(size), int(calls))
        world.Barrier()
        if me == 0:
            print(f"{name},{size},{microseconds:.4f}", flush=True)
