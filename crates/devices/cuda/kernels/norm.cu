// Batch normalisation. Sums over the batch go through parts of it, in a fixed order and in f64.

struct NormArgs {
    Layout of; // of x and z; for rows, of theirs
    int parts, use_batch; // the statistics, and what the way back takes from innovations, are those of the batch
    int relu; // x holds pre-activations
    double epsilon, count;
    // [channels] each: what was learned, the running statistics, and the statistics of this batch
    const float *scale_mean, *scale_var, *shift_mean, *shift_var;
    const double *running_mean, *running_var;
    double *mean, *var;
    float *factors; // [padded channels][2]: what to subtract and to multiply by, zero for padding
    float *common; // [padded channels][2]: means of d_mean and of x d_mean, zero for padding
    double *partial; // [sums][parts][channels]
    double *total; // [sums][channels]
    const float *x_mean, *x_var, *z_d_mean, *z_d_var;
    float *z_mean, *z_var, *own;
    float *x_d_mean, *x_d_var;
    double *sums; // [channels][4], then [channels][2] statistics and one count
    u32 *broken;
};

// A mean or a variance of the input, after ReLU where `mean` is that of a pre-activation.
DEV float after_relu(const NormArgs &a, float mean, float value) { return a.relu && mean <= 0.0f ? 0.0f : value; }

// A block has 32 channels side by side, one per lane; its eight warps share what is to be added.
DEV int norm_channel() { return blockIdx.x * 32 + threadIdx.x % 32; }

// Eight numbers are loaded before the first is added, so that loads do not wait for each other.
template <class Load, class Add> DEV void eight_at_a_time(int from, int to, Load load, Add add) {
    for (int i = from; i < to; i += 64) {
        decltype(load(0)) v[8];
#pragma unroll
        for (int e = 0; e < 8; e++) v[e] = load(min(i + 8 * e, to - 1));
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (i + 8 * e < to) add(v[e]);
    }
}

// Goes through this thread's channel in this block's part. `load` must not look at what it loads.
template <class Load, class Add> DEV void over_part(const NormArgs &a, Load load, Add add) {
    int channel = norm_channel();
    if (channel >= a.of.channels) return;
    int all = a.of.pixels * a.of.rows, per = (all + a.parts - 1) / a.parts;
    int from = blockIdx.y * per, to = min(from + per, all), mine = from + threadIdx.x / 32;
    if (a.of.per_channel == 1) eight_at_a_time(mine, to, [&](int i) { return load((long long)i * a.of.stride + channel); }, add);
    else eight_at_a_time(mine, to, [&](int i) { return load(place(a.of, i / a.of.rows, i % a.of.rows, channel)); }, add);
}

// Where sum `j` of a part goes.
DEV double *norm_partial(const NormArgs &a, int j, int part, int channel) { return a.partial + ((long long)j * a.parts + part) * a.of.channels + channel; }

// Adds up what the block's threads have, one warp per sum. They are the part's sums from `first` on.
template <int N> DEV void norm_reduce(const NormArgs &a, int first, const double (&v)[N]) {
    __shared__ double s[N][256];
    int tid = threadIdx.x, j = tid / 32;
#pragma unroll
    for (int n = 0; n < N; n++) s[n][tid] = v[n];
    __syncthreads();
    if (j >= N || norm_channel() >= a.of.channels) return;
    double sum = 0.0;
    for (int r = 0; r < 8; r++) sum += s[j][tid % 32 + 32 * r];
    *norm_partial(a, first + j, blockIdx.y, norm_channel()) = sum;
}

// Sum `j` of this thread's channel over all parts; every thread of the block gets it.
DEV double over_parts(const NormArgs &a, int j) {
    __shared__ double s[256];
    int channel = min(norm_channel(), a.of.channels - 1);
    double sum = 0.0;
    eight_at_a_time(threadIdx.x / 32, a.parts, [&](int part) { return *norm_partial(a, j, part, channel); }, [&](double v) { sum += v; });
    s[threadIdx.x] = sum;
    __syncthreads();
    sum = 0.0;
    for (int r = 0; r < 8; r++) sum += s[threadIdx.x % 32 + 32 * r];
    return sum;
}

KERNEL(norm_mean, NormArgs, 256) {
    double sum = 0.0;
    over_part(a, [&](long long at) { return a.x_mean[at]; }, [&](float x) { sum += after_relu(a, x, x); });
    norm_reduce<1>(a, 0, {sum});
}

KERNEL(norm_var, NormArgs, 256) {
    double mean = over_parts(a, 0) / a.count, sum = 0.0;
    over_part(
        a, [&](long long at) { return make_float2(a.x_mean[at], a.x_var[at]); },
        [&](float2 x) {
            double off = after_relu(a, x.x, x.x) - mean; // T25
            sum += off * off + after_relu(a, x.x, x.y);
        });
    if (blockIdx.y == 0 && threadIdx.x < 32 && norm_channel() < a.of.channels) a.mean[norm_channel()] = mean;
    norm_reduce<1>(a, 1, {sum});
}

