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

// What bends attention besides its score; no kernel whose name does not say so knows it.
struct Focus {
    const float* places;  // the middle of each row's and head's window; null where all steps are looked at
    int reach, share;     // steps on either side; whether a place is a share of the length, and weights fall off from it
    const float* so_far;  // as the weights, the sum of those before; null where there is none
    const float* cover;   // as a key: what they are multiplied with
};
#define FOCUS const float* places, int reach, int share, const float* so_far, const float* cover

// The steps that a row looks at, from the first to before the end.
struct Window {
    int first, end;
    float middle;
};

template <bool FOCUSED> __device__ __forceinline__ Window window_of(const Focus& focus, int length) {
    if (!FOCUSED || !focus.places) return {0, length, 0.0f};
    const float place = focus.places[own_part()];
    const float middle = focus.share ? place * (float)length : fminf(place, (float)length - 1.0f);
    const int first = (int)fmaxf(ceilf(middle - (float)focus.reach), 0.0f);
    const int end = min((int)fmaxf(floorf(middle + (float)focus.reach) + 1.0f, 0.0f), length);
    return {min(first, end), end, middle};
}

// exp(−(j − p)²/(2σ²)) with σ = D/2, where weights fall off.
template <bool FOCUSED>
__device__ __forceinline__ float falling(const Focus& focus, const Window& window, int step) {
    if (!FOCUSED || !focus.places || !focus.share) return 1.0f;
    const float distance = ((float)step - window.middle) / (float)focus.reach;
    return expf(-2.0f * distance * distance);
}

// What is added to the keys of a step: the weights that a part of a row has given it so far.
template <bool FOCUSED> __device__ __forceinline__ float covered(const Focus& focus, u64 part, int steps, int step) {
    return FOCUSED && focus.so_far ? focus.so_far[part * steps + step] : 0.0f;
}

template <bool FOCUSED> __device__ __forceinline__ float key_of(const Focus& focus, float key, int column, float covered) {
    return FOCUSED && focus.so_far ? key + focus.cover[column] * covered : key;
}

// A block of 1024 threads for each row and head: its weights and its context. Shared: `steps` energies.
template <bool FOCUSED>
__device__ __forceinline__ void forward_of(
    const float* query, const float* vector, SOURCES, const Focus& focus, float* weights, float* context
) {
    extern __shared__ float energies[];
    const u32 source = of[blockIdx.x], head = blockIdx.y, heads = gridDim.y;
    const int length = lengths[source], lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const Window window = window_of<FOCUSED>(focus, length);
    const int first = FOCUSED ? window.first : 0, end = FOCUSED ? window.end : length;
    const float* q = query + own_part() * depth;
    const float* v = vector ? vector + head * depth : vector;
    for (int step = first + threadIdx.x / WARP; step < end; step += warps) {
        const float* key = keys + ((u64)(starts[step] + source) * heads + head) * depth;
        const float before = covered<FOCUSED>(focus, own_part(), steps, step);
        float sum = 0.0f;
        for (int i = lane; i < depth; i += WARP) {
            const float k = key_of<FOCUSED>(focus, key[i], head * depth + i, before);
            sum += score_term(q[i], k, v ? v[i] : 0.0f);
        }
        sum = over_warp<Add>(sum);
        if (lane == 0) energies[step] = sum;
    }
    __syncthreads();
    float most = -INFINITE, sum = 0.0f;
    for (int step = first + lane; step < end; step += WARP) most = fmaxf(most, energies[step]);
    most = over_warp<Largest>(most);
    for (int step = first + lane; step < end; step += WARP) sum += expf(energies[step] - most);
    const float inverse = 1.0f / over_warp<Add>(sum);
    __syncthreads(); // all have read the energies
    for (int step = threadIdx.x; step < steps; step += blockDim.x) {
        const float share = step >= first && step < end ? expf(energies[step] - most) * inverse : 0.0f;
        const float weight = share * falling<FOCUSED>(focus, window, step);
        energies[step] = weight;
        weights[own_part() * steps + step] = weight;
    }
    __syncthreads();
    const u64 stride = (u64)heads * width;
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
        const float* value = values + head * width + column;
        float of_column = 0.0f;
        #pragma unroll 8
        for (int step = first; step < end; step++)
            of_column = fmaf(energies[step], value[(starts[step] + source) * stride], of_column);
        context[own_part() * width + column] = of_column;
    }
}

