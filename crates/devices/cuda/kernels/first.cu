// The first layers of a network that learns from known images, in one: convolution, ReLU and average pooling, and on the way
// back un-pooling, the mask of ReLU and the sums for learning. What lies between is never stored, but for one bit a unit.
//
// A warp has 16 images and 32 outputs and walks along a row. Images are [pixel][channel][row], states [pixel][row][channel].
// Pooling windows overlap with their neighbours at most: their kernel is at most twice their stride. Tile n of a product has
// outputs n, n + 4, n + 8 and so on, so that a thread's outputs are neighbours.

struct FirstArgs {
    Geometry g; // of the convolution
    int pool, pool_step, pool_before, pool_down, pool_across;
    int segments; // of a row, for a warp each
    const float *x, *w_mean, *w_var;
    float *z_mean, *z_var; // pooled
    u32 *mask;             // [32 outputs][position][row]
    const float *z_d_mean, *z_d_var;
    float *partial; // [parts][2][outputs][weight_stride]
    u32 *broken;
};

// Number k of a window: its place relative to the window's, and its row and column, far outside where there is no such number.
struct Tap {
    int offset, row, column;
};

DEV Tap tap_at(const Geometry &g, int k) {
    int tap = k / g.channels, y = tap / g.kernel_w, x = tap - y * g.kernel_w;
    bool real = tap < g.kernel_h * g.kernel_w;
    Tap t = {((y * g.width + x) * g.channels + k - tap * g.channels) * g.rows, real ? y : 1 << 28, x};
    return t;
}

// The column of weights of number k.
DEV int weight_at(const Geometry &g, int k) { return k / g.channels * g.stride + k % g.channels; }