// The statistics to use: those of the batch, or the running ones.
KERNEL(norm_statistics, NormArgs, 256) {
    int c = norm_channel();
    double batch_var = a.use_batch ? over_parts(a, 1) / a.count : 0.0;
    if (threadIdx.x >= 32 || c >= a.of.stride) return;
    float center = 0.0f, scale = 0.0f; // of padding
    if (c < a.of.channels) {
        double mean = a.use_batch ? a.mean[c] : a.running_mean[c], var = a.use_batch ? batch_var : a.running_var[c];
        a.mean[c] = mean;
        a.var[c] = var;
        center = (float)mean, scale = (float)(1.0 / sqrt(var + a.epsilon));
    }
    a.factors[2 * c] = center;
    a.factors[2 * c + 1] = scale;
}

// What was learned of a channel, and its statistics.
struct NormChannel {
    float center, scale, mu_w, var_w, mu_b, var_b;
};

DEV void normalised(const NormChannel &c, float mu_x, float var_x, float &mean, float &var, float &own) {
    float mu_a = (mu_x - c.center) * c.scale, var_a = var_x * c.scale * c.scale; // T26
    mean = c.mu_w * mu_a + c.mu_b;
    own = c.var_w * (var_a + mu_a * mu_a) + c.var_b; // T44
    var = var_a * (c.mu_w * c.mu_w) + own;
}

KERNEL(norm_forward, NormArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    Unit u = unit_at(a.of, i);
    float mean = 0.0f, var = 0.0f, own = 0.0f;
    if (u.real) {
        int c = u.channel;
        NormChannel of = {a.factors[2 * c], a.factors[2 * c + 1], a.scale_mean[c], a.scale_var[c], a.shift_mean[c], a.shift_var[c]};
        float x = a.x_mean[i], v = a.x_var[i];
        normalised(of, after_relu(a, x, x), after_relu(a, x, v), mean, var, own);
    }
    a.z_mean[i] = mean;
    a.z_var[i] = var;
    if (a.own) a.own[i] = own;
    if (!finite(mean) || !finite(var)) *a.broken = 1;
}

// Where channels lie side by side, four of them per thread. Parameters of padding are zero.
struct __align__(16) Four {
    float v[4];
};

DEV Four four(const float *from, long long i) { return ((const Four *)from)[i]; }

// Which four channels thread `i` has.
DEV int four_channels(const Layout &l, long long i) { return i >> 32 ? (int)(i % (l.stride / 4)) : (int)((u32)i % (u32)(l.stride / 4)); }

KERNEL(norm_forward_four, NormArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels / 4) return;
    int c = four_channels(a.of, i);
    Four x = four(a.x_mean, i), v = four(a.x_var, i), mean, var, own;
    Four low = four(a.factors, 2 * c), high = four(a.factors, 2 * c + 1);
    Four mu_w = four(a.scale_mean, c), var_w = four(a.scale_var, c), mu_b = four(a.shift_mean, c), var_b = four(a.shift_var, c);
    bool ok = true;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const Four &factors = j < 2 ? low : high;
        NormChannel of = {factors.v[j % 2 * 2], factors.v[j % 2 * 2 + 1], mu_w.v[j], var_w.v[j], mu_b.v[j], var_b.v[j]};
        normalised(of, after_relu(a, x.v[j], x.v[j]), after_relu(a, x.v[j], v.v[j]), mean.v[j], var.v[j], own.v[j]);
        ok = ok && finite(mean.v[j]) && finite(var.v[j]);
    }
    ((Four *)a.z_mean)[i] = mean;
    ((Four *)a.z_var)[i] = var;
    if (a.own) ((Four *)a.own)[i] = own;
    if (!ok) *a.broken = 1;
}

// What is left of an innovation after what it has in common with those of the batch. T73
DEV float projected(float d, float x, float center, float scale, float of_shift, float of_scale) {
    return d - (of_shift + (x - center) * scale * of_scale);
}

KERNEL(norm_back, NormArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    Unit u = unit_at(a.of, i);
    float d = 0.0f, v = 0.0f;
    if (u.real && !(a.relu && a.x_mean[i] <= 0.0f)) {
        const float *factors = a.factors + 2 * u.channel, *common = a.common + 2 * u.channel;
        float weight = a.scale_mean[u.channel] * factors[1];
        d = a.z_d_mean[i];
        if (a.use_batch) d = projected(d, a.x_mean[i], factors[0], factors[1], common[0], common[1]);
        d *= weight;
        if (a.x_d_var) v = weight * weight * a.z_d_var[i];
    }
    a.x_d_mean[i] = d;
    if (a.x_d_var) a.x_d_var[i] = v;
    if (!finite(d) || !finite(v)) *a.broken = 1;
}

