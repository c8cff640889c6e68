extern "C" __global__ void forward(float* y, const float* a, const float* b, u32 count) {
    FOR_EACH(i, count) y[i] = binary_forward(a[i], b[i]);
}

// `dy` becomes `da`.
extern "C" __global__ void backward(float* dy, float* db, const float* a, const float* b, u32 count) {
    FOR_EACH(i, count) binary_backward(a[i], b[i], dy[i], dy + i, db + i);
}
