extern "C" __global__ void gather_rows(float* y, const float* table, const u32* ids, int count, int width) {
    FOR_EACH(i, (u64)count * width) y[i] = table[(u64)ids[i / width] * width + i % width];
}

// A block for each id: the rows of `dy` that it stands for are added up in order.
extern "C" __global__ void add_segments(
    float* table, const float* dy, const u32* ids, const u32* starts, const u32* rows, int width
) {
    float* to = table + (u64)ids[blockIdx.x] * width;
    const u32 first = starts[blockIdx.x], end = starts[blockIdx.x + 1];
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
        float sum = to[column];
        for (u32 i = first; i < end; i++) sum += dy[(u64)rows[i] * width + column];
        to[column] = sum;
    }
}
