// Mini-batches of a value network and its policy, one after another in one block (T72): the value network learns returns, better
// actions are inferred from its derivative, the policy learns them. Many agents learn at once, each on its own multiprocessor. States
// stay in shared memory, weights in the caches. A product has 16 rows, those of a mini-batch; rows without a sample are zero.

#define LESSON_ROWS 16
#define LESSON_WARPS 16
#define LESSON_LAYERS 6
#define LESSON_THIN 8 // up to this many outputs, each row has its own warp
#define PHASE __device__ __noinline__ // called from several places

// A dense layer with the activation above it.
struct LessonLayer {
    int inputs, outputs, depth, weight_stride; // depth: padded inputs
    int activation;
    float negative_slope;
    float *w_mean, *w_var;
    Step steps[2][2]; // of whole mini-batches and of a shorter last one; of weights and of biases
};

// Where states and innovations are in shared memory; `line` is the number of floats from one row to the next.
struct LessonNet {
    int layers;
    int line[LESSON_LAYERS + 1], mean[LESSON_LAYERS + 1], var[LESSON_LAYERS + 1], d_mean[LESSON_LAYERS + 1], d_var[LESSON_LAYERS + 1];
    LessonLayer layer[LESSON_LAYERS];
};

// What became of a lesson: the lowest broken state (network * 32 + layer), or ~0; steps limited and variances repaired, of both
// networks; sums over all actions of their standard deviation, size, move, and slope over its standard deviation.
struct LessonTold {
    u32 broken, row;
    u64 capped[2], repaired[2];
    double sums[4];
};

struct LessonArgs {
    LessonNet nets[2];          // value, policy
    int rows, batch, batches;   // of the rollout, of a mini-batch, and how many of these in all
    int rounds, cut;            // of inference; whether actions end at 1 and -1
    int shared, slots, slot;    // floats; where the arrays of derivatives begin, and their size
    float policy_noise;         // variance
    const u32 *order;           // epoch after epoch
    const float *states, *actions, *returns, *noise;
    LessonTold *told;
};

DEV float *lesson_at(int offset) {
    DYNAMIC_SHARED(shared);
    return shared + offset;
}

// The slope of an activation whose mean is known.
DEV float lesson_slope(const LessonLayer &y, float mean) {
    switch (y.activation) {
    case RELU: return mean > 0.0f ? 1.0f : 0.0f;
    case LEAKY_RELU: return mean > 0.0f ? 1.0f : y.negative_slope;
    case TANH: return 1.0f - mean * mean;
    case SIGMOID: return mean * (1.0f - mean);
    default: return 1.0f;
    }
}

// T28, T29 for an activation's mean and variance.
DEV Curve lesson_curve(const LessonLayer &y, float mean, float var) {
    float slope = lesson_slope(y, mean);
    Curve c = {slope, 0.0f, 0.0f, 0.0f};
    if (y.activation == TANH || y.activation == SIGMOID) {
        float rate = (y.activation == SIGMOID ? 1.0f : 0.0f) - 2.0f * mean;
        c.mean = slope - var;
        c.var = var * (rate * rate + 2.0f * var);
        c.bend = rate * slope;
    }
    return c;
}

DEV void lesson_take(float *v, const float *from) {
    float4 f = *(const float4 *)from;
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
}

DEV void lesson_take_if(float *v, const float *from, bool ok) {
    float4 f = ok ? *(const float4 *)from : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
}

DEV void lesson_check(u32 *broken, int code, int row, float mean, float var) {
    if (!finite(mean) || !finite(var)) atomicMin(broken, (u32)(code * LESSON_ROWS + row));
}

