// What all kernels of whole sequences begin with. Keys and values are the last 2·width columns of `memory`.
#define LOOKING \
    const float* query, int query_columns, const float* memory, int memory_columns, const u32* starts, int steps, \
    const u32* source_starts, const u32* source_lengths, int source_steps, const u32* of, int width, int depth, \
    float scale, int causal

// A head's key of a source row; its value lies `width` behind it.
__device__ __forceinline__ const float* key_of(const float* memory, u64 row, int columns, int width, int depth) {
    return memory + row * columns + columns - 2 * width + blockIdx.y * depth;
}

// The inner product of two rows, by a warp: the same on all of its threads.
__device__ __forceinline__ float product(const float* a, const float* b, int depth) {
    float sum = 0.0f;
    for (int i = threadIdx.x % WARP; i < depth; i += WARP) sum = fmaf(a[i], b[i], sum);
    return over_warp<Add>(sum);
}

// Shared energies become weights; all threads get `ln Σ e^energy`.
__device__ __forceinline__ float softmax(float* energies, int length) {
    const int lane = threadIdx.x % WARP;
    float most = -INFINITE, sum = 0.0f;
    for (int step = lane; step < length; step += WARP) most = fmaxf(most, energies[step]);
    most = over_warp<Largest>(most);
    for (int step = lane; step < length; step += WARP) sum += expf(energies[step] - most);
    sum = over_warp<Add>(sum);
    __syncthreads(); // all have read the energies
    for (int step = threadIdx.x; step < length; step += blockDim.x) energies[step] = expf(energies[step] - most) / sum;
    __syncthreads();
    return most + logf(sum);
}

// A block for each row and head. Shared: `source_steps` energies.
extern "C" __global__ void forward(LOOKING, float* context, float* log_sums, float* weights) {
    extern __shared__ float energies[];
    const u32 row = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
    const int step = step_of(row, starts, steps);
    const u32 source = of[row - starts[step]];
    const int length = causal ? min(step + 1, (int)source_lengths[source]) : source_lengths[source];
    const float* q = query + (u64)row * query_columns + head * depth;
    for (int j = threadIdx.x / WARP; j < length; j += blockDim.x / WARP) {
        const float* key = key_of(memory, source_starts[j] + source, memory_columns, width, depth);
        const float energy = scale * product(q, key, depth);
        if (threadIdx.x % WARP == 0) energies[j] = energy;
    }
    __syncthreads();
    const float log_sum = softmax(energies, length);
    const u64 own = (u64)row * heads + head;
    if (threadIdx.x == 0) log_sums[own] = length ? log_sum : 0.0f;
    if (weights)
        for (int j = threadIdx.x; j < length; j += blockDim.x) weights[own * source_steps + j] = energies[j];
    for (int i = threadIdx.x; i < depth; i += blockDim.x) {
        float sum = 0.0f;
        #pragma unroll 8
        for (int j = 0; j < length; j++) {
            const float* key = key_of(memory, source_starts[j] + source, memory_columns, width, depth);
            sum = fmaf(energies[j], key[width + i], sum);
        }
        context[own * depth + i] = sum;
    }
}

// A block for each row and head: the gradient of its query, and `Σ weight · gradient of the weight`. Shared: `source_steps` numbers.
extern "C" __global__ void queries_back(
    LOOKING, const float* dcontext, const float* log_sums, float* inner, float* dquery
) {
    extern __shared__ float gradients[];
    const u32 row = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
    const int step = step_of(row, starts, steps), lane = threadIdx.x % WARP;
    const u32 source = of[row - starts[step]];
    const int length = causal ? min(step + 1, (int)source_lengths[source]) : source_lengths[source];
    const u64 own = (u64)row * heads + head;
    const float* q = query + (u64)row * query_columns + head * depth;
    const float log_sum = log_sums[own];
    // First weight times gradient, whose sum is the inner part; then weight · (gradient − inner).
    for (int pass = 0; pass < 2; pass++) {
        const float of_row = pass ? inner[own] : 0.0f;
        for (int j = threadIdx.x / WARP; j < length; j += blockDim.x / WARP) {
            const float* key = key_of(memory, source_starts[j] + source, memory_columns, width, depth);
            const float weight = expf(scale * product(q, key, depth) - log_sum);
            const float gradient = product(dcontext + own * depth, key + width, depth);
            if (lane == 0) gradients[j] = weight * (gradient - of_row);
        }
        __syncthreads();
        if (pass == 0) {
            float sum = 0.0f;
            for (int j = lane; j < length; j += WARP) sum += gradients[j];
            sum = over_warp<Add>(sum);
            if (threadIdx.x == 0) inner[own] = sum;
            __syncthreads(); // the sum is there, and the gradients have been read
        }
    }
    for (int i = threadIdx.x; i < depth; i += blockDim.x) {
        float sum = 0.0f;
        #pragma unroll 8
        for (int j = 0; j < length; j++) {
            const float* key = key_of(memory, source_starts[j] + source, memory_columns, width, depth);
            sum = fmaf(gradients[j], key[i], sum);
        }
        dquery[(u64)row * query_columns + head * depth + i] = scale * sum;
    }
}

