"""The loops in C++. All else about the package stands in pyproject.toml, whose table for extensions is experimental."""

from pathlib import Path

from setuptools import Extension, setup

# A product and a sum must not become one rounding (contract), or a loop would not give the bits that numpy gives.
FLAGS = ["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-g0"]

setup(
    ext_modules=[
        Extension(
            f"sparkrank.native.{loop.stem}",
            [loop.as_posix()],
            language="c++",
            include_dirs=["sparkrank/native"],
            depends=[header.as_posix() for header in Path("sparkrank/native").glob("*.h")],
            extra_compile_args=FLAGS,
            optional=True,  # without a C++ compiler numpy serves
        )
        for loop in sorted(Path("sparkrank/native").glob("*.pyx"))
    ],
    options={"build_ext": {"cython_c_in_temp": True}},  # the C++ that Cython writes stays out of the source tree
)
