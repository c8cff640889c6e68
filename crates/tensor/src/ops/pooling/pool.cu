// A thread for each column of each place, over all steps: their largest number, or their mean.
extern "C" __global__ void forward(
    float* y, const float* x, const u32* starts, const u32* lengths, int batch, int width, int of_largest
) {
    FOR_EACH(i, (u64)batch * width) {
        const u32 place = i / width, column = i % width, length = lengths[place];
        float most = 0.0f, sum = 0.0f;
        for (u32 step = 0; step < length; step++) {
            const float own = x[(u64)(starts[step] + place) * width + column];
            most = step == 0 || own > most ? own : most;
            sum += own;
        }
        y[i] = of_largest || length == 0 ? most : sum / length;
    }
}

// The first step that has the largest number gets its gradient; of a mean, each step gets its share.
extern "C" __global__ void backward(
    float* dx, const float* x, const float* y, const float* dy, const u32* starts, const u32* lengths,
    int batch, int width, int of_largest, int add
) {
    FOR_EACH(i, (u64)batch * width) {
        const u32 place = i / width, column = i % width, length = lengths[place];
        float left = dy[i];
        for (u32 step = 0; step < length; step++) {
            const u64 at = (u64)(starts[step] + place) * width + column;
            if (!of_largest) {
                put(dx + at, dy[i] / length, add);
                continue;
            }
            const bool found = x[at] == y[i];
            put(dx + at, found ? left : 0.0f, add);
            if (found) left = 0.0f;
        }
    }
}
