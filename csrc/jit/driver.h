// The CUDA driver, opened with dlopen so that the package works where there is none. The declarations below are the few
// of the driver's ABI that are used; no CUDA header is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace cudaagent::jit {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;

namespace cu {
inline constexpr CUresult success = 0;
inline constexpr CUresult error_deinitialized = 4;
inline constexpr CUresult error_no_device = 100;
inline constexpr CUresult error_not_ready = 600;

inline constexpr int attribute_max_shared_per_block = 8;
inline constexpr int attribute_multiprocessors = 16;
inline constexpr int attribute_compute_major = 75;
inline constexpr int attribute_compute_minor = 76;
inline constexpr int attribute_l2_bytes = 38;
inline constexpr int attribute_max_shared_per_block_optin = 97;

inline constexpr int function_shared_bytes = 1;
inline constexpr int function_local_bytes = 3;
inline constexpr int function_registers = 4;
inline constexpr int function_max_dynamic_shared = 8;
inline constexpr int function_non_portable_cluster = 14;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;

inline constexpr unsigned launch_cluster_dimension = 4;
inline constexpr unsigned launch_programmatic_stream_serialization = 6;
}  // namespace cu

/// CUlaunchAttribute: 64 bytes of value, 8-byte aligned.
struct LaunchAttribute {
  unsigned id = 0;
  char pad[4] = {};
  union {
    char bytes[64] = {};
    struct {
      unsigned x, y, z;
    } cluster;
    int allowed;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// member, exported symbol, parameters
#define CUDAAGENT_DRIVER_FUNCTIONS(X)                                                                         \
  X(init, cuInit, (unsigned flags))                                                                           \
  X(driver_version, cuDriverGetVersion, (int* version))                                                       \
  X(device_get, cuDeviceGet, (CUdevice * device, int ordinal))                                                \
  X(device_count, cuDeviceGetCount, (int* count))                                                             \
  X(device_name, cuDeviceGetName, (char* name, int length, CUdevice device))                                  \
  X(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                     \
  X(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                         \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                         \
  X(context_get, cuCtxGetCurrent, (CUcontext * context))                                                      \
  X(context_set, cuCtxSetCurrent, (CUcontext context))                                                        \
  X(context_synchronize, cuCtxSynchronize, ())                                                                \
  X(module_load, cuModuleLoadData, (CUmodule * module, const void* image))                                    \
  X(module_unload, cuModuleUnload, (CUmodule module))                                                         \
  X(module_function, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))         \
  X(function_set, cuFuncSetAttribute, (CUfunction function, int attribute, int value))                        \
  X(function_get, cuFuncGetAttribute, (int* value, int attribute, CUfunction function))                       \
  X(launch, cuLaunchKernelEx, (const LaunchConfig* config, CUfunction function, void** params, void** extra)) \
  X(allocate, cuMemAlloc_v2, (CUdeviceptr * pointer, std::size_t bytes))                                      \
  X(free, cuMemFree_v2, (CUdeviceptr pointer))                                                                \
  X(copy_to_device, cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, std::size_t bytes))                   \
  X(copy_to_host, cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, std::size_t bytes))                           \
  X(copy_to_device_async, cuMemcpyHtoDAsync_v2,                                                               \
    (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream))                                   \
  X(fill, cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, std::size_t bytes))                            \
  X(fill_async, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream))   \
  X(stream_create, cuStreamCreate, (CUstream * stream, unsigned flags))                                       \
  X(stream_destroy, cuStreamDestroy_v2, (CUstream stream))                                                    \
  X(stream_synchronize, cuStreamSynchronize, (CUstream stream))                                               \
  X(stream_is_capturing, cuStreamIsCapturing, (CUstream stream, int* status))                                 \
  X(event_create, cuEventCreate, (CUevent * event, unsigned flags))                                           \
  X(event_destroy, cuEventDestroy_v2, (CUevent event))                                                        \
  X(event_record, cuEventRecord, (CUevent event, CUstream stream))                                            \
  X(event_synchronize, cuEventSynchronize, (CUevent event))                                                   \
  X(event_elapsed, cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end))                     \
  X(error_name, cuGetErrorName, (CUresult error, const char** name))                                          \
  X(error_string, cuGetErrorString, (CUresult error, const char** text))                                      \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                   \
    (int* blocks, CUfunction function, int block_size, std::size_t shared_bytes))

struct Driver {
#define CUDAAGENT_MEMBER(member, symbol, params) CUresult(*member) params = nullptr;
  CUDAAGENT_DRIVER_FUNCTIONS(CUDAAGENT_MEMBER)
#undef CUDAAGENT_MEMBER
};

/// The driver, initialised; null when there is none, it is too old (before CUDA 12) or it has no device.
const Driver* driver();
/// Why driver() is null; empty when it is not.
const std::string& driver_absence();
/// The driver, or a UserError that says what is missing.
const Driver& require_driver();

/// "CUDA_ERROR_INVALID_VALUE: invalid argument".
std::string driver_error_text(CUresult error);

/// Throws InternalError naming the call, its error and the line.
void check_driver(CUresult result, const char* call, const char* file, int line);
Rejection driver_rejection(CUresult result, const char* call);

/// Every driver call goes through one of these two.
#define CUDAAGENT_CHECK(call) ::cudaagent::jit::check_driver((call), #call, __FILE__, __LINE__)
#define CUDAAGENT_CHECK_OR_REJECT(call)                                                                          \
  do {                                                                                                           \
    if (const int cudaagent_result = (call)) return ::cudaagent::jit::driver_rejection(cudaagent_result, #call); \
  } while (false)

}  // namespace cudaagent::jit
