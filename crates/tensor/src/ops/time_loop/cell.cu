// Before this file stand the cell's sizes, GATES, APART, SLOTS and PARTS, and its functions:
//   void cell_forward(float* slots, float* state)
//   void cell_backward(float* slots, const float* before, const float* after, float* gradient)

// The parts of a state; null where they are zero.
struct Parts {
    float* of[4];
};

__device__ __forceinline__ void load(float* state, const Parts& parts, u64 place) {
    #pragma unroll
    for (int part = 0; part < PARTS; part++) state[part] = parts.of[part] ? parts.of[part][place] : 0.0f;
}

// The same of one of two states.
__device__ __forceinline__ void load_either(float* state, bool first, const Parts& a, const Parts& b, u64 place) {
    #pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const float* from = first ? a.of[part] : b.of[part];
        state[part] = from ? from[place] : 0.0f;
    }
}

__device__ __forceinline__ void store(const Parts& parts, u64 place, const float* state) {
    #pragma unroll
    for (int part = 0; part < PARTS; part++) parts.of[part][place] = state[part];
}

// Where the gates and states of one step's rows begin. The first `carried` rows go on from `before`, the others begin.
struct Step {
    float* slots;
    Parts before, start, after;
    u32 carried, rows, hidden;
};

__device__ __forceinline__ void load_slots(float* own, const Step& step, u32 row, u32 unit) {
    #pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
        own[slot] = step.slots[((u64)row * SLOTS + slot) * step.hidden + unit];
}

__device__ __forceinline__ void store_slots(const Step& step, u32 row, u32 unit, const float* own) {
    #pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
        step.slots[((u64)row * SLOTS + slot) * step.hidden + unit] = own[slot];
}

// The cell of one unit, whose gates are complete.
__device__ __forceinline__ void unit_forward(const Step& step, u32 row, u32 unit, float* own) {
    const u64 place = (u64)row * step.hidden + unit;
    float state[PARTS];
    load_either(state, row < step.carried, step.before, step.start, place);
    cell_forward(own, state);
    store_slots(step, row, unit, own);
    store(step.after, place, state);
}

// Its way back: `running` holds the gradient of the state after the step, and then what goes to the one before it; `more` is
// added to that of the output.
__device__ __forceinline__ void unit_backward(
    const Step& step, const Parts& running, const float* upstream, u32 row, u32 unit, float more
) {
    const u64 place = (u64)row * step.hidden + unit;
    float own[SLOTS], from[PARTS], to[PARTS], gradient[PARTS];
    load_slots(own, step, row, unit);
    load_either(from, row < step.carried, step.before, step.start, place);
    load(to, step.after, place);
    load(gradient, running, place);
    gradient[0] += upstream ? more + upstream[place] : more;
    cell_backward(own, from, to, gradient);
    store_slots(step, row, unit, own);
    store(running, place, gradient);
}

// One step whose gates are complete: a thread for each unit of each row.
extern "C" __global__ void forward(Step step) {
    FOR_EACH(i, step.rows * step.hidden) {
        const u32 row = i / step.hidden, unit = i % step.hidden;
        float own[SLOTS];
        load_slots(own, step, row, unit);
        unit_forward(step, row, unit, own);
    }
}

extern "C" __global__ void backward(Step step, Parts running, const float* upstream) {
    FOR_EACH(i, step.rows * step.hidden)
        unit_backward(step, running, upstream, i / step.hidden, i % step.hidden, 0.0f);
}

// A product that a step's gates, or their gradients, begin with: a · w for the rows from `first` to `end`, `depth` numbers deep.
struct Product {
    const float *a, *w;
    int a_stride, w_stride, depth, first, end;
    int of_state; // whether `a` is the state, whose share of the gates that are apart goes to slots of its own
    int aligned;  // whether four numbers of a row can be copied at a time
};

struct Products {
    Product of[3];
};

// Copies one number, or four, to shared memory, behind the program's back where the GPU can; zeros where they are outside.
template <int WIDE> __device__ __forceinline__ void fetch(float* to, const float* from, bool inside) {
#if __CUDA_ARCH__ >= 800
    const u32 place = (u32)__cvta_generic_to_shared(to);
    if (WIDE == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(inside ? 16 : 0));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(inside ? 4 : 0));
#else
    #pragma unroll
    for (int i = 0; i < WIDE; i++) to[i] = inside ? from[i] : 0.0f;
#endif
}

// Copies a stretch of some rows of a product's `a`, in blocks of 256 threads.
template <int WIDE, int ROWS, int DEEP, int STRIDE>
__device__ __forceinline__ void fetch_rows(const Product& f, int top, int k0, float* to) {
    #pragma unroll
    for (int j = 0; j < ROWS * DEEP / 256 / WIDE; j++) {
        const int i = (j * 256 + threadIdx.x) * WIDE, row = i / DEEP, k = i % DEEP, from = top + row;
        const bool inside = from >= f.first && from < f.end && k0 + k < f.depth;
        const float* a = inside ? f.a + (u64)(from - f.first) * f.a_stride + k0 + k : f.a;
        fetch<WIDE>(to + row * STRIDE + k, a, inside);
    }
}

