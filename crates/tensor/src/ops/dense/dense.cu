// Before this file stand the unit's functions:
//   float unit_value(float u, float gate)
//   void unit_back(float u, float gate, float dy, float* du, float* dgate)

// `y` may be `sums`.
extern "C" __global__ void forward(float* y, const float* sums, int rows, int units, int gated, Dropping drop) {
    FOR_EACH(i, (u64)rows * units) {
        const u32 row = i / units, unit = i % units;
        const u64 place = gated ? (u64)row * 2 * units + unit : i;
        const float value = unit_value(sums[place], gated ? sums[place + units] : 0.0f);
        y[i] = value * drop_factor(drop, row, unit);
    }
}

// `du` may be `dy` where there are no gates.
extern "C" __global__ void backward(
    float* du, const float* dy, const float* kept, int rows, int units, int gated, Dropping drop
) {
    FOR_EACH(i, (u64)rows * units) {
        const u32 row = i / units, unit = i % units;
        const u64 place = gated ? (u64)row * 2 * units + unit : i;
        float of_sum, of_gate;
        unit_back(kept[place], gated ? kept[place + units] : 0.0f, dy[i] * drop_factor(drop, row, unit), &of_sum, &of_gate);
        du[place] = of_sum;
        if (gated) du[place + units] = of_gate;
    }
}
