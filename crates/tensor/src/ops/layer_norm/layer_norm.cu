// A block for each row.
extern "C" __global__ void forward(
    float* y, float* normal, float* inverse, const float* x, const float* gain, const float* bias, int width, float epsilon
) {
    const u64 first = (u64)blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[first + i];
    const float mean = over_block<Add>(sum) / width;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float d = x[first + i] - mean;
        squares += d * d;
    }
    const float r = 1.0f / sqrtf(over_block<Add>(squares) / width + epsilon);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float n = (x[first + i] - mean) * r;
        normal[first + i] = n;
        y[first + i] = fmaf(n, gain[i], bias[i]);
    }
    if (threadIdx.x == 0) inverse[blockIdx.x] = r;
}

// `dy` becomes `dx`. The product with the gain is rounded each time alike, not fused into a sum: where all of a row is its mean,
// the differences are then zero.
extern "C" __global__ void backward(
    float* dy, const float* gain, const float* normal, const float* inverse, int width
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
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        dy[first + i] = (__fmul_rn(dy[first + i], gain[i]) - mean - normal[first + i] * share) * r;
}
