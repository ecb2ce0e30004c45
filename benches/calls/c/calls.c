// The calls of src/main.rs in C: what they cost with nothing between the program and its MPI library.
//
// calls single|multiple CALLS makes each call so many times on a world of one rank, and dumps one
// callgrind profile a call, named after it. What a loop costs of itself is the profile "empty".
#include MPI_HEADER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

// Open MPI 5 has it, though it says that it is of MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_ALLREDUCE_INIT
#endif

enum { WARM_UP = 20, TAG = 7, HALF = 32, FLUSH = 100 };

// What the calls work on; HIDE makes the compiler read it again at each turn.
struct state {
    MPI_Comm world, ring;
    int rank;
    double *send, *recv;
    double many_send[HALF], many_recv[HALF];
    int each[2], places[2];
    int counts[1], displacements[1];
    MPI_Request prepared, receive;
    MPI_Win window, shared;
    MPI_Group self;
    long long one, old;
    int since_flush;
};
#define HIDE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
#define KEEP(value) __asm__ volatile("" : : "r"(value))

// A function per call, so that each is compiled for itself.
#define CALL(name, ...)                                     \
    static __attribute__((noinline)) void name(struct state *state, long turns) { \
        for (long turn = 0; turn < turns; turn++) {         \
            struct state *s = state;                        \
            HIDE(s);                                        \
            __VA_ARGS__;                                    \
        }                                                   \
    }

CALL(empty, (void)s)
CALL(rank_table, MPI_Comm_rank(s->world, &s->rank))
CALL(barrier, MPI_Barrier(s->world))
CALL(bcast, MPI_Bcast(s->recv, 1, MPI_DOUBLE, s->rank, s->world))
CALL(reduce, MPI_Reduce(s->send, s->recv, 1, MPI_DOUBLE, MPI_SUM, s->rank, s->world))
CALL(allreduce, MPI_Allreduce(s->send, s->recv, 1, MPI_DOUBLE, MPI_SUM, s->world))
CALL(gather, MPI_Gather(s->send, 1, MPI_DOUBLE, s->recv, 1, MPI_DOUBLE, s->rank, s->world))
CALL(scatter, MPI_Scatter(s->send, 1, MPI_DOUBLE, s->recv, 1, MPI_DOUBLE, s->rank, s->world))
CALL(allgather, MPI_Allgather(s->send, 1, MPI_DOUBLE, s->recv, 1, MPI_DOUBLE, s->world))
CALL(alltoall, MPI_Alltoall(s->send, 1, MPI_DOUBLE, s->recv, 1, MPI_DOUBLE, s->world))
CALL(reduce_scatter_block, MPI_Reduce_scatter_block(s->send, s->recv, 1, MPI_DOUBLE, MPI_SUM, s->world))
CALL(reduce_scatter, MPI_Reduce_scatter(s->send, s->recv, s->counts, MPI_DOUBLE, MPI_SUM, s->world))
CALL(exscan, MPI_Exscan(s->send, s->recv, 1, MPI_DOUBLE, MPI_SUM, s->world))
CALL(scan, MPI_Scan(s->send, s->recv, 1, MPI_DOUBLE, MPI_SUM, s->world))
CALL(gatherv, MPI_Gatherv(s->send, 1, MPI_DOUBLE, s->recv, s->counts, s->displacements, MPI_DOUBLE, s->rank, s->world))
CALL(scatterv, MPI_Scatterv(s->send, s->counts, s->displacements, MPI_DOUBLE, s->recv, 1, MPI_DOUBLE, s->rank, s->world))
CALL(allgatherv, MPI_Allgatherv(s->send, 1, MPI_DOUBLE, s->recv, s->counts, s->displacements, MPI_DOUBLE, s->world))
CALL(alltoallv, MPI_Alltoallv(s->send, s->counts, s->displacements, MPI_DOUBLE, s->recv, s->counts, s->displacements,
                              MPI_DOUBLE, s->world))