// T15, T16 and the activation: state `l + 1` from state `l`.
template <int MODE> PHASE void lesson_forward(const LessonNet &net, int which, int l, u32 *broken) {
    const LessonLayer y = net.layer[l];
    const float *mean = lesson_at(net.mean[l]), *var = lesson_at(net.var[l]);
    float *to_mean = lesson_at(net.mean[l + 1]), *to_var = lesson_at(net.var[l + 1]);
    int line = net.line[l], to = net.line[l + 1], lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
    auto put = [&](int row, int n, float z, float v) {
        Moments m = {0.0f, 0.0f, 0.0f};
        if (n < y.outputs) {
            z += y.w_mean[(long long)n * y.weight_stride + y.depth];
            v += y.w_var[(long long)n * y.weight_stride + y.depth];
            m = activated(y.activation, y.negative_slope, z, v);
            lesson_check(broken, which * 32 + l, row, m.mean, m.var);
        }
        to_mean[row * to + n] = m.mean;
        to_var[row * to + n] = m.var;
    };
    if (y.outputs <= LESSON_THIN) {
        float z[LESSON_THIN] = {}, v[LESSON_THIN] = {}, mine_z = 0.0f, mine_v = 0.0f;
        for (int k = lane; k < y.inputs; k += 32) {
            float a = mean[warp * line + k], s = var[warp * line + k];
#pragma unroll
            for (int n = 0; n < LESSON_THIN; n++) {
                if (n >= y.outputs) continue;
                float m = y.w_mean[(long long)n * y.weight_stride + k];
                z[n] += a * m;
                v[n] += (s + a * a) * y.w_var[(long long)n * y.weight_stride + k] + s * (m * m);
            }
        }
#pragma unroll
        for (int n = 0; n < LESSON_THIN; n++) {
            if (n >= y.outputs) continue;
            float sum_z = warp_sum(z[n]), sum_v = warp_sum(v[n]);
            if (lane == n) mine_z = sum_z, mine_v = sum_v;
        }
        if (lane < y.outputs) put(warp, lane, mine_z, mine_v);
    } else {
        for (int tile = warp; tile * 8 < y.outputs; tile += LESSON_WARPS) {
            int n = tile * 8 + g;
            const float *w_mean = y.w_mean + (long long)n * y.weight_stride, *w_var = y.w_var + (long long)n * y.weight_stride;
            float sum0[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sum1[4] = {0.0f, 0.0f, 0.0f, 0.0f}, m[4], w[4];
            lesson_take_if(m, w_mean + 4 * q, n < y.outputs && 4 * q < y.depth);
            lesson_take_if(w, w_var + 4 * q, n < y.outputs && 4 * q < y.depth);
#pragma unroll 1
            for (int k = 0; k < y.depth; k += 16) {
                // The next weights come while these are used.
                float next_m[4], next_w[4], x[4], u[4], s[4], t[4];
                int c = k + 16 + 4 * q;
                lesson_take_if(next_m, w_mean + c, n < y.outputs && c < y.depth);
                lesson_take_if(next_w, w_var + c, n < y.outputs && c < y.depth);
                lesson_take(x, mean + g * line + k + 4 * q);
                lesson_take(u, mean + (g + 8) * line + k + 4 * q);
                lesson_take(s, var + g * line + k + 4 * q);
                lesson_take(t, var + (g + 8) * line + k + 4 * q);
                OperandA<MODE> first, second, variance;
                OperandB<MODE> b0, b1, squares;
                first.set(x, u);
                variance.set(s, t);
                b0.set(m);
                b1.set(w);
#pragma unroll
                for (int j = 0; j < 4; j++) x[j] = s[j] + x[j] * x[j], u[j] = t[j] + u[j] * u[j], m[j] *= m[j];
                second.set(x, u);
                squares.set(m);
#pragma unroll
                for (int p = 0; p < Parts<MODE>::n; p++) {
                    multiply<MODE>(p, sum0, first, b0);
                    multiply<MODE>(p, sum1, second, b1);
                    multiply<MODE>(p, sum1, variance, squares);
                }
#pragma unroll
                for (int j = 0; j < 4; j++) m[j] = next_m[j], w[j] = next_w[j];
            }
#pragma unroll
            for (int i = 0; i < 4; i++) put(g + 8 * (i >> 1), tile * 8 + 2 * q + (i & 1), sum0[i], sum1[i]);
        }
    }
    __syncthreads();
}

// T17 for the output of a network; `seen(row, column)` is an observation and the variance of its noise.
template <class F> DEV void lesson_observe(const LessonNet &net, int rows, F seen) {
    int l = net.layers, outputs = net.layer[l - 1].outputs;
    float *d_mean = lesson_at(net.d_mean[l]), *d_var = lesson_at(net.d_var[l]);
    for (int i = threadIdx.x; i < LESSON_ROWS * outputs; i += LESSON_WARPS * 32) {
        int row = i / outputs, n = i - row * outputs, at = row * net.line[l] + n;
        float d = 0.0f, v = 0.0f;
        if (row < rows) {
            float2 y = seen(row, n);
            float mean = lesson_at(net.mean[l])[at], total = lesson_at(net.var[l])[at] + y.y, slope = lesson_slope(net.layer[l - 1], mean);
            float gain = total < MIN_POSITIVE ? 0.0f : 1.0f / total;
            d = slope * (gain * (y.x - mean));
            v = slope * slope * -gain;
        }
        d_mean[at] = d;
        d_var[at] = v;
    }
    __syncthreads();
}

// Weights of four outputs by column `k`, from `w` on; usually all of them exist.
DEV void lesson_down(float *v, const float *w, const LessonLayer &y, int n, int k) {
    w += (long long)n * y.weight_stride + k;
    if (n + 4 <= y.outputs && k < y.depth) {
#pragma unroll
        for (int j = 0; j < 4; j++) v[j] = w[j * y.weight_stride];
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++) v[j] = n + j < y.outputs && k < y.depth ? w[j * y.weight_stride] : 0.0f;
    }
}