template <int MODE, int KT> DEV void first_forward(const FirstArgs &a) {
    __shared__ OperandB<MODE> weights[KT][4][2][32];
    __shared__ Tap taps[KT * 16];
    const Geometry &geo = a.g;
    int tid = threadIdx.x, lane = tid & 31, g = lane >> 2, q = lane & 3, n0 = blockIdx.y * 32;
    int deep = geo.kernel_h * geo.kernel_w * geo.channels;
    for (int k = tid; k < KT * 16; k += blockDim.x) taps[k] = tap_at(geo, k);
    for (int i = tid; i < KT * 4 * 2 * 32; i += blockDim.x) {
        int l = i & 31, which = (i >> 5) & 1, n = (i >> 6) & 3, t = i >> 8, output = n0 + 4 * (l >> 2) + n;
        float v[4];
        for (int j = 0; j < 4; j++) {
            int k = t * 16 + 4 * (l & 3) + j;
            bool real = k < deep && output < geo.outputs;
            v[j] = real ? (which ? a.w_var : a.w_mean)[(long long)output * geo.weight_stride + weight_at(geo, k)] : 0.0f;
        }
        weights[t][n][which][l].set(v);
    }
    __syncthreads();
    float bias[4][2], bias_var[4][2];
    for (int n = 0; n < 4; n++)
        for (int e = 0; e < 2; e++) {
            int output = n0 + 4 * (2 * q + e) + n;
            long long at = (long long)output * geo.weight_stride + geo.depth;
            bias[n][e] = output < geo.outputs ? a.w_mean[at] : 0.0f;
            bias_var[n][e] = output < geo.outputs ? a.w_var[at] : 0.0f;
        }
    float share = 1.0f / (a.pool * a.pool);
    int groups = geo.rows / 16, items = groups * a.pool_down * a.segments, warps = gridDim.x * (blockDim.x >> 5);
    int per = (a.pool_across + a.segments - 1) / a.segments;
    bool ok = true;
    for (int item = blockIdx.x * (blockDim.x >> 5) + (tid >> 5); item < items; item += warps) {
        int row = item % groups * 16 + g, rest = item / groups, segment = rest % a.segments;
        int py = rest / a.segments, top = py * a.pool_step - a.pool_before;
        // Sums of this pooling window and of the next.
        float mean[16] = {}, var[16] = {}, next_mean[16] = {}, next_var[16] = {};
        int px = segment * per, end = min(a.pool_across, px + per), left = px * a.pool_step - a.pool_before;
#pragma unroll 1
        for (int x = max(0, left); px < end; x++) {
            bool shared_with_next = x >= left + a.pool_step;
            if (x < geo.across)
#pragma unroll 1
                for (int y = max(0, top); y < min(geo.down, top + a.pool); y++) {
                    float z[16] = {}, v[16] = {};
                    int base = ((y - geo.before) * geo.width + x - geo.before) * geo.channels * geo.rows + row;
#pragma unroll
                    for (int t = 0; t < KT; t++) {
                        float p[4], r[4];
                        OperandA<MODE> first, second;
#pragma unroll
                        for (int j = 0; j < 4; j++) {
                            Tap tap = taps[t * 16 + 4 * q + j];
                            bool in = (u32)(y - geo.before + tap.row) < (u32)geo.height && (u32)(x - geo.before + tap.column) < (u32)geo.width;
                            const float *at = a.x + (in ? base + tap.offset : 0);
                            p[j] = in ? at[0] : 0.0f, r[j] = in ? at[8] : 0.0f;
                        }
                        first.set(p, r);
#pragma unroll
                        for (int j = 0; j < 4; j++) p[j] *= p[j], r[j] *= r[j];
                        second.set(p, r);
#pragma unroll
                        for (int n = 0; n < 4; n++) {
                            OperandB<MODE> m = weights[t][n][0][lane], s = weights[t][n][1][lane];
#pragma unroll
                            for (int part = 0; part < Parts<MODE>::n; part++) {
                                multiply<MODE>(part, z + 4 * n, first, m);
                                multiply<MODE>(part, v + 4 * n, second, s);
                            }
                        }
                    }
                    u32 mask[2] = {0, 0};
#pragma unroll
                    for (int c = 0; c < 16; c++) {
                        float m = z[c] + bias[c >> 2][c & 1], s = v[c] + bias_var[c >> 2][c & 1];
                        if (m <= 0.0f) continue;
                        mask[(c >> 1) & 1] |= 1u << (4 * (2 * q + (c & 1)) + (c >> 2));
                        mean[c] += m, var[c] += s;
                        if (shared_with_next) next_mean[c] += m, next_var[c] += s;
                    }
                    for (int h = 0; h < 2; h++)
                        for (int other = 1; other < 4; other *= 2) mask[h] |= __shfl_xor_sync(0xffffffffu, mask[h], other);
                    long long at = ((long long)blockIdx.y * geo.down * geo.across + y * geo.across + x) * geo.rows + row;
                    if (q == 0) a.mask[at] = mask[0];
                    if (q == 1) a.mask[at + 8] = mask[1];
                }
            if (x != left + a.pool - 1) continue;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                // Number i of a tile's four: row g or g + 8, and one of two neighbouring columns.
                int output = n0 + 4 * (2 * q + (i & 1));
                long long at = ((long long)(py * a.pool_across + px) * geo.rows + row + 8 * (i >> 1)) * geo.out_stride + output;
                float4 m = times(make_float4(mean[i], mean[i + 4], mean[i + 8], mean[i + 12]), share);
                float4 s = times(make_float4(var[i], var[i + 4], var[i + 8], var[i + 12]), share * share);
                ok = ok && finite4(m) && finite4(s);
                if (output >= geo.out_stride) continue;
                *(float4 *)(a.z_mean + at) = m;
                *(float4 *)(a.z_var + at) = s;
            }
#pragma unroll
            for (int i = 0; i < 16; i++) mean[i] = next_mean[i], var[i] = next_var[i], next_mean[i] = next_var[i] = 0.0f;
            px++, left += a.pool_step;
        }
    }
    if (!ok) *a.broken = 1;
}

