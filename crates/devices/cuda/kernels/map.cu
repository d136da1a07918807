// Linear maps with Gaussian weights in f32: dense layers and convolutions of any shape. A dense layer is a window that covers
// the whole image. `tensor.cu` has faster kernels for large shapes.
//
// Weights are [outputs][weight_stride]: window row, window column, padded channel, then the bias in column `depth`.

struct Geometry {
    int rows;                            // of the batch
    int height, width, channels, stride; // input; stride: padded channels
    int down, across, outputs, out_stride;
    int kernel_h, kernel_w, step, before;
    int depth, weight_stride;
};

struct ForwardArgs {
    Geometry g;
    Layout x;
    int relu;                    // the input holds pre-activations
    const float *x_mean, *x_var; // x_var is null for known inputs
    const float *w_mean, *w_var;
    float *z_mean, *z_var, *own; // own may be null
    u32 *broken;
};

// The input that column k of the weights meets at output pixel (oy, ox), or nothing.
DEV bool covers(const Geometry &g, int oy, int ox, int k, int &pixel, int &channel) {
    int tap = k / g.stride;
    channel = k - tap * g.stride;
    int y = oy * g.step - g.before + tap / g.kernel_w, x = ox * g.step - g.before + tap % g.kernel_w;
    pixel = y * g.width + x;
    return channel < g.channels && y >= 0 && y < g.height && x >= 0 && x < g.width;
}

#define TILE 32
#define DEEP 16

KERNEL(map_forward, ForwardArgs, 256) {
    __shared__ float am[DEEP][TILE + 1], av[DEEP][TILE + 1], wm[DEEP][TILE + 1], wv[DEEP][TILE + 1];
    const Geometry &g = a.g;
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, n0 = blockIdx.y * TILE;
    long long m0 = (long long)blockIdx.x * TILE, all = (long long)g.down * g.across * g.rows;
    float mean[2][2] = {}, own[2][2] = {}, passed[2][2] = {};
    for (int k0 = 0; k0 < g.depth; k0 += DEEP) {
        for (int e = tid; e < DEEP * TILE; e += 256) {
            int k = e % DEEP, r = e / DEEP;
            if (a.x.per_channel != 1) k = e / TILE, r = e % TILE;
            float m = 0.0f, v = 0.0f;
            int pixel, channel;
            if (m0 + r < all && k0 + k < g.depth) {
                int out = (int)((m0 + r) / g.rows), row = (int)((m0 + r) % g.rows);
                if (covers(g, out / g.across, out % g.across, k0 + k, pixel, channel)) {
                    long long at = place(a.x, pixel, row, channel);
                    m = a.x_mean[at];
                    if (a.x_var) v = a.x_var[at];
                    if (a.relu && m <= 0.0f) m = v = 0.0f;
                }
            }
            am[k][r] = m;
            av[k][r] = v;
            k = e % DEEP, r = e / DEEP;
            bool in = n0 + r < g.outputs && k0 + k < g.depth;
            long long at = (long long)(n0 + r) * g.weight_stride + k0 + k;
            wm[k][r] = in ? a.w_mean[at] : 0.0f;
            wv[k][r] = in ? a.w_var[at] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < DEEP; k++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                    float m = am[k][ty + 16 * i], v = av[k][ty + 16 * i], w = wm[k][tx + 16 * j];
                    mean[i][j] += m * w;                                // T15
                    own[i][j] += (v + m * m) * wv[k][tx + 16 * j];      // T16, T44
                    passed[i][j] += v * (w * w);
                }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            long long m = m0 + ty + 16 * i;
            int n = n0 + tx + 16 * j;
            if (m >= all || n >= g.out_stride) continue;
            float z = 0.0f, v = 0.0f, o = 0.0f;
            if (n < g.outputs) {
                long long bias = (long long)n * g.weight_stride + g.depth;
                z = mean[i][j] + a.w_mean[bias];
                o = own[i][j] + a.w_var[bias];
                v = o + passed[i][j];
            }
            long long at = m * g.out_stride + n;
            a.z_mean[at] = z;
            a.z_var[at] = v;
            if (a.own) a.own[at] = o;
            if (!finite(z) || !finite(v)) *a.broken = 1;
        }
}