// T24, T18: the innovation of state `l` from that of state `l + 1`, both of pre-activations.
template <int MODE> PHASE void lesson_back(const LessonNet &net, int which, int l, u32 *broken) {
    const LessonLayer y = net.layer[l];
    const float *d_mean = lesson_at(net.d_mean[l + 1]), *d_var = lesson_at(net.d_var[l + 1]), *mean = lesson_at(net.mean[l]);
    float *to_mean = lesson_at(net.d_mean[l]), *to_var = lesson_at(net.d_var[l]);
    int line = net.line[l + 1], to = net.line[l], lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
    for (int tile = warp; tile * 8 < y.inputs; tile += LESSON_WARPS) {
        float sum0[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sum1[4] = {0.0f, 0.0f, 0.0f, 0.0f}, m[4];
        lesson_down(m, y.w_mean, y, 4 * q, tile * 8 + g);
#pragma unroll 1
        for (int n = 0; n < y.outputs; n += 16) {
            float next[4], x[4], u[4];
            lesson_down(next, y.w_mean, y, n + 16 + 4 * q, tile * 8 + g);
            OperandA<MODE> first, second;
            OperandB<MODE> b, squares;
            lesson_take(x, d_mean + g * line + n + 4 * q);
            lesson_take(u, d_mean + (g + 8) * line + n + 4 * q);
            first.set(x, u);
            lesson_take(x, d_var + g * line + n + 4 * q);
            lesson_take(u, d_var + (g + 8) * line + n + 4 * q);
            second.set(x, u);
            b.set(m);
#pragma unroll
            for (int j = 0; j < 4; j++) m[j] *= m[j];
            squares.set(m);
#pragma unroll
            for (int p = 0; p < Parts<MODE>::n; p++) {
                multiply<MODE>(p, sum0, first, b);
                multiply<MODE>(p, sum1, second, squares);
            }
#pragma unroll
            for (int j = 0; j < 4; j++) m[j] = next[j];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = g + 8 * (i >> 1), k = tile * 8 + 2 * q + (i & 1);
            float slope = k < y.inputs ? lesson_slope(net.layer[l - 1], mean[row * to + k]) : 0.0f;
            float d = slope * sum0[i], v = slope * slope * sum1[i];
            lesson_check(broken, which * 32 + l, row, d, v);
            to_mean[row * to + k] = d;
            to_var[row * to + k] = v;
        }
    }
    __syncthreads();
}

// Within which a step is neither limited nor repaired, as usual; a counted step never is.
struct LessonFree {
    float square, least;
};

DEV LessonFree lesson_free(const Step &s) {
    LessonFree f = {0.0f, 0.0f};
    if (s.kind == 1) f.square = s.cap * s.cap, f.least = s.cap > 1.0f ? 1.0f / (s.cap * s.cap) : 0.0f;
    if (s.kind == 2) f.least = 3.0f; // no variance grows
    return f;
}

PHASE void lesson_limited(float &mean, float &var, float g, float h, const Step &s, Tallied &tally) { learn_step(mean, var, g, h, s, tally.capped, tally.repaired); }

// T20, T21.
DEV void lesson_step(float &mean, float &var, float g, float h, const Step &s, LessonFree f, Tallied &tally) {
    float delta = var * g, shrink = 1.0f + var * h, next = mean + delta, narrowed = var * shrink;
    if (delta * g * f.square <= 1.0f && shrink >= f.least && narrowed >= MIN_POSITIVE && finite(next)) mean = next, var = narrowed;
    else if (var != 0.0f) {
        float m = mean, v = var;
        Tallied t = {0, 0};
        lesson_limited(m, v, g, h, s, t);
        mean = m, var = v;
        tally.capped += t.capped, tally.repaired += t.repaired;
    }
}

// T20, T21: a layer learns from the innovations of its outputs.
template <int MODE> PHASE Tallied lesson_update(const LessonNet &net, int l, int last) {
    const LessonLayer y = net.layer[l];
    const Step *steps = net.layer[l].steps[last];
    Tallied tally = {0, 0};
    const float *mean = lesson_at(net.mean[l]), *d_mean = lesson_at(net.d_mean[l + 1]), *d_var = lesson_at(net.d_var[l + 1]);
    int line = net.line[l], to = net.line[l + 1], lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
    int across = (y.depth + 15) / 16, tiles = (y.outputs + 7) / 8 * across;
    LessonFree is_free = lesson_free(steps[0]);
    for (int i = warp; i < tiles; i += LESSON_WARPS) {
        int tile = i / across, k0 = (i - tile * across) * 16;
        float old_mean[4], old_var[4], x[4], u[4], sum0[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sum1[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        bool in[4];
        int at[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int n = tile * 8 + 2 * q + (j & 1), k = k0 + g + 8 * (j >> 1);
            in[j] = n < y.outputs && k < y.depth;
            at[j] = n * y.weight_stride + k;
            old_mean[j] = in[j] ? y.w_mean[at[j]] : 0.0f;
            old_var[j] = in[j] ? y.w_var[at[j]] : 0.0f;
        }
        OperandA<MODE> first, second;
        OperandB<MODE> b0, b1;
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] = mean[(4 * j + q) * line + k0 + g], u[j] = mean[(4 * j + q) * line + k0 + g + 8];
        first.set(x, u);
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] *= x[j], u[j] *= u[j];
        second.set(x, u);
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] = d_mean[(4 * j + q) * to + tile * 8 + g], u[j] = d_var[(4 * j + q) * to + tile * 8 + g];
        b0.set(x);
        b1.set(u);
#pragma unroll
        for (int p = 0; p < Parts<MODE>::n; p++) {
            multiply<MODE>(p, sum0, first, b0);
            multiply<MODE>(p, sum1, second, b1);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (!in[j]) continue;
            lesson_step(old_mean[j], old_var[j], sum0[j], sum1[j], steps[0], is_free, tally);
            y.w_mean[at[j]] = old_mean[j];
            y.w_var[at[j]] = old_var[j];
        }
    }
    for (int n = threadIdx.x; n < y.outputs; n += LESSON_WARPS * 32) {
        float d = 0.0f, v = 0.0f;
        for (int row = 0; row < LESSON_ROWS; row++) d += d_mean[row * to + n], v += d_var[row * to + n];
        long long at = (long long)n * y.weight_stride + y.depth;
        lesson_step(y.w_mean[at], y.w_var[at], d, v, steps[1], lesson_free(steps[1]), tally);
    }
    return tally;
}

