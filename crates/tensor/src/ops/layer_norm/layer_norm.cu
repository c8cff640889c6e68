// A block for each row.
extern "C" __global__ void forward(
    float* y, float* normal, float* inverse, const float* x, const float* gain, const float* bias, int width, float epsilon
) {
    const u64 first = (u64)blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[first + i];
    norm_forward(y + first, normal + first, inverse + blockIdx.x, x + first, sum, gain, bias, width, epsilon);
}

// Replaces `dy` by `dx`.
extern "C" __global__ void backward(
    float* dy, const float* gain, const float* normal, const float* inverse, int width
) {
    const u64 first = (u64)blockIdx.x * width;
    const NormBackward norm(dy + first, gain, normal + first, inverse[blockIdx.x], width);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        dy[first + i] = norm.dx(dy[first + i], gain[i], normal[first + i]);
}
