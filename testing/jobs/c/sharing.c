// A part of a program that is written in C and linked to MPI: it initialises MPI, makes communicators, and talks on
// those that it is given. src/sharing.rs opens it and is the other part.
#include MPI_HEADER
#include <stddef.h>

int side_init(void) {
    int provided;
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
}

int side_finalize(void) { return MPI_Finalize(); }

// The world with its ranks in reverse order; MPI_COMM_NULL if it cannot be made.
MPI_Comm side_make(void) {
    int rank;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made) != MPI_SUCCESS) {
        return MPI_COMM_NULL;
    }
    return made;
}

// Between two halves of the world, which has two ranks at least.
MPI_Comm side_make_between(void) {
    int rank;
    MPI_Comm half = MPI_COMM_NULL, made = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &made);
    MPI_Comm_free(&half);
    return made;
}

MPI_Comm side_null(void) { return MPI_COMM_NULL; }

MPI_Comm side_world(void) { return MPI_COMM_WORLD; }

int side_free(MPI_Comm comm) { return MPI_Comm_free(&comm); }

int side_rank(MPI_Comm comm) {
    int rank = -1;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

int side_send(MPI_Comm comm, int dest, double value) { return MPI_Send(&value, 1, MPI_DOUBLE, dest, 5, comm); }

// What arrives from `source`; less than zero if nothing does.
double side_recv(MPI_Comm comm, int source) {
    double value = -1;
    MPI_Status status;
    if (MPI_Recv(&value, 1, MPI_DOUBLE, source, 5, comm, &status) != MPI_SUCCESS || status.MPI_SOURCE != source) {
        return -2;
    }
    return value;
}

double side_sum(MPI_Comm comm, double mine) {
    double sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return sum;
}