// Sums over a warp, the same in all lanes.
DEV float warp_sum(float v) {
    for (int half = 16; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

// A dense layer of few outputs: one warp for every output of a row.
KERNEL(map_forward_thin, ForwardArgs, 256) {
    const Geometry &g = a.g;
    int lane = threadIdx.x % 32;
    long long all = (long long)g.rows * g.out_stride, unit = (long long)blockIdx.x * 8 + threadIdx.x / 32;
    if (unit >= all) return;
    int row = (int)(unit / g.out_stride), n = (int)(unit % g.out_stride);
    float mean = 0.0f, own = 0.0f, passed = 0.0f;
    if (n < g.outputs)
        for (int k = lane; k < g.depth; k += 32) {
            // The state [pixel][row][channel], the weights [pixel][channel].
            int pixel = k / g.stride;
            long long at = ((long long)pixel * g.rows + row) * g.stride + k - pixel * g.stride, w = (long long)n * g.weight_stride + k;
            float m = a.x_mean[at], v = a.x_var ? a.x_var[at] : 0.0f, mu = a.w_mean[w];
            if (a.relu && m <= 0.0f) m = v = 0.0f;
            mean += m * mu;
            own += (v + m * m) * a.w_var[w];
            passed += v * (mu * mu);
        }
    mean = warp_sum(mean), own = warp_sum(own), passed = warp_sum(passed);
    if (lane) return;
    if (n < g.outputs) {
        mean += a.w_mean[(long long)n * g.weight_stride + g.depth];
        own += a.w_var[(long long)n * g.weight_stride + g.depth];
    }
    float var = own + passed;
    a.z_mean[unit] = mean;
    a.z_var[unit] = var;
    if (a.own) a.own[unit] = own;
    if (!finite(mean) || !finite(var)) *a.broken = 1;
}

struct BackArgs {
    Geometry g; // its rows are those of z
    Layout x;
    const float *z_d_mean, *z_d_var;
    const float *w_mean;
    float *x_d_mean, *x_d_var; // variances are null for rows
    u32 *broken;
};

// T24: every input gathers what the outputs it reached send down.
KERNEL(map_back, BackArgs, 256) {
    __shared__ float dm[DEEP][TILE + 1], dv[DEEP][TILE + 1], wm[DEEP][TILE + 1];
    const Geometry &g = a.g;
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, c0 = blockIdx.y * TILE;
    long long m0 = (long long)blockIdx.x * TILE, all = (long long)g.height * g.width * g.rows;
    int taps = g.kernel_h * g.kernel_w, deep = taps * g.outputs;
    float mean[2][2] = {}, var[2][2] = {};
    for (int r0 = 0; r0 < deep; r0 += DEEP) {
        for (int e = tid; e < DEEP * TILE; e += 256) {
            int r = e % DEEP, m = e / DEEP;
            float d = 0.0f, v = 0.0f;
            if (m0 + m < all && r0 + r < deep) {
                int tap = (r0 + r) / g.outputs, o = (r0 + r) % g.outputs;
                int pixel = (int)((m0 + m) / g.rows), row = (int)((m0 + m) % g.rows);
                int oy = pixel / g.width + g.before - tap / g.kernel_w, ox = pixel % g.width + g.before - tap % g.kernel_w;
                if (oy >= 0 && ox >= 0 && oy % g.step == 0 && ox % g.step == 0 && oy / g.step < g.down && ox / g.step < g.across) {
                    long long at = ((long long)(oy / g.step * g.across + ox / g.step) * g.rows + row) * g.out_stride + o;
                    d = a.z_d_mean[at];
                    if (a.x_d_var) v = a.z_d_var[at];
                }
            }
            dm[r][m] = d;
            dv[r][m] = v;
            r = e / TILE;
            int c = e % TILE;
            float w = 0.0f;
            if (c0 + c < g.channels && r0 + r < deep) {
                int tap = (r0 + r) / g.outputs, o = (r0 + r) % g.outputs;
                w = a.w_mean[(long long)o * g.weight_stride + tap * g.stride + c0 + c];
            }
            wm[r][c] = w;
        }
        __syncthreads();
        for (int r = 0; r < DEEP; r++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                    float w = wm[r][tx + 16 * j];
                    mean[i][j] += w * dm[r][ty + 16 * i];
                    var[i][j] += w * w * dv[r][ty + 16 * i];
                }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            long long m = m0 + ty + 16 * i;
            int c = c0 + tx + 16 * j;
            if (m >= all || c >= (a.x.per_channel == 1 ? g.stride : g.channels)) continue;
            long long at = place(a.x, (int)(m / g.rows), (int)(m % g.rows), c);
            a.x_d_mean[at] = mean[i][j];
            if (a.x_d_var) a.x_d_var[at] = var[i][j];
            if (!finite(mean[i][j]) || !finite(var[i][j])) *a.broken = 1;
        }
}

struct SumsArgs {
    Geometry g;
    Layout x;
    int relu, parts;
    const float *x_mean, *z_d_mean, *z_d_var;
    float *partial; // [parts][2][outputs][weight_stride]
};

// T20: sums over one part of the batch.
KERNEL(map_sums, SumsArgs, 256) {
    __shared__ float am[DEEP][TILE + 1], dm[DEEP][TILE + 1], dv[DEEP][TILE + 1];
    const Geometry &g = a.g;
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, k0 = blockIdx.x * TILE, n0 = blockIdx.y * TILE;
    long long all = (long long)g.down * g.across * g.rows, per = (all + a.parts - 1) / a.parts;
    long long from = blockIdx.z * per, to = from + per < all ? from + per : all;
    float mean[2][2] = {}, var[2][2] = {};
    for (long long i0 = from; i0 < to; i0 += DEEP) {
        for (int e = tid; e < DEEP * TILE; e += 256) {
            int i = e / TILE, k = e % TILE;
            if (a.x.per_channel != 1) i = e % DEEP, k = e / DEEP;
            float m = 0.0f;
            if (i0 + i < to) {
                int out = (int)((i0 + i) / g.rows), row = (int)((i0 + i) % g.rows), pixel, channel;
                if (k0 + k == g.depth) m = 1.0f;
                else if (k0 + k < g.depth && covers(g, out / g.across, out % g.across, k0 + k, pixel, channel)) m = a.x_mean[place(a.x, pixel, row, channel)];
                if (a.relu && m <= 0.0f) m = 0.0f;
            }
            am[i][k] = m;
            i = e / TILE;
            int n = e % TILE;
            bool in = i0 + i < to && n0 + n < g.outputs;
            long long at = (i0 + i) * g.out_stride + n0 + n;
            dm[i][n] = in ? a.z_d_mean[at] : 0.0f;
            dv[i][n] = in ? a.z_d_var[at] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < DEEP; i++)
            for (int p = 0; p < 2; p++)
                for (int q = 0; q < 2; q++) {
                    float m = am[i][tx + 16 * p];
                    mean[p][q] += m * dm[i][ty + 16 * q];
                    var[p][q] += m * m * dv[i][ty + 16 * q];
                }
        __syncthreads();
    }
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++) {
            int k = k0 + tx + 16 * p, n = n0 + ty + 16 * q;
            if (k >= g.weight_stride || n >= g.outputs) continue;
            long long plane = (long long)g.outputs * g.weight_stride, at = (long long)n * g.weight_stride + k;
            a.partial[(2ll * blockIdx.z) * plane + at] = mean[p][q];
            a.partial[(2ll * blockIdx.z + 1) * plane + at] = var[p][q];
        }
}

struct LearnArgs {
    int outputs, weight_stride, depth, parts;
    Step weights, biases;
    const float *partial;
    float *sums; // null: change the weights instead
    float *w_mean, *w_var;
    Status *status;
};

// What became of one parameter.
struct Tallied {
    u32 capped, repaired;
};

DEV void count(const LearnArgs &a, Tallied t) {
    __shared__ u32 tally[2];
    if (threadIdx.x < 2) tally[threadIdx.x] = 0;
    __syncthreads();
    if (t.capped) atomicAdd(&tally[0], t.capped);
    if (t.repaired) atomicAdd(&tally[1], t.repaired);
    __syncthreads();
    if (threadIdx.x == 0 && a.status) {
        if (tally[0]) atomicAdd(&a.status->capped, (u64)tally[0]);
        if (tally[1]) atomicAdd(&a.status->repaired, (u64)tally[1]);
    }
}

// Keeps the sums of one parameter, or takes its step.
DEV Tallied learn_one(const LearnArgs &a, long long i, float g, float h) {
    Tallied t = {0, 0};
    if (a.sums) {
        a.sums[i] += g;
        a.sums[(long long)a.outputs * a.weight_stride + i] += h;
        return t;
    }
    int k = i >> 32 ? (int)(i % a.weight_stride) : (int)((u32)i % (u32)a.weight_stride);
    if (k > a.depth) return t;
    float m = a.w_mean[i], v = a.w_var[i];
    learn_step(m, v, g, h, k == a.depth ? a.biases : a.weights, t.capped, t.repaired);
    a.w_mean[i] = m;
    a.w_var[i] = v;
    return t;
}

// Adds the parts in order: one thread per parameter.
KERNEL(map_learn, LearnArgs, 256) {
    long long plane = (long long)a.outputs * a.weight_stride, i = thread_number();
    Tallied t = {0, 0};
    if (i < plane && !(a.status && a.status->is_broken)) {
        float g = 0.0f, h = 0.0f;
#pragma unroll 4
        for (int p = 0; p < a.parts; p++) {
            g += a.partial[2ll * p * plane + i];
            h += a.partial[(2ll * p + 1) * plane + i];
        }
        t = learn_one(a, i, g, h);
    }
    count(a, t);
}

// The same for few parts: one thread for four parameters.
KERNEL(map_learn_four, LearnArgs, 256) {
    long long plane = (long long)a.outputs * a.weight_stride, i = 4 * thread_number();
    Tallied t = {0, 0};
    if (i < plane && !(a.status && a.status->is_broken)) {
        float4 g = make_float4(0.0f, 0.0f, 0.0f, 0.0f), h = g;
#pragma unroll 4
        for (int p = 0; p < a.parts; p++) {
            add4(g, *(const float4 *)(a.partial + 2ll * p * plane + i));
            add4(h, *(const float4 *)(a.partial + (2ll * p + 1) * plane + i));
        }
        if (a.sums) {
            add4(*(float4 *)(a.sums + i), g);
            add4(*(float4 *)(a.sums + plane + i), h);
        } else {
            float4 mean = *(const float4 *)(a.w_mean + i), var = *(const float4 *)(a.w_var + i);
            int k = i >> 32 ? (int)(i % a.weight_stride) : (int)((u32)i % (u32)a.weight_stride);
            // The bias comes first of the last four.
            bool last = k == a.depth;
            learn_step(mean.x, var.x, g.x, h.x, last ? a.biases : a.weights, t.capped, t.repaired);
            if (!last) {
                learn_step(mean.y, var.y, g.y, h.y, a.weights, t.capped, t.repaired);
                learn_step(mean.z, var.z, g.z, h.z, a.weights, t.capped, t.repaired);
                learn_step(mean.w, var.w, g.w, h.w, a.weights, t.capped, t.repaired);
            }
            *(float4 *)(a.w_mean + i) = mean;
            *(float4 *)(a.w_var + i) = var;
        }
    }
    count(a, t);
}

// The same for many parts: eight parameters a block, 32 threads each.
KERNEL(map_learn_many, LearnArgs, 256) {
    __shared__ float gs[32][8], hs[32][8];
    long long plane = (long long)a.outputs * a.weight_stride;
    int which = threadIdx.x % 8, group = threadIdx.x / 8;
    long long i = blockIdx.x * 8ll + which;
    Tallied t = {0, 0};
    float g = 0.0f, h = 0.0f;
    for (int p = group; i < plane && p < a.parts; p += 32) {
        g += a.partial[2ll * p * plane + i];
        h += a.partial[(2ll * p + 1) * plane + i];
    }
    gs[group][which] = g, hs[group][which] = h;
    __syncthreads();
    if (group == 0 && i < plane && !(a.status && a.status->is_broken)) {
        for (int s = 1; s < 32; s++) g += gs[s][which], h += hs[s][which];
        t = learn_one(a, i, g, h);
    }
    count(a, t);
}
