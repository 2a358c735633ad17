"""The same package under a shorter name: `import cudaagent`."""

from torch_cudaagent import *  # noqa: F403
from torch_cudaagent import __all__, __version__  # noqa: F401
