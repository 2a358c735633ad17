// Plays the machine for generated CUDA text, so that g++ compiles it and a test runs it with no GPU: every thread of a
// cluster is a fiber, switched at barriers and shuffles. Included before the text, with CA_EMULATE defined.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <memory>
#include <vector>

#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __global__
#define __launch_bounds__(...)

struct uint4 {
  uint32_t x, y, z, w;
};
struct uint2 {
  uint32_t x, y;
};
struct EmulatedIndex {
  unsigned x = 0, y = 0, z = 0;
};
inline EmulatedIndex threadIdx, blockIdx, gridDim;

namespace ca::emulation {

constexpr int warp = 32;
constexpr std::size_t stack_bytes = 256 << 10;

struct Fiber {
  ucontext_t start;
  jmp_buf place;
  bool started = false, done = false;
  int block = 0;  ///< in the cluster
  EmulatedIndex thread, block_index;
  unsigned shuffles = 0, block_barriers = 0, cluster_barriers = 0;
};

/// Counts arrivals; generation g is over when all `size` threads have arrived g + 1 times.
struct Barrier {
  unsigned size = 0, arrived = 0, generation = 0;
  void arrive() {
    if (++arrived == size) arrived = 0, ++generation;
  }
};

struct WarpExchange {
  Barrier barrier;
  uint32_t words[2][warp];
};

struct Cluster {
  std::vector<Fiber> fibers;
  std::vector<Barrier> block_barriers;
  Barrier cluster_barrier;
  std::vector<WarpExchange> warps;
  std::vector<std::vector<std::unique_ptr<char[]>>> shared;  ///< [declaration][block]
  std::vector<std::size_t> shared_bytes;
  std::size_t current = 0;
  void (*kernel)(void**, int, void*) = nullptr;
  void** args = nullptr;
  int count = 0;
  void* function = nullptr;
  jmp_buf scheduler;
};
inline Cluster machine;

inline Fiber& self() { return machine.fibers[machine.current]; }

/// Back to the scheduler, which runs the other threads before this one goes on.
inline void yield() {
  if (_setjmp(self().place) == 0) _longjmp(machine.scheduler, 1);
}

inline void arrive_and_wait(Barrier& barrier, unsigned& passed) {
  const unsigned mine = passed++;
  barrier.arrive();
  while (barrier.generation == mine) yield();
}

inline void sync_block() {
  arrive_and_wait(machine.block_barriers[static_cast<std::size_t>(self().block)], self().block_barriers);
}
inline void cluster_arrive() {
  ++self().cluster_barriers;
  machine.cluster_barrier.arrive();
}
inline void cluster_wait() {
  while (machine.cluster_barrier.generation < self().cluster_barriers) yield();
}
inline int cluster_rank() { return self().block; }

inline uint32_t shuffle_xor(uint32_t word, int lanes) {
  WarpExchange& exchange = machine.warps[machine.current / warp];
  const std::size_t lane = machine.current % warp;
  // Two sets of slots: a lane can be one exchange ahead of another, never two.
  uint32_t (&slots)[warp] = exchange.words[self().shuffles % 2];
  slots[lane] = word;
  arrive_and_wait(exchange.barrier, self().shuffles);
  return slots[lane ^ static_cast<std::size_t>(lanes)];
}

/// Storage of one __shared__ declaration in the block of the calling thread; garbage at first, as on the machine.
inline char* shared(std::size_t declaration, std::size_t bytes) {
  if (machine.shared.size() <= declaration) {
    machine.shared.resize(declaration + 1);
    machine.shared_bytes.resize(declaration + 1);
  }
  auto& blocks = machine.shared[declaration];
  if (blocks.empty()) {
    machine.shared_bytes[declaration] = bytes;
    for (std::size_t b = 0; b < machine.block_barriers.size(); ++b) {
      blocks.emplace_back(new char[bytes + 64]);
      memset(blocks.back().get(), 0xa5, bytes + 64);
    }
  }
  const auto base = reinterpret_cast<uintptr_t>(blocks[static_cast<std::size_t>(self().block)].get());
  return reinterpret_cast<char*>((base + 15) / 16 * 16);
}
#define CA_SHARED(name, count, ...) \
  auto* name = reinterpret_cast<__VA_ARGS__*>(ca::emulation::shared(__COUNTER__, sizeof(__VA_ARGS__) * (count)))

#define CA_DYNAMIC_SHARED(name, bytes) CA_SHARED(name, bytes, char)

template <class T>
void store_to_rank(T* to, int rank, T x) {
  char* mine = reinterpret_cast<char*>(to);
  for (auto& blocks : machine.shared) {
    if (blocks.empty()) continue;
    const auto align = [](char* p) { return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + 15) / 16 * 16); };
    char* base = align(blocks[static_cast<std::size_t>(self().block)].get());
    const std::size_t bytes = machine.shared_bytes[static_cast<std::size_t>(&blocks - machine.shared.data())];
    if (mine < base || mine >= base + bytes) continue;
    memcpy(align(blocks[static_cast<std::size_t>(rank)].get()) + (mine - base), &x, sizeof(T));
    return;
  }
  fprintf(stderr, "a cluster store outside shared memory\n");
  abort();
}

