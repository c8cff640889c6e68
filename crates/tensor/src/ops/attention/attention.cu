// Before this file stand the score's functions:
//   float score_term(float q, float k, float v)
//   void score_term_back(float q, float k, float v, float gradient, float* dq, float* dk, float* dv)

// Where the sources are, how they are packed, and who reads which.
#define SOURCES \
    const float* keys, const float* values, const u32* starts, const u32* lengths, const u32* of, \
    int steps, int depth, int width

// A block of 1024 threads for each row: its weights and its context. Shared: `steps` energies.
extern "C" __global__ void forward(
    const float* query, const float* vector, SOURCES, float* weights, float* context
) {
    extern __shared__ float energies[];
    const u32 row = blockIdx.x, source = of[row];
    const int length = lengths[source], lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const float* q = query + (u64)row * depth;
    for (int step = threadIdx.x / WARP; step < length; step += warps) {
        const float* key = keys + (u64)(starts[step] + source) * depth;
        float sum = 0.0f;
        for (int i = lane; i < depth; i += WARP) sum += score_term(q[i], key[i], vector ? vector[i] : 0.0f);
        sum = over_warp<Add>(sum);
        if (lane == 0) energies[step] = sum;
    }
    __syncthreads();
    float most = -INFINITE, sum = 0.0f;
    for (int step = lane; step < length; step += WARP) most = fmaxf(most, energies[step]);
    most = over_warp<Largest>(most);
    for (int step = lane; step < length; step += WARP) sum += expf(energies[step] - most);
    const float inverse = 1.0f / over_warp<Add>(sum);
    __syncthreads(); // all have read the energies
    for (int step = threadIdx.x; step < steps; step += blockDim.x) {
        const float weight = step < length ? expf(energies[step] - most) * inverse : 0.0f;
        energies[step] = weight;
        weights[(u64)row * steps + step] = weight;
    }
    __syncthreads();
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
        float of_column = 0.0f;
        #pragma unroll 8
        for (int step = 0; step < length; step++)
            of_column = fmaf(energies[step], values[(u64)(starts[step] + source) * width + column], of_column);
        context[(u64)row * width + column] = of_column;
    }
}

// A block of 1024 threads for each row: the gradients of its energies and of its query. Shared: `steps` numbers.
extern "C" __global__ void backward(
    const float* query, const float* vector, SOURCES, const float* weights,
    const float* dcontext, const float* dweights, float* denergies, float* dquery
) {
    extern __shared__ float gradient[];
    const u32 row = blockIdx.x, source = of[row];
    const int length = lengths[source], lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const float* own = weights + (u64)row * steps;
    for (int step = threadIdx.x / WARP; step < length; step += warps) {
        const float* value = values + (u64)(starts[step] + source) * width;
        float sum = 0.0f;
        for (int i = lane; i < width; i += WARP) sum = fmaf(value[i], dcontext[(u64)row * width + i], sum);
        sum = over_warp<Add>(sum);
        if (lane == 0) gradient[step] = sum + (dweights ? dweights[(u64)row * steps + step] : 0.0f);
    }
    __syncthreads();
    float inner = 0.0f;
    for (int step = lane; step < length; step += WARP) inner += own[step] * gradient[step];
    inner = over_warp<Add>(inner);
    __syncthreads(); // all have read the gradients of the weights
    for (int step = threadIdx.x; step < steps; step += blockDim.x) {
        const float of_step = step < length ? own[step] * (gradient[step] - inner) : 0.0f;
        gradient[step] = of_step;
        denergies[(u64)row * steps + step] = of_step;
    }
    __syncthreads();
    // Four groups of threads take every fourth step each; their sums are added up in order.
    __shared__ float sums[4][256];
    const int group = threadIdx.x / 256, of_group = threadIdx.x % 256;
    for (int first = 0; first < depth; first += 256) {
        const int i = first + of_group;
        float sum = 0.0f, dq, dk, dv;
        if (i < depth) {
            const float q = query[(u64)row * depth + i], v = vector ? vector[i] : 0.0f;
            #pragma unroll 4
            for (int step = group; step < length; step += 4) {
                const float k = keys[(u64)(starts[step] + source) * depth + i];
                score_term_back(q, k, v, gradient[step], &dq, &dk, &dv);
                sum += dq;
            }
        }
        sums[group][of_group] = sum;
        __syncthreads();
        if (group == 0 && i < depth)
            dquery[(u64)row * depth + i] = sums[0][of_group] + sums[1][of_group] + sums[2][of_group] + sums[3][of_group];
        __syncthreads();
    }
}

// A block for each step of each source: the gradient of its key, and its share of the vector's, from all rows that read it.
extern "C" __global__ void keys_back(
    const float* query, const float* vector, const float* keys, const u32* starts, const u32* lengths,
    int steps, int depth, const u32* reader_starts, const u32* readers, const float* denergies,
    float* dkeys, float* dvector
) {
    const u32 source = blockIdx.x, step = blockIdx.y;
    if (step >= lengths[source]) return;
    const u64 row = starts[step] + source;
    for (int i = threadIdx.x; i < depth; i += blockDim.x) {
        const float k = keys[row * depth + i], v = vector ? vector[i] : 0.0f;
        float of_key = 0.0f, of_vector = 0.0f, dq, dk, dv;
        #pragma unroll 4
        for (u32 r = reader_starts[source]; r < reader_starts[source + 1]; r++) {
            const u64 reader = readers[r];
            score_term_back(query[reader * depth + i], k, v, denergies[reader * steps + step], &dq, &dk, &dv);
            of_key += dk;
            of_vector += dv;
        }
        dkeys[row * depth + i] = of_key;
        if (dvector) dvector[row * depth + i] = of_vector;
    }
}

// A block for each source and each stretch of columns: the gradients of its values, several steps at a time.
#define AT_ONCE 8
extern "C" __global__ void values_back(
    const u32* starts, const u32* lengths, int steps, int width,
    const u32* reader_starts, const u32* readers, const float* weights, const float* dcontext, float* dvalues
) {
    const u32 source = blockIdx.x;
    const int column = blockIdx.y * blockDim.x + threadIdx.x, length = lengths[source];
    if (column >= width) return;
    for (int first = 0; first < length; first += AT_ONCE) {
        float sums[AT_ONCE] = {};
        for (u32 r = reader_starts[source]; r < reader_starts[source + 1]; r++) {
            const u64 reader = readers[r];
            const float gradient = dcontext[reader * width + column];
            const float* own = weights + reader * steps + first;
            #pragma unroll
            for (int k = 0; k < AT_ONCE; k++) if (first + k < steps) sums[k] = fmaf(own[k], gradient, sums[k]);
        }
        #pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (first + k < length) dvalues[(u64)(starts[first + k] + source) * width + column] = sums[k];
    }
}
