// Types and index arithmetic that all kernels share.
//
// A state lies in memory as [pixel][row][channel], channels padded to a multiple of four; an image that comes from outside with
// another number of channels lies as [pixel][channel][row], rows padded. `Layout` covers both. Padding holds finite numbers,
// and weights of padding are zero.
//
// Every kernel takes one structure, whose Rust twin is beside the code that launches it.

#ifdef EMULATED
#include "emulator.h"
#else
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL(name, Args, threads) extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Args a)
#define KERNEL_OF(name, Args, threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Args a)
#define DYNAMIC_SHARED(name) extern __shared__ __align__(1024) float name[]
#endif
#define DEV __device__ __forceinline__
#define MIN_POSITIVE 1.17549435e-38f

// Element (pixel, row, channel) is at pixel * per_pixel + row * per_row + channel * per_channel. `stride` is the padded
// number of channels, `padded_rows` the padded number of rows.
struct Layout {
    int rows, channels, pixels, stride, padded_rows;
    int per_row, per_channel;
    long long per_pixel;
};

DEV long long place(const Layout &l, int pixel, int row, int channel) {
    return pixel * l.per_pixel + (long long)row * l.per_row + (long long)channel * l.per_channel;
}

// One thread for every number of an array, padding included: its pixel, row and channel.
struct Unit {
    int pixel, row, channel;
    bool real;
};

DEV Unit unit_at(const Layout &l, long long i) {
    Unit u;
    // Dividing 64 bits is slow, and hardly ever needed.
    u.pixel = i >> 32 || l.per_pixel >> 32 ? (int)(i / l.per_pixel) : (int)((u32)i / (u32)l.per_pixel);
    u32 in_pixel = (u32)(i - u.pixel * l.per_pixel);
    if (l.per_channel == 1) {
        u.row = in_pixel / (u32)l.stride;
        u.channel = in_pixel - u.row * l.stride;
    } else {
        u.channel = in_pixel / (u32)l.padded_rows;
        u.row = in_pixel - u.channel * l.padded_rows;
    }
    u.real = u.row < l.rows && u.channel < l.channels;
    return u;
}

DEV bool finite(float v) { return v * 0.0f == 0.0f; }

// Four numbers at a time.
DEV void add4(float4 &to, float4 more) {
    to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
}

DEV float4 times4(float4 v, float4 by) { return make_float4(v.x * by.x, v.y * by.y, v.z * by.z, v.w * by.w); }

DEV float4 times(float4 v, float by) { return make_float4(v.x * by, v.y * by, v.z * by, v.w * by); }

// Zero wherever `by` is not positive.
DEV float4 where_positive(float4 v, float4 by) {
    return make_float4(by.x <= 0.0f ? 0.0f : v.x, by.y <= 0.0f ? 0.0f : v.y, by.z <= 0.0f ? 0.0f : v.z, by.w <= 0.0f ? 0.0f : v.w);
}

DEV bool finite4(float4 v) { return finite(v.x) && finite(v.y) && finite(v.z) && finite(v.w); }

DEV long long thread_number() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

// What a device records: the first broken state, and how many steps were limited or repaired.
struct Status {
    u32 is_broken, state, row;
    float value;
    u64 capped, repaired;
};
