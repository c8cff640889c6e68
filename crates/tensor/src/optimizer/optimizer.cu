// The sum of the squares of a block's share of `g`, as a double.
extern "C" __global__ void square_sums(double* sums, const float* g, int count) {
    double sum = 0.0;
    FOR_EACH(i, count) sum += (double)g[i] * g[i];
    sum = over_block<Add>(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One block: the root of the sum of all blocks' sums.
extern "C" __global__ void root_of_sum(float* norm, const double* sums, int count) {
    double sum = 0.0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += sums[i];
    sum = over_block<Add>(sum);
    if (threadIdx.x == 0) *norm = (float)sqrt(sum);
}

extern "C" __global__ void adam(
    float* w, float* m, float* v, const float* g, int count,
    const float* norm, float limit, float b1, float b2, float rate, float root, float epsilon, float keep
) {
    const float factor = clipping(norm, limit);
    FOR_EACH(i, count) {
        const float x = g[i] * factor;
        const float first = fmaf(b1, m[i], (1.0f - b1) * x);
        const float second = fmaf(b2, v[i], (1.0f - b2) * x * x);
        m[i] = first;
        v[i] = second;
        w[i] = w[i] * keep - rate * first / fmaf(sqrtf(second), root, epsilon);
    }
}

extern "C" __global__ void sgd(
    float* w, float* m, const float* g, int count, const float* norm, float limit, float momentum, float rate
) {
    const float factor = clipping(norm, limit);
    FOR_EACH(i, count) {
        const float next = fmaf(momentum, m[i], g[i] * factor);
        m[i] = next;
        w[i] -= rate * next;
    }
}

extern "C" __global__ void lion(
    float* w, float* m, const float* g, int count,
    const float* norm, float limit, float b1, float b2, float rate, float keep
) {
    const float factor = clipping(norm, limit);
    FOR_EACH(i, count) {
        const float x = g[i] * factor, before = m[i];
        const float towards = fmaf(b1, before, (1.0f - b1) * x);
        m[i] = fmaf(b2, before, (1.0f - b2) * x);
        const float sign = (towards > 0.0f) - (towards < 0.0f);
        w[i] = w[i] * keep - rate * sign;
    }
}

// The moving average of weights.
extern "C" __global__ void average(float* a, const float* w, int count, float kept) {
    FOR_EACH(i, count) a[i] = fmaf(kept, a[i] - w[i], w[i]);
}
