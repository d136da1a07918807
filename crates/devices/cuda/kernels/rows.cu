// Covariance of a few rows with each other, and derivatives by the units of dense layers.

struct SpreadArgs {
    Layout of, rows;
    int k;
    const float *var, *row; // variances of the state, rows' slopes
    double *entries;        // [samples][k][k]
};

// T45: one block per sample and entry.
KERNEL(spread_add, SpreadArgs, 128) {
    __shared__ double s[128];
    int sample = blockIdx.x, i = blockIdx.y / a.k, j = blockIdx.y % a.k, tid = threadIdx.x;
    double sum = 0.0;
    if (j <= i)
        for (int u = tid; u < a.of.channels * a.of.pixels; u += 128) {
            int pixel = u / a.of.channels, channel = u % a.of.channels;
            float left = a.row[place(a.rows, pixel, sample * a.k + i, channel)];
            float right = a.row[place(a.rows, pixel, sample * a.k + j, channel)];
            sum += (double)a.var[place(a.of, pixel, sample, channel)] * left * right;
        }
    s[tid] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    if (tid == 0 && j <= i) {
        double *entries = a.entries + (long long)sample * a.k * a.k;
        entries[i * a.k + j] += s[0];
        if (i != j) entries[j * a.k + i] += s[0];
    }
}

// A layer's units: pre-activations and activations.
struct DerivedUnits {
    Layout of;
    int activation;
    const float *z_mean, *z_var, *a_mean, *a_var, *slope; // slope is null without an activation
};

struct DerivativeArgs {
    DerivedUnits below, above;
    int output, gate_is_input, more, dense, stride, weight_stride;
    const float *w_mean, *w_var; // [outputs][weight_stride]
    const float *d_above;        // seven arrays of [rows][width]
    float *d;
};

struct DerivedUnit {
    Curve curve;
    float mu_a, cov_az, var_z;
    Moments a;
};

DEV DerivedUnit derived(const DerivedUnits &u, long long at) {
    DerivedUnit r;
    Moments m = {u.a_mean[at], u.a_var[at], u.slope ? u.slope[at] : 1.0f};
    float var_z = u.z_var[at];
    r.curve = curve(u.activation, u.z_mean[at], var_z, m);
    r.mu_a = m.mean;
    r.cov_az = m.slope * var_z;
    r.var_z = var_z;
    r.a = m;
    return r;
}

// T30.
KERNEL(derivative_output, DerivativeArgs, 128) {
    int width = a.below.of.channels * a.below.of.pixels;
    long long n = (long long)a.below.of.rows * width, i = thread_number();
    if (i >= n) return;
    int row = (int)(i / width), unit = (int)(i % width), pixels = a.below.of.pixels;
    DerivedUnit u = derived(a.below, place(a.below.of, unit % pixels, row, unit / pixels));
    float chosen = unit == a.output ? 1.0f : 0.0f, mean = u.curve.mean * chosen;
    float parts[7] = {mean, u.curve.var * chosen, u.curve.bend * u.var_z * chosen, chosen, mean * mean, mean * chosen, chosen * chosen};
    for (int j = 0; j < 7; j++) a.d[j * n + i] = parts[j];
}

// T31. One thread for every unit below; the weights between are read side by side. Without weights the layer is a sum.
KERNEL(derivative_below, DerivativeArgs, 128) {
    int width = a.below.of.channels * a.below.of.pixels, pixels = a.below.of.pixels;
    long long n = (long long)a.below.of.rows * width, i = thread_number();
    if (i >= n) return;
    int row = (int)(i / width), unit = (int)(i % width), pixel = unit % pixels, channel = unit / pixels;
    int over = a.above.of.channels * a.above.of.pixels, column = pixel * a.stride + channel;
    long long n_above = (long long)a.above.of.rows * over;
    DerivedUnit u = derived(a.below, place(a.below.of, pixel, row, channel));
    float p7[7];
    for (int j = 0; j < 7; j++) p7[j] = a.more ? a.d[j * n + i] : 0.0f;
    int from = a.dense ? 0 : unit, to = a.dense ? over : unit + 1;
    for (int o = from; o < to; o++) {
        DerivedUnit b = derived(a.above, place(a.above.of, o % a.above.of.pixels, row, o / a.above.of.pixels));
        float bend = b.curve.bend, pair = bend, twist = b.curve.twist;
        if (a.gate_is_input) {
            pair = twist = 0.0f;
            if (a.below.activation == TANH || a.below.activation == SIGMOID) {
                Curve as_below = curve(a.below.activation, 0.0f, b.var_z, b.a);
                pair = as_below.bend;
                twist = as_below.twist;
            }
        }
        float mu_w = 1.0f, var_w = 0.0f;
        if (a.dense) {
            mu_w = a.w_mean[(long long)o * a.weight_stride + column];
            var_w = a.w_var[(long long)o * a.weight_stride + column];
        }
        long long at = (long long)row * over + o;
        float M = a.d_above[at], V = a.d_above[n_above + at], R = a.d_above[3 * n_above + at];
        float q1 = a.d_above[4 * n_above + at], q2 = a.d_above[5 * n_above + at], q3 = a.d_above[6 * n_above + at];
        Curve s = u.curve;
        float c = mu_w * u.cov_az, p = mu_w * s.mean;
        float spread = var_w * (s.var + s.mean * s.mean) + s.var * mu_w * mu_w;
        float slopes = pair * s.bend * c + 2.0f * twist * s.twist * c * c;
        float k = bend * var_w * u.mu_a * s.mean + slopes * mu_w;
        float mean = p * M + k * R, rest = mu_w * M;
        p7[0] += mean;
        p7[1] += spread * (V + q1) + p * p * V + k * (k * q3 + 2.0f * p * q2);
        p7[2] += bend * c * p * R + s.bend * u.var_z * rest;
        p7[3] += rest;
        p7[4] += mean * mean;
        p7[5] += mean * rest;
        p7[6] += rest * rest;
    }
    if (p7[1] < 0.0f) p7[1] = 0.0f;
    for (int j = 0; j < 7; j++) a.d[j * n + i] = p7[j];
}
