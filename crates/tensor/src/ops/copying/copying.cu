#define NOWHERE 0xffffffffu

// log σ(u), without a number that overflows.
__device__ __forceinline__ float log_sigmoid(float u) { return fminf(u, 0.0f) - log1pf(expf(-fabsf(u))); }

// log(e^a + e^b) for a finite b.
__device__ __forceinline__ float log_add(float a, float b) {
    return fmaxf(a, b) + log1pf(expf(-fabsf(a - b)));
}

// The attention of a row on the steps that have a class, the mean of all heads; below zero where no step has it.
__device__ __forceinline__ float on_class(const float* weights, const u32* source, int steps, int heads, u32 class_) {
    float sum = 0.0f;
    bool there = false;
    for (int head = 0; head < heads; head++)
        for (int step = 0; step < steps; step++)
            if (source[step] == class_) {
                sum += weights[(u64)head * steps + step] / heads;
                there = true;
            }
    return there ? sum : -1.0f;
}

// A thread for each row: the attention on its target, and the logarithm of what that is beside the target's logit.
extern "C" __global__ void beside(
    float* attention, float* log, const float* gate, const float* weights, const u32* classes, const u32* of,
    const u32* targets, int rows, int steps, int heads, float least
) {
    FOR_EACH(row, rows) {
        const float* own = weights + row * heads * steps;
        const float found = on_class(own, classes + (u64)of[row] * steps, steps, heads, targets[row]);
        const float a = found < 0.0f ? found : fmaxf(found, least);
        attention[row] = a;
        log[row] = a < 0.0f ? -INFINITE : logf(a) - gate[row];
    }
}

// A thread for each row: its whole loss, and where they are wanted the gradients of gate and attention.
extern "C" __global__ void finish(
    float* losses, float* dgate, float* dweights, const float* gate, const float* shares, const float* attention,
    const u32* classes, const u32* of, const u32* targets, int rows, int steps, int heads, float scale, float sure
) {
    FOR_EACH(row, rows) {
        losses[row] -= sure * log_sigmoid(gate[row]);
        if (!dgate) continue;
        dgate[row] = scale * sure * (1.0f / (1.0f + expf(-gate[row])) - shares[row]);
        const float a = attention[row];
        const float slope = a < 0.0f ? 0.0f : -scale * sure * (1.0f - shares[row]) / (a * heads);
        const u32* source = classes + (u64)of[row] * steps;
        for (int head = 0; head < heads; head++)
            for (int step = 0; step < steps; step++)
                dweights[((u64)row * heads + head) * steps + step] = source[step] == targets[row] ? slope : 0.0f;
    }
}

// A block for each row: the logarithms of the probabilities of all classes.
extern "C" __global__ void mixture(
    float* mixed, const float* logits, const float* gate, const float* weights, const u32* classes, const u32* of,
    int known, int all, int steps, int heads, float least
) {
    const u64 row = blockIdx.x;
    const float* own = logits + row * known;
    float* out = mixed + row * all;
    float most = -INFINITE, sum = 0.0f;
    for (int i = threadIdx.x; i < known; i += blockDim.x) most = fmaxf(most, own[i]);
    most = over_block<Largest>(most);
    for (int i = threadIdx.x; i < known; i += blockDim.x) sum += expf(own[i] - most);
    const float shift = log_sigmoid(gate[row]) - most - logf(over_block<Add>(sum));
    for (int i = threadIdx.x; i < all; i += blockDim.x) out[i] = i < known ? own[i] + shift : -INFINITE;
    __syncthreads(); // what is copied is added to what was written
    const u32* source = classes + (u64)of[row] * steps;
    const float log_copied = log_sigmoid(-gate[row]);
    for (int step = threadIdx.x; step < steps; step += blockDim.x) {
        const u32 class_ = source[step];
        bool is_first = class_ != NOWHERE; // of the steps with this class, which one thread is to add
        for (int before = 0; before < step; before++) is_first = is_first && source[before] != class_;
        if (!is_first) continue;
        const float a = on_class(weights + row * heads * steps, source, steps, heads, class_);
        out[class_] = log_add(out[class_], logf(fmaxf(a, least)) + log_copied);
    }
}
