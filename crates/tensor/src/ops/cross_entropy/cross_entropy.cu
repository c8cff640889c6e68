enum Gradients { NONE, PLAIN, ROUNDED };

// A block for each row: its logits in, its loss out; where gradients are wanted, the logits become theirs. Rounded to bf16, they
// take the first half of the row.
//
// Where there is a `beside`, a target may be had in another way as well: P = p_target + e^beside, and the share p_target / P goes out
// too. A target behind the classes can be had in no other way.
extern "C" __global__ void rows(
    float* logits, const float* bias, const u32* targets, float* losses, int classes,
    float scale, float smoothing, Gradients wanted, const float* beside, float* shares
) {
    float* own = logits + (u64)blockIdx.x * classes;
    // Largest logit, Σ e^(l − largest) and Σ l in one walk: what was summed is scaled down when a larger one comes.
    float most = -INFINITE, sum = 0.0f, all = 0.0f;
    for (int i = threadIdx.x; i < classes; i += blockDim.x) {
        const float l = own[i] + (bias ? bias[i] : 0.0f);
        all += l;
        if (l > most) {
            sum = sum * expf(most - l) + 1.0f;
            most = l;
        } else if (l != -INFINITE) {
            sum += expf(l - most);
        }
    }
    const float largest = over_block<Largest>(most);
    const float total = over_block<Add>(sum != 0.0f ? sum * expf(most - largest) : 0.0f);
    const float shifted = over_block<Add>(all) - largest * classes;
    const u32 target = targets[blockIdx.x];
    const bool known = target < (u32)classes;
    const float of_target = known ? own[target] + (bias ? bias[target] : 0.0f) - largest : -INFINITE;
    __syncthreads(); // the target's logit has been read
    const float log_sum = logf(total), sure = 1.0f - smoothing;
    float of_row = log_sum - of_target, share = 1.0f;
    if (beside && beside[blockIdx.x] != -INFINITE) {
        // The larger of both comes out of the logarithm: log(p + q) = log p + log(1 + q/p).
        const float other = beside[blockIdx.x], odds = expf(other + of_row);
        of_row = odds <= 1.0f ? of_row - log1pf(odds) : -other - log1pf(1.0f / odds);
        share = 1.0f / (1.0f + odds);
    }
    if (wanted != NONE) {
        const float factor = scale * (sure * share + smoothing) / total, uniform = scale * smoothing / classes;
        for (int first = 0; first < classes; first += blockDim.x) {
            const int i = first + threadIdx.x;
            float gradient = 0.0f;
            if (i < classes) {
                const float l = own[i] + (bias ? bias[i] : 0.0f);
                const float of_mixture = uniform + (i == target ? scale * sure * share : 0.0f);
                gradient = expf(l - largest) * factor - of_mixture;
            }
            if (wanted == ROUNDED) __syncthreads(); // all logits that lie where these are going have been read
            if (i < classes && wanted == ROUNDED) ((u16*)own)[i] = to_bf16(gradient);
            if (i < classes && wanted == PLAIN) own[i] = gradient;
        }
    }
    if (threadIdx.x == 0) {
        float loss = sure * of_row;
        // Without smoothing, a class that is ruled out (a logit of −∞) does not matter; 0·∞ would.
        if (smoothing > 0.0f) loss += smoothing * (log_sum - shifted / classes);
        losses[blockIdx.x] = loss;
        if (shares) shares[blockIdx.x] = share;
    }
}

// One block: scale · Σ losses.
extern "C" __global__ void total(float* loss, const float* losses, int rows, float scale) {
    double sum = 0.0;
    for (int i = threadIdx.x; i < rows; i += blockDim.x) sum += losses[i];
    sum = over_block<Add>(sum);
    if (threadIdx.x == 0) *loss = (float)(sum * scale);
}

// to = factor · kept, or added to it.
extern "C" __global__ void hand_on(float* to, const float* kept, const float* factor, u32 count, int add) {
    FOR_EACH(i, count) put(to + i, *factor * kept[i], add);
}
