// The formulae of the crate's `moments`, in f32. Tags are those of docs/equations.md.

struct Moments {
    float mean, var, slope;
};

// Activations by number; the Rust side has the same list.
enum { IDENTITY, RELU, LEAKY_RELU, TANH, SIGMOID, SOFTPLUS, MIXTURE_RELU };

DEV Moments linearised(float mean, float slope, float var_z) {
    Moments m = {mean, slope * slope * var_z, slope};
    return m;
}

DEV float high_half(float x) { return __uint_as_float(__float_as_uint(x) & 0xfffff000u); }

// exp(-t^2/2) without the rounding of t^2/2; `dt` corrects t.
DEV float bell(float t, float dt) {
    float high = high_half(t);
    float rest = (t - high) * (t + high) * 0.5f + t * dt;
    float h = high * high * 0.5f;
    return h > 60.0f ? 0.0f : expf(-h) * expf(-rest);
}

struct Tails {
    float mills, first, second;
};

// T2 to T4.
DEV Tails tails(float t) {
    float u = (t - 3.5f) / (t + 3.5f), w = 1.0f / (t + 1.5f), s = u * u;
    float even = 1.6753203f + s * (0.12077918f + s * (-0.21132934f + s * (0.045622576f + s * (-0.0060679037f + s * 0.00067525764f))));
    float odd = -0.91311777f + s * (0.2810927f + s * (0.020812925f + s * (-0.017045746f + s * (0.0037472248f + s * -0.0004894085f))));
    float first = (even + u * odd) * w * w;
    even = 4.002867f + s * (-0.5181336f + s * (-0.6185964f + s * (0.32499668f + s * (-0.094628364f + s * (0.021424871f + s * -0.0029631818f)))));
    odd = -2.390122f + s * (1.5966051f + s * (-0.3521067f + s * (0.031055572f + s * (-0.00079138996f + s * (0.0006217448f + s * -0.00022993937f)))));
    float second = (even + u * odd) * (w * w * w);
    Tails r = {second + t * first, first, second};
    return r;
}

#define FAR 64.0f
#define FRAC_1_SQRT_2PI 0.3989422804f

// T10, T11.
DEV Moments mixture_relu(float mu_z, float var_z) {
    float s = sqrtf(var_z), inverse = 1.0f / s, m = fabsf(mu_z), ratio = m * inverse;
    float t = s > 0.0f ? (ratio < FAR ? ratio : ratio >= FAR ? FAR : ratio) : FAR;
    float s_high = high_half(s), t_high = high_half(t), s_low = s - s_high, t_low = t - t_high;
    float s_rest = (var_z - s_high * s_high) - s_low * (s + s_high);
    if (var_z < MIN_POSITIVE / 1.1920929e-7f) s_rest = 0.0f;
    float t_rest = ((m - t_high * s_high) - t_high * s_low) - t_low * s;
    float dt = (t_rest - 0.5f * t * (s_rest * inverse)) * inverse;
    float density = bell(t, dt) * FRAC_1_SQRT_2PI;
    Tails q = tails(t);
    float tail = density * q.mills, above = density * q.first, mean = s * above;
    float spread = density * (q.second - above * q.first);
    bool positive = mu_z > 0.0f;
    Moments r = {positive ? mu_z + mean : mean, var_z * (positive ? (1.0f - (tail + tail)) + spread : spread), positive ? 1.0f - tail : tail};
    if (!(mu_z == mu_z)) r.mean = r.var = r.slope = mu_z;
    return r;
}

DEV Moments activated(int activation, float negative_slope, float mu_z, float var_z) {
    switch (activation) {
    case RELU: return linearised(mu_z > 0.0f ? mu_z : mu_z <= 0.0f ? 0.0f : mu_z, mu_z > 0.0f ? 1.0f : 0.0f, var_z); // T7
    case LEAKY_RELU: { // T8
        float slope = mu_z > 0.0f ? 1.0f : negative_slope;
        return linearised(slope * mu_z, slope, var_z);
    }
    case TANH: { // T9
        float x = -2.0f * fabsf(mu_z), e = expf(x), inverse = 1.0f / (1.0f + e), size = -expm1f(x) * inverse;
        float slope = 4.0f * e * inverse * inverse;
        return linearised(mu_z < 0.0f ? -size : size, slope > 1.0f ? 1.0f : slope, var_z);
    }
    case SIGMOID: { // T12
        float e = expf(-fabsf(mu_z)), upper = 1.0f / (1.0f + e), lower = e * upper;
        return linearised(mu_z < 0.0f ? lower : upper, lower * upper, var_z);
    }
    case SOFTPLUS: { // T13
        float e = expf(-fabsf(mu_z)), upper = 1.0f / (1.0f + e);
        return linearised((mu_z > 0.0f ? mu_z : mu_z <= 0.0f ? 0.0f : mu_z) + log1pf(e), mu_z < 0.0f ? e * upper : upper, var_z);
    }
    case MIXTURE_RELU: return mixture_relu(mu_z, var_z);
    default: {
        Moments r = {mu_z, var_z, 1.0f}; // T6
        return r;
    }
    }
}