KERNEL(norm_back_four, NormArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels / 4) return;
    int c = four_channels(a.of, i);
    Four d = four(a.z_d_mean, i), v = {}, x = {};
    if (a.x_d_var) v = four(a.z_d_var, i);
    if (a.relu || a.use_batch) x = four(a.x_mean, i);
    Four low = four(a.factors, 2 * c), high = four(a.factors, 2 * c + 1), mu_w = four(a.scale_mean, c), common[2] = {};
    if (a.use_batch) common[0] = four(a.common, 2 * c), common[1] = four(a.common, 2 * c + 1);
    bool ok = true;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float *factors = &(j < 2 ? low : high).v[j % 2 * 2], *taken = &common[j / 2].v[j % 2 * 2];
        float weight = mu_w.v[j] * factors[1];
        bool flat = a.relu && x.v[j] <= 0.0f;
        if (a.use_batch) d.v[j] = projected(d.v[j], x.v[j], factors[0], factors[1], taken[0], taken[1]);
        d.v[j] = flat ? 0.0f : weight * d.v[j];
        v.v[j] = flat ? 0.0f : weight * weight * v.v[j];
        ok = ok && finite(d.v[j]) && finite(v.v[j]);
    }
    ((Four *)a.x_d_mean)[i] = d;
    if (a.x_d_var) ((Four *)a.x_d_var)[i] = v;
    if (!ok) *a.broken = 1;
}

struct NormLoaded {
    float x, d, v;
};

KERNEL(norm_sums, NormArgs, 256) {
    double g = 0.0, h = 0.0, bias_g = 0.0, bias_h = 0.0;
    int channel = min(norm_channel(), a.of.channels - 1);
    float center = a.factors[2 * channel], scale = a.factors[2 * channel + 1];
    over_part(
        a, [&](long long at) { return NormLoaded{a.x_mean[at], a.z_d_mean[at], a.z_d_var[at]}; },
        [&](NormLoaded l) {
            float mu_a = (after_relu(a, l.x, l.x) - center) * scale;
            g += mu_a * l.d;
            h += mu_a * mu_a * l.v;
            bias_g += l.d;
            bias_h += l.v;
        });
    norm_reduce<4>(a, 0, {g, h, bias_g, bias_h});
}

// Adds the parts, one row of blocks per sum. The first and the third give what the way back takes from innovations.
KERNEL(norm_total, NormArgs, 256) {
    int c = norm_channel(), j = blockIdx.y;
    double sum = over_parts(a, j);
    if (threadIdx.x >= 32 || c >= a.of.stride) return;
    if (c < a.of.channels) a.total[j * a.of.channels + c] = sum;
    if (j % 2 == 0) a.common[2 * c + (j == 0)] = c < a.of.channels ? (float)(sum / a.count) : 0.0f;
}

// Adds the sums to those of earlier batches, and pools the statistics.
KERNEL(norm_add, NormArgs, 128) {
    int c = (int)thread_number();
    if (c >= a.of.channels) return;
    for (int j = 0; j < 4; j++) a.sums[c * 4 + j] += a.total[j * a.of.channels + c];
    double *pooled = a.sums + (long long)a.of.channels * 4 + c * 3; // mean, var, count
    double share = a.count / (pooled[2] + a.count), off = a.mean[c] - pooled[0];
    pooled[0] += share * off;
    pooled[1] += share * (a.var[c] - pooled[1]) + share * (1.0 - share) * off * off;
    pooled[2] += a.count;
}

struct NormApplyArgs {
    int channels;
    double momentum;
    Step scale, shift;
    float *scale_mean, *scale_var, *shift_mean, *shift_var;
    double *running_mean, *running_var;
    const double *sums;
    Status *status;
};

KERNEL(norm_apply, NormApplyArgs, 128) {
    int c = (int)thread_number();
    if (c >= a.channels || a.status->is_broken) return;
    u32 capped = 0, repaired = 0;
    const double *s = a.sums + c * 4, *pooled = a.sums + (long long)a.channels * 4 + c * 3;
    float m = a.scale_mean[c], v = a.scale_var[c];
    learn_step(m, v, (float)s[0], (float)s[1], a.scale, capped, repaired);
    a.scale_mean[c] = m, a.scale_var[c] = v;
    m = a.shift_mean[c], v = a.shift_var[c];
    learn_step(m, v, (float)s[2], (float)s[3], a.shift, capped, repaired);
    a.shift_mean[c] = m, a.shift_var[c] = v;
    a.running_mean[c] = a.momentum * a.running_mean[c] + (1.0 - a.momentum) * pooled[0];
    a.running_var[c] = a.momentum * a.running_var[c] + (1.0 - a.momentum) * pooled[1];
    if (capped) atomicAdd(&a.status->capped, (u64)capped);
    if (repaired) atomicAdd(&a.status->repaired, (u64)repaired);
}
