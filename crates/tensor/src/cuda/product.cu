// The upper half of an f32, rounded to the nearest, to even where two are as near.
__device__ __forceinline__ u32 to_bf16(float x) {
    const u32 bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu; // not a number
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

// Rows in bf16: a thread for each four columns, of which the last may not be there.
extern "C" __global__ void round_rows(uint2* to, const float* from, u32 rows, u32 columns, u32 from_stride, u32 to_stride) {
    const u32 fours = to_stride / 4;
    const bool aligned = (u64)from % 16 == 0 && from_stride % 4 == 0;
    FOR_EACH(i, (u64)rows * fours) {
        const u32 row = i / fours, column = i % fours * 4;
        const float* x = from + (u64)row * from_stride + column;
        __align__(16) float four[4];
        if (aligned && column + 4 <= columns) *(float4*)four = *(const float4*)x;
        else for (int k = 0; k < 4; k++) four[k] = column + k < columns ? x[k] : 0.0f;
        to[i] = make_uint2(to_bf16(four[1]) << 16 | to_bf16(four[0]), to_bf16(four[3]) << 16 | to_bf16(four[2]));
    }
}
