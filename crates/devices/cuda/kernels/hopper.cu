// The forward and backward products on Hopper, in TF32: activations stream through registers, where they are rounded and squared;
// weights come as packed tiles, one copy each. A block has 128 rows of one pixel, so that a tile is a plain box and window positions
// outside the image are left out.

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(EMULATED)

#ifdef EMULATED
DEV void barrier_begin(u32, int) {}
DEV void barrier_expect(u32, int) {}
DEV void barrier_wait(u32, int) {}
DEV void barrier_fence() {}
DEV void copy_bulk(float *to, const float *from, int bytes, u32) { memcpy(to, from, bytes); }
DEV void products_begin() {}
DEV void products_end() {}
template <int N> DEV void product(float *d, const u32 *a, u64 b) { emulated_wgmma(N, d, a, (u32)b); }
DEV u64 described(u32 address) { return address; }
#else
DEV void barrier_begin(u32 b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n)); }
DEV void barrier_expect(u32 b, int n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(n) : "memory"); }
DEV void barrier_wait(u32 b, int phase) {
    asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone: }" ::"r"(b), "r"(phase) : "memory");
}
DEV void barrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEV void copy_bulk(float *to, const float *from, int bytes, u32 b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(b) : "memory");
}
DEV void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEV void products_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
template <int N> DEV void product(float *d, const u32 *a, u64 b) {
    if constexpr (N == 32) wgmma32(d, a, b);
    else if constexpr (N == 64) wgmma64(d, a, b);
    else wgmma128(d, a, b);
}
// A tile in shared memory: lines of 128 bytes, 1024 bytes from one group of eight lines to the next, chunks shuffled.
DEV u64 described(u32 address) { return (u64)((address & 0x3ffff) >> 4) | ((u64)1 << 16) | ((u64)64 << 32) | ((u64)1 << 62); }
#endif

DEV float rounded(float v) { return __uint_as_float(tf32(v) & 0xffffe000u); }

// The order in which a tile's 32 numbers along the depth lie, so that a thread's four are neighbours.
DEV int depth_at(int p) { return (p >> 4) * 16 + 4 * (p & 3) + 2 * ((p >> 3) & 1) + ((p >> 2) & 1); }

struct PackArgs {
    int outputs, taps, stride, weight_stride;
    int tile, tile_back; // outputs of a forward tile, channels of a backward one
    const float *w_mean, *w_var;
    float *forward; // [output tile][tap][32 channels][mean, square, variance][tile][32]
    float *back;    // [channel tile][mirrored tap][32 outputs][mean, square][tile_back][32]
};

// One block for 32 outputs x 32 channels of a window position.
KERNEL(pack, PackArgs, 256) {
    __shared__ float mean[32][33], var[32][33];
    int tid = threadIdx.x, e = tid & 31, c0 = blockIdx.x * 32, n0 = blockIdx.y * 32, tap = blockIdx.z;
    int deep = (a.stride + 31) / 32, deep_back = (a.outputs + 31) / 32;
    for (int r = tid >> 5; r < 32; r += 8) {
        bool in = n0 + r < a.outputs && c0 + e < a.stride;
        long long at = (long long)(n0 + r) * a.weight_stride + tap * a.stride + c0 + e;
        mean[r][e] = in ? a.w_mean[at] : 0.0f;
        var[r][e] = in ? a.w_var[at] : 0.0f;
    }
    __syncthreads();
    for (int r = tid >> 5; r < 32; r += 8) {
        int n = n0 + r, line = n % a.tile, k = depth_at((((e >> 2) ^ (line & 7)) << 2) | (e & 3));
        float *f = a.forward + ((((long long)(n / a.tile) * a.taps + tap) * deep + blockIdx.x) * 3 * a.tile + line) * 32 + e, w = mean[r][k];
        f[0] = rounded(w), f[a.tile * 32] = rounded(w * w), f[2 * a.tile * 32] = rounded(var[r][k]);
        int c = c0 + r, line_back = c % a.tile_back, k2 = depth_at((((e >> 2) ^ (line_back & 7)) << 2) | (e & 3));
        float *b = a.back + ((((long long)(c / a.tile_back) * a.taps + a.taps - 1 - tap) * deep_back + blockIdx.y) * 2 * a.tile_back + line_back) * 32 + e, u = mean[k2][r];
        b[0] = rounded(u), b[a.tile_back * 32] = rounded(u * u);
    }
}

struct StreamArgs {
    int rows, height, width, stride;       // of what is read; stride: its padded channels
    int down, across, outputs, out_stride; // of what is written
    int kernel_h, kernel_w, before, relu, weight_stride, depth;
    const float *x_mean, *x_var, *packed, *w_mean, *w_var, *mask; // w: biases, null on the way back
    float *z_mean, *z_var;
    u32 *broken;
};

