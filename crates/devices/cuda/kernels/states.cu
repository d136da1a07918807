// States: in from outside, out again, and everything done unit by unit.

struct LayOutArgs {
    Layout to;
    const float *from; // [rows][channels][pixels]
    float *out;
};

KERNEL(lay_out, LayOutArgs, 256) {
    long long i = thread_number();
    if (i >= a.to.per_pixel * a.to.pixels) return;
    Unit u = unit_at(a.to, i);
    a.out[i] = u.real ? a.from[((long long)u.row * a.to.channels + u.channel) * a.to.pixels + u.pixel] : 0.0f;
}

struct ReadOutArgs {
    Layout from;
    const float *in;
    float *to; // [rows][channels][pixels]
};

KERNEL(read_out, ReadOutArgs, 256) {
    long long i = thread_number();
    if (i >= a.from.per_pixel * a.from.pixels) return;
    Unit u = unit_at(a.from, i);
    if (u.real) a.to[((long long)u.row * a.from.channels + u.channel) * a.from.pixels + u.pixel] = a.in[i];
}

struct GatherArgs {
    Layout to;
    const float *table; // [rows][channels][pixels]
    const u32 *rows;
    float *mean;
};

KERNEL(gather, GatherArgs, 256) {
    long long i = thread_number();
    if (i >= a.to.per_pixel * a.to.pixels) return;
    Unit u = unit_at(a.to, i);
    a.mean[i] = u.real ? a.table[((long long)a.rows[u.row] * a.to.channels + u.channel) * a.to.pixels + u.pixel] : 0.0f;
}

// Whole images of bytes into a flat state, unchanged, four bytes per thread.
struct GatherFlatArgs {
    int fours; // of an image
    const u8 *pixels;
    const float *scaled; // one channel
    const u32 *rows;
    float *mean;
};

KERNEL(gather_flat, GatherFlatArgs, 128) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= a.fours) return;
    u32 bytes = ((const u32 *)a.pixels)[(long long)a.rows[blockIdx.y] * a.fours + i];
    ((float4 *)a.mean)[(long long)blockIdx.y * a.fours + i] = make_float4(a.scaled[bytes & 255], a.scaled[(bytes >> 8) & 255], a.scaled[(bytes >> 16) & 255], a.scaled[bytes >> 24]);
}

// A random change of an image: the Rust `Change`.
struct Change {
    int flip, down, right, hole_top, hole_bottom, hole_left, hole_right;
};

// Images are bytes, [image][channels][height][width]. The state may be flat.
struct GatherImagesArgs {
    Layout to;
    int channels, height, width;
    const u8 *pixels;
    const float *scaled; // [channels][256]: the number of every byte
    const float *greys;  // [images][channels]: the number of a hole
    const u32 *rows;
    const Change *changes; // null: none
    float *mean;
};

KERNEL(gather_images, GatherImagesArgs, 256) {
    long long i = thread_number();
    if (i >= a.to.per_pixel * a.to.pixels) return;
    Unit u = unit_at(a.to, i);
    float value = 0.0f;
    if (u.real) {
        int at = u.channel * a.to.pixels + u.pixel, size = a.height * a.width, channel = at / size;
        int y = (at - channel * size) / a.width, x = at - channel * size - y * a.width;
        u32 image = a.rows[u.row];
        const u8 *plane = a.pixels + ((long long)image * a.channels + channel) * size;
        const float *scaled = a.scaled + channel * 256;
        if (a.changes) {
            Change c = a.changes[u.row];
            int r = y + c.down, s = x + c.right;
            bool shown = r >= 0 && r < a.height && s >= 0 && s < a.width;
            if (y >= c.hole_top && y < c.hole_bottom && x >= c.hole_left && x < c.hole_right) value = a.greys[(long long)image * a.channels + channel];
            else value = scaled[shown ? plane[r * a.width + (c.flip ? a.width - 1 - s : s)] : 0];
        } else {
            value = scaled[plane[y * a.width + x]];
        }
    }
    a.mean[i] = value;
}

struct ActivateArgs {
    long long n;
    int activation;
    float negative_slope;
    const float *z_mean, *z_var;
    float *mean, *var, *slope, *own; // `own` may be null
    u32 *broken;
};

