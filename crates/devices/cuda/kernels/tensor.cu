// Linear maps on tensor cores, for large shapes: the same three products as in map.cu, in tiles.
//
// A product of f32 numbers is made of products of shorter ones. PRECISE splits every number into two bf16 parts and adds three
// products (relative error about 5e-6); FAST rounds to TF32 (3e-4). Squares and second moments are formed in f32 registers
// first. Sums run in a fixed order: the same bits every time.

enum { FAST, PRECISE };

DEV u32 shared_address(const void *p) {
#ifdef EMULATED
    return (u32)((const char *)p - (const char *)emulator_shared);
#else
    u32 a;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
    return a;
#endif
}

// Copies 16 or 4 bytes to shared memory in the background, or zeros.
DEV void copy16(float *to, const float *from, bool ok) {
#ifdef EMULATED
    for (int i = 0; i < 4; i++) to[i] = ok ? from[i] : 0.0f;
#else
    int n = ok ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(n));
#endif
}

// The same through the first cache, for what is soon read again.
DEV void copy16_again(float *to, const float *from, bool ok) {
#ifdef EMULATED
    copy16(to, from, ok);
#else
    int n = ok ? 16 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(n));
#endif
}

DEV void copy4(float *to, const float *from, bool ok) {
#ifdef EMULATED
    *to = ok ? *from : 0.0f;
#else
    int n = ok ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(n));
#endif
}

DEV void end_of_stage() {
#ifndef EMULATED
    asm volatile("cp.async.commit_group;");
#endif
}

// Waits until at most N stages are still on their way.
template <int N> DEV void wait_for_stage() {
#ifndef EMULATED
    asm volatile("cp.async.wait_group %0;" ::"n"(N));
#endif
}

