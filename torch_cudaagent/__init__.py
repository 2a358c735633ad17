"""Optimized execution of PyTorch models on kernels that are generated, proved and cached.

import torch_cudaagent as cudaagent
model = cudaagent.optimize(model)
print(cudaagent.explain(model))
"""

from .api import disable, explain, optimize
from .backend import register as _register
from .errors import UserError
from .explain import Explanation
from .options import Options
from .profiling import Profile, profile

__version__ = "0.1.0"
__all__ = ["Explanation", "Options", "Profile", "UserError", "disable", "explain", "optimize", "profile"]

_register()
