// A part of a program that is written in C and linked to MPI: it initialises MPI, makes communicators, datatypes and
// requests, and uses those that it is given. src/sharing/ opens it and is the other part.
#include MPI_HEADER
#include <stddef.h>
#include <string.h>

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

// A double and an int of every 32 bytes.
MPI_Datatype side_make_type(void) {
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, sizeof(double)};
    MPI_Datatype kinds[] = {MPI_DOUBLE, MPI_INT}, both, made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, places, kinds, &both);
    MPI_Type_create_resized(both, 0, 32, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&both);
    return made;
}

MPI_Datatype side_make_backward_type(void) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, -2, MPI_DOUBLE, &made);
    MPI_Type_commit(&made);
    return made;
}

MPI_Datatype side_null_type(void) { return MPI_DATATYPE_NULL; }

int side_free_type(MPI_Datatype type) { return MPI_Type_free(&type); }

int side_send_of(MPI_Comm comm, int dest, const void *data, int count, MPI_Datatype type) {
    return MPI_Send(data, count, type, dest, 6, comm);
}

// Of `type`, which is predefined.
int side_sum_of(MPI_Comm comm, const void *mine, void *sum, MPI_Datatype type) {
    return MPI_Allreduce(mine, sum, 1, type, MPI_SUM, comm);
}

int side_recv_of(MPI_Comm comm, int source, void *data, int count, MPI_Datatype type) {
    return MPI_Recv(data, count, type, source, 6, comm, MPI_STATUS_IGNORE);
}

MPI_Request side_isend(MPI_Comm comm, int dest, const double *data, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data, count, MPI_DOUBLE, dest, 7, comm, &request);
    return request;
}

MPI_Request side_irecv(MPI_Comm comm, int source, double *data, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data, count, MPI_DOUBLE, source, 7, comm, &request);
    return request;
}

MPI_Request side_null_request(void) { return MPI_REQUEST_NULL; }

// How many doubles a request has received, or less than zero.
int side_wait(MPI_Request request) {
    MPI_Status status;
    int count = -1;
    if (MPI_Wait(&request, &status) != MPI_SUCCESS || request != MPI_REQUEST_NULL) {
        return -2;
    }
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    return count;
}

// One double, to the memory of `rank`, which is locked.
int side_put(MPI_Win win, int rank, MPI_Aint place, double value) {
    if (MPI_Put(&value, 1, MPI_DOUBLE, rank, place, 1, MPI_DOUBLE, win) != MPI_SUCCESS) {
        return 1;
    }
    return MPI_Win_flush(rank, win) != MPI_SUCCESS;
}

int side_is_named(MPI_Win win, const char *expected) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    if (MPI_Win_get_name(win, name, &length) != MPI_SUCCESS) {
        return -1;
    }
    return strcmp(name, expected) == 0;
}