// In a ring of one rank, which is both neighbours of itself.
CALL(neighbor_allgather, MPI_Neighbor_allgather(s->send, 1, MPI_DOUBLE, s->many_recv, 1, MPI_DOUBLE, s->ring))
CALL(neighbor_allgatherv, MPI_Neighbor_allgatherv(s->send, 1, MPI_DOUBLE, s->many_recv, s->each, s->places, MPI_DOUBLE, s->ring))
CALL(neighbor_alltoall, MPI_Neighbor_alltoall(s->many_send, 1, MPI_DOUBLE, s->many_recv, 1, MPI_DOUBLE, s->ring))
CALL(neighbor_alltoallv, MPI_Neighbor_alltoallv(s->many_send, s->each, s->places, MPI_DOUBLE, s->many_recv, s->each, s->places,
                                                MPI_DOUBLE, s->ring))

CALL(iprobe, int flag; MPI_Status status;
     MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, s->world, &flag, &status); KEEP(flag))
CALL(sendrecv, MPI_Status status;
     MPI_Sendrecv(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world,
                  &status); KEEP(&status))
CALL(sendrecv_bytes, MPI_Status status;
     MPI_Sendrecv(s->send, 8, MPI_BYTE, s->rank, TAG, s->recv, 8, MPI_BYTE, s->rank, TAG, s->world,
                  &status); KEEP(&status))

CALL(isend_recv, MPI_Request request; MPI_Status status;
     MPI_Isend(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world, &request);
     MPI_Recv(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world, &status); KEEP(&status);
     MPI_Wait(&request, MPI_STATUS_IGNORE))
CALL(irecv_send, MPI_Request request; MPI_Status status;
     MPI_Irecv(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world, &request);
     MPI_Send(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world);
     MPI_Wait(&request, &status); KEEP(&status))
CALL(sendrecv_replace, MPI_Status status;
     MPI_Sendrecv_replace(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->rank, TAG, s->world, &status); KEEP(&status))
CALL(ssend, MPI_Request request;
     MPI_Irecv(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world, &request);
     MPI_Ssend(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world);
     MPI_Wait(&request, MPI_STATUS_IGNORE))
CALL(bsend, MPI_Status status;
     MPI_Bsend(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world);
     MPI_Recv(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world, &status); KEEP(&status))
CALL(probe, MPI_Request request; MPI_Status found; MPI_Status status;
     MPI_Isend(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world, &request);
     MPI_Probe(s->rank, TAG, s->world, &found); KEEP(&found);
     MPI_Recv(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world, &status); KEEP(&status);
     MPI_Wait(&request, MPI_STATUS_IGNORE))
CALL(mprobe, MPI_Request request; MPI_Message message; MPI_Status found; MPI_Status status;
     MPI_Isend(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world, &request);
     MPI_Mprobe(s->rank, TAG, s->world, &message, &found); KEEP(&found);
     MPI_Mrecv(s->recv, 1, MPI_DOUBLE, &message, &status); KEEP(&status);
     MPI_Wait(&request, MPI_STATUS_IGNORE))
CALL(psendrecv, MPI_Status status;
     MPI_Start(&s->receive); MPI_Start(&s->prepared);
     MPI_Wait(&s->receive, &status); KEEP(&status); MPI_Wait(&s->prepared, MPI_STATUS_IGNORE))

CALL(ibarrier, MPI_Request request;
     MPI_Ibarrier(s->world, &request); MPI_Wait(&request, MPI_STATUS_IGNORE))
CALL(ibcast, MPI_Request request;
     MPI_Ibcast(s->recv, 1, MPI_DOUBLE, s->rank, s->world, &request); MPI_Wait(&request, MPI_STATUS_IGNORE))
CALL(iallreduce, MPI_Request request;
     MPI_Iallreduce(s->send, s->recv, 1, MPI_DOUBLE, MPI_SUM, s->world, &request);
     MPI_Wait(&request, MPI_STATUS_IGNORE))
#ifdef HAS_ALLREDUCE_INIT
CALL(pallreduce, MPI_Start(&s->prepared); MPI_Wait(&s->prepared, MPI_STATUS_IGNORE))
#endif

