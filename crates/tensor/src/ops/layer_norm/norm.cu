// The norm of a row by a block of threads, for the kernels of layer_norm.cu and residual_norm.cu.

// From the sum of a thread's elements of the row `x`: the row normalized, before and after gain and bias, and 1/√(variance + ε). Each
// thread reads the elements of `x` that it wrote or summed.
__device__ __forceinline__ void norm_forward(
    float* y, float* normal, float* inverse, const float* x, float sum, const float* gain, const float* bias, int width,
    float epsilon
) {
    const float mean = over_block<Add>(sum) / width;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float d = x[i] - mean;
        squares += d * d;
    }
    const float r = 1.0f / sqrtf(over_block<Add>(squares) / width + epsilon);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const float n = (x[i] - mean) * r;
        normal[i] = n;
        y[i] = fmaf(n, gain[i], bias[i]);
    }
    if (threadIdx.x == 0) *inverse = r;
}

// The means of a row's backward pass. The product with the gain is rounded each time alike, not fused into a sum: where all of a
// row is its mean, the differences are then zero.
struct NormBackward {
    float mean, along, r;

    __device__ __forceinline__ NormBackward(
        const float* dy, const float* gain, const float* normal, float inverse, int width
    ) {
        float sum = 0.0f, product = 0.0f;
        for (int i = threadIdx.x; i < width; i += blockDim.x) {
            const float g = __fmul_rn(dy[i], gain[i]);
            sum += g;
            product += g * normal[i];
        }
        mean = over_block<Add>(sum) / width;
        along = over_block<Add>(product) / width;
        r = inverse;
    }

    // The gradient of an element of the row.
    __device__ __forceinline__ float dx(float dy, float gain, float normal) const {
        return (__fmul_rn(dy, gain) - mean - normal * along) * r;
    }
};