DEV void mma_tf32(float *d, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
#ifdef EMULATED
    emulated_mma_tf32(d, a0, a1, a2, a3, b0, b1);
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

DEV void mma_bf16(float *d, const u32 *a, const u32 *b) {
#ifdef EMULATED
    emulated_mma_bf16(d, a, b);
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Two numbers as bf16, the first in the low half.
DEV u32 bf16_pair(float x, float y) {
#ifdef EMULATED
    return emulated_bf16_pair(x, y);
#else
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
    return r;
#endif
}

// What bf16 leaves of each of two numbers.
DEV void bf16_split(float x, float y, u32 &high, u32 &low) {
    high = bf16_pair(x, y);
    low = bf16_pair(x - __uint_as_float(high << 16), y - __uint_as_float(high & 0xffff0000u));
}

// The hardware cuts TF32 operands off: rounding needs half a unit first. The NaN that arithmetic makes, 0x7fffffff, would become zero;
// the larger of both signed numbers is that NaN, at some cost. Its negative would still be lost, but arithmetic never makes it.
DEV u32 tf32_of_finite(float x) { return __float_as_uint(x) + 0x1000u; }
DEV u32 tf32(float x) { return (u32)__viaddmax_s32((int)__float_as_uint(x), 0x1000, (int)__float_as_uint(x)); }

// Operands of a product 16 deep. A thread holds four neighbours along the depth, of two rows for A and one column for B: an
// order that both operands share, so that it does not matter.
template <int MODE> struct OperandA {
    u32 r[8];
    DEV void set(const float *x, const float *y) {
        if (MODE == FAST) {
            for (int j = 0; j < 4; j++) r[j] = tf32(x[j]), r[4 + j] = tf32(y[j]);
        } else {
            bf16_split(x[0], x[1], r[0], r[4]);
            bf16_split(y[0], y[1], r[1], r[5]);
            bf16_split(x[2], x[3], r[2], r[6]);
            bf16_split(y[2], y[3], r[3], r[7]);
        }
    }
};

template <int MODE> struct __align__(16) OperandB {
    u32 r[4];
    DEV void set(const float *x) {
        if (MODE == FAST) {
            for (int j = 0; j < 4; j++) r[j] = tf32(x[j]);
        } else {
            bf16_split(x[0], x[1], r[0], r[2]);
            bf16_split(x[2], x[3], r[1], r[3]);
        }
    }
};

// Part `t` of a product: TF32 takes two of depth 8, bf16 three of depth 16, the small ones first.
template <int MODE> struct Parts {
    static constexpr int n = MODE == FAST ? 2 : 3;
};

template <int MODE> DEV void multiply(int t, float *d, const OperandA<MODE> &a, const OperandB<MODE> &b) {
    if (MODE == FAST) mma_tf32(d, a.r[2 * t], a.r[4 + 2 * t], a.r[1 + 2 * t], a.r[5 + 2 * t], b.r[2 * t], b.r[1 + 2 * t]);
    else mma_bf16(d, a.r + (t == 0 ? 4 : 0), b.r + (t == 1 ? 2 : 0));
}

// Tiles in shared memory, 16 deep. "Along": [row][16], in chunks of four that are shuffled; "across": [16][rows], rows shuffled.
// Both are read without bank conflicts.
DEV int along(int row, int chunk) { return row * 16 + ((chunk ^ ((row >> 1) & 3)) << 2); }
template <int ROWS> DEV int across(int k, int row) { return k * ROWS + (row ^ (((k >> 2) & 3) << 3)); }

template <bool ACROSS, int ROWS> DEV void take4(float *v, const float *tile, int row, int q) {
    if (ACROSS) {
        for (int j = 0; j < 4; j++) v[j] = tile[(4 * q + j) * ROWS + (row ^ (q << 3))];
    } else {
        float4 f = *(const float4 *)(tile + along(row, q));
        v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
    }
}

// The products of one tile of BM x BN, by WM x WN warps:
//   FORWARD  sum0 = a m,    sum1 = (v + a^2) w + v m^2    A: a, v   B: m, w
//   KNOWN    sum0 = a m,    sum1 = a^2 w                  A: a      B: m, w    (known inputs; sums for learning)
//   BACK     sum0 = d m,    sum1 = e m^2                  A: d, e   B: m
enum { FORWARD, KNOWN, BACK };

template <int OP, int MODE, int BM, int BN, int WM, int WN, bool A_ACROSS, bool B_ACROSS> struct Tile {
    static constexpr int THREADS = WM * WN * 32, MT = BM / WM / 16, NT = BN / WN / 8, SUMS = MT * NT * 4;
    static constexpr int ARRAYS_A = OP == KNOWN ? 1 : 2, ARRAYS_B = OP == BACK ? 1 : 2;
    static constexpr int A = BM * 16, B = BN * 16, STAGE = ARRAYS_A * A + ARRAYS_B * B;
    // Both tiles across: four neighbouring rows, and columns, at a time; a thread's rows and columns are then others.
    static constexpr bool FOURS = A_ACROSS && B_ACROSS && MT % 2 == 0 && NT == 4;

    // The sums for learning with tiles that both lie across.
    DEV static void step_in_fours(float *sum0, float *sum1, const float *stage, bool relu) {
        const float *tile_b = stage + A;
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
        int m0 = (warp / WN) * (BM / WM), n0 = (warp % WN) * (BN / WN);
        OperandB<MODE> b0[4], b1[4];
        float f[4][4], u[4];
#pragma unroll
        for (int which = 0; which < 2; which++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float4 v = *(const float4 *)(tile_b + which * B + across<BN>(4 * q + j, n0 + 4 * g));
                f[j][0] = v.x, f[j][1] = v.y, f[j][2] = v.z, f[j][3] = v.w;
            }
#pragma unroll
            for (int n = 0; n < 4; n++) {
#pragma unroll
                for (int j = 0; j < 4; j++) u[j] = f[j][n];
                if (which) b1[n].set(u);
                else b0[n].set(u);
            }
        }
#pragma unroll
        for (int pair = 0; pair < MT / 2; pair++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float4 v = *(const float4 *)(stage + across<BM>(4 * q + j, m0 + pair * 32 + 4 * g));
                f[j][0] = v.x, f[j][1] = v.y, f[j][2] = v.z, f[j][3] = v.w;
                if (relu)
                    for (int c = 0; c < 4; c++)
                        if (f[j][c] <= 0.0f) f[j][c] = 0.0f;
            }
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float x[4], y[4];
                OperandA<MODE> first, second;
                const int m = 2 * pair + i;
#pragma unroll
                for (int j = 0; j < 4; j++) x[j] = f[j][2 * i], y[j] = f[j][2 * i + 1];
                first.set(x, y);
#pragma unroll
                for (int j = 0; j < 4; j++) x[j] *= x[j], y[j] *= y[j];
                second.set(x, y);
#pragma unroll
                for (int p = 0; p < Parts<MODE>::n; p++) {
#pragma unroll
                    for (int n = 0; n < NT; n++) multiply<MODE>(p, sum0 + (m * NT + n) * 4, first, b0[n]);
#pragma unroll
                    for (int n = 0; n < NT; n++) multiply<MODE>(p, sum1 + (m * NT + n) * 4, second, b1[n]);
                }
            }
        }
    }

    // `relu`: A holds pre-activations.
    DEV static void step(float *sum0, float *sum1, const float *stage, bool relu) {
        if constexpr (FOURS) return step_in_fours(sum0, sum1, stage, relu);
        const float *tile_b = stage + ARRAYS_A * A;
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
        int m0 = (warp / WN) * (BM / WM), n0 = (warp % WN) * (BN / WN);
        OperandB<MODE> b0[NT], b1[NT], squares[NT];
#pragma unroll
        for (int n = 0; n < NT; n++) {
            float v[4];
            take4<B_ACROSS, BN>(v, tile_b, n0 + n * 8 + g, q);
            b0[n].set(v);
            if (OP != KNOWN) {
                for (int j = 0; j < 4; j++) v[j] *= v[j];
                squares[n].set(v);
            }
            if (ARRAYS_B == 2) {
                take4<B_ACROSS, BN>(v, tile_b + B, n0 + n * 8 + g, q);
                b1[n].set(v);
            }
        }
#pragma unroll
        for (int m = 0; m < MT; m++) {
            float x[4], y[4], s[4], t[4];
            int row = m0 + m * 16 + g;
            take4<A_ACROSS, BM>(x, stage, row, q);
            take4<A_ACROSS, BM>(y, stage, row + 8, q);
            OperandA<MODE> first, second, variance;
            if (ARRAYS_A == 2) {
                take4<A_ACROSS, BM>(s, stage + A, row, q);
                take4<A_ACROSS, BM>(t, stage + A, row + 8, q);
            }
            if (OP != BACK && relu)
                for (int j = 0; j < 4; j++) {
                    if (!(x[j] > 0.0f)) x[j] = s[j] = x[j] <= 0.0f ? 0.0f : x[j];
                    if (!(y[j] > 0.0f)) y[j] = t[j] = y[j] <= 0.0f ? 0.0f : y[j];
                }
            first.set(x, y);
            if (ARRAYS_A == 2) variance.set(s, t);
            if (OP != BACK) {
                for (int j = 0; j < 4; j++) {
                    x[j] = x[j] * x[j] + (OP == FORWARD ? s[j] : 0.0f);
                    y[j] = y[j] * y[j] + (OP == FORWARD ? t[j] : 0.0f);
                }
                second.set(x, y);
            }
#pragma unroll
            for (int p = 0; p < Parts<MODE>::n; p++) {
#pragma unroll
                for (int n = 0; n < NT; n++) multiply<MODE>(p, sum0 + (m * NT + n) * 4, first, b0[n]);
#pragma unroll
                for (int n = 0; n < NT; n++)
                    if (OP != BACK) multiply<MODE>(p, sum1 + (m * NT + n) * 4, second, b1[n]);
#pragma unroll
                for (int n = 0; n < NT; n++)
                    if (OP != KNOWN) multiply<MODE>(p, sum1 + (m * NT + n) * 4, variance, squares[n]);
            }
        }
    }

    // Calls f(row, column, sums of it and the column `next` further on).
    template <class F> DEV static void each(float *sum0, float *sum1, F f) {
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
        int m0 = (warp / WN) * (BM / WM), n0 = (warp % WN) * (BN / WN);
#pragma unroll
        for (int m = 0; m < MT; m++)
#pragma unroll
            for (int n = 0; n < NT; n++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    int at = (m * NT + n) * 4 + 2 * h;
                    if (FOURS) f(m0 + m / 2 * 32 + 4 * g + 2 * (m & 1) + h, n0 + 8 * q + n, 4, sum0 + at, sum1 + at);
                    else f(m0 + m * 16 + g + 8 * h, n0 + n * 8 + 2 * q, 1, sum0 + at, sum1 + at);
                }
    }
};