template <bool BACKWARD, int NT> DEV void stream(const StreamArgs &a) {
    constexpr int ARRAYS = BACKWARD ? 2 : 3, TILE_B = NT * 32, B = ARRAYS * TILE_B, A = 128 * 32, STAGE = B + 2 * A;
    DYNAMIC_SHARED(shared);
    __shared__ __align__(8) u64 full[2];
    int tid = threadIdx.x, lane = tid & 31, group = tid >> 7, warp = (tid >> 5) & 3, g = lane >> 2, q = lane & 3;
    int tiles = (a.rows + 127) / 128, pixel = blockIdx.x / tiles, b0 = (blockIdx.x - pixel * tiles) * 128;
    int oy = pixel / a.across, ox = pixel - oy * a.across, deep = (a.stride + 31) / 32;
    int y0 = max(0, a.before - oy), y1 = min(a.kernel_h, a.height + a.before - oy);
    int x0 = max(0, a.before - ox), x1 = min(a.kernel_w, a.width + a.before - ox), count = max(0, y1 - y0) * max(0, x1 - x0) * deep;
    const float *packed = a.packed + (long long)blockIdx.y * a.kernel_h * a.kernel_w * deep * B;
    if (tid == 0) {
        barrier_begin(shared_address(full), 1);
        barrier_begin(shared_address(full + 1), 1);
        barrier_fence();
    }
    __syncthreads();
    int ky = y0, kx = x0, part = 0, row = tid >> 3, chunk = tid & 7;
    auto load = [&](int k) {
        float *stage = shared + (k & 1) * STAGE;
        if (tid == 0) {
            u32 barrier = shared_address(full + (k & 1));
            barrier_expect(barrier, B * 4);
            copy_bulk(stage, packed + (long long)((ky * a.kernel_w + kx) * deep + part) * B, B * 4, barrier);
        }
        int c = part * 32 + chunk * 4;
        long long from = ((long long)((oy + ky - a.before) * a.width + ox + kx - a.before) * a.rows + b0) * a.stride + c;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int r = row + i * 32, to = r * 32 + ((chunk ^ ((r & 1) << 2)) << 2);
            bool ok = b0 + r < a.rows && c < a.stride;
            long long at = ok ? from + (long long)r * a.stride : 0;
            copy16(stage + B + to, a.x_mean + at, ok);
            copy16(stage + B + A + to, a.x_var + at, ok);
        }
        end_of_stage();
        if (++part == deep) {
            part = 0;
            if (++kx == x1) kx = x0, ky++;
        }
    };
    float sum0[NT / 2], sum1[NT / 2];
#pragma unroll
    for (int i = 0; i < NT / 2; i++) sum0[i] = sum1[i] = 0.0f;
    if (count > 0) load(0);
#pragma unroll 1
    for (int k = 0; k < count; k++) {
        wait_for_stage<0>();
        __syncthreads();
        if (k + 1 < count) load(k + 1);
        barrier_wait(shared_address(full + (k & 1)), (k >> 1) & 1);
        const float *stage = shared + (k & 1) * STAGE, *mean = stage + B, *var = mean + A;
        u32 tile = shared_address(stage);
#pragma unroll
        for (int s = 0; s < 2; s++) {
            u32 first[2][4], variance[2][4], second[2][4];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int p = group * 64 + warp * 16 + g + 8 * h, at = p * 32 + (((s * 4 + q) ^ ((p & 1) << 2)) << 2);
                float4 f = *(const float4 *)(mean + at), u = *(const float4 *)(var + at);
                float m[4] = {f.x, f.y, f.z, f.w}, v[4] = {u.x, u.y, u.z, u.w};
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    if (!BACKWARD && a.relu && m[j] <= 0.0f) m[j] = v[j] = 0.0f;
                    int t = j >> 1, to = 2 * (j & 1) + h;
                    // On the way up, the second moment shows what is not finite.
                    first[t][to] = BACKWARD ? tf32(m[j]) : tf32_of_finite(m[j]);
                    variance[t][to] = BACKWARD ? tf32(v[j]) : tf32_of_finite(v[j]);
                    if (!BACKWARD) second[t][to] = tf32(v[j] + m[j] * m[j]);
                }
            }
            products_begin();
#pragma unroll
            for (int t = 0; t < 2; t++) {
                u32 at = tile + (s * 2 + t) * 32;
                product<NT>(sum0, first[t], described(at));
                if (!BACKWARD) product<NT>(sum1, second[t], described(at + 2 * TILE_B * 4));
                product<NT>(sum1, variance[t], described(at + TILE_B * 4));
            }
            products_end();
        }
    }
    bool ok = true;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int b = b0 + group * 64 + warp * 16 + g + 8 * h;
        if (b >= a.rows) continue;
        long long line = ((long long)pixel * a.rows + b) * a.out_stride;
#pragma unroll
        for (int j = 0; j < NT / 8; j++) {
            int n = blockIdx.y * NT + j * 8 + 2 * q;
            if (n >= a.out_stride) continue;
            float m[2], v[2];
            for (int e = 0; e < 2; e++) {
                m[e] = sum0[j * 4 + 2 * h + e], v[e] = sum1[j * 4 + 2 * h + e];
                if (!BACKWARD && n + e < a.outputs) {
                    m[e] += a.w_mean[(long long)(n + e) * a.weight_stride + a.depth];
                    v[e] += a.w_var[(long long)(n + e) * a.weight_stride + a.depth];
                }
                if (BACKWARD && a.mask && a.mask[line + n + e] <= 0.0f) m[e] = v[e] = 0.0f;
                ok = ok && finite(m[e]) && finite(v[e]);
            }
            *(float2 *)(a.z_mean + line + n) = make_float2(m[0], m[1]);
            *(float2 *)(a.z_var + line + n) = make_float2(v[0], v[1]);
        }
    }
    if (!ok) *a.broken = 1;
}

KERNEL(stream_forward_128, StreamArgs, 256) { stream<false, 128>(a); }
KERNEL(stream_forward_64, StreamArgs, 256) { stream<false, 64>(a); }
KERNEL(stream_forward_32, StreamArgs, 256) { stream<false, 32>(a); }
KERNEL(stream_back_128, StreamArgs, 256) { stream<true, 128>(a); }
KERNEL(stream_back_64, StreamArgs, 256) { stream<true, 64>(a); }
KERNEL(stream_back_32, StreamArgs, 256) { stream<true, 32>(a); }
#endif
