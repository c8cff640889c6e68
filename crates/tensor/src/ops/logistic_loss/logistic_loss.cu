// The loss of each row: softplus(−z) where its target is true, else softplus(z).
extern "C" __global__ void forward(float* losses, const float* z, const u32* targets, int rows) {
    FOR_EACH(i, rows) {
        const float x = targets[i] ? -z[i] : z[i];
        losses[i] = fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
    }
}

// dz = scale · (σ(z) − target), times the gradient of the loss. σ(z) − 1 is −σ(−z), which keeps its digits.
extern "C" __global__ void backward(
    float* dz, const float* z, const u32* targets, const float* upstream, float scale, int rows
) {
    FOR_EACH(i, rows) {
        const float sign = targets[i] ? -1.0f : 1.0f;
        dz[i] = scale * *upstream * sign / (1.0f + expf(-sign * z[i]));
    }
}
