// Each PE puts its numbers to the next one, from the device: no host and no stream is asked for it.
//
// docs/guide/device-kernels.md says how it is compiled, and device_put loads and runs it.

#include <nvshmem.h>
#include <nvshmemx.h>

// Each block of threads puts a share of the numbers; its threads do that together.
extern "C" __global__ void ring_shift(int *to, const int *from, unsigned long long count) {
    int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    unsigned long long share = (count + gridDim.x - 1) / gridDim.x;
    unsigned long long begin = share * blockIdx.x;
    if (begin < count) {
        unsigned long long length = count - begin < share ? count - begin : share;
        nvshmemx_int_put_block(to + begin, from + begin, length, next);
    }
}
