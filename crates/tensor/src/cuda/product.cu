// Four numbers of a row; zeros behind its end.
__device__ __forceinline__ float4 four_of(const float* row, u32 column, u32 columns, bool aligned) {
    if (aligned && column + 4 <= columns) return *(const float4*)(row + column);
    float four[4];
    for (int k = 0; k < 4; k++) four[k] = column + k < columns ? row[column + k] : 0.0f;
    return make_float4(four[0], four[1], four[2], four[3]);
}

#define ROWS const float* from, u32 rows, u32 columns, u32 from_stride, u32 to_stride

// Rows in bf16: a thread for each four columns, of which the last may not be there.
extern "C" __global__ void round_rows(uint2* to, ROWS) {
    const u32 fours = to_stride / 4;
    const bool aligned = (u64)from % 16 == 0 && from_stride % 4 == 0;
    FOR_EACH(i, (u64)rows * fours) {
        const float4 x = four_of(from + i / fours * from_stride, i % fours * 4, columns, aligned);
        to[i] = make_uint2(to_bf16(x.y) << 16 | to_bf16(x.x), to_bf16(x.w) << 16 | to_bf16(x.z));
    }
}

// Rows as sums of two numbers of TF32: all the upper halves, then all the lower ones.
extern "C" __global__ void split_rows(float4* to, ROWS) {
    const u32 fours = to_stride / 4;
    const bool aligned = (u64)from % 16 == 0 && from_stride % 4 == 0;
    FOR_EACH(i, (u64)rows * fours) {
        const float4 x = four_of(from + i / fours * from_stride, i % fours * 4, columns, aligned);
        const Rounded a = rounded(x.x), b = rounded(x.y), c = rounded(x.z), d = rounded(x.w);
        to[i] = make_float4(upper(a), upper(b), upper(c), upper(d));
        to[(u64)rows * fours + i] = make_float4(lower(a), lower(b), lower(c), lower(d));
    }
}