// Window positions that any pixel from `first` to `last` of a grid needs.
struct Taps {
    int y0, y1, x0, x1;
};

DEV Taps taps_forward(const Geometry &g, int first, int last) {
    int ya = first / g.across, yb = last / g.across;
    int xa = ya == yb ? first - ya * g.across : 0, xb = ya == yb ? last - yb * g.across : g.across - 1;
    Taps t = {max(0, g.before - yb * g.step), min(g.kernel_h, g.height + g.before - ya * g.step),
              max(0, g.before - xb * g.step), min(g.kernel_w, g.width + g.before - xa * g.step)};
    return t;
}

DEV Taps taps_back(const Geometry &g, int first, int last) {
    int ya = first / g.width, yb = last / g.width;
    int xa = ya == yb ? first - ya * g.width : 0, xb = ya == yb ? last - yb * g.width : g.width - 1;
    Taps t = {max(0, ya + g.before - g.down + 1), min(g.kernel_h, yb + g.before + 1),
              max(0, xa + g.before - g.across + 1), min(g.kernel_w, xb + g.before + 1)};
    return t;
}

// Runs the stages of a tile: `load(stage)` copies the next one in the background, or nothing after the last.
template <class T, int STAGES, class L> DEV void run_stages(int count, float *sum0, float *sum1, bool relu, L load) {
    DYNAMIC_SHARED(shared);
#pragma unroll
    for (int i = 0; i < T::SUMS; i++) sum0[i] = sum1[i] = 0.0f;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        load(shared + s * T::STAGE, s < count);
        end_of_stage();
    }
    for (int k = 0; k < count; k++) {
        wait_for_stage<STAGES - 2>();
        __syncthreads();
        load(shared + (k + STAGES - 1) % STAGES * T::STAGE, k + STAGES - 1 < count);
        end_of_stage();
        T::step(sum0, sum1, shared + k % STAGES * T::STAGE, relu);
    }
}