KERNEL(activate, ActivateArgs, 256) {
    long long i = thread_number();
    if (i >= a.n) return;
    float var_z = a.z_var[i];
    Moments m = activated(a.activation, a.negative_slope, a.z_mean[i], var_z);
    a.mean[i] = m.mean;
    a.var[i] = m.var;
    a.slope[i] = m.slope;
    if (a.own) a.own[i] = own_part(m, var_z);
    if (!finite(m.mean) || !finite(m.var)) *a.broken = 1;
}

// Innovations of an activation become those of its pre-activation; `k` rows share the slopes of a sample.
struct ActivateBackArgs {
    Layout of; // of the rows
    int k;
    Layout forward;
    const float *slope, *a_mean, *a_var; // `a_var` and `z_var` are null for rows
    float *z_mean, *z_var;
    u32 *broken;
};

KERNEL(activate_back, ActivateBackArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    float slope = 0.0f;
    if (a.k == 1) {
        slope = a.slope[i];
    } else {
        Unit u = unit_at(a.of, i);
        if (u.real) slope = a.slope[place(a.forward, u.pixel, u.row / a.k, u.channel)];
    }
    float d = slope * a.a_mean[i]; // T18
    a.z_mean[i] = d;
    bool ok = finite(d);
    if (a.z_var) {
        float v = slope * slope * a.a_var[i];
        a.z_var[i] = v;
        ok = ok && finite(v);
    }
    if (!ok) *a.broken = 1;
}

// The same where channels lie side by side: four of them per thread, one pixel per row of blocks.
KERNEL(activate_back_four, ActivateBackArgs, 256) {
    u32 per = (u32)(a.of.per_pixel / 4), stride = a.of.stride / 4, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= per) return;
    u32 row = i / stride;
    float4 slope = ((const float4 *)a.slope)[(blockIdx.y * a.forward.per_pixel + (long long)(row / a.k) * a.forward.stride) / 4 + i - row * stride];
    long long at = (long long)blockIdx.y * per + i;
    float4 d = times4(slope, ((const float4 *)a.a_mean)[at]); // T18
    ((float4 *)a.z_mean)[at] = d;
    bool ok = finite4(d);
    if (a.z_var) {
        float4 v = times4(times4(slope, slope), ((const float4 *)a.a_var)[at]);
        ((float4 *)a.z_var)[at] = v;
        ok = ok && finite4(v);
    }
    if (!ok) *a.broken = 1;
}

// Adds one state's pair of arrays to another's, or copies it; layouts may differ.
struct CombineArgs {
    Layout from, to;
    int more;
    const float *from_a, *from_b;
    float *to_a, *to_b;
    u32 *broken;
};

KERNEL(combine, CombineArgs, 256) {
    long long i = thread_number();
    if (i >= a.to.per_pixel * a.to.pixels) return;
    Unit u = unit_at(a.to, i);
    float x = 0.0f, y = 0.0f;
    if (u.real) {
        long long at = place(a.from, u.pixel, u.row, u.channel);
        x = a.from_a[at];
        y = a.from_b[at];
    }
    if (a.more) {
        x += a.to_a[i];
        y += a.to_b[i];
    }
    a.to_a[i] = x;
    a.to_b[i] = y;
    if (!finite(x) || !finite(y)) *a.broken = 1;
}

// Nothing goes down where ReLU is flat.
struct MaskArgs {
    long long n;
    const float *mean;
    float *d_mean, *d_var;
};

KERNEL(mask, MaskArgs, 256) {
    long long i = thread_number();
    if (i < a.n && a.mean[i] <= 0.0f) a.d_mean[i] = a.d_var[i] = 0.0f;
}

struct PosteriorArgs {
    long long n;
    float *mean, *var;
    const float *d_mean, *d_var;
};

KERNEL(posterior, PosteriorArgs, 256) {
    long long i = thread_number();
    if (i >= a.n) return;
    float mean = a.mean[i], var = a.var[i]; // T19
    float next = var * (1.0f + var * a.d_var[i]);
    a.mean[i] = mean + var * a.d_mean[i];
    a.var[i] = next < 0.0f ? 0.0f : next;
}