// The sums of MT x 16 numbers of the window.
template <int MODE, int MT> DEV void first_sums(const FirstArgs &a) {
    constexpr int WARPS = 4, LINE = MT * 16 + 1;
    DYNAMIC_SHARED(shared); // [warp][2][output][LINE]
    auto all = [&](int warp, int which, int output, int k) -> float & { return shared[((warp * 2 + which) * 32 + output) * LINE + k]; };
    const Geometry &geo = a.g;
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = lane >> 2, q = lane & 3, n0 = blockIdx.y * 32, k0 = blockIdx.z * MT * 16;
    int deep = geo.kernel_h * geo.kernel_w * geo.channels;
    float sum0[MT][16], sum1[MT][16], bias[4] = {}, bias_var[4] = {};
    Tap taps[MT][2];
#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
        for (int i = 0; i < 16; i++) sum0[m][i] = sum1[m][i] = 0.0f;
        for (int h = 0; h < 2; h++) taps[m][h] = tap_at(geo, k0 + m * 16 + g + 8 * h);
    }
    float share = 1.0f / (a.pool * a.pool);
    int groups = geo.rows / 16, items = groups * geo.down * a.segments, warps = gridDim.x * WARPS;
    int per = (geo.across + a.segments - 1) / a.segments;
    long long per_pixel = (long long)geo.rows * geo.out_stride;
    for (int item = blockIdx.x * WARPS + warp; item < items; item += warps) {
        int row = item % groups * 16 + 4 * q, rest = item / groups, y = rest / a.segments;
        int from_x = rest % a.segments * per, to_x = min(geo.across, from_x + per);
        // Pooling windows that cover this row.
        int py1 = min(a.pool_down - 1, (y + a.pool_before) / a.pool_step);
        int py0 = y + a.pool_before < a.pool ? 0 : (y + a.pool_before - a.pool) / a.pool_step + 1;
        // Columns of pooling windows: the last that covers x, and the one before.
        float now[16] = {}, now_var[16] = {}, before[16] = {}, before_var[16] = {};
        int px = max(0, (from_x + a.pool_before) / a.pool_step - 1) - 1;
#pragma unroll 1
        for (int x = from_x; x < to_x; x++) {
#pragma unroll 1
            while (px < (x + a.pool_before) / a.pool_step) {
                px++;
#pragma unroll
                for (int i = 0; i < 16; i++) before[i] = now[i], before_var[i] = now_var[i], now[i] = now_var[i] = 0.0f;
                if (px < a.pool_across)
                    for (int py = py0; py <= py1; py++) {
                        long long at = (py * a.pool_across + px) * per_pixel + (long long)row * geo.out_stride + n0 + 4 * g;
                        if (n0 + 4 * g >= geo.out_stride) continue;
#pragma unroll
                        for (int j = 0; j < 4; j++) {
                            float4 m = *(const float4 *)(a.z_d_mean + at + j * geo.out_stride), v = *(const float4 *)(a.z_d_var + at + j * geo.out_stride);
                            now[j] += m.x, now[4 + j] += m.y, now[8 + j] += m.z, now[12 + j] += m.w;
                            now_var[j] += v.x, now_var[4 + j] += v.y, now_var[8 + j] += v.z, now_var[12 + j] += v.w;
                        }
                    }
            }
            bool both = px > 0 && x + a.pool_before < (px - 1) * a.pool_step + a.pool;
            bool covered = x + a.pool_before < px * a.pool_step + a.pool;
            float4 bits = *(const float4 *)(a.mask + ((long long)blockIdx.y * geo.down * geo.across + y * geo.across + x) * geo.rows + row);
            u32 masks[4] = {__float_as_uint(bits.x), __float_as_uint(bits.y), __float_as_uint(bits.z), __float_as_uint(bits.w)};
            OperandB<MODE> d[4], e[4];
#pragma unroll
            for (int n = 0; n < 4; n++) {
                float u[4], v[4];
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    int i = 4 * n + j;
                    bool on = (masks[j] >> (4 * g + n)) & 1;
                    u[j] = on ? ((covered ? now[i] : 0.0f) + (both ? before[i] : 0.0f)) * share : 0.0f;
                    v[j] = on ? ((covered ? now_var[i] : 0.0f) + (both ? before_var[i] : 0.0f)) * (share * share) : 0.0f;
                    bias[n] += u[j], bias_var[n] += v[j];
                }
                d[n].set(u), e[n].set(v);
            }
            int base = ((y - geo.before) * geo.width + x - geo.before) * geo.channels * geo.rows + row;
#pragma unroll
            for (int m = 0; m < MT; m++) {
                float p[2][4];
                OperandA<MODE> first, second;
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const Tap &tap = taps[m][h];
                    bool in = (u32)(y - geo.before + tap.row) < (u32)geo.height && (u32)(x - geo.before + tap.column) < (u32)geo.width;
                    float4 f = in ? *(const float4 *)(a.x + base + tap.offset) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                    p[h][0] = f.x, p[h][1] = f.y, p[h][2] = f.z, p[h][3] = f.w;
                }
                first.set(p[0], p[1]);
#pragma unroll
                for (int j = 0; j < 4; j++) p[0][j] *= p[0][j], p[1][j] *= p[1][j];
                second.set(p[0], p[1]);
#pragma unroll
                for (int part = 0; part < Parts<MODE>::n; part++)
#pragma unroll
                    for (int n = 0; n < 4; n++) {
                        multiply<MODE>(part, sum0[m] + 4 * n, first, d[n]);
                        multiply<MODE>(part, sum1[m] + 4 * n, second, e[n]);
                    }
            }
        }
    }
    // The warps' sums in order, through shared memory; the bias is the last of a line.
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int i = 0; i < 16; i++) {
            int output = 4 * (2 * q + (i & 1)) + (i >> 2), k = m * 16 + g + 8 * ((i >> 1) & 1);
            all(warp, 0, output, k) = sum0[m][i];
            all(warp, 1, output, k) = sum1[m][i];
        }
    for (int n = 0; n < 4; n++) {
        for (int other = 1; other < 4; other *= 2) {
            bias[n] += __shfl_xor_sync(0xffffffffu, bias[n], other);
            bias_var[n] += __shfl_xor_sync(0xffffffffu, bias_var[n], other);
        }
        if (q == 0) all(warp, 0, 4 * g + n, LINE - 1) = bias[n], all(warp, 1, 4 * g + n, LINE - 1) = bias_var[n];
    }
    __syncthreads();
    long long plane = (long long)geo.outputs * geo.weight_stride;
    for (int i = tid; i < 2 * 32 * LINE; i += WARPS * 32) {
        int k = i % LINE, output = i / LINE % 32, which = i / LINE / 32;
        if (n0 + output >= geo.outputs) continue;
        float sum = 0.0f;
        for (int w = 0; w < WARPS; w++) sum += all(w, which, output, k);
        float *line = a.partial + (2ll * blockIdx.x + which) * plane + (long long)(n0 + output) * geo.weight_stride;
        if (k < LINE - 1 && k0 + k < deep) line[weight_at(geo, k0 + k)] = sum;
        if (k == LINE - 1 && blockIdx.z == 0) line[geo.depth] = sum;
    }
}

#define FIRST(suffix, mode)                                                                   \
    KERNEL_OF(first_forward_1_##suffix, FirstArgs, 128, 4) { first_forward<mode, 1>(a); }     \
    KERNEL(first_forward_2_##suffix, FirstArgs, 128) { first_forward<mode, 2>(a); }           \
    KERNEL(first_forward_5_##suffix, FirstArgs, 128) { first_forward<mode, 5>(a); }           \
    KERNEL(first_sums_1_##suffix, FirstArgs, 128) { first_sums<mode, 1>(a); }                 \
    KERNEL(first_sums_2_##suffix, FirstArgs, 128) { first_sums<mode, 2>(a); }                 \
    KERNEL(first_sums_3_##suffix, FirstArgs, 128) { first_sums<mode, 3>(a); }
FIRST(precise, PRECISE)
FIRST(fast, FAST)
