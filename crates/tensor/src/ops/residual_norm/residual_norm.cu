// A block for each row.
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
    norm_forward(y + first, normal + first, inverse + blockIdx.x, sum + first, total, gain, bias, width, epsilon);
}

// As that of the norm alone, plus the sum's own gradient.
extern "C" __global__ void backward(
    float* dy, const float* ds, const float* gain, const float* normal, const float* inverse, int width
) {
    const u64 first = (u64)blockIdx.x * width;
    const NormBackward norm(dy + first, gain, normal + first, inverse[blockIdx.x], width);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        dy[first + i] = norm.dx(dy[first + i], gain[i], normal[first + i]) + (ds ? ds[first + i] : 0.0f);
}

extern "C" __global__ void drop(float* df, const float* ds, int rows, int width, Dropping drop) {
    FOR_EACH(i, (u64)rows * width) df[i] = ds[i] * drop_factor(drop, i / width, i % width);
}
