// A block for each row. A thread writes and reads the same places of `sum`.
extern "C" __global__ void forward(
    float* sum, float* y, float* normal, float* inverse, const float* x, const float* f, const float* gain,
    const float* bias, int width, float epsilon, Dropping drop
) {
    const u64 first = (u64)blockIdx.x * width;
    float total = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float s = x[first + i] + __fmul_rn(f[first + i], drop_factor(drop, blockIdx.x, i));
        sum[first + i] = s;
        total += s;
    }
    const float mean = over_block<Add>(total) / width;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float d = sum[first + i] - mean;
        squares += d * d;
    }
    const float r = 1.0f / sqrtf(over_block<Add>(squares) / width + epsilon);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float n = (sum[first + i] - mean) * r;
        normal[first + i] = n;
        y[first + i] = fmaf(n, gain[i], bias[i]);
    }
    if (threadIdx.x == 0) inverse[blockIdx.x] = r;
}

// As that of the norm alone, and the sum's own gradient on top.
extern "C" __global__ void backward(
    float* dy, const float* ds, const float* gain, const float* normal, const float* inverse, int width
) {
    const u64 first = (u64)blockIdx.x * width;
    float sum = 0.0f, along = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float g = __fmul_rn(dy[first + i], gain[i]);
        sum += g;
        along += g * normal[first + i];
    }
    const float mean = over_block<Add>(sum) / width, share = over_block<Add>(along) / width;
    const float r = inverse[blockIdx.x];
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float of_norm = (__fmul_rn(dy[first + i], gain[i]) - mean - normal[first + i] * share) * r;
        dy[first + i] = of_norm + (ds ? ds[first + i] : 0.0f);
    }
}

extern "C" __global__ void drop(float* df, const float* ds, int rows, int width, Dropping drop) {
    FOR_EACH(i, (u64)rows * width) df[i] = ds[i] * drop_factor(drop, i / width, i % width);
}