extern "C" __global__ void forward(
    const float* query, const float* vector, SOURCES, float* weights, float* context
) {
    forward_of<false>(
        query, vector, keys, values, starts, lengths, of, steps, depth, width, Focus{}, weights, context);
}

extern "C" __global__ void forward_focused(
    const float* query, const float* vector, SOURCES, FOCUS, float* weights, float* context
) {
    const Focus focus = {places, reach, share, so_far, cover};
    forward_of<true>(
        query, vector, keys, values, starts, lengths, of, steps, depth, width, focus, weights, context);
}

// A block of 1024 threads for each row and head: the gradients of its energies and of its query. Shared: `steps` numbers.
template <bool FOCUSED>
__device__ __forceinline__ void backward_of(
    const float* query, const float* vector, SOURCES, const Focus& focus, const float* weights,
    const float* dcontext, const float* dweights, float* denergies, float* dquery, float* dplaces, float* dso_far
) {
    extern __shared__ float gradient[];
    const u32 source = of[blockIdx.x], head = blockIdx.y, heads = gridDim.y;
    const int length = lengths[source], lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const Window window = window_of<FOCUSED>(focus, length);
    const int first_step = FOCUSED ? window.first : 0, end = FOCUSED ? window.end : length;
    const u64 own = own_part();
    const float* weight = weights + own * steps;
    for (int step = first_step + threadIdx.x / WARP; step < end; step += warps) {
        const float* value = values + ((u64)(starts[step] + source) * heads + head) * width;
        float sum = 0.0f;
        for (int i = lane; i < width; i += WARP) sum = fmaf(value[i], dcontext[own * width + i], sum);
        sum = over_warp<Add>(sum);
        if (lane == 0) gradient[step] = sum + (dweights ? dweights[own * steps + step] : 0.0f);
    }
    __syncthreads();
    float inner = 0.0f, of_middle = 0.0f;
    for (int step = first_step + lane; step < end; step += WARP) {
        inner += weight[step] * gradient[step];
        if (FOCUSED) of_middle += weight[step] * gradient[step] * ((float)step - window.middle);
    }
    inner = over_warp<Add>(inner);
    if (FOCUSED && dplaces) {
        of_middle = over_warp<Add>(of_middle) * 4.0f / ((float)focus.reach * (float)focus.reach);
        if (threadIdx.x == 0) dplaces[own] = focus.share ? of_middle * (float)length : 0.0f;
    }
    __syncthreads(); // all have read the gradients of the weights
    for (int step = threadIdx.x; step < steps; step += blockDim.x) {
        const float below = FOCUSED ? inner / falling<FOCUSED>(focus, window, step) : inner;
        const bool seen = step >= first_step && step < end;
        const float of_step = seen ? weight[step] * (gradient[step] - below) : 0.0f;
        gradient[step] = of_step;
        denergies[own * steps + step] = of_step;
        if (FOCUSED && dso_far && !seen) dso_far[own * steps + step] = 0.0f;
    }
    __syncthreads();
    if (FOCUSED && dso_far) {
        for (int step = first_step + threadIdx.x / WARP; step < end; step += warps) {
            const float* key = keys + ((u64)(starts[step] + source) * heads + head) * depth;
            const float before = covered<FOCUSED>(focus, own, steps, step);
            float sum = 0.0f, dq, dk, dv;
            for (int i = lane; i < depth; i += WARP) {
                const int column = head * depth + i;
                const float k = key_of<FOCUSED>(focus, key[i], column, before);
                score_term_back(
                    query[own * depth + i], k, vector ? vector[column] : 0.0f, gradient[step], &dq, &dk, &dv);
                sum = fmaf(dk, focus.cover[column], sum);
            }
            sum = over_warp<Add>(sum);
            if (lane == 0) dso_far[own * steps + step] = sum;
        }
    }
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
            for (int step = first_step + group; step < end; step += 4) {
                const float key = keys[(starts[step] + source) * stride + column];
                const float k = key_of<FOCUSED>(focus, key, column, covered<FOCUSED>(focus, own, steps, step));
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

extern "C" __global__ void backward(
    const float* query, const float* vector, SOURCES, const float* weights,
    const float* dcontext, const float* dweights, float* denergies, float* dquery
) {
    backward_of<false>(
        query, vector, keys, values, starts, lengths, of, steps, depth, width, Focus{}, weights,
        dcontext, dweights, denergies, dquery, nullptr, nullptr);
}

extern "C" __global__ void backward_focused(
    const float* query, const float* vector, SOURCES, FOCUS, const float* weights,
    const float* dcontext, const float* dweights, float* denergies, float* dquery, float* dplaces, float* dso_far
) {
    const Focus focus = {places, reach, share, so_far, cover};
    backward_of<true>(
        query, vector, keys, values, starts, lengths, of, steps, depth, width, focus, weights,
        dcontext, dweights, denergies, dquery, dplaces, dso_far);
}

// A block for each step of each source: the gradient of its key, and its shares of the vector's and of the coverage's weight, from
// all rows that read it.
template <bool FOCUSED>
__device__ __forceinline__ void keys_back_of(
    const float* query, const float* vector, const float* keys, const u32* starts, const u32* lengths,
    int steps, int heads, int depth, const u32* reader_starts, const u32* readers, const Focus& focus,
    const float* denergies, float* dkeys, float* dvector, float* dcover
) {
    const u32 source = blockIdx.x, step = blockIdx.y;
    if (step >= lengths[source]) return;
    const u64 row = starts[step] + source;
    const int columns = heads * depth;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float key = keys[row * columns + i], v = vector ? vector[i] : 0.0f;
        const float* own = denergies + (u64)(i / depth) * steps + step; // of the first reader, in the column's head
        float of_key = 0.0f, of_vector = 0.0f, of_cover = 0.0f, dq, dk, dv;
        #pragma unroll 4
        for (u32 r = reader_starts[source]; r < reader_starts[source + 1]; r++) {
            const u64 reader = readers[r];
            const float before = covered<FOCUSED>(focus, reader * heads + i / depth, steps, step);
            const float k = key_of<FOCUSED>(focus, key, i, before);
            score_term_back(query[reader * columns + i], k, v, own[reader * heads * steps], &dq, &dk, &dv);
            of_key += dk;
            of_vector += dv;
            if (FOCUSED) of_cover = fmaf(dk, before, of_cover);
        }
        dkeys[row * columns + i] = of_key;
        if (dvector) dvector[row * columns + i] = of_vector;
        if (FOCUSED && dcover) dcover[row * columns + i] = of_cover;
    }
}

#define KEYS_BACK \
    const float* query, const float* vector, const float* keys, const u32* starts, const u32* lengths, \
    int steps, int heads, int depth, const u32* reader_starts, const u32* readers

extern "C" __global__ void keys_back(KEYS_BACK, const float* denergies, float* dkeys, float* dvector) {
    keys_back_of<false>(
        query, vector, keys, starts, lengths, steps, heads, depth, reader_starts, readers, Focus{},
        denergies, dkeys, dvector, nullptr);
}

extern "C" __global__ void keys_back_focused(
    KEYS_BACK, FOCUS, const float* denergies, float* dkeys, float* dvector, float* dcover
) {
    const Focus focus = {places, reach, share, so_far, cover};
    keys_back_of<true>(
        query, vector, keys, starts, lengths, steps, heads, depth, reader_starts, readers, focus,
        denergies, dkeys, dvector, dcover);
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
