// Before this file stand the score's functions:
//   float score_term(float q, float k, float v)
//   void score_term_back(float q, float k, float v, float gradient, float* dq, float* dk, float* dv)

// Where the sources are, how they are packed, and who reads which. `depth` and `width` are those of a head, whose columns lie
// behind those of the heads before it.
#define SOURCES \
    const float* keys, const float* values, const u32* starts, const u32* lengths, const u32* of, \
    int steps, int depth, int width

// The block's row and head among all, one after the other: where its own part of a query, a context or the weights begins.
__device__ __forceinline__ u64 own_part() { return (u64)blockIdx.x * gridDim.y + blockIdx.y; }

// A block of 1024 threads for each row and head: its weights and its context. Shared: `steps` energies.
extern "C" __global__ void forward(
    const float* query, const float* vector, SOURCES, float* weights, float* context
) {
    extern __shared__ float energies[];
    const u32 source = of[blockIdx.x], head = blockIdx.y, heads = gridDim.y;
    const int length = lengths[source], lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const float* q = query + own_part() * depth;
    const float* v = vector ? vector + head * depth : vector;
    for (int step = threadIdx.x / WARP; step < length; step += warps) {
        const float* key = keys + ((u64)(starts[step] + source) * heads + head) * depth;
        float sum = 0.0f;
        for (int i = lane; i < depth; i += WARP) sum += score_term(q[i], key[i], v ? v[i] : 0.0f);
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
        weights[own_part() * steps + step] = weight;
    }
    __syncthreads();
    const u64 stride = (u64)heads * width;
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
        const float* value = values + head * width + column;
        float of_column = 0.0f;
        #pragma unroll 8
        for (int step = 0; step < length; step++)
            of_column = fmaf(energies[step], value[(starts[step] + source) * stride], of_column);
        context[own_part() * width + column] = of_column;
    }
}

// A block of 1024 threads for each row and head: the gradients of its energies and of its query. Shared: `steps` numbers.
extern "C" __global__ void backward(
    const float* query, const float* vector, SOURCES, const float* weights,
    const float* dcontext, const float* dweights, float* denergies, float* dquery
) {
    extern __shared__ float gradient[];
    const u32 source = of[blockIdx.x], head = blockIdx.y, heads = gridDim.y;
    const int length = lengths[source], lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const u64 own = own_part();
    const float* weight = weights + own * steps;
    for (int step = threadIdx.x / WARP; step < length; step += warps) {
        const float* value = values + ((u64)(starts[step] + source) * heads + head) * width;
        float sum = 0.0f;
        for (int i = lane; i < width; i += WARP) sum = fmaf(value[i], dcontext[own * width + i], sum);
        sum = over_warp<Add>(sum);
        if (lane == 0) gradient[step] = sum + (dweights ? dweights[own * steps + step] : 0.0f);
    }
    __syncthreads();
    float inner = 0.0f;
    for (int step = lane; step < length; step += WARP) inner += weight[step] * gradient[step];
    inner = over_warp<Add>(inner);
    __syncthreads(); // all have read the gradients of the weights
    for (int step = threadIdx.x; step < steps; step += blockDim.x) {
        const float of_step = step < length ? weight[step] * (gradient[step] - inner) : 0.0f;
        gradient[step] = of_step;
        denergies[own * steps + step] = of_step;
    }
    __syncthreads();
    // Four groups of threads take every fourth step each; their sums are added up in order.
    __shared__ float sums[4][256];
    const int group = threadIdx.x / 256, of_group = threadIdx.x % 256;
    const u64 stride = (u64)heads * depth;
    for (int first = 0; first < depth; first += 256) {
        const int i = first + of_group;
        float sum = 0.0f, dq, dk, dv;
        if (i < depth) {
            const int column = head * depth + i;
            const float q = query[own * depth + i], v = vector ? vector[column] : 0.0f;
            #pragma unroll 4
            for (int step = group; step < length; step += 4) {
                const float k = keys[(starts[step] + source) * stride + column];
                score_term_back(q, k, v, gradient[step], &dq, &dk, &dv);
                sum += dq;
            }
        }
        sums[group][of_group] = sum;
        __syncthreads();
        if (group == 0 && i < depth)
            dquery[own * depth + i] = sums[0][of_group] + sums[1][of_group] + sums[2][of_group] + sums[3][of_group];
        __syncthreads();
    }
}

// A block for each step of each source: the gradient of its key, and its share of the vector's, from all rows that read it.
extern "C" __global__ void keys_back(
    const float* query, const float* vector, const float* keys, const u32* starts, const u32* lengths,
    int steps, int heads, int depth, const u32* reader_starts, const u32* readers, const float* denergies,
    float* dkeys, float* dvector
) {
    const u32 source = blockIdx.x, step = blockIdx.y;
    if (step >= lengths[source]) return;
    const u64 row = starts[step] + source;
    const int columns = heads * depth;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float k = keys[row * columns + i], v = vector ? vector[i] : 0.0f;
        const float* own = denergies + (u64)(i / depth) * steps + step; // of the first reader, in the column's head
        float of_key = 0.0f, of_vector = 0.0f, dq, dk, dv;
        #pragma unroll 4
        for (u32 r = reader_starts[source]; r < reader_starts[source + 1]; r++) {
            const u64 reader = readers[r];
            score_term_back(query[reader * columns + i], k, v, own[reader * heads * steps], &dq, &dk, &dv);
            of_key += dk;
            of_vector += dv;
        }
        dkeys[row * columns + i] = of_key;
        if (dvector) dvector[row * columns + i] = of_vector;
    }
}

// A block for each source and each stretch of columns: the gradients of its values, several steps at a time.
#define AT_ONCE 8
extern "C" __global__ void values_back(
    const u32* starts, const u32* lengths, int steps, int heads, int width,
    const u32* reader_starts, const u32* readers, const float* weights, const float* dcontext, float* dvalues
) {
    const u32 source = blockIdx.x;
    const int column = blockIdx.y * blockDim.x + threadIdx.x, length = lengths[source], columns = heads * width;
    if (column >= columns) return;
    const u64 of_head = (u64)(column / width) * steps;
    for (int first = 0; first < length; first += AT_ONCE) {
        float sums[AT_ONCE] = {};
        for (u32 r = reader_starts[source]; r < reader_starts[source + 1]; r++) {
            const u64 reader = readers[r];
            const float gradient = dcontext[reader * columns + column];
            const float* own = weights + reader * heads * steps + of_head + first;
            #pragma unroll
            for (int k = 0; k < AT_ONCE; k++) if (first + k < steps) sums[k] = fmaf(own[k], gradient, sums[k]);
        }
        #pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (first + k < length) dvalues[(u64)(starts[first + k] + source) * columns + column] = sums[k];
    }
}
