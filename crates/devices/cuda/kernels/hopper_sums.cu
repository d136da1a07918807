// Sums for learning on Hopper, in TF32: 128 inputs of the weights against NT outputs, 32 rows of one pixel a step. Inputs go
// through registers, where they are rounded and squared; innovations are turned round on their way to shared memory, since
// the products want them along the rows.

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(EMULATED)

// Makes what threads wrote to shared memory visible to the products.
DEV void products_see() {
#ifndef EMULATED
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

template <int NT> DEV void stream_sums(const TensorSumsArgs &a) {
    constexpr int A = 32 * 128, B = NT * 32, STAGE = A + 2 * B, PAIRS = NT / 32;
    DYNAMIC_SHARED(shared);
    const Geometry &geo = a.g;
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = lane >> 2, q = lane & 3;
    int k0 = blockIdx.x * 128, n0 = blockIdx.y * NT, all = geo.down * geo.across * geo.rows;
    int from = min(all, (int)blockIdx.z * a.per), steps = (min(all, from + a.per) - from) / 32;
    // What this thread loads of the inputs: four of the weights', the bias's (1), or nothing (2), and where from.
    int k = k0 + lane * 4, kind = k == geo.depth ? 1 : k < geo.depth ? 0 : 2, tap = k / geo.stride;
    int dy = tap / geo.kernel_w - geo.before, dx = tap % geo.kernel_w - geo.before;
    int offset = (dy * geo.width + dx) * geo.rows * geo.stride + k - tap * geo.stride;
    // Along rows of the image, since neighbouring windows overlap.
    int groups = geo.rows / 32, run = from / 32 / geo.across, ox = from / 32 - run * geo.across, oy = run / groups, row = (run - oy * groups) * 32;
    // Innovations are loaded in lines of 32 outputs. A thread stores its four in an order of its own, so that threads meet in no bank.
    int quad = lane & 7, turn = quad >> 1;
    float4 d[2][PAIRS][2];
    auto load = [&](float *stage) {
        int y = oy * geo.step, x = ox * geo.step;
        bool ok = kind == 0 && (u32)(y + dy) < (u32)geo.height && (u32)(x + dx) < (u32)geo.width;
        const float *src = ok ? a.x_mean + ((y * geo.width + x) * geo.rows + row + warp) * geo.stride + offset : a.ones;
        int next = ok ? 4 * geo.stride : 0;
        ok = ok || kind == 1;
#pragma unroll
        for (int i = 0; i < 8; i++) copy16_again(stage + (warp + 4 * i) * 128 + ((lane * 4) ^ (warp << 3)), src + i * next, ok);
        long long at = ((long long)(oy * geo.across + ox) * geo.rows + row + warp * 8 + (lane >> 3)) * geo.out_stride + n0 + quad * 4;
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                bool in = n0 + i * 32 + quad * 4 < geo.out_stride;
                long long from = at + j * 4 * geo.out_stride + i * 32;
                d[0][i][j] = in ? *(const float4 *)(a.z_d_mean + from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                d[1][i][j] = in ? *(const float4 *)(a.z_d_var + from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            }
        if (++ox == geo.across) {
            ox = 0, row += 32;
            if (row == geo.rows) row = 0, oy++;
        }
    };
    auto turn_round = [&](float *tile) {
#pragma unroll
        for (int which = 0; which < 2; which++)
#pragma unroll
            for (int i = 0; i < PAIRS; i++)
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    float4 v = d[which][i][j];
                    if (turn & 1) v = make_float4(v.y, v.z, v.w, v.x);
                    if (turn & 2) v = make_float4(v.z, v.w, v.x, v.y);
                    float values[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        // Lines of 32 rows, in chunks of four that are shuffled.
                        int n = i * 32 + quad * 4 + ((e + turn) & 3), chunk = (warp * 2 + j) ^ (n & 7);
                        tile[which * B + n * 32 + chunk * 4 + (lane >> 3)] = __uint_as_float(tf32(values[e]));
                    }
                }
    };
    float sum0[2][NT / 2], sum1[2][NT / 2];
#pragma unroll
    for (int b = 0; b < 2; b++)
#pragma unroll
        for (int i = 0; i < NT / 2; i++) sum0[b][i] = sum1[b][i] = 0.0f;
    if (steps > 0) load(shared);
    end_of_stage();
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        float *stage = shared + (s & 1) * STAGE;
        turn_round(stage + A);
        wait_for_stage<0>();
        products_see();
        __syncthreads();
        if (s + 1 < steps) load(shared + ((s + 1) & 1) * STAGE);
        end_of_stage();
        u32 tile = shared_address(stage + A);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            // Rows 4g to 4g + 3 of this warp's 32: two for each of two products.
            u32 first[2][2][4], second[2][2][4];
#pragma unroll
            for (int t = 0; t < 2; t++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    int deep = (half * 2 + t) * 8 + 4 * h + q;
                    float4 f = *(const float4 *)(stage + deep * 128 + ((warp * 32 + 4 * g) ^ (q << 3)));
                    float v[4] = {f.x, f.y, f.z, f.w};
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        if (a.relu && v[j] <= 0.0f) v[j] = 0.0f;
                        first[t][j >> 1][2 * h + (j & 1)] = tf32_of_finite(v[j]); // its square shows what is not finite
                        second[t][j >> 1][2 * h + (j & 1)] = tf32(v[j] * v[j]);
                    }
                }
            products_begin();
#pragma unroll
            for (int t = 0; t < 2; t++) {
                u32 at = tile + (half * 2 + t) * 32;
#pragma unroll
                for (int b = 0; b < 2; b++) {
                    product<NT>(sum0[b], first[t][b], described(at));
                    product<NT>(sum1[b], second[t][b], described(at + B * 4));
                }
            }
            products_end();
        }
    }
    // A thread has four neighbours of NT / 4 outputs.
    int first = k0 + warp * 32 + 4 * g;
    long long plane = (long long)geo.outputs * geo.weight_stride;
    float *out = a.partial + 2ll * blockIdx.z * plane + first;
    if (first >= geo.weight_stride) return;
#pragma unroll
    for (int j = 0; j < NT / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int n = n0 + j * 8 + 2 * q + e, i = j * 4 + e;
            if (n >= geo.outputs) continue;
            float *line = out + (long long)n * geo.weight_stride;
            *(float4 *)line = make_float4(sum0[0][i], sum0[0][i + 2], sum0[1][i], sum0[1][i + 2]);
            *(float4 *)(line + plane) = make_float4(sum1[0][i], sum1[0][i + 2], sum1[1][i], sum1[1][i + 2]);
        }
}

KERNEL(stream_sums_64, TensorSumsArgs, 128) { stream_sums<64>(a); }
KERNEL_OF(stream_sums_32, TensorSumsArgs, 128, 3) { stream_sums<32>(a); }
#endif