struct TensorForwardArgs {
    Geometry g;
    Layout x;
    int relu, parts;
    const float *x_mean, *x_var, *w_mean, *w_var;
    float *z_mean, *z_var;
    float *partial; // [parts][2][positions][out_stride], where parts > 1
    u32 *broken;
};

DEV void forward_out(const TensorForwardArgs &a, long long m, int n, float *s0, float *s1) {
    const Geometry &g = a.g;
    long long positions = (long long)g.down * g.across * g.rows;
    if (m >= positions || n >= g.out_stride) return;
    float *mean = a.z_mean, *var = a.z_var;
    if (a.parts > 1) {
        mean = a.partial + 2ll * blockIdx.z * positions * g.out_stride;
        var = mean + positions * g.out_stride;
    } else {
        bool ok = true;
        for (int j = 0; j < 2; j++) {
            if (n + j < g.outputs) {
                s0[j] += a.w_mean[(long long)(n + j) * g.weight_stride + g.depth];
                s1[j] += a.w_var[(long long)(n + j) * g.weight_stride + g.depth];
            }
            ok = ok && finite(s0[j]) && finite(s1[j]);
        }
        if (!ok) *a.broken = 1;
    }
    long long at = m * g.out_stride + n;
    *(float2 *)(mean + at) = make_float2(s0[0], s0[1]);
    *(float2 *)(var + at) = make_float2(s1[0], s1[1]);
}

template <int MODE, int OP, int BM, int BN, int WM, int WN> DEV void tensor_forward(const TensorForwardArgs &a) {
    typedef Tile<OP, MODE, BM, BN, WM, WN, false, false> T;
    constexpr int ROWS_A = BM * 4 / T::THREADS, ROWS_B = (BN * 4 + T::THREADS - 1) / T::THREADS;
    const Geometry &g = a.g;
    int tid = threadIdx.x, chunk = tid & 3, n0 = blockIdx.y * BN, all = g.down * g.across * g.rows, m0 = blockIdx.x * BM;
    int base[ROWS_A], top[ROWS_A], left[ROWS_A];
#pragma unroll
    for (int i = 0; i < ROWS_A; i++) {
        int m = m0 + (tid >> 2) + i * (T::THREADS / 4), pixel = m / g.rows, row = m - pixel * g.rows, oy = pixel / g.across;
        top[i] = m < all ? oy * g.step - g.before : -(1 << 28);
        left[i] = (pixel - oy * g.across) * g.step - g.before;
        base[i] = m < all ? ((top[i] * g.width + left[i]) * g.rows + row) * g.stride : 0;
    }
    Taps t = taps_forward(g, m0 / g.rows, (min(m0 + BM, all) - 1) / g.rows);
    int deep = (g.stride + 15) / 16, columns = t.x1 - t.x0, count = (t.y1 - t.y0) * columns * deep;
    int per = (count + a.parts - 1) / a.parts, from = min(count, (int)blockIdx.z * per), tap = from / deep;
    int ky = t.y0 + tap / columns, kx = t.x0 + tap % columns, c0 = (from - tap * deep) * 16;
    count = min(count, from + per) - from;
    float sum0[T::SUMS], sum1[T::SUMS];
    run_stages<T, 4>(count, sum0, sum1, a.relu, [&](float *stage, bool more) {
        if (!more) return;
        int c = c0 + chunk * 4, column = (ky * g.kernel_w + kx) * g.stride + c;
        int offset = (ky * g.width + kx) * g.rows * g.stride + c;
        bool inside = c < g.stride;
#pragma unroll
        for (int i = 0; i < ROWS_A; i++) {
            int r = (tid >> 2) + i * (T::THREADS / 4);
            bool ok = inside && (u32)(top[i] + ky) < (u32)g.height && (u32)(left[i] + kx) < (u32)g.width;
            int at = ok ? base[i] + offset : 0;
            copy16(stage + along(r, chunk), a.x_mean + at, ok);
            if (OP == FORWARD) copy16(stage + T::A + along(r, chunk), a.x_var + at, ok);
        }
        float *b = stage + T::ARRAYS_A * T::A;
#pragma unroll
        for (int i = 0; i < ROWS_B; i++) {
            int r = (tid >> 2) + i * (T::THREADS / 4);
            if (BN * 4 % T::THREADS && r >= BN) break;
            bool ok = inside && n0 + r < g.outputs;
            long long at = ok ? (long long)(n0 + r) * g.weight_stride + column : 0;
            copy16(b + along(r, chunk), a.w_mean + at, ok);
            copy16(b + T::B + along(r, chunk), a.w_var + at, ok);
        }
        c0 += 16;
        if (c0 >= g.stride) {
            c0 = 0;
            if (++kx == t.x1) kx = t.x0, ky++;
        }
    });
    T::each(sum0, sum1, [&](int r, int c, int, float *s0, float *s1) { forward_out(a, m0 + r, n0 + c, s0, s1); });
}

