// Averages of parameters, and statistics that are recomputed (T81, T82).

struct AverageArgs {
    int n;
    float share;
    const float *mean, *var;
    float *average, *its_var;
    const Status *status;
};

KERNEL(average, AverageArgs, 256) {
    long long i = thread_number();
    if (i >= a.n || a.status->is_broken) return;
    float mean = a.mean[i], m = a.average[i];
    a.average[i] = a.share < 1.0f ? m + a.share * (mean - m) : mean;
    a.its_var[i] = a.var[i];
}

struct RestateArgs {
    int n;
    double share;
    const double *mean, *var;
    double *running_mean, *running_var;
};

KERNEL(restate, RestateArgs, 256) {
    int c = (int)thread_number();
    if (c >= a.n) return;
    double mean = a.running_mean[c], var = a.running_var[c];
    a.running_mean[c] = a.share < 1.0 ? mean + a.share * (a.mean[c] - mean) : a.mean[c];
    a.running_var[c] = a.share < 1.0 ? var + a.share * (a.var[c] - var) : a.var[c];
}