CALL(isendrecv, MPI_Request requests[2];
     MPI_Irecv(s->recv, 1, MPI_DOUBLE, s->rank, TAG, s->world, &requests[0]);
     MPI_Isend(s->send, 1, MPI_DOUBLE, s->rank, TAG, s->world, &requests[1]);
     MPI_Waitall(2, requests, MPI_STATUSES_IGNORE))
CALL(waitall64, MPI_Request requests[2 * HALF];
     for (int i = 0; i < HALF; i++) MPI_Irecv(s->many_recv + i, 1, MPI_DOUBLE, s->rank, TAG, s->world, &requests[i]);
     for (int i = 0; i < HALF; i++) MPI_Isend(s->many_send + i, 1, MPI_DOUBLE, s->rank, TAG, s->world, &requests[HALF + i]);
     MPI_Waitall(2 * HALF, requests, MPI_STATUSES_IGNORE))

// To oneself, in an epoch that is open all the time.
CALL(put, MPI_Put(s->send, 1, MPI_DOUBLE, s->rank, 0, 1, MPI_DOUBLE, s->window);
     if (++s->since_flush == FLUSH) s->since_flush = 0, MPI_Win_flush(s->rank, s->window))
CALL(put_flush, MPI_Put(s->send, 1, MPI_DOUBLE, s->rank, 0, 1, MPI_DOUBLE, s->window);
     MPI_Win_flush(s->rank, s->window))
CALL(get_flush, MPI_Get(s->recv, 1, MPI_DOUBLE, s->rank, 0, 1, MPI_DOUBLE, s->window);
     MPI_Win_flush(s->rank, s->window))
CALL(accumulate_flush, MPI_Accumulate(s->send, 1, MPI_DOUBLE, s->rank, 0, 1, MPI_DOUBLE, MPI_SUM, s->window);
     MPI_Win_flush(s->rank, s->window))
CALL(get_accumulate, MPI_Get_accumulate(s->send, 1, MPI_DOUBLE, s->recv, 1, MPI_DOUBLE, s->rank, 0, 1, MPI_DOUBLE, MPI_SUM,
                                        s->window);
     MPI_Win_flush(s->rank, s->window))
CALL(flush_local, MPI_Win_flush_local(s->rank, s->window))
CALL(lock, MPI_Win_lock(MPI_LOCK_SHARED, s->rank, 0, s->window); MPI_Win_unlock(s->rank, s->window))
CALL(fence, MPI_Win_fence(0, s->window))
CALL(post, MPI_Win_post(s->self, 0, s->window); MPI_Win_start(s->self, 0, s->window); MPI_Win_complete(s->window);
     MPI_Win_wait(s->window))
CALL(compare_and_swap, MPI_Compare_and_swap(&s->one, &s->one, &s->old, MPI_INT32_T, s->rank, 0, s->window);
     MPI_Win_flush(s->rank, s->window))
CALL(fetch_and_op, MPI_Fetch_and_op(&s->one, &s->old, MPI_INT64_T, s->rank, 0, MPI_SUM, s->window);
     MPI_Win_flush(s->rank, s->window))
CALL(attach, MPI_Aint size; int unit; double *base;
     MPI_Win_shared_query(s->shared, s->rank, &size, &unit, &base); KEEP(base))

