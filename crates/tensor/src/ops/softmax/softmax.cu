// A block for each row, of which the first counts[row] places count.
extern "C" __global__ void forward(float* y, const float* x, const u32* counts, int width) {
    const u64 first = (u64)blockIdx.x * width;
    const int count = counts[blockIdx.x];
    float most = -INFINITE;
    for (int i = threadIdx.x; i < count; i += blockDim.x) most = fmaxf(most, x[first + i]);
    most = over_block<Largest>(most);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += expf(x[first + i] - most);
    const float inverse = 1.0f / over_block<Add>(sum);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[first + i] = i < count ? expf(x[first + i] - most) * inverse : 0.0f;
}

// `dy` becomes `dx`.
extern "C" __global__ void backward(float* dy, const float* y, const u32* counts, int width) {
    const u64 first = (u64)blockIdx.x * width;
    const int count = counts[blockIdx.x];
    float inner = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) inner += y[first + i] * dy[first + i];
    inner = over_block<Add>(inner);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        dy[first + i] = i < count ? y[first + i] * (dy[first + i] - inner) : 0.0f;
}
