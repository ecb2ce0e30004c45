// By C, the yardstick. The protocol is that of ../src/timing.rs.
#include MPI_HEADER
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 20 };
#define WORLD MPI_COMM_WORLD
static int me, peer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sets `time` to the microseconds of a call in the median block.
#define TIME(...)                                                          \
    do {                                                                   \
        double block[BLOCKS];                                              \
        long each = calls / BLOCKS > 0 ? calls / BLOCKS : 1;               \
        long warm = calls / 10 > 0 ? calls / 10 : 1;                       \
        for (long i = 0; i < warm; i++) { __VA_ARGS__; }                   \
        for (int k = 0; k < BLOCKS; k++) {                                 \
            double start = now();                                          \
            for (long i = 0; i < each; i++) { __VA_ARGS__; }               \
            block[k] = (now() - start) / (double)each;                     \
        }                                                                  \
        qsort(block, BLOCKS, sizeof *block, order);                        \
        time = (block[BLOCKS / 2 - 1] + block[BLOCKS / 2]) / 2;            \
    } while (0)

// Written once: pages that nobody has written to are one page of zeros.
static void *buffer(size_t bytes) {
    void *memory = malloc(bytes);
    memset(memory, 1, bytes);
    return memory;
}

static double messages(const char *operation, int bytes, long calls) {
    int count = strcmp(operation, "msgrate") == 0 ? 32 : bytes <= 65536 ? 64 : 16;
    char *send = buffer((size_t)bytes * (size_t)count), *recv = buffer((size_t)bytes * (size_t)count), answer = 1;
    MPI_Request requests[64];
    double time = 0;
    if (strcmp(operation, "pingpong") == 0 || strcmp(operation, "relay") == 0) {
        char *sent = strcmp(operation, "relay") == 0 ? recv : send;
        if (me == 0)
            TIME(MPI_Send(sent, bytes, MPI_BYTE, peer, 1, WORLD);
                 MPI_Recv(recv, bytes, MPI_BYTE, peer, 1, WORLD, MPI_STATUS_IGNORE));
        else
            TIME(MPI_Recv(recv, bytes, MPI_BYTE, peer, 1, WORLD, MPI_STATUS_IGNORE);
                 MPI_Send(sent, bytes, MPI_BYTE, peer, 1, WORLD));
        time /= 2;
    } else if (strcmp(operation, "bw") == 0) {
        if (me == 0)
            TIME(for (int j = 0; j < count; j++)
                     MPI_Isend(send + (size_t)j * (size_t)bytes, bytes, MPI_BYTE, peer, 1, WORLD, &requests[j]);
                 MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
                 MPI_Recv(&answer, 1, MPI_BYTE, peer, 2, WORLD, MPI_STATUS_IGNORE));
        else
            TIME(for (int j = 0; j < count; j++)
                     MPI_Irecv(recv + (size_t)j * (size_t)bytes, bytes, MPI_BYTE, peer, 1, WORLD, &requests[j]);
                 MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
                 MPI_Send(&answer, 1, MPI_BYTE, peer, 2, WORLD));
    } else {
        TIME(for (int j = 0; j < count; j++)
                 MPI_Irecv(recv + (size_t)j * (size_t)bytes, bytes, MPI_BYTE, peer, 1, WORLD, &requests[j]);
             for (int j = 0; j < count; j++)
                 MPI_Isend(send + (size_t)j * (size_t)bytes, bytes, MPI_BYTE, peer, 1, WORLD, &requests[count + j]);
             MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE));
    }
    free(send), free(recv);
    return time;
}

static double collective(const char *operation, int n, long calls) {
    double *send = buffer((size_t)n * 8), *recv = buffer((size_t)n * 16), time = 0;
    int counts[] = {n, n}, displacements[] = {0, n};
    MPI_Request request;
    if (strcmp(operation, "allreduce") == 0)
        TIME(MPI_Allreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, WORLD));
    else if (strcmp(operation, "iallreduce") == 0)
        TIME(MPI_Iallreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, WORLD, &request);
             MPI_Wait(&request, MPI_STATUS_IGNORE));
    else
        TIME(MPI_Allgatherv(send, n, MPI_DOUBLE, recv, counts, displacements, MPI_DOUBLE, WORLD));
    free(send), free(recv);
    return time;
}

static double one_sided(const char *operation, int n, long calls) {
    double *memory, *send = buffer((size_t)n * 8), time = 0;
    int64_t one = 1, old;
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)n * 8, 8, MPI_INFO_NULL, WORLD, &memory, &window);
    memset(memory, 0, (size_t)n * 8);
    MPI_Barrier(WORLD);
    MPI_Win_lock_all(0, window);
    if (me == 0 && strcmp(operation, "put_flush") == 0)
        TIME(MPI_Put(send, n, MPI_DOUBLE, 1, 0, n, MPI_DOUBLE, window); MPI_Win_flush(1, window));
    else if (me == 0)
        TIME(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 1, 0, MPI_SUM, window); MPI_Win_flush(1, window));
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(send);
    return time;
}

int main(int argc, char **argv) {
    const char *threads = getenv("BENCH_THREADS");
    int multiple = threads && strcmp(threads, "multiple") == 0, level;
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(WORLD, &me);
    peer = 1 - me;
    for (int i = 1; i + 2 < argc; i += 3) {
        const char *operation = argv[i];
        int bytes = atoi(argv[i + 1]);
        long calls = atol(argv[i + 2]);
        MPI_Barrier(WORLD);
        double time;
        if (strstr("pingpong relay bw msgrate", operation)) time = messages(operation, bytes, calls);
        else if (strstr("allreduce iallreduce allgatherv", operation)) time = collective(operation, bytes / 8, calls);
        else if (strstr("put_flush fetch_op", operation)) time = one_sided(operation, bytes / 8, calls);
        else continue;
        MPI_Barrier(WORLD);
        if (me == 0) printf("%s,%d,%.4f\n", operation, bytes, time);
    }
    MPI_Finalize();
    return 0;
}
