"""Builds the native part with CMake and puts it into the package; everything declarative is in pyproject.toml."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from build_backend import TORCH_REQUIREMENT, installed_torch  # noqa: E402

PRODUCTS = ("libtorch_cudaagent.so", "cudaagent-judge", "build.json")
PRELUDES = ROOT / "csrc" / "codegen" / "templates"


def json_headers() -> pathlib.Path:
    import nlohmann_json

    return pathlib.Path(nlohmann_json.__file__).parent / "include"


def run_cmake(build: pathlib.Path) -> None:
    torch = installed_torch()
    if torch is None:
        sys.exit(f"No torch to build against; run `pip install '{TORCH_REQUIREMENT}'` or drop --no-build-isolation.")
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        sys.exit("No C++ compiler to build with; run `apt-get install g++` or set CXX.")
    configure = ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja"]
    subprocess.check_call([*configure, f"-DCUDAAGENT_TORCH={torch}", f"-DCUDAAGENT_JSON={json_headers()}"])
    subprocess.check_call(["cmake", "--build", str(build), "--target", "torch_cudaagent", "cudaagent-judge"])


class BuildNative(build_ext):
    """One extension stands for the CMake project; its products go to torch_cudaagent/_lib."""

    def run(self) -> None:
        build = ROOT / "build" if self.editable_mode else pathlib.Path(self.build_temp).resolve() / "cmake"
        run_cmake(build)
        package = ROOT if self.editable_mode else pathlib.Path(self.build_lib).resolve()
        self.install(build, package / "torch_cudaagent" / "_lib")
        records = ROOT / "kernels_cache"
        if records.is_dir() and not self.editable_mode:
            shutil.copytree(records, package / "torch_cudaagent" / "kernels_cache", dirs_exist_ok=True)

    def install(self, build: pathlib.Path, lib: pathlib.Path) -> None:
        shutil.rmtree(lib, ignore_errors=True)
        lib.mkdir(parents=True)
        for name in PRODUCTS:
            if self.editable_mode:
                (lib / name).symlink_to(build / name)
            else:
                shutil.copy2(build / name, lib / name)
        if self.editable_mode:
            (lib / "prelude").symlink_to(PRELUDES)
            return
        (lib / "prelude").mkdir()
        for prelude in [*PRELUDES.glob("*.cuh"), *PRELUDES.glob("*.h")]:
            shutil.copy2(prelude, lib / "prelude")

    def get_outputs(self) -> list[str]:
        return []


class PlatformWheel(bdist_wheel):
    """The library talks to torch's C++ side alone, so one wheel serves every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


setup(
    ext_modules=[Extension("torch_cudaagent._lib", sources=[])],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": PlatformWheel},
)
