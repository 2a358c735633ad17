"""What the server that forks workers imports first: torch and its compiler, and CUDA must not have been started.

Some releases of torch ask for GPUs while the compiler is imported. Through NVML, the driver's management library, that
question leaves CUDA alone; where there is a driver without it, each worker imports the compiler itself.
"""

import ctypes
import importlib
import os

import torch


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
if not _has_driver() or torch.cuda._device_count_nvml() > 0:
    importlib.import_module("torch._inductor.compile_fx")
importlib.import_module("torch_cudaagent.bench.process")
