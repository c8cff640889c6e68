// A thread for each column of each target, which walks through its steps: what they look at again.
extern "C" __global__ void forward(
    float* losses, const float* weights, const u32* starts, const u32* lengths, int batch, int columns
) {
    FOR_EACH(i, (u64)batch * columns) {
        const int place = i / columns, column = i % columns;
        float sum = 0.0f, so_far = 0.0f;
        for (int step = 0; step < lengths[place]; step++) {
            const float weight = weights[(u64)(starts[step] + place) * columns + column];
            sum += fminf(weight, so_far);
            so_far += weight;
        }
        losses[i] = sum;
    }
}

// Forwards, a weight that is smaller than the sum before it gets a gradient; backwards, all others give theirs to those before.
extern "C" __global__ void backward(
    float* dweights, const float* weights, const u32* starts, const u32* lengths, const float* upstream, float scale,
    int batch, int columns
) {
    const float factor = scale * *upstream;
    FOR_EACH(i, (u64)batch * columns) {
        const int place = i / columns, column = i % columns;
        float so_far = 0.0f, behind = 0.0f;
        for (int step = 0; step < lengths[place]; step++) {
            const u64 at = (u64)(starts[step] + place) * columns + column;
            dweights[at] = weights[at] < so_far ? 1.0f : 0.0f;
            so_far += weights[at];
        }
        for (int step = (int)lengths[place] - 1; step >= 0; step--) {
            const u64 at = (u64)(starts[step] + place) * columns + column;
            const float own = dweights[at];
            dweights[at] = factor * (own + behind);
            behind += 1.0f - own;
        }
    }
}