template <int MODE> DEV void lesson_predict(const LessonNet &net, int which, u32 *broken) {
    for (int l = 0; l < net.layers; l++) lesson_forward<MODE>(net, which, l, broken);
}

// From the innovation of the output to the posterior of all weights; false if a number is not finite.
template <int MODE> DEV bool lesson_learn(const LessonNet &net, int which, int last, Tallied &tally, u32 *broken) {
    for (int l = net.layers - 1; l > 0; l--) lesson_back<MODE>(net, which, l, broken);
    if (*broken != 0xffffffffu) return false;
    for (int l = 0; l < net.layers; l++) {
        Tallied t = lesson_update<MODE>(net, l, last);
        tally.capped += t.capped, tally.repaired += t.repaired;
    }
    __syncthreads();
    return true;
}

// Arrays of a derivative by the units of a state: mean, variance, variance plus the squares of the branches' means. By the units of the
// first hidden state: the sum of what the units above send down, the sum of its squares, and the variance.
DEV float *lesson_slot(const LessonArgs &a, int state, int which) { return lesson_at(a.slots + (3 * (state & 1) + which) * a.slot); }

// T31 where the layer above has a constant slope: the derivative by the units of state `l` from that by the units of state `l + 1`.
template <int MODE> PHASE void lesson_derive(const LessonArgs &a, const LessonNet &net, int l) {
    const LessonLayer y = net.layer[l];
    const float *above_mean = lesson_slot(a, l + 1, 0), *above_var = lesson_slot(a, l + 1, 1), *above_all = lesson_slot(a, l + 1, 2);
    int line = net.line[l + 1], to = net.line[l], lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3;
    for (int tile = warp; tile * 8 < y.inputs; tile += LESSON_WARPS) {
        float means[4] = {}, squared[4] = {}, by_var[4] = {}, by_square[4] = {}, passed[4] = {}, m[4], w[4];
        lesson_down(m, y.w_mean, y, 4 * q, tile * 8 + g);
        lesson_down(w, y.w_var, y, 4 * q, tile * 8 + g);
#pragma unroll 1
        for (int n = 0; n < y.outputs; n += 16) {
            float next_m[4], next_w[4], x[4], u[4];
            lesson_down(next_m, y.w_mean, y, n + 16 + 4 * q, tile * 8 + g);
            lesson_down(next_w, y.w_var, y, n + 16 + 4 * q, tile * 8 + g);
            OperandA<MODE> mean, mean2, var, all;
            OperandB<MODE> b, b2, v;
            lesson_take(x, above_mean + g * line + n + 4 * q);
            lesson_take(u, above_mean + (g + 8) * line + n + 4 * q);
            mean.set(x, u);
#pragma unroll
            for (int j = 0; j < 4; j++) x[j] *= x[j], u[j] *= u[j];
            mean2.set(x, u);
            lesson_take(x, above_var + g * line + n + 4 * q);
            lesson_take(u, above_var + (g + 8) * line + n + 4 * q);
            var.set(x, u);
            lesson_take(x, above_all + g * line + n + 4 * q);
            lesson_take(u, above_all + (g + 8) * line + n + 4 * q);
            all.set(x, u);
            b.set(m);
            v.set(w);
#pragma unroll
            for (int j = 0; j < 4; j++) m[j] *= m[j];
            b2.set(m);
#pragma unroll
            for (int p = 0; p < Parts<MODE>::n; p++) {
                multiply<MODE>(p, means, mean, b);
                multiply<MODE>(p, squared, mean2, b2);
                multiply<MODE>(p, by_var, all, v);
                multiply<MODE>(p, by_square, all, b2);
                multiply<MODE>(p, passed, var, b2);
            }
#pragma unroll
            for (int j = 0; j < 4; j++) m[j] = next_m[j], w[j] = next_w[j];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = g + 8 * (i >> 1), k = tile * 8 + 2 * q + (i & 1), at = row * to + k;
            Curve s = {0.0f, 0.0f, 0.0f, 0.0f};
            if (k < y.inputs) s = lesson_curve(net.layer[l - 1], lesson_at(net.mean[l])[at], lesson_at(net.var[l])[at]);
            float own = s.mean * s.mean, total = (s.var + own) * by_var[i] + s.var * by_square[i] + own * passed[i];
            if (total < 0.0f) total = 0.0f;
            lesson_slot(a, l, 0)[at] = l == 1 ? means[i] : s.mean * means[i];
            lesson_slot(a, l, 1)[at] = total;
            lesson_slot(a, l, 2)[at] = l == 1 ? squared[i] : total + own * squared[i];
        }
    }
    __syncthreads();
}

