// Searches that stay on the device: each has a slot, and moves an input towards an output with known weights (T51), within limits.
// A slot is a record of f64 numbers, in the user's units: place, variance, lowest, highest, start, `width` each; then `k` outputs (-1:
// none), `k` wishes, whether one of them is enough, and how far it may go from its start.

#define MOST_ROWS 16    // outputs a search may look at
#define AGAIN 10        // as in step.rs, from here on
#define DAMPED 1e-6
#define MORE 4.0
#define SURE 0.5        // as in search.rs

struct WalkPlaceArgs {
    Layout to;
    int record; // numbers of one
    const u32 *slots;
    const double *records;
    const double *scale; // [2][width]: mean and standard deviation of the network's units
    float *mean;
};

// The places of some slots become the rows of a state.
KERNEL(walk_place, WalkPlaceArgs, 256) {
    long long i = thread_number();
    if (i >= a.to.per_pixel * a.to.pixels) return;
    Unit u = unit_at(a.to, i);
    int width = a.to.channels * a.to.pixels, at = u.channel * a.to.pixels + u.pixel;
    a.mean[i] = u.real ? (float)((a.records[(long long)a.slots[u.row] * a.record + at] - a.scale[at]) / a.scale[width + at]) : 0.0f;
}

struct WalkRowsArgs {
    Layout of; // of `k` rows per search
    int k, width, record;
    const u32 *slots;
    const double *records;
    float *d_mean;
};

// A row per output: one there, zero elsewhere.
KERNEL(walk_rows, WalkRowsArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    Unit u = unit_at(a.of, i);
    int at = u.channel * a.of.pixels + u.pixel;
    a.d_mean[i] = u.real && a.records[(long long)a.slots[u.row / a.k] * a.record + 5 * a.width + u.row % a.k] == at ? 1.0f : 0.0f;
}

struct WalkStepArgs {
    Layout of, rows, output;
    int k, width, record;
    const u32 *slots;
    const double *records, *scale;
    double *held, *moved;      // [slot][width]
    float *near;               // [search][k][width]: the slopes once more, side by side
    const float *slopes, *out; // of the rows, and the output's means
};

DEV double walk_sum(double *s, double mine) {
    int tid = threadIdx.x;
    __syncthreads();
    s[tid] = mine;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    return s[0];
}

// The gain of a damped solution of `k` equations: the smallest damping for which the step is no longer than a draw of the prior.
// The square of its length is gain' V gain.
DEV void walk_solve(const double *v, const double *off, double *c, double *gain, int k, double size, double free) {
    for (double damped = DAMPED * size;; damped *= MORE) {
        bool last = damped > 1e30 * size, ok = true;
        for (int i = 0; i < k && ok; i++)
            for (int j = 0; j <= i && ok; j++) {
                double rest = v[i * MOST_ROWS + j] + (i == j ? damped : 0.0);
                for (int l = 0; l < j; l++) rest -= c[i * MOST_ROWS + l] * c[j * MOST_ROWS + l];
                if (i != j) c[i * MOST_ROWS + j] = rest / c[j * MOST_ROWS + j];
                else if (rest > 0.0) c[i * MOST_ROWS + i] = sqrt(rest);
                else ok = false;
            }
        if (!ok && !last) continue;
        for (int i = 0; i < k; i++) {
            double rest = off[i];
            for (int j = 0; j < i; j++) rest -= c[i * MOST_ROWS + j] * gain[j];
            gain[i] = rest / c[i * MOST_ROWS + i];
        }
        for (int i = k - 1; i >= 0; i--) {
            double rest = gain[i];
            for (int j = i + 1; j < k; j++) rest -= c[j * MOST_ROWS + i] * gain[j];
            gain[i] = rest / c[i * MOST_ROWS + i];
        }
        double square = 0.0;
        for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++) square += gain[i] * v[i * MOST_ROWS + j] * gain[j];
        if (square <= free || last) return;
    }
}