/// Copies happen when the thread waits for them, not before.
struct PendingCopy {
  std::size_t thread;
  void* to;
  const void* from;
  std::size_t bytes;
};
inline std::vector<PendingCopy> pending_copies;
inline void start_copy(void* to, const void* from, std::size_t bytes) {
  pending_copies.push_back({machine.current, to, from, bytes});
}
inline void finish_copies() {
  std::erase_if(pending_copies, [](const PendingCopy& copy) {
    if (copy.thread != machine.current) return false;
    memcpy(copy.to, copy.from, copy.bytes);
    return true;
  });
}

inline void call(void* function, void** args, int count) {
  using P = void*;
  void** a = args;
  switch (count) {
    case 1:
      return reinterpret_cast<void (*)(P)>(function)(a[0]);
    case 2:
      return reinterpret_cast<void (*)(P, P)>(function)(a[0], a[1]);
    case 3:
      return reinterpret_cast<void (*)(P, P, P)>(function)(a[0], a[1], a[2]);
    case 4:
      return reinterpret_cast<void (*)(P, P, P, P)>(function)(a[0], a[1], a[2], a[3]);
    case 5:
      return reinterpret_cast<void (*)(P, P, P, P, P)>(function)(a[0], a[1], a[2], a[3], a[4]);
    default:
      break;
  }
  if (count > 16) abort();
  // More arguments than the function takes are harmless under the x86-64 calling convention.
  using Many = void (*)(P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P);
  void* all[16] = {};
  for (int k = 0; k < count; ++k) all[k] = a[k];
  reinterpret_cast<Many>(function)(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9],
                                   all[10], all[11], all[12], all[13], all[14], all[15]);
}

inline void fiber_main() {
  call(machine.function, machine.args, machine.count);
  self().done = true;
  _longjmp(machine.scheduler, 1);
}

inline char* stacks(std::size_t count) {
  static char* memory = nullptr;
  static std::size_t held = 0;
  if (held < count) {
    if (memory) munmap(memory, held * stack_bytes);
    memory = static_cast<char*>(
        mmap(nullptr, count * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    held = count;
  }
  return memory;
}

/// Round and round over the threads that are not done; a round in which nobody can go on would never end.
inline void schedule() {
  volatile std::size_t left = machine.fibers.size();
  volatile unsigned long rounds = 0;
  while (left > 0) {
    if (++rounds > 1000000) {
      fprintf(stderr, "the emulated threads wait for each other\n");
      abort();
    }
    for (volatile std::size_t k = 0; k < machine.fibers.size(); k = k + 1) {
      Fiber& fiber = machine.fibers[k];
      if (fiber.done) continue;
      machine.current = k;
      threadIdx = fiber.thread;
      blockIdx = fiber.block_index;
      if (_setjmp(machine.scheduler) == 0) {
        if (fiber.started) _longjmp(fiber.place, 1);
        fiber.started = true;
        setcontext(&fiber.start);
      }
      if (machine.fibers[k].done) left = left - 1;
    }
  }
}

inline void run_cluster(unsigned first_block, unsigned cluster, unsigned threads) {
  machine.fibers.assign(cluster * threads, {});
  machine.block_barriers.assign(cluster, {threads});
  machine.cluster_barrier = {cluster * threads};
  machine.warps.assign(cluster * threads / warp, {{warp}, {}});
  machine.shared.clear();
  machine.shared_bytes.clear();
  char* memory = stacks(machine.fibers.size());
  for (std::size_t k = 0; k < machine.fibers.size(); ++k) {
    Fiber& fiber = machine.fibers[k];
    fiber.block = static_cast<int>(k / threads);
    fiber.thread.x = static_cast<unsigned>(k % threads);
    fiber.block_index.x = first_block + static_cast<unsigned>(fiber.block);
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = memory + k * stack_bytes;
    fiber.start.uc_stack.ss_size = stack_bytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, fiber_main, 0);
  }
  schedule();
}

inline uint16_t half_from_float(float x) {
  if (x != x) return 0x7fff;
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  const float magnitude = fabsf(x);
  if (magnitude == 0) return sign;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  int exponent = 0;
  frexpf(magnitude, &exponent);
  const int spacing = exponent - 11 > -24 ? exponent - 11 : -24;
  const int units = static_cast<int>(nearbyintf(ldexpf(magnitude, -spacing)));
  return static_cast<uint16_t>(sign | (spacing == -24 ? units : ((spacing + 24) << 10) + units));
}
inline float float_from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float magnitude = exponent == 31 ? (mantissa ? NAN : INFINITY)
                          : exponent     ? ldexpf(static_cast<float>(mantissa + 1024), exponent - 25)
                                         : ldexpf(static_cast<float>(mantissa), -24);
  return bits >> 15 ? -magnitude : magnitude;
}
inline uint16_t bfloat16_from_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return x != x ? 0x7fff : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace ca::emulation