// Known images of a few channels, [pixel][channel][row]: four rows side by side, the depth runs over the real channels.
template <int MODE, int BM, int BN, int WM, int WN> DEV void tensor_first(const TensorForwardArgs &a) {
    typedef Tile<KNOWN, MODE, BM, BN, WM, WN, true, false> T;
    __shared__ int offset[512], where[512], column[512];
    const Geometry &g = a.g;
    int tid = threadIdx.x, quads = BM / 4, n0 = blockIdx.y * BN, all = g.down * g.across * g.rows, m0 = blockIdx.x * BM;
    int taps = g.kernel_h * g.kernel_w, deep = taps * g.channels, count = (deep + 15) / 16, k0 = 0;
    int m = m0 + tid % quads * 4, pixel = m / g.rows, row = m - pixel * g.rows, oy = pixel / g.across;
    int top = m < all ? oy * g.step - g.before : -(1 << 28), left = (pixel - oy * g.across) * g.step - g.before;
    int base = m < all ? (top * g.width + left) * g.channels * g.rows + row : 0;
    for (int k = tid; k < count * 16; k += T::THREADS) {
        int tap = k / g.channels, c = k - tap * g.channels, ky = tap / g.kernel_w, kx = tap - ky * g.kernel_w;
        offset[k] = ((ky * g.width + kx) * g.channels + c) * g.rows;
        where[k] = k < deep ? (ky << 16) | kx : 0x40000000;
        column[k] = tap * g.stride + c;
    }
    __syncthreads();
    float sum0[T::SUMS], sum1[T::SUMS];
    run_stages<T, 3>(count, sum0, sum1, false, [&](float *stage, bool more) {
        if (!more) return;
        for (int k = tid / quads; k < 16; k += T::THREADS / quads) {
            int e = where[k0 + k], y = top + (e >> 16), x = left + (e & 0xffff);
            bool ok = (u32)y < (u32)g.height && (u32)x < (u32)g.width;
            copy16(stage + across<BM>(k, tid % quads * 4), a.x_mean + (ok ? base + offset[k0 + k] : 0), ok);
        }
        float *b = stage + T::A;
        for (int e = tid; e < BN * 16; e += T::THREADS) {
            int r = e / 16, k = e % 16;
            bool ok = n0 + r < g.outputs && k0 + k < deep;
            long long at = ok ? (long long)(n0 + r) * g.weight_stride + column[k0 + k] : 0;
            int to = along(r, k >> 2) + (k & 3);
            copy4(b + to, a.w_mean + at, ok);
            copy4(b + T::B + to, a.w_var + at, ok);
        }
        k0 += 16;
    });
    T::each(sum0, sum1, [&](int r, int c, int, float *s0, float *s1) { forward_out(a, m0 + r, n0 + c, s0, s1); });
}

// Adds the parts of a forward pass whose depth was split, and the biases.
KERNEL(tensor_forward_end, TensorForwardArgs, 256) {
    const Geometry &g = a.g;
    long long n = (long long)g.down * g.across * g.rows * g.out_stride, i = thread_number();
    if (i >= n) return;
    float z = 0.0f, v = 0.0f;
    for (int p = 0; p < a.parts; p++) {
        z += a.partial[2ll * p * n + i];
        v += a.partial[(2ll * p + 1) * n + i];
    }
    int output = (int)(i % g.out_stride);
    if (output < g.outputs) {
        z += a.w_mean[(long long)output * g.weight_stride + g.depth];
        v += a.w_var[(long long)output * g.weight_stride + g.depth];
    }
    a.z_mean[i] = z;
    a.z_var[i] = v;
    if (!finite(z) || !finite(v)) *a.broken = 1;
}

