// A block for each row: its mean square.
extern "C" __global__ void adafactor_rows(
    float* of_rows, const float* g, int columns, const float* norm, float limit, float mix
) {
    const float factor = clipping(norm, limit);
    const float* row = g + (u64)blockIdx.x * columns;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += row[j] * factor * (row[j] * factor);
    sum = over_block<Add>(sum);
    if (threadIdx.x == 0) of_rows[blockIdx.x] += mix * (sum / columns - of_rows[blockIdx.x]);
}

// A thread for each column: its mean square.
extern "C" __global__ void adafactor_columns(
    float* of_columns, const float* g, int rows, int columns, const float* norm, float limit, float mix
) {
    const float factor = clipping(norm, limit);
    FOR_EACH(j, columns) {
        float sum = 0.0f;
        for (int i = 0; i < rows; i++) {
            const float x = g[(u64)i * columns + j] * factor;
            sum += x * x;
        }
        of_columns[j] += mix * (sum / rows - of_columns[j]);
    }
}

// One block: one over the mean of the rows' statistics.
extern "C" __global__ void adafactor_mean(float* inverse, const float* of_rows, int rows, float smallest) {
    double sum = 0.0;
    for (int i = threadIdx.x; i < rows; i += blockDim.x) sum += of_rows[i];
    sum = over_block<Add>(sum);
    if (threadIdx.x == 0) *inverse = 1.0f / fmaxf((float)(sum / rows), smallest);
}

// `of_rows` is null where rows are not told apart.
__device__ __forceinline__ float direction(
    u64 at, const float* g, const float* of_columns, const float* of_rows, const float* inverse, int columns,
    float factor, float smallest
) {
    const float of_row = of_rows ? of_rows[at / columns] * *inverse : 1.0f;
    return g[at] * factor / sqrtf(fmaxf(of_columns[at % columns] * of_row, smallest * smallest));
}

// The sums of a block's squares: of weights, and of directions.
extern "C" __global__ void adafactor_sums(
    double* sums, const float* w, const float* g, const float* of_columns, const float* of_rows,
    const float* inverse, int columns, int count, const float* norm, float limit, float smallest
) {
    const float factor = clipping(norm, limit);
    double weights = 0.0, directions = 0.0;
    FOR_EACH(i, count) {
        const float u = direction(i, g, of_columns, of_rows, inverse, columns, factor, smallest);
        weights += (double)w[i] * w[i];
        directions += (double)u * u;
    }
    weights = over_block<Add>(weights);
    directions = over_block<Add>(directions);
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = weights;
        sums[2 * blockIdx.x + 1] = directions;
    }
}

// One block: what a direction is multiplied with.
extern "C" __global__ void adafactor_step(
    float* step, const double* sums, int blocks, int count, float rate, float smallest_weight
) {
    double weights = 0.0, directions = 0.0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) {
        weights += sums[2 * i];
        directions += sums[2 * i + 1];
    }
    weights = over_block<Add>(weights);
    directions = over_block<Add>(directions);
    if (threadIdx.x == 0) {
        const float size = fmaxf(smallest_weight, (float)sqrt(weights / count));
        *step = rate * size / fmaxf(1.0f, (float)sqrt(directions / count));
    }
}

extern "C" __global__ void adafactor_move(
    float* w, const float* g, const float* of_columns, const float* of_rows, const float* inverse, const float* step,
    int columns, int count, const float* norm, float limit, float keep, float smallest
) {
    const float factor = clipping(norm, limit);
    FOR_EACH(i, count) {
        const float u = direction(i, g, of_columns, of_rows, inverse, columns, factor, smallest);
        w[i] = w[i] * keep - *step * u;
    }
}