static void count(const char *name, void (*call)(struct state *, long), struct state *state, long calls) {
    call(state, WARM_UP);
    CALLGRIND_START_INSTRUMENTATION;
    call(state, calls);
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(name);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: calls single|multiple CALLS\n");
        return 2;
    }
    int wanted = strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int granted;
    long calls = strtol(argv[2], NULL, 10);
    MPI_Init_thread(&argc, &argv, wanted, &granted);
    if (granted < wanted) {
        fprintf(stderr, "the library does not grant the thread level %s\n", argv[1]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    struct state state = {MPI_COMM_WORLD, MPI_COMM_NULL, 0, malloc(sizeof(double)), malloc(sizeof(double)), {0}, {0},
                          {1, 1}, {0, 1}, {1}, {0}, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_WIN_NULL, MPI_WIN_NULL, 1, 0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
    *state.send = 1.0;
    *state.recv = 0.0;
    count("empty", empty, &state, calls);
    count("rank_table", rank_table, &state, calls);
    count("iprobe", iprobe, &state, calls);
    count("sendrecv", sendrecv, &state, calls);
    count("sendrecv_bytes", sendrecv_bytes, &state, calls);
    count("sendrecv_replace", sendrecv_replace, &state, calls);
    count("ssend", ssend, &state, calls);
    static char attached[1 << 16];
    MPI_Buffer_attach(attached, sizeof attached);
    count("bsend", bsend, &state, calls);
    void *detached;
    int length;
    MPI_Buffer_detach(&detached, &length);
    count("probe", probe, &state, calls);
    count("mprobe", mprobe, &state, calls);
    count("isend_recv", isend_recv, &state, calls);
    count("irecv_send", irecv_send, &state, calls);
    MPI_Recv_init(state.recv, 1, MPI_DOUBLE, state.rank, TAG, MPI_COMM_WORLD, &state.receive);
    MPI_Send_init(state.send, 1, MPI_DOUBLE, state.rank, TAG, MPI_COMM_WORLD, &state.prepared);
    count("psendrecv", psendrecv, &state, calls);
    MPI_Request_free(&state.receive);
    MPI_Request_free(&state.prepared);
    count("isendrecv", isendrecv, &state, calls);
    count("waitall64", waitall64, &state, calls);
    count("barrier", barrier, &state, calls);
    count("bcast", bcast, &state, calls);
    count("reduce", reduce, &state, calls);
    count("allreduce", allreduce, &state, calls);
    count("gather", gather, &state, calls);
    count("scatter", scatter, &state, calls);
    count("allgather", allgather, &state, calls);
    count("alltoall", alltoall, &state, calls);
    count("reduce_scatter_block", reduce_scatter_block, &state, calls);
    count("reduce_scatter", reduce_scatter, &state, calls);
    count("exscan", exscan, &state, calls);
    count("scan", scan, &state, calls);
    count("gatherv", gatherv, &state, calls);
    count("scatterv", scatterv, &state, calls);
    count("allgatherv", allgatherv, &state, calls);
    count("alltoallv", alltoallv, &state, calls);
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){1}, 0, &state.ring);
    count("neighbor_allgather", neighbor_allgather, &state, calls);
    count("neighbor_allgatherv", neighbor_allgatherv, &state, calls);
    count("neighbor_alltoall", neighbor_alltoall, &state, calls);
    count("neighbor_alltoallv", neighbor_alltoallv, &state, calls);
    MPI_Comm_free(&state.ring);
    count("ibarrier", ibarrier, &state, calls);
    count("ibcast", ibcast, &state, calls);
    count("iallreduce", iallreduce, &state, calls);
#ifdef HAS_ALLREDUCE_INIT
    MPI_Allreduce_init(state.send, state.recv, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &state.prepared);
    count("pallreduce", pallreduce, &state, calls);
    MPI_Request_free(&state.prepared);
#endif
    double *memory;
    MPI_Win_allocate(8 * sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &state.window);
    memset(memory, 0, 8 * sizeof(double));
    MPI_Win_lock_all(0, state.window);
    count("put", put, &state, calls);
    count("put_flush", put_flush, &state, calls);
    count("get_flush", get_flush, &state, calls);
    count("accumulate_flush", accumulate_flush, &state, calls);
    count("get_accumulate", get_accumulate, &state, calls);
    count("flush_local", flush_local, &state, calls);
    count("fetch_and_op", fetch_and_op, &state, calls);
    count("compare_and_swap", compare_and_swap, &state, calls);
    MPI_Win_unlock_all(state.window);
    count("lock", lock, &state, calls);
    MPI_Win_fence(0, state.window);
    count("fence", fence, &state, calls);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, state.window);
    MPI_Comm_group(MPI_COMM_SELF, &state.self);
    count("post", post, &state, calls);
    MPI_Group_free(&state.self);
    MPI_Win_free(&state.window);
    MPI_Win_allocate_shared(8 * sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &state.shared);
    count("attach", attach, &state, calls);
    MPI_Win_free(&state.shared);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\r\n")] = '\0';
    printf("%s\n", library);
    free(state.send);
    free(state.recv);
    MPI_Finalize();
    return 0;
}
