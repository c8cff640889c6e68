// The steps that each packed row sees, side by side; zeros outside of its sequence.
extern "C" __global__ void unfold(
    float* seen, const float* x, const u32* starts, const u32* lengths, int steps, int rows, int width, int taps, int before
) {
    FOR_EACH(i, (u64)rows * taps * width) {
        const u32 row = i / width / taps, tap = i / width % taps, column = i % width;
        const int step = step_of(row, starts, steps), under = step + (int)tap - before;
        const u32 place = row - starts[step];
        const bool inside = under >= 0 && under < (int)lengths[place];
        seen[i] = inside ? x[(u64)(starts[under] + place) * width + column] : 0.0f;
    }
}

// The way back: a row's numbers are added up over the windows that see it, tap by tap.
extern "C" __global__ void fold(
    float* dx, const float* dseen, const u32* starts, const u32* lengths, int steps, int rows, int width, int taps, int before,
    int add
) {
    FOR_EACH(i, (u64)rows * width) {
        const u32 row = i / width, column = i % width;
        const int step = step_of(row, starts, steps);
        const u32 place = row - starts[step];
        float sum = 0.0f;
        for (int tap = 0; tap < taps; tap++) {
            const int around = step + before - tap;
            if (around >= 0 && around < (int)lengths[place])
                sum += dseen[((u64)(starts[around] + place) * taps + tap) * width + column];
        }
        put(dx + i, sum, add);
    }
}
