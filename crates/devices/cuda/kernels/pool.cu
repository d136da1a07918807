// Pooling: one thread for every number of the output, or of the input on the way back.

struct PoolArgs {
    Layout x, z, forward;
    int height, width, down, across; // of input and output
    int kernel, stride, before, is_max, k;
    int relu;          // the input holds pre-activations
    const float *mask; // null, or means: where they are not positive nothing goes down
    const float *x_mean, *x_var;
    float *z_mean, *z_var;
    u32 *picked; // of the forward state
    const float *z_d_mean, *z_d_var;
    float *x_d_mean, *x_d_var; // variances are null for rows
    u32 *broken;
};

KERNEL(pool, PoolArgs, 256) {
    long long i = thread_number();
    if (i >= a.z.per_pixel * a.z.pixels) return;
    Unit u = unit_at(a.z, i);
    float mean = 0.0f, var = 0.0f;
    u32 pick = 0xffffffffu;
    if (u.real) {
        int oy = u.pixel / a.across, ox = u.pixel % a.across;
        for (int ky = 0; ky < a.kernel; ky++) {
            int y = oy * a.stride - a.before + ky;
            if (y < 0 || y >= a.height) continue;
            for (int kx = 0; kx < a.kernel; kx++) {
                int x = ox * a.stride - a.before + kx;
                if (x < 0 || x >= a.width) continue;
                int pixel = y * a.width + x;
                long long at = place(a.x, pixel, u.row, u.channel);
                float m = a.x_mean[at], v = a.x_var[at];
                if (a.relu && m <= 0.0f) m = v = 0.0f;
                if (!a.is_max) {
                    mean += m;
                    var += v;
                } else if (pick == 0xffffffffu || m > mean) {
                    mean = m;
                    var = v;
                    pick = pixel;
                }
            }
        }
        if (!a.is_max) {
            float cells = (float)(a.kernel * a.kernel);
            mean *= 1.0f / cells;
            var *= 1.0f / (cells * cells);
        }
    }
    a.z_mean[i] = mean;
    a.z_var[i] = var;
    if (a.is_max) a.picked[i] = pick;
    if (!finite(mean) || !finite(var)) *a.broken = 1;
}

// Where channels lie side by side, four of them per thread, one pixel per row of blocks: nothing to divide.
KERNEL(average_four, PoolArgs, 256) {
    long long per = a.z.per_pixel / 4, i = thread_number();
    if (i >= per) return;
    int oy = blockIdx.y / a.across, ox = blockIdx.y - oy * a.across;
    float4 mean = make_float4(0.0f, 0.0f, 0.0f, 0.0f), var = mean;
    for (int ky = 0; ky < a.kernel; ky++) {
        int y = oy * a.stride - a.before + ky;
        if (y < 0 || y >= a.height) continue;
        for (int kx = 0; kx < a.kernel; kx++) {
            int x = ox * a.stride - a.before + kx;
            if (x < 0 || x >= a.width) continue;
            long long at = (y * a.width + x) * per + i;
            float4 m = ((const float4 *)a.x_mean)[at], v = ((const float4 *)a.x_var)[at];
            if (a.relu) v = where_positive(v, m), m = where_positive(m, m);
            add4(mean, m);
            add4(var, v);
        }
    }
    float cells = (float)(a.kernel * a.kernel);
    mean = times(mean, 1.0f / cells), var = times(var, 1.0f / (cells * cells));
    long long at = blockIdx.y * per + i;
    ((float4 *)a.z_mean)[at] = mean;
    ((float4 *)a.z_var)[at] = var;
    if (!finite4(mean) || !finite4(var)) *a.broken = 1;
}

KERNEL(average_four_back, PoolArgs, 256) {
    long long per = a.x.per_pixel / 4, i = thread_number();
    if (i >= per) return;
    int y = blockIdx.y / a.width, x = blockIdx.y - y * a.width;
    float4 mean = make_float4(0.0f, 0.0f, 0.0f, 0.0f), var = mean;
    for (int ky = 0; ky < a.kernel; ky++) {
        int oy = y + a.before - ky;
        if (oy < 0 || oy % a.stride || oy / a.stride >= a.down) continue;
        for (int kx = 0; kx < a.kernel; kx++) {
            int ox = x + a.before - kx;
            if (ox < 0 || ox % a.stride || ox / a.stride >= a.across) continue;
            long long at = (oy / a.stride * a.across + ox / a.stride) * per + i;
            add4(mean, ((const float4 *)a.z_d_mean)[at]);
            if (a.x_d_var) add4(var, ((const float4 *)a.z_d_var)[at]);
        }
    }
    float cells = (float)(a.kernel * a.kernel);
    mean = times(mean, 1.0f / cells), var = times(var, 1.0f / (cells * cells));
    long long at = blockIdx.y * per + i;
    if (a.mask) {
        float4 m = ((const float4 *)a.mask)[at];
        mean = where_positive(mean, m), var = where_positive(var, m);
    }
    ((float4 *)a.x_d_mean)[at] = mean;
    if (a.x_d_var) ((float4 *)a.x_d_var)[at] = var;
    if (!finite4(mean) || !finite4(var)) *a.broken = 1;
}

KERNEL(pool_back, PoolArgs, 256) {
    long long i = thread_number();
    if (i >= a.x.per_pixel * a.x.pixels) return;
    Unit u = unit_at(a.x, i);
    float mean = 0.0f, var = 0.0f;
    if (u.real) {
        int y = u.pixel / a.width, x = u.pixel % a.width;
        for (int ky = 0; ky < a.kernel; ky++) {
            int oy = y + a.before - ky;
            if (oy < 0 || oy % a.stride || oy / a.stride >= a.down) continue;
            for (int kx = 0; kx < a.kernel; kx++) {
                int ox = x + a.before - kx;
                if (ox < 0 || ox % a.stride || ox / a.stride >= a.across) continue;
                int out = oy / a.stride * a.across + ox / a.stride;
                long long at = place(a.z, out, u.row, u.channel);
                if (a.is_max && a.picked[place(a.forward, out, u.row / a.k, u.channel)] != (u32)u.pixel) continue;
                mean += a.z_d_mean[at];
                if (a.x_d_var) var += a.z_d_var[at];
            }
        }
        if (!a.is_max) {
            float cells = (float)(a.kernel * a.kernel);
            mean *= 1.0f / cells;
            var *= 1.0f / (cells * cells);
        }
    }
    if (a.mask && a.mask[i] <= 0.0f) mean = var = 0.0f;
    a.x_d_mean[i] = mean;
    if (a.x_d_var) a.x_d_var[i] = var;
    if (!finite(mean) || !finite(var)) *a.broken = 1;
}
