// Kernels for the judge: one right, the others wrong in one way each. All take x and y, f32[rows, columns] unless said.
#pragma once

namespace cudaagent::testing {

inline constexpr const char* attack_kernels = R"(
typedef long long i64;
typedef unsigned int u32;
extern "C" {
void _exit(int);
long write(int, const void*, unsigned long);

#define KERNEL(name) void name(void* const* args, i64 begin, i64 end)
#define XY const float* x = (const float*)args[0]; float* y = (float*)args[1]
#define EACH for (i64 i = begin; i < end; ++i)
enum : i64 { rows = 37, columns = 129, total = rows * columns };

KERNEL(right) { XY; EACH y[i] = __builtin_expf(x[i]); }
KERNEL(unwritten_tail) { XY; EACH if (i != total - 1) y[i] = __builtin_expf(x[i]); }
KERNEL(past_the_end) { right(args, begin, end); XY; if (end == total) y[total] = y[total - 1]; }
KERNEL(before_the_start) { right(args, begin, end); XY; if (begin == 0) y[-1] = 0; }
KERNEL(mutates_input) { right(args, begin, end); XY; if (begin == 0) ((float*)x)[3] = 0; }
static float to_bf16(float v) { u32 b; __builtin_memcpy(&b, &v, 4); b &= 0xffff0000u; __builtin_memcpy(&v, &b, 4); return v; }
KERNEL(low_precision) { XY; EACH y[i] = to_bf16(__builtin_expf(x[i])); }
KERNEL(one_bad_row) { XY; EACH y[i] = __builtin_expf(x[i]) * (i / columns == 5 ? 1.0001f : 1); }
KERNEL(swallows_nan) { XY; EACH y[i] = x[i] != x[i] ? 0 : __builtin_expf(x[i]); }
KERNEL(zeros) { XY; EACH y[i] = 0; }
KERNEL(hangs) { volatile int spin = 1; while (spin) {} }
KERNEL(crashes) { *(volatile int*)8 = 1; }
KERNEL(exits) { _exit(0); }
KERNEL(forges) { write(3, "{\"nonce\":\"0\"}\n", 14); write(3, "{}\n", 3); }
KERNEL(remembers) {
  static float first[total]; static int calls; XY;
  EACH { if (calls == 0) first[i] = __builtin_expf(x[i]); y[i] = first[i]; }
  if (end == total) calls = 1;
}
KERNEL(drifts) {
  static int calls; XY;
  EACH { u32 b; float v = __builtin_expf(x[i]); __builtin_memcpy(&b, &v, 4); if (v == v && v < 1e30f && v > 1e-30f) b += calls & 1; __builtin_memcpy(&y[i], &b, 4); }
  if (end == total) ++calls;
}
KERNEL(reads_poison) { XY; EACH y[i] = __builtin_expf(x[i]) + 0 * y[i]; }

// Rows: y is f32[rows].
KERNEL(sums) { XY; EACH { float s = 0; for (i64 c = 0; c < columns; ++c) s += x[i * columns + c]; y[i] = s; } }
KERNEL(sums_coarsely) { XY; EACH { float s = 0; for (i64 c = 0; c < columns; ++c) s = to_bf16(s + x[i * columns + c]); y[i] = s; } }
KERNEL(sums_columns_short) { XY; EACH { float s = 0; for (i64 c = 0; c < columns - 1; ++c) s += x[i * columns + c]; y[i] = s; } }

// Index of the largest, y is i64[rows]; NaN wins.
static void argmax(void* const* args, i64 begin, i64 end, int last, i64 off) {
  const float* x = (const float*)args[0]; i64* y = (i64*)args[1];
  EACH {
    i64 best = 0;
    for (i64 c = 1; c < columns; ++c) {
      float v = x[i * columns + c], b = x[i * columns + best];
      if (v > b || (v != v && b == b) || (last && v == b)) best = c;
    }
    y[i] = best + off;
  }
}
KERNEL(argmax_first) { argmax(args, begin, end, 0, 0); }
KERNEL(argmax_last) { argmax(args, begin, end, 1, 0); }
KERNEL(argmax_off) { argmax(args, begin, end, 0, 1); }

// Bool outputs.
KERNEL(greater) { const float* x = (const float*)args[0]; bool* y = (bool*)args[1]; EACH y[i] = x[i] > 1; }
KERNEL(greater_or_equal) { const float* x = (const float*)args[0]; bool* y = (bool*)args[1]; EACH y[i] = x[i] >= 1; }
KERNEL(bool_of_two) { const float* x = (const float*)args[0]; char* y = (char*)args[1]; EACH y[i] = x[i] > 1 ? 2 : 0; }

// Integers: y = x + x, i64.
KERNEL(twice) { const i64* x = (const i64*)args[0]; i64* y = (i64*)args[1]; EACH y[i] = x[i] + x[i]; }
KERNEL(twice_unsigned) { const i64* x = (const i64*)args[0]; i64* y = (i64*)args[1]; EACH y[i] = 2 * (x[i] < 0 ? 0 : x[i]); }

// Column-major x.
KERNEL(transposed) { XY; EACH y[i] = __builtin_expf(x[i % columns * rows + i / columns]); }

// With scratch: args are x, y, scratch.
KERNEL(adds_scratch) { XY; const float* s = (const float*)args[2]; EACH y[i] = __builtin_expf(x[i]) + s[i]; }
KERNEL(copies) { XY; EACH y[i] = x[i]; }
}
)";

}  // namespace cudaagent::testing