struct TensorBackArgs {
    Geometry g; // step 1
    const float *z_d_mean, *z_d_var, *w_mean;
    float *x_d_mean, *x_d_var;
    const float *mask; // null, or means: where they are not positive nothing goes down
    u32 *broken;
};

template <int MODE, int BM, int BN, int WM, int WN> DEV void tensor_back(const TensorBackArgs &a) {
    typedef Tile<BACK, MODE, BM, BN, WM, WN, false, true> T;
    constexpr int ROWS_A = BM * 4 / T::THREADS, ROWS_B = (BN * 4 + T::THREADS - 1) / T::THREADS, QUADS = BN / 4;
    const Geometry &g = a.g;
    int tid = threadIdx.x, chunk = tid & 3, n0 = blockIdx.y * BN, all = g.height * g.width * g.rows, m0 = blockIdx.x * BM;
    int base[ROWS_A], bottom[ROWS_A], right[ROWS_A];
#pragma unroll
    for (int i = 0; i < ROWS_A; i++) {
        int m = m0 + (tid >> 2) + i * (T::THREADS / 4), pixel = m / g.rows, row = m - pixel * g.rows, y = pixel / g.width;
        bottom[i] = m < all ? y + g.before : -(1 << 28);
        right[i] = pixel - y * g.width + g.before;
        base[i] = m < all ? ((bottom[i] * g.across + right[i]) * g.rows + row) * g.out_stride : 0;
    }
    Taps t = taps_back(g, m0 / g.rows, (min(m0 + BM, all) - 1) / g.rows);
    int deep = (g.out_stride + 15) / 16, count = (t.y1 - t.y0) * (t.x1 - t.x0) * deep;
    int ky = t.y0, kx = t.x0, c0 = 0;
    float sum0[T::SUMS], sum1[T::SUMS];
    run_stages<T, 4>(count, sum0, sum1, false, [&](float *stage, bool more) {
        if (!more) return;
        int c = c0 + chunk * 4, offset = -(ky * g.across + kx) * g.rows * g.out_stride + c;
        bool inside = c < g.out_stride;
#pragma unroll
        for (int i = 0; i < ROWS_A; i++) {
            int r = (tid >> 2) + i * (T::THREADS / 4);
            bool ok = inside && (u32)(bottom[i] - ky) < (u32)g.down && (u32)(right[i] - kx) < (u32)g.across;
            int at = ok ? base[i] + offset : 0;
            copy16(stage + along(r, chunk), a.z_d_mean + at, ok);
            copy16(stage + T::A + along(r, chunk), a.z_d_var + at, ok);
        }
        float *b = stage + 2 * T::A;
#pragma unroll
        for (int i = 0; i < ROWS_B; i++) {
            int e = tid + i * T::THREADS, k = e / QUADS, n = e % QUADS * 4;
            if (BN * 4 % T::THREADS && k >= 16) break;
            bool ok = c0 + k < g.outputs && n0 + n < g.stride;
            long long at = ok ? (long long)(c0 + k) * g.weight_stride + (ky * g.kernel_w + kx) * g.stride + n0 + n : 0;
            copy16(b + across<BN>(k, n), a.w_mean + at, ok);
        }
        c0 += 16;
        if (c0 >= g.out_stride) {
            c0 = 0;
            if (++kx == t.x1) kx = t.x0, ky++;
        }
    });
    T::each(sum0, sum1, [&](int r, int c, int, float *s0, float *s1) {
        int m = m0 + r, n = n0 + c;
        if (m >= all || n >= g.stride) return;
        long long at = (long long)m * g.stride + n;
        bool ok = true;
        for (int j = 0; j < 2; j++) {
            if (a.mask && a.mask[at + j] <= 0.0f) s0[j] = s1[j] = 0.0f;
            ok = ok && finite(s0[j]) && finite(s1[j]);
        }
        if (!ok) *a.broken = 1;
        *(float2 *)(a.x_d_mean + at) = make_float2(s0[0], s0[1]);
        *(float2 *)(a.x_d_var + at) = make_float2(s1[0], s1[1]);
    });
}

struct TensorSumsArgs {
    Geometry g;
    Layout x;
    int relu, parts, per; // positions of a part, a multiple of 16
    const float *x_mean, *z_d_mean, *z_d_var;
    const float *ones; // 1 0 0 0 1 1 1 1
    float *partial;    // [parts][2][outputs][weight_stride]
};

