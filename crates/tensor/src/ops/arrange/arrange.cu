// to[i][j] = from[i][j], or added to it. A stride of 0 takes the same row again and again.
extern "C" __global__ void put_block(
    float* to, int to_stride, const float* from, int from_stride, int rows, int columns, int add
) {
    FOR_EACH(i, (u64)rows * columns) {
        const u64 row = i / columns, column = i % columns;
        put(to + row * to_stride + column, from[row * from_stride + column], add);
    }
}