// The observation of a batch: [rows][width], column = channel * pixels + pixel.
struct Seen {
    const float *y, *noise; // noise: one, one per output, or one per entry
    const u8 *seen;         // null: everything
    const u32 *rows;        // null, or the rows of y, a table in which what was not seen is NaN
    int noise_kind;         // 0 one, 1 per output, 2 per entry
};

DEV float noise_at(const Seen &s, int row, int column, int width) {
    return s.noise[s.noise_kind == 0 ? 0 : s.noise_kind == 1 ? column : (long long)row * width + column];
}

struct ObserveArgs {
    Layout of;
    Seen seen;
    const float *mean, *var;
    float *d_mean, *d_var;
    u32 *broken;
};

KERNEL(observe, ObserveArgs, 256) {
    long long i = thread_number();
    if (i >= a.of.per_pixel * a.of.pixels) return;
    Unit u = unit_at(a.of, i);
    float d = 0.0f, v = 0.0f;
    if (u.real) {
        int width = a.of.channels * a.of.pixels, column = u.channel * a.of.pixels + u.pixel;
        long long at = (long long)u.row * width + column;
        float y = a.seen.y[a.seen.rows ? (long long)a.seen.rows[u.row] * width + column : at];
        if (a.seen.rows ? y == y : !a.seen.seen || a.seen.seen[at]) {
            float total = a.var[i] + noise_at(a.seen, u.row, column, width); // T17
            float gain = total < MIN_POSITIVE ? 0.0f : 1.0f / total;
            d = gain * (y - a.mean[i]);
            v = 0.0f - gain; // not -gain: a NaN keeps its sign, as tf32 needs
        }
    }
    a.d_mean[i] = d;
    a.d_var[i] = v;
    if (!finite(d) || !finite(v)) *a.broken = 1;
}

// T90 and T91, one block per row, padding included: sums are added in a fixed order. The output has one pixel.
DEV float all_of_block(float v, bool sum) {
    __shared__ float s[256];
    int tid = threadIdx.x;
    s[tid] = v;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (tid < half) s[tid] = sum ? s[tid] + s[tid + half] : fmaxf(s[tid], s[tid + half]);
        __syncthreads();
    }
    v = s[0];
    __syncthreads();
    return v;
}

DEV float tempered(const ObserveArgs &a, long long at) {
    return a.mean[at] / sqrtf(1.0f + 0.39269908f * a.var[at]);
}

KERNEL(observe_class, ObserveArgs, 256) {
    int row = blockIdx.x, tid = threadIdx.x, classes = row < a.of.rows ? a.of.channels : 0;
    float most = -3.4e38f, sum = 0.0f;
    for (int c = tid; c < classes; c += 256) most = fmaxf(most, tempered(a, place(a.of, 0, row, c)));
    most = all_of_block(most, false);
    for (int c = tid; c < classes; c += 256) sum += expf(tempered(a, place(a.of, 0, row, c)) - most);
    sum = all_of_block(sum, true);
    int columns = a.of.per_channel == 1 ? a.of.stride : a.of.channels;
    for (int c = tid; c < columns; c += 256) {
        long long at = place(a.of, 0, row, c);
        float d = 0.0f, v = 0.0f;
        if (c < classes) {
            long long there = (long long)(a.seen.rows ? a.seen.rows[row] : row) * classes + c;
            float y = a.seen.y[there];
            if (a.seen.rows ? y == y : !a.seen.seen || a.seen.seen[there]) {
                float p = expf(tempered(a, at) - most) / sum, l = p * (1.0f - p), share = 1.0f / (1.0f + a.var[at] * l);
                d = share * (y - p);
                v = 0.0f - share * l;
            }
        }
        a.d_mean[at] = d;
        a.d_var[at] = v;
        if (!finite(d) || !finite(v)) *a.broken = 1;
    }
}

// T40 to T42, one block per output: squares are summed in a fixed order.
struct InferNoiseArgs {
    Layout of, head;
    Seen seen;
    const float *mean, *var;
    const float *head_mean, *head_var; // null: no head
    float *head_d_mean, *head_d_var;
    double *sums; // [outputs][2]: squares, entries
};