// T72. One round: every action moves to where the derivative of the value is zero, uphill. Each row has its own warp; `slopes` gets the
// last derivative's size over its standard deviation.
template <int MODE> DEV void lesson_improve(const LessonArgs &a, float *slopes, u32 *broken) {
    const LessonNet &net = a.nets[0];
    const LessonLayer y = net.layer[0];
    int lane = threadIdx.x & 31, row = threadIdx.x >> 5, top = net.layers, ns = a.nets[1].layer[0].inputs;
    lesson_predict<MODE>(net, 0, broken);
    // T30: the output by itself.
    for (int i = threadIdx.x; i < LESSON_ROWS * net.line[top]; i += LESSON_WARPS * 32) {
        float own = i % net.line[top] == 0 ? 1.0f : 0.0f;
        lesson_slot(a, top, 0)[i] = own;
        lesson_slot(a, top, 1)[i] = 0.0f;
        lesson_slot(a, top, 2)[i] = own;
    }
    __syncthreads();
    for (int l = top - 1; l > 0; l--) lesson_derive<MODE>(a, net, l);
    // T31 for the inputs that are actions, a few at a time.
    for (int first = ns; first < y.inputs; first += LESSON_THIN) {
        float *x = lesson_at(net.mean[0]) + row * net.line[0], *x_var = lesson_at(net.var[0]) + row * net.line[0];
        float means[LESSON_THIN] = {}, vars[LESSON_THIN] = {}, covs[LESSON_THIN] = {}, mean = 0.0f, var = 0.0f, cov = 0.0f;
        for (int o = lane; o < y.outputs; o += 32) {
            int at = row * net.line[1] + o;
            Curve s = lesson_curve(y, lesson_at(net.mean[1])[at], lesson_at(net.var[1])[at]);
            float rest = lesson_slot(a, 1, 0)[at], own_var = lesson_slot(a, 1, 1)[at], rest2 = lesson_slot(a, 1, 2)[at];
            float slope = s.mean * rest, all = own_var + s.mean * s.mean * rest2, twice = 2.0f * s.mean * rest2;
#pragma unroll
            for (int j = 0; j < LESSON_THIN; j++) {
                int k = first + j;
                if (k >= y.inputs) continue;
                float m = y.w_mean[(long long)o * y.weight_stride + k], w = y.w_var[(long long)o * y.weight_stride + k];
                float bent = s.bend * w * x[k];
                means[j] += m * slope + bent * rest;
                vars[j] += w * all + m * m * own_var + bent * (bent * rest2 + m * twice);
                covs[j] += s.bend * (m * x_var[k]) * m * rest;
            }
        }
#pragma unroll
        for (int j = 0; j < LESSON_THIN; j++) {
            if (first + j >= y.inputs) continue;
            float sums[3] = {warp_sum(means[j]), warp_sum(vars[j]), warp_sum(covs[j])};
            if (lane == j) mean = sums[0], var = sums[1], cov = sums[2];
        }
        int k = first + lane;
        if (lane >= LESSON_THIN || k >= y.inputs) continue;
        lesson_check(broken, 0, row, mean, var);
        if (var < 0.0f) var = 0.0f;
        // T33, T34.
        float gain = var > 0.0f ? cov / var : 0.0f, size = fabsf(gain * mean), moved = x[k] + (mean < 0.0f ? -size : size);
        float narrowed = x_var[k] - gain * cov, least = x_var[k] * (1.0f / 1024.0f);
        x[k] = a.cut ? (moved < -1.0f ? -1.0f : moved > 1.0f ? 1.0f : moved) : moved;
        x_var[k] = narrowed > least ? narrowed : least;
        slopes[k - ns] = fabsf(mean) / fmaxf(sqrtf(var), MIN_POSITIVE);
    }
    __syncthreads();
}

