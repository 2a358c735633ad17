"""`python -m torch_cudaagent.cli` is the command `cudaagent`."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