inline void __syncthreads() { ca::emulation::sync_block(); }
inline uint32_t __shfl_xor_sync(unsigned, uint32_t word, int lanes) { return ca::emulation::shuffle_xor(word, lanes); }

template <class To, class From>
To emulated_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
inline float __uint_as_float(uint32_t bits) { return emulated_bits<float>(bits); }
inline int __float_as_int(float x) { return emulated_bits<int>(x); }
inline double __longlong_as_double(long long bits) { return emulated_bits<double>(bits); }
inline long long __double_as_longlong(double x) { return emulated_bits<long long>(x); }

// Functions of CUDA's library that glibc lacks, in double.
inline double rsqrt(double x) { return 1 / ::sqrt(x); }
inline float rsqrtf(float x) { return static_cast<float>(1 / ::sqrt(static_cast<double>(x))); }
inline double erfinv(double y) {
  if (!(fabs(y) < 1)) return fabs(y) == 1 ? copysign(INFINITY, y) : NAN;
  double x = 0;
  // Newton; the derivative of erf is 2/sqrt(pi) exp(-x^2).
  for (int k = 0; k < 200; ++k) {
    const double gap = y > 0.5 ? -(::erfc(x) - (1 - y)) : y < -0.5 ? ::erfc(-x) - (1 + y) : ::erf(x) - y;
    const double step = gap * 0.88622692545275801365 * ::exp(x * x);
    x -= fabs(step) > 0.5 ? copysign(0.5, step) : step;
  }
  return x;
}
inline float erfinvf(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }
inline double emulated_bessel(double x, int order) {
  long double sum = 0, term = order == 0 ? 1 : static_cast<long double>(x) / 2;
  for (int k = 1; k < 2000; ++k) {
    sum += term;
    term *= static_cast<long double>(x) * x / 4 / (static_cast<long double>(k) * (k + order));
  }
  return static_cast<double>(sum);
}
inline double cyl_bessel_i0(double x) { return emulated_bessel(x, 0); }
inline double cyl_bessel_i1(double x) { return emulated_bessel(x, 1); }
inline float cyl_bessel_i0f(float x) { return static_cast<float>(emulated_bessel(x, 0)); }
inline float cyl_bessel_i1f(float x) { return static_cast<float>(emulated_bessel(x, 1)); }

/// Runs one launch over a one-dimensional grid.
extern "C" __attribute__((visibility("default"))) inline void ca_emulate(void* kernel, void** args, int count,
                                                                         unsigned blocks, unsigned threads,
                                                                         unsigned cluster) {
  using namespace ca::emulation;
  machine.function = kernel;
  machine.args = args;
  machine.count = count;
  gridDim.x = blocks;
  for (unsigned b = 0; b < blocks; b += cluster) run_cluster(b, cluster, threads);
}
// An inline function that nobody calls would not be emitted.
inline auto* const keep_emulate __attribute__((used)) = &ca_emulate;
