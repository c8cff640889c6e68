// to[i][j] = from[i][j], or added to it. A stride of 0 takes the same row again and again.
extern "C" __global__ void put_block(
    float* to, int to_stride, const float* from, int from_stride, int rows, int columns, int add
) {
    FOR_EACH(i, (u64)rows * columns) {
        const u64 row = i / columns, column = i % columns;
        put(to + row * to_stride + column, from[row * from_stride + column], add);
    }
}

// The steps of each sequence side by side, zeros behind its last one.
extern "C" __global__ void flatten_steps(
    float* y, const float* x, const u32* starts, const u32* lengths, int batch, int steps, int width
) {
    FOR_EACH(i, (u64)batch * steps * width) {
        const u32 place = i / width / steps, step = i / width % steps, column = i % width;
        y[i] = step < lengths[place] ? x[(u64)(starts[step] + place) * width + column] : 0.0f;
    }
}

// The way back: a row of `dy` holds all steps of a place.
extern "C" __global__ void take_steps(
    float* dx, const float* dy, const u32* starts, int steps, int rows, int columns, int width, int add
) {
    FOR_EACH(i, (u64)rows * width) {
        const u32 row = i / width, column = i % width;
        const int step = step_of(row, starts, steps);
        const u64 place = row - starts[step];
        put(dx + i, dy[place * columns + step * width + column], add);
    }
}
