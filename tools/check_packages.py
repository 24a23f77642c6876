"""Build the sdist and, from it, the wheel; check both; install and use the wheel in an empty environment.

`python tools/check_packages.py` needs the [dev] extra. It prints what is wrong and exits with 1. Modules that this
tree has built from the same sources are not compiled again: the sdist must hold every source. FASTBPE_FULL=1
compiles all of them from the sdist.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USE = (
    "import fastbpe; t = fastbpe.train(['hello hello'], vocab_size=258, progress=False); "
    "assert t.decode(t.encode('hello')) == 'hello'; print(t)"
)


def run(*command: str | Path) -> None:
    print("$", *command, flush=True)
    subprocess.run(command, check=True, cwd=tempfile.gettempdir())


def check_contents(wheel: Path, sdist: Path) -> list[str]:
    """Return a line for each file that is in the packages but should not be, or is missing."""
    problems = []
    names = zipfile.ZipFile(wheel).namelist()
    problems += [f"wheel holds {name}" for name in names if name.endswith((".c", ".h", ".pyx", ".pxd"))]
    problems += [
        f"wheel lacks {end}"
        for end in (
            "py.typed",
            "_core/merge/merge_piece.pyi",
            "nmt_nfkc.bin",
            "web/static/index.html",
            "static/main.js",
        )
        if not _ends(names, end)
    ]
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    problems += [f"sdist holds {name}" for name in names if name.endswith(".so") or "/build/" in name]
    problems += [
        f"sdist holds generated {name}" for name in names if name.endswith(".c") and "/tools/" not in name
    ]
    wanted = (
        "_core/merge/merge_piece.pyx",
        "_core/merge/merge_piece.pxd",
        "src/fastbpe/web/static/page.css",
        "tests/helpers/peer_trainers.py",
        "LICENSE",
        "CHANGELOG.md",
        "setup.py",
    )
    problems += [f"sdist lacks {end}" for end in wanted if not _ends(names, end)]
    held = {name.partition("/")[2] for name in names}
    sources = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "src"], text=True).splitlines()
    return problems + [f"sdist lacks {name}" for name in sources if name not in held]


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack the sdist, and put beside its sources what this tree has built of the same sources."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")  # keeps the times, which a build compares
    (tree,) = folder.iterdir()
    if (ROOT / "build").is_dir() and os.environ.get("FASTBPE_FULL") != "1":
        shutil.copytree(ROOT / "build", tree / "build", ignore=shutil.ignore_patterns("bdist.*"))
    return tree


def _ends(names: list[str], end: str) -> bool:
    return any(name.endswith(end) for name in names)


def check_install(package: Path, folder: Path) -> None:
    """Install a package in an empty environment, train, encode and run the command there."""
    venv.create(folder, with_pip=True)
    bin_ = folder / ("Scripts" if sys.platform == "win32" else "bin")
    run(bin_ / "pip", "install", "--quiet", package)
    run(bin_ / "python", "-c", USE)
    run(bin_ / "fastbpe", "--version")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = (sys.executable, "-m", "build", "--outdir", folder / "dist")
        run(*build, "--sdist", ROOT)
        (sdist,) = (folder / "dist").glob("*.tar.gz")
        run(*build, "--wheel", unpack(sdist, folder / "unpacked"))
        (wheel,) = (folder / "dist").glob("*.whl")
        problems = check_contents(wheel, sdist)
        check_install(wheel, folder / "env")
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