template <int MODE> DEV void lesson(const LessonArgs &a) {
    __shared__ u32 broken, tally[4];
    __shared__ double sums[LESSON_ROWS][4];
    __shared__ float slopes[LESSON_ROWS][32];
    const LessonNet &value = a.nets[0], &policy = a.nets[1];
    const int threads = LESSON_WARPS * 32;
    int tid = threadIdx.x, row = tid >> 5, ns = policy.layer[0].inputs, na = policy.layer[policy.layers - 1].outputs;
    int per = (a.rows + a.batch - 1) / a.batch;
    Tallied tallies[2] = {{0, 0}, {0, 0}};
    double told[4] = {0.0, 0.0, 0.0, 0.0};
    for (int i = tid; i < a.shared; i += threads) lesson_at(0)[i] = 0.0f;
    if (tid == 0) broken = 0xffffffffu;
    if (tid < 4) tally[tid] = 0;
    __syncthreads();
    float *x = lesson_at(value.mean[0]), *x_var = lesson_at(value.var[0]), *own = lesson_at(policy.mean[policy.layers]), *own_var = lesson_at(policy.var[policy.layers]);
    int line = value.line[0], out = policy.line[policy.layers];
#pragma unroll 1
    for (int batch = 0; batch < a.batches; batch++) {
        int epoch = batch / per, first = (batch - epoch * per) * a.batch, rows = min(a.batch, a.rows - first), last = rows < a.batch;
        const u32 *order = a.order + (long long)epoch * a.rows + first;
        for (int i = tid; i < LESSON_ROWS * (ns + na); i += threads) {
            int r = i / (ns + na), k = i - r * (ns + na);
            float v = 0.0f;
            if (r < rows) v = k < ns ? a.states[(long long)order[r] * ns + k] : a.actions[(long long)order[r] * na + k - ns];
            x[r * line + k] = v;
            x_var[r * line + k] = 0.0f;
            if (k < ns) lesson_at(policy.mean[0])[r * policy.line[0] + k] = v;
        }
        __syncthreads();
        lesson_predict<MODE>(value, 0, &broken);
        lesson_observe(value, rows, [&](int r, int) { return make_float2(a.returns[order[r]], a.noise[order[r]]); });
        if (!lesson_learn<MODE>(value, 0, last, tallies[0], &broken)) break;
        lesson_predict<MODE>(policy, 1, &broken);
        for (int i = tid; i < LESSON_ROWS * na; i += threads) {
            int r = i / na, k = i - r * na;
            float v = own[r * out + k];
            x[r * line + ns + k] = a.cut ? (v < -1.0f ? -1.0f : v > 1.0f ? 1.0f : v) : v;
            x_var[r * line + ns + k] = own_var[r * out + k];
        }
        __syncthreads();
        for (int round = 0; round < a.rounds; round++) lesson_improve<MODE>(a, slopes[row], &broken);
        if (tid % 32 == 0 && row < rows)
            for (int k = 0; k < na; k++) {
                told[0] += sqrtf(own_var[row * out + k]);
                told[1] += fabsf(own[row * out + k]);
                told[2] += fabsf(x[row * line + ns + k] - own[row * out + k]);
                told[3] += slopes[row][k];
            }
        lesson_observe(policy, rows, [&](int r, int k) { return make_float2(x[r * line + ns + k], x_var[r * line + ns + k] + a.policy_noise); });
        if (!lesson_learn<MODE>(policy, 1, last, tallies[1], &broken)) break;
    }
    for (int net = 0; net < 2; net++) {
        if (tallies[net].capped) atomicAdd(&tally[2 * net], tallies[net].capped);
        if (tallies[net].repaired) atomicAdd(&tally[2 * net + 1], tallies[net].repaired);
    }
    if (tid % 32 == 0)
        for (int j = 0; j < 4; j++) sums[row][j] = told[j];
    __syncthreads();
    if (tid) return;
    LessonTold *to = a.told;
    to->broken = broken == 0xffffffffu ? broken : broken / LESSON_ROWS;
    to->row = broken % LESSON_ROWS;
    for (int net = 0; net < 2; net++) to->capped[net] = tally[2 * net], to->repaired[net] = tally[2 * net + 1];
    for (int j = 0; j < 4; j++) {
        double sum = 0.0;
        for (int r = 0; r < LESSON_ROWS; r++) sum += sums[r][j];
        to->sums[j] = sum;
    }
}

KERNEL(lesson_precise, LessonArgs, 512) { lesson<PRECISE>(a); }
KERNEL(lesson_fast, LessonArgs, 512) { lesson<FAST>(a); }