// A block for each source row and head: the gradients of its key and its value, from all rows that read it.
#define AT_ONCE 32
extern "C" __global__ void memory_back(
    LOOKING, const float* dcontext, const float* log_sums, const float* inner,
    float* dmemory, const u32* reader_starts, const u32* readers
) {
    __shared__ float weights[AT_ONCE], gradients[AT_ONCE];
    const u32 row = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
    const int step = step_of(row, source_starts, source_steps);
    const u32 source = row - source_starts[step];
    const float* key = key_of(memory, row, memory_columns, width, depth);
    float* to = dmemory + (u64)row * memory_columns + memory_columns - 2 * width + head * depth;
    const u32 first = reader_starts[source], end = reader_starts[source + 1];
    for (int i = threadIdx.x; i < depth; i += blockDim.x) to[i] = to[width + i] = 0.0f;
    for (u32 start = first; start < end; start += AT_ONCE) {
        const int count = min(AT_ONCE, (int)(end - start));
        __syncthreads(); // those before have been read
        for (int r = threadIdx.x / WARP; r < count; r += blockDim.x / WARP) {
            const u32 reader = readers[start + r];
            const u64 own = (u64)reader * heads + head;
            float weight = 0.0f, gradient = 0.0f;
            if (!causal || step_of(reader, starts, steps) >= step) {
                weight = expf(scale * product(query + (u64)reader * query_columns + head * depth, key, depth) - log_sums[own]);
                gradient = weight * (product(dcontext + own * depth, key + width, depth) - inner[own]);
            }
            if (threadIdx.x % WARP == 0) weights[r] = weight, gradients[r] = gradient;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < depth; i += blockDim.x) {
            float of_key = to[i], of_value = to[width + i];
            for (int r = 0; r < count; r++) {
                const u64 reader = readers[start + r];
                of_key = fmaf(gradients[r], scale * query[reader * query_columns + head * depth + i], of_key);
                of_value = fmaf(weights[r], dcontext[(reader * heads + head) * depth + i], of_value);
            }
            to[i] = of_key;
            to[width + i] = of_value;
        }
    }
}

// A block for each row and head, for one step: keys and values lie where `addresses` say. Shared: `longest` energies.
extern "C" __global__ void past(
    const float* query, int query_columns, const float* const* addresses, const u32* lengths, int longest, int width,
    int depth, float scale, float* context, float* weights
) {
    extern __shared__ float energies[];
    const u32 row = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
    const int length = lengths[row];
    const u64 own = (u64)row * heads + head;
    const float* q = query + (u64)row * query_columns + head * depth;
    const float* const* places = addresses + (u64)row * longest;
    for (int j = threadIdx.x / WARP; j < length; j += blockDim.x / WARP) {
        const float energy = scale * product(q, places[j] + head * depth, depth);
        if (threadIdx.x % WARP == 0) energies[j] = energy;
    }
    __syncthreads();
    softmax(energies, length);
    for (int j = threadIdx.x; j < length; j += blockDim.x) weights[own * longest + j] = energies[j];
    for (int i = threadIdx.x; i < depth; i += blockDim.x) {
        float sum = 0.0f;
        for (int j = 0; j < length; j++) sum = fmaf(energies[j], places[j][width + head * depth + i], sum);
        context[own * depth + i] = sum;
    }
}
