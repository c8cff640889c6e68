// Ten rounds of Philox 4×32, as in random.rs.
__device__ __forceinline__ uint4 philox(u32 k0, u32 k1, u32 c0, u32 c1, u32 c2, u32 c3) {
    for (int round = 0; round < 10; round++) {
        const u64 a = (u64)c0 * 0xD2511F53u, b = (u64)c2 * 0xCD9E8D57u;
        const u32 n0 = (u32)(b >> 32) ^ c1 ^ k0, n2 = (u32)(a >> 32) ^ c3 ^ k1;
        c0 = n0; c1 = (u32)b; c2 = n2; c3 = (u32)a;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    return make_uint4(c0, c1, c2, c3);
}

// A thread for each four units of a row.
extern "C" __global__ void dropout(
    float* y, const float* x, int rows, int width, const u32* starts, const u32* examples, int steps,
    u32 key0, u32 key1, u32 update, u32 threshold, float kept, int variational
) {
    const int fours = (width + 3) / 4;
    FOR_EACH(i, (u64)rows * fours) {
        const u32 row = i / fours, four = i % fours;
        const u32 step = step_of(row, starts, steps);
        const u32 example = examples[row - starts[step]];
        const uint4 words = philox(key0, key1, update, example, variational ? 0xffffffffu : step, four);
        const u32 word[4] = {words.x, words.y, words.z, words.w};
        for (int k = 0; k < 4 && four * 4 + k < width; k++) {
            const u64 place = (u64)row * width + four * 4 + k;
            y[place] = x[place] * (word[k] < threshold ? 0.0f : kept);
        }
    }
}