// PLANES: inputs [pixel][channel][row], rows a multiple of four.
template <int MODE, int BM, int BN, int WM, int WN, bool PLANES> DEV void tensor_sums(const TensorSumsArgs &a) {
    typedef Tile<KNOWN, MODE, BM, BN, WM, WN, !PLANES, true> T;
    constexpr int QUADS_A = BM / 4, QUADS_B = BN / 4, ROWS_A = (16 * QUADS_A + T::THREADS - 1) / T::THREADS;
    constexpr int ROWS_B = (16 * QUADS_B + T::THREADS - 1) / T::THREADS;
    DYNAMIC_SHARED(shared);
    const Geometry &g = a.g;
    int tid = threadIdx.x, k0 = blockIdx.x * BM, n0 = blockIdx.y * BN, all = g.down * g.across * g.rows;
    int from = blockIdx.z * a.per, to = min(all, from + a.per), count = (to - from + 15) / 16, i0 = from;
    int deep = PLANES ? g.kernel_h * g.kernel_w * g.channels : g.depth, per_tap = PLANES ? g.channels : g.stride;
    // What this thread loads of A: weights, the bias (1), or nothing (2), and where from.
    constexpr int MINE = PLANES ? ROWS_A : 1;
    int kind[MINE], offset[MINE], dy[MINE], dx[MINE];
#pragma unroll
    for (int i = 0; i < MINE; i++) {
        int k = k0 + (PLANES ? (tid >> 2) + i * (T::THREADS / 4) : tid % QUADS_A * 4);
        kind[i] = k == deep ? 1 : k < deep ? 0 : 2;
        int tap = k / per_tap, c = k - tap * per_tap;
        dy[i] = tap / g.kernel_w - g.before;
        dx[i] = tap % g.kernel_w - g.before;
        offset[i] = PLANES ? ((dy[i] * g.width + dx[i]) * g.channels + c) * g.rows : (dy[i] * g.width + dx[i]) * g.rows * g.stride + c;
    }
    float sum0[T::SUMS], sum1[T::SUMS];
    run_stages<T, 4>(count, sum0, sum1, a.relu, [&](float *stage, bool more) {
        if (!more) return;
        if (PLANES) {
            int i = i0 + (tid & 3) * 4, pixel = i / g.rows, row = i - pixel * g.rows, oy = pixel / g.across;
            int y = oy * g.step, x = (pixel - oy * g.across) * g.step;
#pragma unroll
            for (int j = 0; j < MINE; j++) {
                int r = (tid >> 2) + j * (T::THREADS / 4);
                if (16 * QUADS_A % T::THREADS && r >= BM) break;
                bool ok = i < to && kind[j] == 0 && (u32)(y + dy[j]) < (u32)g.height && (u32)(x + dx[j]) < (u32)g.width;
                const float *src = ok ? a.x_mean + (y * g.width + x) * g.channels * g.rows + row + offset[j] : a.ones + 4;
                copy16(stage + along(r, tid & 3), src, ok || (kind[j] == 1 && i < to));
            }
        } else if (g.rows % 16 == 0) {
            // Sixteen rows of one pixel.
            int pixel = i0 / g.rows, row = i0 - pixel * g.rows, oy = pixel / g.across, y = oy * g.step, x = (pixel - oy * g.across) * g.step;
            bool ok = kind[0] == 0 && (u32)(y + dy[0]) < (u32)g.height && (u32)(x + dx[0]) < (u32)g.width;
            const float *src = ok ? a.x_mean + ((y * g.width + x) * g.rows + row + tid / QUADS_A) * g.stride + offset[0] : a.ones;
            int next = ok ? T::THREADS / QUADS_A * g.stride : 0;
            ok = ok || kind[0] == 1;
#pragma unroll
            for (int j = 0; j < ROWS_A; j++) {
                int k = tid / QUADS_A + j * (T::THREADS / QUADS_A);
                if (16 * QUADS_A % T::THREADS && k >= 16) break;
                copy16(stage + across<BM>(k, tid % QUADS_A * 4), src + j * next, ok);
            }
        } else {
            int k = tid / QUADS_A, i = i0 + k, pixel = i / g.rows, row = i - pixel * g.rows, oy = pixel / g.across, ox = pixel - oy * g.across;
#pragma unroll
            for (int j = 0; j < ROWS_A; j++) {
                if (16 * QUADS_A % T::THREADS && k >= 16) break;
                int y = oy * g.step, x = ox * g.step;
                bool ok = i < to && kind[0] == 0 && (u32)(y + dy[0]) < (u32)g.height && (u32)(x + dx[0]) < (u32)g.width;
                const float *src = ok ? a.x_mean + ((y * g.width + x) * g.rows + row) * g.stride + offset[0] : a.ones;
                copy16(stage + across<BM>(k, tid % QUADS_A * 4), src, ok || (kind[0] == 1 && i < to));
                // The next of this thread's rows: counting on is cheaper than dividing again.
                k += T::THREADS / QUADS_A, i += T::THREADS / QUADS_A, row += T::THREADS / QUADS_A;
                while (row >= g.rows) {
                    row -= g.rows;
                    if (++ox == g.across) ox = 0, oy++;
                }
            }
        }
        float *b = stage + T::A;
#pragma unroll
        for (int j = 0; j < ROWS_B; j++) {
            int e = tid + j * T::THREADS, k = e / QUADS_B, n = e % QUADS_B * 4;
            if (16 * QUADS_B % T::THREADS && k >= 16) break;
            bool ok = i0 + k < to && n0 + n < g.out_stride;
            long long at = ok ? (long long)(i0 + k) * g.out_stride + n0 + n : 0;
            copy16(b + across<BN>(k, n), a.z_d_mean + at, ok);
            copy16(b + T::B + across<BN>(k, n), a.z_d_var + at, ok);
        }
        i0 += 16;
    });
    // Through shared memory, so that sums go out in whole lines.
    constexpr int LINE = BM + 4;
    wait_for_stage<0>();
    __syncthreads();
    float *s0 = shared, *s1 = shared + BN * LINE;
    T::each(sum0, sum1, [&](int r, int c, int next, float *p, float *v) {
        for (int j = 0; j < 2; j++) {
            s0[(c + j * next) * LINE + r] = p[j];
            s1[(c + j * next) * LINE + r] = v[j];
        }
    });
    __syncthreads();
    long long plane = (long long)g.outputs * g.weight_stride;
    float *out0 = a.partial + 2ll * blockIdx.z * plane, *out1 = out0 + plane;
    for (int i = tid; i < BN * BM; i += T::THREADS) {
        int c = i / BM, r = i % BM, n = n0 + c, k = k0 + r;
        if (n >= g.outputs) break;
        if (PLANES && k <= deep) k = k == deep ? g.depth : k / g.channels * g.stride + k % g.channels;
        else if (PLANES || k >= g.weight_stride) continue;
        out0[(long long)n * g.weight_stride + k] = s0[c * LINE + r];
        out1[(long long)n * g.weight_stride + k] = s1[c * LINE + r];
    }
}