// T44 of an activation.
DEV float own_part(Moments a, float var_z) {
    float own = a.var - a.slope * a.slope * var_z;
    return own < 0.0f ? 0.0f : own;
}

// How parameters follow their sums; the Rust twin is `Step` in f32.
struct Step {
    int kind; // 0 plain, 1 capped, 2 counted, 3 paced
    float cap, weight, share, mean, precision, pull;
};

DEV float repair(float var_w, float shrink, bool &repaired) {
    bool positive = shrink > 0.0f;
    float var = var_w * (positive ? shrink : 1.0f / 1024.0f);
    bool normal = var >= MIN_POSITIVE;
    if (var_w == 0.0f) return 0.0f;
    repaired = repaired || !(positive && normal);
    return normal ? var : MIN_POSITIVE;
}

DEV float finite_or(float mean, float prior, bool &repaired) {
    if (finite(mean)) return mean;
    repaired = true;
    return prior;
}

// T20, T21, T39, T80.
DEV void learn_step(float &mean, float &var, float g_mean, float g_var, const Step &s, u32 &capped, u32 &repaired) {
    bool mended = false;
    float least = s.cap > 1.0f ? 1.0f / (s.cap * s.cap) : MIN_POSITIVE;
    if (s.kind == 2) {
        float change = s.share * (s.precision * var - 1.0f) - s.weight * var * g_var, grown = 1.0f + change;
        bool within = grown * least <= 1.0f;
        float next = repair(var, within ? 1.0f / grown : least, mended);
        if (within && !mended && grown > 0.0f) next = change < 1.0f ? var - var * (change / grown) : var / grown;
        float delta = next * (s.weight * g_mean - s.share * s.precision * (mean - s.mean)), limit = sqrtf(var) / s.cap;
        bool mean_within = delta * delta * s.cap * s.cap <= var;
        float limited = delta > 0.0f ? limit : delta < 0.0f ? -limit : delta;
        mean = finite_or(mean + (mean_within ? delta : limited), mean, mended);
        var = next;
        capped += !(mean_within && within);
    } else if (s.kind == 3) {
        float change = s.share * (s.precision * var - 1.0f) - var * g_var, grown = 1.0f + change;
        float next = repair(var, 1.0f / grown, mended);
        if (!mended && grown > 0.0f) next = change < 1.0f ? var - var * (change / grown) : var / grown;
        float delta = s.weight * (g_mean - s.pull * mean) * next, limit = sqrtf(next) / s.cap;
        bool within = delta * delta * s.cap * s.cap <= next;
        float limited = delta > 0.0f ? limit : delta < 0.0f ? -limit : delta;
        mean = finite_or(mean + (within ? delta : limited), mean, mended);
        var = next;
        capped += !within;
    } else {
        float delta = var * g_mean, shrink = 1.0f + var * g_var;
        bool mean_within = true, var_within = true;
        if (s.kind == 1) {
            mean_within = delta * g_mean * (s.cap * s.cap) <= 1.0f;
            var_within = s.cap <= 1.0f || shrink >= least;
            float limit = sqrtf(var) / s.cap;
            if (!mean_within) delta = delta > 0.0f ? limit : delta < 0.0f ? -limit : delta;
            if (!var_within) shrink = least;
        }
        mean = finite_or(mean + delta, mean, mended);
        var = repair(var, shrink, mended);
        capped += !(mean_within && var_within);
    }
    repaired += mended;
}

// T28, T29, T32: moments of an activation's slope.
struct Curve {
    float mean, var, bend, twist;
};

DEV Curve square_curve(float straight, float c1, float c2, float mean, float slope, float var_z) {
    float var = slope * slope * var_z, rate = c1 + 2.0f * c2 * mean;
    Curve c = {straight + c2 * var, var * (rate * rate + 2.0f * c2 * c2 * var), rate * slope, c2 * slope * slope};
    return c;
}

DEV Curve curve(int activation, float mu_z, float var_z, Moments a) {
    switch (activation) {
    case TANH: return square_curve(a.slope, 0.0f, -1.0f, a.mean, a.slope, var_z);
    case SIGMOID: return square_curve(a.slope, 1.0f, -1.0f, a.mean, a.slope, var_z);
    case SOFTPLUS: return square_curve(a.slope, 1.0f, 0.0f, a.slope, a.slope * (1.0f - a.slope), var_z);
    case MIXTURE_RELU: {
        float s = sqrtf(var_z), inverse = s > 0.0f ? 1.0f / s : 0.0f, x = fabsf(mu_z * inverse);
        Curve c = {a.slope, a.slope * (1.0f - a.slope), inverse * bell(x > FAR ? FAR : x, 0.0f) * FRAC_1_SQRT_2PI, 0.0f};
        return c;
    }
    default: {
        Curve c = {a.slope, 0.0f, 0.0f, 0.0f};
        return c;
    }
    }
}
