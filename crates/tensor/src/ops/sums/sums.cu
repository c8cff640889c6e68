// The sums of columns, or of a ⊙ b's where there is a `b`. A block has 32 columns and as many rows of threads; rows are added in
// an order that depends on their number alone.
template <class Number> __device__ __forceinline__ void add_columns(
    float* out, const Number* a, const float* b, int rows, int columns, int stride, int add
) {
    __shared__ float parts[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    if (column < columns)
        for (int row = threadIdx.y; row < rows; row += 32) {
            const u64 place = (u64)row * stride + column;
            sum += b ? number(a[place]) * b[place] : number(a[place]);
        }
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        float total = 0.0f;
        for (int i = 0; i < 32; i++) total += parts[i][threadIdx.x];
        put(out + column, total, add);
    }
}

extern "C" __global__ void column_sums(
    float* out, const float* a, const float* b, int rows, int columns, int stride, int add
) {
    add_columns(out, a, b, rows, columns, stride, add);
}

// The same where the numbers of `a` are bf16.
extern "C" __global__ void column_sums_rounded(
    float* out, const u16* a, const float* b, int rows, int columns, int stride, int add
) {
    add_columns(out, a, b, rows, columns, stride, add);
}
