"""Build the sdist and, from it, the wheel; check both; install and use the wheel in an empty environment.

    python tools/check_packages.py                     build, check, install, run a part of the unit tests
    python tools/check_packages.py --contents FOLDER   check the packages of a folder
    python tools/check_packages.py --minimum FOLDER    build the sdist of a folder with the oldest setuptools and
                                                       Cython that pyproject.toml allows, and use the wheel

It prints what is wrong and exits with 1. The first form needs the [dev] extra. Modules that this tree has built
from the same sources are not compiled again: the sdist must hold every source. FASTBPE_FULL=1 compiles all of them
from the sdist, and runs all unit tests.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USE = (
    "import fastbpe; t = fastbpe.train(['hello hello'], vocab_size=258, progress=False); "
    "assert t.decode(t.encode('hello')) == 'hello'; print(t)"
)
MAX_WHEEL_MB = 4.0
MAX_INSTALLED_MB = 10.0
IS_FULL = os.environ.get("FASTBPE_FULL") == "1"
UNIT_TESTS = "tests/unit" if IS_FULL else "tests/unit/core"


def run(*command: str | Path, **variables: str) -> None:
    print("$", *command, flush=True)
    subprocess.run(command, check=True, cwd=tempfile.gettempdir(), env={**os.environ, **variables})


def check_wheel(wheel: Path) -> list[str]:
    """Return a line for each file that a wheel holds wrongly or lacks, and for each size that is too large."""
    with zipfile.ZipFile(wheel) as archive:
        files = archive.infolist()
        names = [file.filename for file in files]
        bills = [name for name in names if re.fullmatch(r"[^/]+\.dist-info/sboms/fastbpe\.cdx\.json", name)]
        bill = json.loads(archive.read(bills[0])) if bills else None
    mb, installed_mb = wheel.stat().st_size / 1e6, sum(file.file_size for file in files) / 1e6
    print(f"{wheel.name}: {mb:.2f} MB, installed {installed_mb:.2f} MB, {len(names)} files")
    problems = [f"{wheel.name} holds {name}" for name in names if name.endswith((".c", ".h", ".pyx", ".pxd"))]
    # One file of each line of package-data, and one of each folder that a line names.
    wanted = ("py.typed", "_core/merge/merge_piece.pyi", "nmt_nfkc.bin", "web/static/index.html", "static/main.js")
    problems += [f"{wheel.name} lacks {end}" for end in (*wanted, "/licenses/LICENSE") if not _ends(names, end)]
    version = wheel.name.split("-")[1]
    if bill is None or bill["metadata"]["component"]["version"] != version:
        problems.append(f"{wheel.name} lacks an SBOM of its version (PEP 770)")
    for size, limit in ((mb, MAX_WHEEL_MB), (installed_mb, MAX_INSTALLED_MB)):
        if size > limit:
            problems.append(f"{wheel.name}: {size:.2f} MB are more than {limit}")
    return problems


def check_sdist(sdist: Path) -> list[str]:
    """Return a line for each file that is in the sdist but should not be, or is missing."""
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    problems = [f"sdist holds {name}" for name in names if name.endswith((".so", ".pyd")) or "/build/" in name]
    problems += [
        f"sdist holds generated {name}" for name in names if name.endswith(".c") and "/tools/" not in name
    ]
    held = {name.partition("/")[2] for name in names}
    tracked = subprocess.check_output(["git", "-C", str(ROOT), "ls-files"], text=True).splitlines()
    return problems + [f"sdist lacks {name}" for name in tracked if name not in held and name != ".gitignore"]


def check_contents(packages: Sequence[Path]) -> list[str]:
    """Check one sdist and all wheels of a list of packages."""
    wheels = [path for path in packages if path.suffix == ".whl"]
    sdists = [path for path in packages if path.name.endswith(".tar.gz")]
    problems = [problem for wheel in wheels for problem in check_wheel(wheel)]
    if len(sdists) != 1 or not wheels:
        problems.append(f"{len(sdists)} sdists and {len(wheels)} wheels: there should be one sdist, and wheels")
    return problems + [problem for sdist in sdists for problem in check_sdist(sdist)]


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack the sdist, and put beside its sources what this tree has built of the same sources."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")  # keeps the times, which a build compares
    (tree,) = folder.iterdir()
    if (ROOT / "build").is_dir() and not IS_FULL:
        shutil.copytree(ROOT / "build", tree / "build", ignore=shutil.ignore_patterns("bdist.*"))
    return tree


def _ends(names: list[str], end: str) -> bool:
    return any(name.endswith(end) for name in names)


def check_install(package: Path, folder: Path) -> Path:
    """Install a package in an empty environment without a compiler; train, encode and run the command there.

    Returns:
        The folder of the environment's programs.
    """
    venv.create(folder, with_pip=True)
    bin_ = folder / ("Scripts" if sys.platform == "win32" else "bin")
    began = time.perf_counter()
    run(bin_ / "pip", "install", "--quiet", package, PATH=str(bin_))
    print(f"installed in {time.perf_counter() - began:.1f} s")
    run(bin_ / "python", "-c", USE, PATH=str(bin_))
    run(bin_ / "fastbpe", "--version", PATH=str(bin_))
    return bin_


def check_units(bin_: Path) -> None:
    """Run unit tests against the installed package: without sources on the path, without peers, without data."""
    run(bin_ / "python", "-m", "pip", "install", "--quiet", "pip>=25.1")
    run(bin_ / "pip", "install", "--quiet", "--group", f"{ROOT / 'pyproject.toml'}:wheel-test")
    pytest = (bin_ / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--skip-missing")
    run(*pytest, ROOT / UNIT_TESTS, PATH=str(bin_), FASTBPE_DATA=tempfile.gettempdir())


def oldest_requirements() -> str:
    """Return the lines of a constraints file: the oldest versions that pyproject.toml allows for the build."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = re.search(r"^requires = \[(.*)\]", text, flags=re.MULTILINE)
    assert required is not None
    found = re.findall(r'"(\w+)>=([\d.]+)', required[1])
    assert len(found) == 2, found
    return "".join(f"{name}=={version}\n" for name, version in found)