#define WITH_MODE(suffix, mode)                                                                                                       \
    KERNEL(tensor_forward_wide_##suffix, TensorForwardArgs, 128) { tensor_forward<mode, FORWARD, 128, 64, 2, 2>(a); }                \
    KERNEL(tensor_forward_narrow_##suffix, TensorForwardArgs, 128) { tensor_forward<mode, FORWARD, 128, 32, 4, 1>(a); }              \
    KERNEL(tensor_forward_small_##suffix, TensorForwardArgs, 128) { tensor_forward<mode, FORWARD, 64, 64, 2, 2>(a); }                \
    KERNEL(tensor_known_wide_##suffix, TensorForwardArgs, 128) { tensor_forward<mode, KNOWN, 128, 64, 2, 2>(a); }                    \
    KERNEL(tensor_known_narrow_##suffix, TensorForwardArgs, 128) { tensor_forward<mode, KNOWN, 128, 32, 4, 1>(a); }                  \
    KERNEL(tensor_known_small_##suffix, TensorForwardArgs, 128) { tensor_forward<mode, KNOWN, 64, 64, 2, 2>(a); }                    \
    KERNEL(tensor_first_##suffix, TensorForwardArgs, 128) { tensor_first<mode, 128, 32, 4, 1>(a); }                                  \
    KERNEL(tensor_back_wide_##suffix, TensorBackArgs, 128) { tensor_back<mode, 128, 64, 2, 2>(a); }                                  \
    KERNEL(tensor_back_narrow_##suffix, TensorBackArgs, 128) { tensor_back<mode, 128, 32, 4, 1>(a); }                                \
    KERNEL(tensor_back_small_##suffix, TensorBackArgs, 128) { tensor_back<mode, 64, 64, 2, 2>(a); }                                  \
    KERNEL(tensor_sums_wide_##suffix, TensorSumsArgs, 128) { tensor_sums<mode, 128, 64, 2, 2, false>(a); }                           \
    KERNEL(tensor_sums_narrow_##suffix, TensorSumsArgs, 128) { tensor_sums<mode, 128, 32, 4, 1, false>(a); }                         \
    KERNEL(tensor_sums_few_##suffix, TensorSumsArgs, 128) { tensor_sums<mode, 32, 32, 2, 2, true>(a); }                              \
    KERNEL(tensor_sums_first_##suffix, TensorSumsArgs, 96) { tensor_sums<mode, 96, 32, 3, 1, true>(a); }
WITH_MODE(precise, PRECISE)
WITH_MODE(fast, FAST)
