// A thread for each number of the result. The row of the angles is the step of a row, or given for each row. Rounded after each product, as on the processor.
extern "C" __global__ void turn(
    float* y, const float* x, const float* angles, const u32* starts, int steps, const u32* given, int rows, int width,
    int columns, int depth, float sign
) {
    const int half = depth / 2;
    FOR_EACH(i, (u64)rows * width) {
        const u32 row = i / width, column = i % width;
        if (column >= columns) {
            y[i] = x[i];
            continue;
        }
        const int place = column % depth, pair = place % half;
        const u32 step = given ? given[row] : step_of(row, starts, steps);
        const float* angle = angles + (u64)step * depth;
        const float cosine = angle[pair], sine = sign * angle[half + pair];
        if (place < half) y[i] = __fsub_rn(__fmul_rn(x[i], cosine), __fmul_rn(x[i + half], sine));
        else y[i] = __fadd_rn(__fmul_rn(x[i - half], sine), __fmul_rn(x[i], cosine));
    }
}
