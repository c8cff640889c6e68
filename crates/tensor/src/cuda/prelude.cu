typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define INFINITE __int_as_float(0x7f800000)
#define WARP 32

// A thread walks over every so many-th of `count` numbers.
#define FOR_EACH(i, count) \
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < (u64)(count); i += (u64)gridDim.x * blockDim.x)

struct Add {
    template <class T> __device__ static T of(T a, T b) { return a + b; }
    __device__ static float none() { return 0.0f; }
};

struct Largest {
    __device__ static float of(float a, float b) { return fmaxf(a, b); }
    __device__ static float none() { return -INFINITE; }
};

// The sum, or the largest, of a warp's numbers: on every thread, always in the same order.
template <class Op, class T> __device__ __forceinline__ T over_warp(T x) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        x = Op::of(x, __shfl_xor_sync(0xffffffffu, x, distance));
    return x;
}

// The same for all threads of a block, whose number is a multiple of a warp's.
template <class Op, class T> __device__ __forceinline__ T over_block(T x) {
    __shared__ T of_warps[WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    x = over_warp<Op>(x);
    __syncthreads(); // the numbers of the last call have been read
    if (lane == 0) of_warps[warp] = x;
    __syncthreads();
    return over_warp<Op>(lane < blockDim.x / WARP ? of_warps[lane] : (T)Op::none());
}

// The step of a packed row: the last one that begins at or before it.
__device__ __forceinline__ int step_of(u32 row, const u32* starts, int steps) {
    int low = 0, high = steps;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (starts[middle] <= row) low = middle; else high = middle;
    }
    return low;
}

__device__ __forceinline__ void put(float* to, float x, int add) { *to = add ? *to + x : x; }

// The upper half of an f32, rounded to the nearest, to even where two are as near.
__device__ __forceinline__ u32 to_bf16(float x) {
    const u32 bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu; // not a number
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

// A number, from how it is stored: as it is, or as bf16.
__device__ __forceinline__ float number(float x) { return x; }
__device__ __forceinline__ float number(u16 x) { return __uint_as_float((u32)x << 16); }

// A factor of a product on the tensor cores: 11 bits of a number, and of what they leave.
struct Rounded {
    u32 high, low;
};

__device__ __forceinline__ u32 to_tf32(float x) {
    u32 bits = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#endif
    return bits;
}

__device__ __forceinline__ Rounded rounded(float x) {
    const u32 high = to_tf32(x);
    return {high, to_tf32(x - __uint_as_float(high))};
}

__device__ __forceinline__ float upper(const Rounded& x) { return __uint_as_float(x.high); }
__device__ __forceinline__ float lower(const Rounded& x) { return __uint_as_float(x.low); }

// What clipping multiplies gradients with; `norm` is null where nothing is clipped.
__device__ __forceinline__ float clipping(const float* norm, float limit) {
    return norm ? fminf(limit / (*norm + 1e-6f), 1.0f) : 1.0f;
}

// Ten rounds of Philox 4×32, as in random.rs.
__device__ __forceinline__ uint4 philox(u32 k0, u32 k1, u32 c0, u32 c1, u32 c2, u32 c3) {
    for (int round = 0; round < 10; round++) {
        const u64 a = (u64)c0 * 0xD2511F53u, b = (u64)c2 * 0xCD9E8D57u;
        const u32 n0 = (u32)(b >> 32) ^ c1 ^ k0, n2 = (u32)(a >> 32) ^ c3 ^ k1;
        c0 = n0; c1 = (u32)b; c2 = n2; c3 = (u32)a;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    return make_uint4(c0, c1, c2, c3);
}

// Which numbers of a sequence are dropped together, as in ops/dropout/mod.rs.
enum Together { ALONE, STEPS, ALL };

// The random words of four units of a sequence's step.
__device__ __forceinline__ uint4 drop_words(
    u32 key0, u32 key1, u32 update, u32 example, u32 step, u32 four, u32 together
) {
    const u32 any = 0xffffffffu;
    const uint4 words = philox(
        key0, key1, update, example, together == ALONE ? step : any, together == ALL ? any : four
    );
    return together == ALL ? make_uint4(words.x, words.x, words.x, words.x) : words;
}

// Dropout inside of another kernel; ops/dropout/cuda.rs fills it in.
struct Dropping {
    const u32 *starts, *examples;
    u32 steps, key0, key1, update, threshold;
    float kept;
    u32 together;
};

// What a unit of a packed row is multiplied by.
__device__ __forceinline__ float drop_factor(const Dropping& d, u32 row, u32 unit) {
    if (d.threshold == 0) return 1.0f;
    const u32 step = step_of(row, d.starts, d.steps);
    const u32 example = d.examples[row - d.starts[step]];
    const uint4 words = drop_words(d.key0, d.key1, d.update, example, step, unit / 4, d.together);
    const u32 word[4] = {words.x, words.y, words.z, words.w};
    return word[unit % 4] < d.threshold ? 0.0f : d.kept;
}