// Ends a group of copies.
__device__ __forceinline__ void end_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

// Waits until all groups but the last `STAGES - 2` are there, for all threads.
#define STAGES 3
__device__ __forceinline__ void wait_for_oldest() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
#endif
    __syncthreads();
}

// Walks over a product in stretches of its depth: while one is multiplied, the next ones are on their way to shared memory.
template <int WIDE, class Tile> __device__ __forceinline__ void walk_by(Tile& tile, const Product& f, float* shared) {
    const int stretches = (f.depth + Tile::DEEP - 1) / Tile::DEEP;
    __syncthreads(); // what was there before has been read
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < stretches) tile.template fetch_stretch<WIDE>(f, i * Tile::DEEP, shared + i * Tile::SIZE);
        end_group();
    }
    for (int i = 0; i < stretches; i++) {
        wait_for_oldest();
        const int ahead = i + STAGES - 1;
        if (ahead < stretches)
            tile.template fetch_stretch<WIDE>(f, ahead * Tile::DEEP, shared + ahead % STAGES * Tile::SIZE);
        end_group();
        tile.multiply(shared + i % STAGES * Tile::SIZE);
    }
}

template <class Tile> __device__ __forceinline__ void walk(Tile& tile, const Product& f, float* shared) {
    if (f.aligned) walk_by<4>(tile, f, shared);
    else walk_by<1>(tile, f, shared);
}

// sums += a · b for 16 × 8 and 8 × 8 numbers, spread over a warp.
__device__ __forceinline__ void multiply_add(float* sums, const u32* a, const u32* b) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// The slots of 32 rows × 8 units: a warp has 16 rows, all gates of the units, and a quarter of each stretch of the depth.
template <bool OF_STATE> struct Gates {
    static const int ROWS = 32, UNITS = 8, DEEP = 64, STRIDE = DEEP + 4; // the rows that a warp reads lie in different banks
    static const int SIZE = (ROWS + GATES * UNITS) * STRIDE;
    float (&sums)[SLOTS][4];
    int top, left, hidden;
    bool exact;

    template <int WIDE> __device__ __forceinline__ void fetch_stretch(const Product& f, int k0, float* to) {
        fetch_rows<WIDE, ROWS, DEEP, STRIDE>(f, top, k0, to);
        to += ROWS * STRIDE;
        #pragma unroll
        for (int j = 0; j * 256 * WIDE < GATES * UNITS * DEEP; j++) {
            const int i = (j * 256 + threadIdx.x) * WIDE, column = i / DEEP, k = i % DEEP, unit = left + column % UNITS;
            const bool inside = unit < hidden && k0 + k < f.depth;
            const u64 line = (u64)(column / UNITS) * hidden + unit;
            if (column < GATES * UNITS) // one gate alone leaves threads over
                fetch<WIDE>(to + column * STRIDE + k, inside ? f.w + line * f.w_stride + k0 + k : f.w, inside);
        }
    }

    __device__ __forceinline__ void multiply(const float* from) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, quarter = warp / 2 * (DEEP / 4);
        const float* a = from + (warp % 2 * 16 + lane / 4) * STRIDE + quarter + lane % 4;
        const float* w = from + (ROWS + lane / 4) * STRIDE + quarter + lane % 4;
        #pragma unroll
        for (int k = 0; k < DEEP / 4; k += 8) {
            u32 high[4], low[4];
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const Rounded x = rounded(a[i % 2 * 8 * STRIDE + i / 2 * 4 + k]);
                high[i] = x.high;
                low[i] = x.low;
            }
            #pragma unroll
            for (int gate = 0; gate < GATES; gate++) {
                const float* line = w + gate * UNITS * STRIDE + k;
                const Rounded y0 = rounded(line[0]), y1 = rounded(line[4]);
                const u32 of_high[2] = {y0.high, y1.high}, of_low[2] = {y0.low, y1.low};
                float* to = sums[OF_STATE && gate >= GATES - APART ? gate + APART : gate];
                if (exact) { // what is left out is the product of the low halves
                    multiply_add(to, low, of_high);
                    multiply_add(to, high, of_low);
                }
                multiply_add(to, high, of_high);
            }
        }
    }
};

