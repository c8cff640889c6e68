// Row by row the state before the step: that of the step before, the start's (null: zero).
extern "C" __global__ void states_before(
    float* before, const float* states, const float* start, const u32* starts, const u32* lengths,
    int steps, int rows, int width, int backward
) {
    FOR_EACH(i, (u64)rows * width) {
        const u32 row = i / width, column = i % width;
        const int step = step_of(row, starts, steps);
        const u32 place = row - starts[step];
        const bool begins = backward ? step + 1 >= lengths[place] : step == 0;
        const u64 from = begins ? 0 : (starts[backward ? step + 1 : step - 1] + place) * (u64)width + column;
        before[i] = !begins ? states[from] : start ? start[(u64)place * width + column] : 0.0f;
    }
}

// Each sequence's last state; after no step, the start's (null: zero).
extern "C" __global__ void last_states(
    float* last, const float* states, const float* start, const u32* starts, const u32* lengths,
    int batch, int width, int backward
) {
    FOR_EACH(i, (u64)batch * width) {
        const u32 place = i / width, column = i % width, length = lengths[place];
        const u64 from = length == 0 ? 0 : (starts[backward ? 0 : length - 1] + place) * (u64)width + column;
        last[i] = length > 0 ? states[from] : start ? start[i] : 0.0f;
    }
}
