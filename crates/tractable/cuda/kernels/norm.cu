// Batch normalisation. Sums over the batch go through parts of it, in a fixed order and in f64.

struct NormArgs {
    Layout of; // of x and z; for rows, of theirs
    int parts, use_batch;
    int relu; // x holds pre-activations
    double epsilon, count;
    // [channels] each: what was learned, the running statistics, and the statistics of this batch
    const float *scale_mean, *scale_var, *shift_mean, *shift_var;
    const double *running_mean, *running_var;
    double *mean, *var;
    float *factors; // [channels][2]: what to subtract and to multiply by
    double *partial; // [parts][channels][4]
    const float *x_mean, *x_var, *z_d_mean, *z_d_var;
    float *z_mean, *z_var, *own;
    float *x_d_mean, *x_d_var;
    double *sums; // [channels][4], then [channels][2] statistics and one count
    u32 *broken;
};

// Mean and variance of the input, after ReLU where it is a view.
DEV float norm_x_mean(const NormArgs &a, long long at) {
    float m = a.x_mean[at];
    return a.relu && m <= 0.0f ? 0.0f : m;
}
DEV float norm_x_var(const NormArgs &a, long long at) {
    float v = a.x_var[at]; // before the mean is known: loads do not wait for each other
    return a.relu && a.x_mean[at] <= 0.0f ? 0.0f : v;
}

// A block adds 32 channels over one part of the batch: channels side by side, eight positions at a time, f64 sums.
DEV int norm_channel() { return blockIdx.x * 32 + threadIdx.x % 32; }

// Calls `f` for every value of this thread's channel in this block's part.
template <class F> DEV void over_part(const NormArgs &a, F f) {
    int channel = norm_channel();
    if (channel >= a.of.channels) return;
    u32 all = (u32)a.of.pixels * a.of.rows, per = (all + a.parts - 1) / a.parts;
    u32 from = blockIdx.y * per, to = min(from + per, all);
    if (a.of.per_channel == 1)
#pragma unroll 8
        for (u32 i = from + threadIdx.x / 32; i < to; i += 8) f((long long)i * a.of.stride + channel);
    else
        for (u32 i = from + threadIdx.x / 32; i < to; i += 8) f(place(a.of, i / a.of.rows, i % a.of.rows, channel));
}

// Where a part's four sums of a channel go.
DEV double *norm_partial(const NormArgs &a, int part, int channel) { return a.partial + ((long long)part * a.of.channels + channel) * 4; }

DEV void norm_reduce(const NormArgs &a, int part, double v0, double v1, double v2, double v3) {
    __shared__ double s[4][256];
    int tid = threadIdx.x;
    s[0][tid] = v0, s[1][tid] = v1, s[2][tid] = v2, s[3][tid] = v3;
    __syncthreads();
    if (tid >= 32 || norm_channel() >= a.of.channels) return;
    double *to = norm_partial(a, part, norm_channel());
    for (int j = 0; j < 4; j++) {
        double sum = 0.0;
        for (int r = 0; r < 8; r++) sum += s[j][tid + 32 * r];
        to[j] = sum;
    }
}

KERNEL(norm_mean, NormArgs, 256) {
    double sum = 0.0;
    over_part(a, [&](long long at) { sum += norm_x_mean(a, at); });
    norm_reduce(a, blockIdx.y, sum, 0.0, 0.0, 0.0);
}

KERNEL(norm_var, NormArgs, 256) {
    double mean = 0.0, sum = 0.0;
    if (norm_channel() < a.of.channels)
#pragma unroll 8
        for (int p = 0; p < a.parts; p++) mean += norm_partial(a, p, norm_channel())[0];
    mean /= a.count;
    over_part(a, [&](long long at) {
        double off = norm_x_mean(a, at) - mean; // T25
        sum += off * off + norm_x_var(a, at);
    });
    norm_reduce(a, a.parts + blockIdx.y, sum, threadIdx.x < 32 ? mean : 0.0, 0.0, 0.0);
}

// The statistics to use: those of the batch, or the running ones.
KERNEL(norm_statistics, NormArgs, 128) {
    int c = (int)thread_number();
    if (c >= a.of.channels) return;
    double mean = a.running_mean[c], var = a.running_var[c];
    if (a.use_batch) {
        const double *of = a.partial + (long long)a.parts * a.of.channels * 4;
        mean = of[c * 4 + 1];
        var = 0.0;
        for (int p = 0; p < a.parts; p++) var += of[((long long)p * a.of.channels + c) * 4];
        var /= a.count;
    }
    a.mean[c] = mean;
    a.var[c] = var;
    a.factors[2 * c] = (float)mean;
    a.factors[2 * c + 1] = (float)(1.0 / sqrt(var + a.epsilon));
}

KERNEL(norm_forward, NormArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    Unit u = unit_at(a.of, i);
    float mean = 0.0f, var = 0.0f, own = 0.0f;
    if (u.real) {
        int c = u.channel;
        float center = a.factors[2 * c], scale = a.factors[2 * c + 1];
        float mu_a = (norm_x_mean(a, i) - center) * scale, var_a = norm_x_var(a, i) * scale * scale; // T26
        float mu_w = a.scale_mean[c], var_w = a.scale_var[c], second = var_a + mu_a * mu_a;
        mean = mu_w * mu_a + a.shift_mean[c];
        own = var_w * second + a.shift_var[c]; // T44
        var = var_a * (mu_w * mu_w) + own;
    }
    a.z_mean[i] = mean;
    a.z_var[i] = var;
    if (a.own) a.own[i] = own;
    if (!finite(mean) || !finite(var)) *a.broken = 1;
}

KERNEL(norm_back, NormArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    Unit u = unit_at(a.of, i);
    float d = 0.0f, v = 0.0f;
    if (u.real && !(a.relu && a.x_mean[i] <= 0.0f)) {
        float weight = a.scale_mean[u.channel] * a.factors[2 * u.channel + 1];
        d = weight * a.z_d_mean[i];
        if (a.x_d_var) v = weight * weight * a.z_d_var[i];
    }
    a.x_d_mean[i] = d;
    if (a.x_d_var) a.x_d_var[i] = v;
    if (!finite(d) || !finite(v)) *a.broken = 1;
}

KERNEL(norm_sums, NormArgs, 256) {
    double g = 0.0, h = 0.0, bias_g = 0.0, bias_h = 0.0;
    int channel = min(norm_channel(), a.of.channels - 1);
    float center = a.factors[2 * channel], scale = a.factors[2 * channel + 1];
    over_part(a, [&](long long at) {
        float mu_a = (norm_x_mean(a, at) - center) * scale, d = a.z_d_mean[at], v = a.z_d_var[at];
        g += mu_a * d;
        h += mu_a * mu_a * v;
        bias_g += d;
        bias_h += v;
    });
    norm_reduce(a, blockIdx.y, g, h, bias_g, bias_h);
}

// Adds the parts, and pools the statistics with those of earlier batches.
KERNEL(norm_add, NormArgs, 128) {
    int c = (int)thread_number();
    if (c >= a.of.channels) return;
    for (int j = 0; j < 4; j++) {
        double sum = 0.0;
        for (int p = 0; p < a.parts; p++) sum += a.partial[((long long)p * a.of.channels + c) * 4 + j];
        a.sums[c * 4 + j] += sum;
    }
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