KERNEL(infer_noise, InferNoiseArgs, 256) {
    __shared__ double squares[256];
    __shared__ double entries[256];
    int column = blockIdx.x, width = a.of.channels * a.of.pixels, tid = threadIdx.x;
    int channel = column / a.of.pixels, pixel = column % a.of.pixels;
    double sum = 0.0, count = 0.0;
    for (int row = tid; row < a.of.rows; row += 256) {
        long long at = place(a.of, pixel, row, channel), there = (long long)row * width + column;
        bool is_seen = !a.seen.seen || a.seen.seen[there];
        long long log = 0;
        float noise, spread = 0.0f;
        if (a.head_mean) {
            log = place(a.head, pixel, row, channel);
            float l = a.head_mean[log] + 0.5f * a.head_var[log];
            noise = expf(l < -25.0f ? -25.0f : l > 10.0f ? 10.0f : l); // T41
            float v = a.head_var[log];
            spread = expm1f(v > 5.0f ? 5.0f : v);
        } else {
            noise = noise_at(a.seen, row, column, width);
        }
        float var = a.var[at], total = var + noise, k = total < MIN_POSITIVE ? 0.0f : noise / total; // T40
        float v_mean = k * (a.seen.y[there] - a.mean[at]), v_var = k * var, squared = v_mean * v_mean;
        float mean2 = squared + v_var, var2 = 2.0f * v_var * v_var + 4.0f * v_var * squared;
        if (is_seen) {
            sum += mean2;
            count += 1.0;
        }
        if (a.head_mean) { // T42
            float s = 3.0f * spread + 2.0f, d_var = (var2 / (noise * noise) - s) / (s * s);
            a.head_d_mean[log] = is_seen ? (mean2 / noise - 1.0f) / s : 0.0f;
            a.head_d_var[log] = is_seen ? (d_var > 0.0f ? 0.0f : d_var) : 0.0f;
        }
    }
    squares[tid] = sum;
    entries[tid] = count;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (tid < half) {
            squares[tid] += squares[tid + half];
            entries[tid] += entries[tid + half];
        }
        __syncthreads();
    }
    if (tid == 0) {
        a.sums[2 * column] = squares[0];
        a.sums[2 * column + 1] = entries[0];
    }
}

// One block looks for what is not finite, where a kernel that wrote the last state raised its flag; it does nothing otherwise.
struct Checked {
    Layout of;
    const float *first, *second;
};

struct CheckArgs {
    u32 *flag; // of the state that decides
    Status *status;
    int states, number, last; // how many, the number of the first, and whether no more come after them
    Checked state[16];
};

KERNEL(check, CheckArgs, 256) {
    __shared__ long long found[256];
    __shared__ int stop;
    int tid = threadIdx.x;
    if (tid == 0) {
        stop = *a.flag == 0 || a.status->is_broken;
        if (a.last) *a.flag = 0;
    }
    __syncthreads();
    if (stop) return;
    const long long none = 0x7fffffffffffffffll;
    for (int s = 0; s < a.states; s++) {
        const Checked &c = a.state[s];
        long long per_row = (long long)c.of.channels * c.of.pixels, all = per_row * c.of.rows;
        for (int part = 0; part < 2; part++) {
            const float *v = part ? c.second : c.first;
            long long first = none;
            for (long long i = tid; v && i < all && first == none; i += 256) {
                int row = (int)(i / per_row), in_row = (int)(i % per_row);
                if (!finite(v[place(c.of, in_row % c.of.pixels, row, in_row / c.of.pixels)])) first = i;
            }
            found[tid] = first;
            __syncthreads();
            for (int half = 128; half > 0; half /= 2) {
                if (tid < half && found[tid + half] < found[tid]) found[tid] = found[tid + half];
                __syncthreads();
            }
            long long i = found[0];
            __syncthreads();
            if (i != none) {
                if (tid == 0) {
                    int row = (int)(i / per_row), in_row = (int)(i % per_row);
                    a.status->state = a.number + s;
                    a.status->row = row;
                    a.status->value = v[place(c.of, in_row % c.of.pixels, row, in_row / c.of.pixels)];
                    a.status->is_broken = 1;
                }
                return;
            }
        }
    }
}
