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
#define __noinline__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() emulator_sync()
#define __syncwarp() emulator_warp_sync()
#define KERNEL(name, Args, threads)                                        \
    static void kernel_##name(const Args &a);                              \
    extern "C" void name(const void *args) { kernel_##name(*(const Args *)args); } \
    extern "C" const unsigned long name##_takes = sizeof(Args);            \
    static void kernel_##name(const Args &a)
#define KERNEL_OF(name, Args, threads, blocks) KERNEL(name, Args, threads)
#define DYNAMIC_SHARED(name) float *name = emulator_shared

struct float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline float __uint_as_float(u32 u) { float f; memcpy(&f, &u, 4); return f; }
static inline u32 __float_as_uint(float f) { u32 u; memcpy(&u, &f, 4); return u; }
static inline u32 __umulhi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline int __viaddmax_s32(int a, int b, int c) { return max((int)((u32)a + (u32)b), c); }
static inline u32 min(u32 a, u32 b) { return a < b ? a : b; }
template <class T> static inline T atomicAdd(T *to, T more) { T was = *to; *to += more; return was; }
static inline u32 atomicMin(u32 *to, u32 other) { u32 was = *to; *to = min(was, other); return was; }

// Tensor cores: the lanes of a warp exchange their operands, and every lane computes its own four sums.
u32 *emulator_warp_words(); // 32 lanes of 8 words
int emulator_lane();
static inline float emulated_cut(u32 u) { return __uint_as_float(u & 0xffffe000u); }
static inline u32 emulated_bf16(float x) { u32 u = __float_as_uint(x); return x != x ? 0x7fff : (u + 0x7fff + ((u >> 16) & 1)) >> 16; }
static inline u32 emulated_bf16_pair(float x, float y) { return emulated_bf16(x) | emulated_bf16(y) << 16; }
static inline void emulated_mma_tf32(float *d, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    u32 *w = emulator_warp_words(), lane = emulator_lane(), mine[6] = {a0, a1, a2, a3, b0, b1};
    for (int j = 0; j < 6; j++) w[lane * 8 + j] = mine[j];
    emulator_warp_sync();
    int g = lane >> 2, q = lane & 3;
    for (int c = 0; c < 4; c++) {
        int row = g + 8 * (c >> 1), column = 2 * q + (c & 1);
        for (int k = 0; k < 8; k++)
            d[c] += emulated_cut(w[((row & 7) * 4 + (k & 3)) * 8 + (row >> 3) + 2 * (k >> 2)]) * emulated_cut(w[(column * 4 + (k & 3)) * 8 + 4 + (k >> 2)]);
    }
    emulator_warp_sync();
}
static inline float __shfl_xor_sync(u32, float v, int mask) {
    u32 *w = emulator_warp_words(), lane = emulator_lane();
    w[lane * 8] = __float_as_uint(v);
    emulator_warp_sync();
    float other = __uint_as_float(w[(lane ^ mask) * 8]);
    emulator_warp_sync();
    return other;
}
static inline u32 __shfl_xor_sync(u32 all, u32 v, int mask) { return __float_as_uint(__shfl_xor_sync(all, __uint_as_float(v), mask)); }
static inline float emulated_half(u32 pair, int which) { return __uint_as_float(which ? pair & 0xffff0000u : pair << 16); }
static inline void emulated_mma_bf16(float *d, const u32 *a, const u32 *b) {
    u32 *w = emulator_warp_words(), lane = emulator_lane();
    for (int j = 0; j < 4; j++) w[lane * 8 + j] = a[j];
    for (int j = 0; j < 2; j++) w[lane * 8 + 4 + j] = b[j];
    emulator_warp_sync();
    int g = lane >> 2, q = lane & 3;
    for (int c = 0; c < 4; c++) {
        int row = g + 8 * (c >> 1), column = 2 * q + (c & 1);
        for (int k = 0; k < 16; k++) {
            int from = (k & 7) >> 1, high = k >> 3;
            d[c] += emulated_half(w[((row & 7) * 4 + from) * 8 + (row >> 3) + 2 * high], k & 1) * emulated_half(w[(column * 4 + from) * 8 + 4 + high], k & 1);
        }
    }
    emulator_warp_sync();
}
// Four warps: rows from registers, `n` lines of columns from shared memory at an address relative to its start.
extern float *emulator_shared;
static inline void emulated_wgmma(int n, float *d, const u32 *a, u32 address) {
    u32 *w = emulator_warp_words(), lane = emulator_lane();
    for (int j = 0; j < 4; j++) w[lane * 8 + j] = a[j];
    emulator_warp_sync();
    int g = lane >> 2, q = lane & 3;
    for (int c = 0; c < n / 2; c++) {
        int row = g + 8 * ((c >> 1) & 1), column = (c >> 2) * 8 + 2 * q + (c & 1);
        for (int k = 0; k < 8; k++) {
            u32 at = address + column * 128 + k * 4;
            at ^= ((at >> 7) & 7) << 4;
            d[c] += emulated_cut(w[((row & 7) * 4 + (k & 3)) * 8 + (row >> 3) + 2 * (k >> 2)]) * emulated_cut(__float_as_uint(emulator_shared[at / 4]));
        }
    }
    emulator_warp_sync();
}
