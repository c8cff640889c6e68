// A thread for each four units of a row.
extern "C" __global__ void dropout(
    float* y, const float* x, int rows, int width, const u32* starts, const u32* examples, int steps,
    u32 key0, u32 key1, u32 update, u32 threshold, float kept, u32 together
) {
    const int fours = (width + 3) / 4;
    FOR_EACH(i, (u64)rows * fours) {
        const u32 row = i / fours, four = i % fours;
        const u32 step = step_of(row, starts, steps);
        const u32 example = examples[row - starts[step]];
        const uint4 words = drop_words(key0, key1, update, example, step, four, together);
        const u32 word[4] = {words.x, words.y, words.z, words.w};
        for (int k = 0; k < 4 && four * 4 + k < width; k++) {
            const u64 place = (u64)row * width + four * 4 + k;
            y[place] = x[place] * (word[k] < threshold ? 0.0f : kept);
        }
    }
}
