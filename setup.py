"""The loops in C++, and the long description. All else about the package stands in pyproject.toml, whose table for
extensions is experimental, and whose long description is a file as it is.
"""

import re
from pathlib import Path

from setuptools import Extension, setup

# A product and a sum must not become one rounding (contract), or a loop would not give the bits that numpy gives.
FLAGS = ["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-g0"]


def long_description() -> str:
    """README.md with links that lead somewhere wherever it is shown, as on an index of packages."""
    (home,) = re.findall(r'^Repository = "(.*)"$', Path("pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    readme = Path("README.md").read_text(encoding="utf-8")
    readme = re.sub(r'\b(src|srcset)="(?!\w+:)', rf'\1="{home}/raw/main/', readme)
    return re.sub(r"\]\((?!\w+:|#)", f"]({home}/blob/main/", readme)


setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
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