// One block per search: where it goes next.
KERNEL(walk_step, WalkStepArgs, 128) {
    __shared__ double s[128], v[MOST_ROWS * MOST_ROWS], c[MOST_ROWS * MOST_ROWS], off[MOST_ROWS], left[MOST_ROWS], gain[MOST_ROWS];
    __shared__ int open[MOST_ROWS], count;
    int row = blockIdx.x, tid = threadIdx.x, width = a.width;
    const double *x = a.records + (long long)a.slots[row] * a.record, *std = a.scale + width;
    const double *var = x + width, *low = var + width, *high = low + width, *from = high + width;
    const double *outputs = from + width, *wish = outputs + a.k;
    bool one_is_enough = wish[a.k] != 0.0;
    double radius = wish[a.k + 1];
    double *held = a.held + (long long)a.slots[row] * width, *moved = a.moved + (long long)a.slots[row] * width;
    float *near = a.near + (long long)row * a.k * width;
    for (int u = tid; u < width; u += 128)
        for (int i = 0, channel = u / a.of.pixels; i < a.k; i++)
            near[i * width + u] = a.slopes[place(a.rows, u - channel * a.of.pixels, row * a.k + i, channel)];
    // Only for the entries of this thread.
    auto slope = [&](int i, int u) { return (double)near[i * width + u]; };
    // A variance in the network's units; none where an entry is at its limit.
    auto free_var = [&](int u) { return held[u] == held[u] ? 0.0 : var[u] / (std[u] * std[u]); };
    for (int u = tid; u < width; u += 128) held[u] = nan("");
    if (tid == 0) {
        int wanted = 0;
        count = 0;
        for (int i = 0; i < a.k; i++) {
            int output = (int)outputs[i];
            if (output < 0) continue;
            wanted++;
            int channel = output / a.output.pixels;
            double y = wish[i], mean = a.out[place(a.output, output - channel * a.output.pixels, row, channel)];
            if (!(y * mean < SURE)) continue;
            off[count] = y - mean;
            open[count++] = i;
        }
        if (one_is_enough && count < wanted) count = 0;
    }
    __syncthreads();
    if (one_is_enough && count > 1) {
        // The easiest one: the fewest standard deviations away.
        double best = 0.0;
        int easiest = 0;
        for (int j = 0; j < count; j++) {
            double mine = 0.0;
            for (int u = tid; u < width; u += 128) mine += slope(open[j], u) * slope(open[j], u) * free_var(u);
            double far = fabs(off[j]) / sqrt(walk_sum(s, mine));
            if (j == 0 || far < best) best = far, easiest = j;
        }
        __syncthreads();
        if (tid == 0) open[0] = open[easiest], off[0] = off[easiest], count = 1;
        __syncthreads();
    }
    int k = count;
    for (int again = 0; again <= AGAIN && k > 0; again++) {
        double size = 0.0, free = 0.0;
        for (int i = 0; i < k; i++) {
            for (int j = 0; j <= i; j++) {
                double mine = 0.0;
                for (int u = tid; u < width; u += 128) mine += slope(open[i], u) * free_var(u) * slope(open[j], u);
                double sum = walk_sum(s, mine);
                if (tid == 0) v[i * MOST_ROWS + j] = v[j * MOST_ROWS + i] = sum;
                if (i == j) size += sum / k;
            }
            double mine = 0.0;
            for (int u = tid; u < width; u += 128) mine += held[u] == held[u] ? slope(open[i], u) * held[u] : 0.0;
            double sum = walk_sum(s, mine);
            if (tid == 0) left[i] = off[i] - sum, gain[i] = 0.0;
        }
        for (int u = tid; u < width; u += 128) free += free_var(u) > 0.0 ? 1.0 : 0.0;
        free = walk_sum(s, free);
        if (tid == 0 && size > 0.0) {
            // Numbers that are not finite show in the next pass.
            if (size <= 1e300) walk_solve(v, left, c, gain, k, size, free);
            else gain[0] = nan("");
        }
        if (tid == 0 && size != size) gain[0] = nan("");
        __syncthreads();
        bool last = again == AGAIN;
        double out = 0.0;
        for (int u = tid; u < width; u += 128) {
            double p = free_var(u), pull = 0.0;
            for (int i = 0; i < k; i++) pull += slope(open[i], u) * gain[i];
            double step = pull * p, below = (low[u] - x[u]) / std[u], above = (high[u] - x[u]) / std[u];
            moved[u] = held[u] == held[u] ? held[u] : step;
            if (p > 0.0 && (step < below || step > above)) {
                out = 1.0;
                held[u] = moved[u] = fmin(fmax(step, fmin(below, 0.0)), fmax(above, 0.0));
            }
        }
        if (walk_sum(s, out) == 0.0 || last) break;
    }
    // Within the radius, then within the limits.
    double square = 0.0;
    for (int u = tid; u < width; u += 128) {
        double to = x[u] + (k > 0 ? moved[u] * std[u] : 0.0), by = to - from[u];
        moved[u] = to;
        square += by * by;
    }
    double norm = sqrt(walk_sum(s, square));
    for (int u = tid; u < width; u += 128) {
        double to = moved[u];
        if (norm > radius) to = from[u] + (to - from[u]) * (radius / norm);
        moved[u] = to < low[u] ? low[u] : to > high[u] ? high[u] : to;
    }
}

struct WalkCopyArgs {
    int width, from_stride, to_stride;
    int from_slots, to_slots; // whether these rows are slots, or lie without gaps
    const u32 *slots;
    const double *from;
    double *to;
};

// Copies some numbers of every slot: between slots, or to or from rows without gaps.
KERNEL(walk_copy, WalkCopyArgs, 128) {
    int u = blockIdx.x * 128 + threadIdx.x;
    if (u >= a.width) return;
    long long slot = a.slots[blockIdx.y], row = blockIdx.y;
    a.to[(a.to_slots ? slot : row) * a.to_stride + u] = a.from[(a.from_slots ? slot : row) * a.from_stride + u];
}
