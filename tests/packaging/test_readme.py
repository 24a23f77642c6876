"""The README's example runs as printed, and its commands are what CI runs."""

import re
import subprocess
import sys
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_example_has_eight_lines_and_runs_as_printed(tmp_path: Path) -> None:
    (example,) = code_blocks("python")
    assert len([line for line in example.splitlines() if line]) == 8
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    (output,) = code_blocks("text")
    assert OutputChecker().check_output(output, done.stdout, ELLIPSIS), done.stdout
    assert (tmp_path / "readme.fbpe").exists()


def test_the_first_screen_installs_and_shows_an_example() -> None:
    first_screen = README.splitlines()[:26]
    assert "pip install . && fastbpe demo" in first_screen
    assert "import fastbpe" in first_screen


def test_the_test_command_stands_under_contributing() -> None:
    section = README[README.index("## Contributing") :]
    assert 'pip install ".[test]" && pytest' in section.splitlines()


def test_contributing_goes_from_clone_to_green_in_four_commands() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block, *_) = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) == 4