// One step with its products: a block for 32 rows and 8 units.
extern "C" __global__ void __launch_bounds__(256) step_forward(
    Step step, const __grid_constant__ Products products, int exact
) {
    extern __shared__ __align__(16) float shared[];
    const int top = blockIdx.y * 32, left = blockIdx.x * 8, hidden = step.hidden;
    float sums[SLOTS][4] = {};
    #pragma unroll 1
    for (int i = 0; i < 3; i++) {
        const Product& f = products.of[i];
        if (f.end <= top || f.first >= top + 32) continue;
        if (APART > 0 && f.of_state) {
            Gates<true> tile = {sums, top, left, hidden, exact != 0};
            walk(tile, f, shared);
        } else {
            Gates<false> tile = {sums, top, left, hidden, exact != 0};
            walk(tile, f, shared);
        }
    }
    // Of each slot of the 256 units, the shares of four warps, which are added up in order.
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    __syncthreads();
    #pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = warp % 2 * 16 + lane / 4 + i / 2 * 8, unit = lane % 4 * 2 + i % 2;
            shared[(warp / 2 * SLOTS + slot) * 256 + row * 8 + unit] = sums[slot][i];
        }
    __syncthreads();
    const u32 row = top + threadIdx.x / 8, unit = left + threadIdx.x % 8;
    if (row >= step.rows || unit >= step.hidden) return;
    float own[SLOTS];
    load_slots(own, step, row, unit);
    #pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
        #pragma unroll
        for (int quarter = 0; quarter < 4; quarter++) own[slot] += shared[(quarter * SLOTS + slot) * 256 + threadIdx.x];
    unit_forward(step, row, unit, own);
}

// The gradients of 16 rows × 16 units in each warp, over its share of the depth: two rows and four units a thread.
struct Outputs {
    static const int ROWS = 16, UNITS = 16, DEEP = 128, SHARE = DEEP / 8;
    static const int A_STRIDE = DEEP + 4, W_STRIDE = UNITS + 4, SIZE = ROWS * A_STRIDE + DEEP * W_STRIDE;
    float own[2][4];
    int top, left, hidden;

    template <int WIDE> __device__ __forceinline__ void fetch_stretch(const Product& f, int k0, float* to) {
        fetch_rows<WIDE, ROWS, DEEP, A_STRIDE>(f, top, k0, to);
        to += ROWS * A_STRIDE;
        #pragma unroll
        for (int j = 0; j < UNITS * DEEP / 256 / WIDE; j++) {
            const int i = (j * 256 + threadIdx.x) * WIDE, k = i / UNITS, unit = i % UNITS;
            const bool inside = left + unit < hidden && k0 + k < f.depth;
            const float* w = inside ? f.w + (u64)(k0 + k) * f.w_stride + left + unit : f.w;
            fetch<WIDE>(to + k * W_STRIDE + unit, w, inside);
        }
    }

    __device__ __forceinline__ void multiply(const float* from) {
        const int first = threadIdx.x / WARP * SHARE, lane = threadIdx.x % WARP;
        const float* a = from + lane / 4 * A_STRIDE + first;
        const float* w = from + ROWS * A_STRIDE + first * W_STRIDE + lane % 4 * 4;
        #pragma unroll
        for (int k = 0; k < SHARE; k += 4) {
            float x[2][4];
            *(float4*)x[0] = *(const float4*)(a + k);
            *(float4*)x[1] = *(const float4*)(a + 8 * A_STRIDE + k);
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                const float4 y = *(const float4*)(w + (k + i) * W_STRIDE);
                #pragma unroll
                for (int j = 0; j < 2; j++) {
                    own[j][0] = fmaf(x[j][i], y.x, own[j][0]);
                    own[j][1] = fmaf(x[j][i], y.y, own[j][1]);
                    own[j][2] = fmaf(x[j][i], y.z, own[j][2]);
                    own[j][3] = fmaf(x[j][i], y.w, own[j][3]);
                }
            }
        }
    }
};

// The way back of one step with its products: a block for 16 rows and 16 units. The gradient of a unit's output is the sum of
// the products, whose `w` has a row for each number of `a`'s.
extern "C" __global__ void __launch_bounds__(256) step_backward(
    Step step, Parts running, const float* upstream, const __grid_constant__ Products products
) {
    extern __shared__ __align__(16) float shared[];
    Outputs tile = {{}, (int)blockIdx.y * 16, (int)blockIdx.x * 16, (int)step.hidden};
    #pragma unroll 1
    for (int i = 0; i < 3; i++) {
        const Product& f = products.of[i];
        if (f.end > tile.top && f.first < tile.top + 16) walk(tile, f, shared);
    }
    // Of each of the 256 outputs, the shares of the eight warps, which are added up in order.
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 8; j++)
        shared[warp * 256 + (lane / 4 + j / 4 * 8) * 16 + lane % 4 * 4 + j % 4] = tile.own[j / 4][j % 4];
    __syncthreads();
    const u32 row = tile.top + threadIdx.x / 16, unit = tile.left + threadIdx.x % 16;
    if (row >= step.rows || unit >= step.hidden) return;
    float more = 0.0f;
    #pragma unroll
    for (int i = 0; i < 8; i++) more += shared[i * 256 + threadIdx.x];
    unit_backward(step, running, upstream, row, unit, more);
}
