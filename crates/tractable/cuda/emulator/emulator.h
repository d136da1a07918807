// CUDA C as C++: the kernels run on the CPU, one fiber per thread, one block after the other.
#pragma once
#include <math.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
struct Index {
    unsigned x, y, z;
};
extern Index threadIdx, blockIdx, blockDim, gridDim;
extern float *emulator_shared;
void emulator_sync();
void emulator_warp_sync();

#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() emulator_sync()
#define __syncwarp() emulator_warp_sync()
#define KERNEL(name, Args, threads)                                        \
    static void kernel_##name(const Args &a);                              \
    extern "C" void name(const void *args) { kernel_##name(*(const Args *)args); } \
    static void kernel_##name(const Args &a)
#define DYNAMIC_SHARED(name) float *name = emulator_shared

struct float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline float __uint_as_float(u32 u) { float f; memcpy(&f, &u, 4); return f; }
static inline u32 __float_as_uint(float f) { u32 u; memcpy(&u, &f, 4); return u; }
static inline u32 __umulhi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
template <class T> static inline T min(T a, T b) { return a < b ? a : b; }
template <class T> static inline T max(T a, T b) { return a > b ? a : b; }
template <class T> static inline T atomicAdd(T *to, T more) { T was = *to; *to += more; return was; }