def check_minimum(sdist: Path) -> None:
    """Build the sdist with the oldest declared versions, install the wheel and use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        constraints = folder / "oldest.txt"
        constraints.write_text(oldest_requirements(), encoding="utf-8")
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder)
        run(
            *pip,
            sdist,
            PIP_CONSTRAINT=str(constraints),
            PIP_BUILD_CONSTRAINT=str(constraints),
            FASTBPE_FAST_BUILD="1",
        )
        (wheel,) = folder.glob("*.whl")
        check_install(wheel, folder / "env")


def check_built() -> list[str]:
    """Build the packages, check them, install the wheel and test it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = (sys.executable, "-m", "build", "--outdir", folder / "dist")
        run(*build, "--sdist", ROOT)
        (sdist,) = (folder / "dist").glob("*.tar.gz")
        run(*build, "--wheel", unpack(sdist, folder / "unpacked"))
        problems = check_contents([*(folder / "dist").iterdir()])
        (wheel,) = (folder / "dist").glob("*.whl")
        check_units(check_install(wheel, folder / "env"))
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--contents", type=Path, metavar="FOLDER", help="check the packages of a folder")
    parser.add_argument("--minimum", type=Path, metavar="FOLDER", help="build the sdist with the oldest versions")
    args = parser.parse_args()
    problems = []
    if args.minimum is not None:
        (sdist,) = args.minimum.resolve().glob("*.tar.gz")
        check_minimum(sdist)
    if args.contents is not None:
        problems = check_contents([*args.contents.iterdir()])
    if args.minimum is None and args.contents is None:
        problems = check_built()
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
