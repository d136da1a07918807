"""The Python blocks of the README and the book run, and every page that should have one has one.

The blocks of a page run one after the other in one namespace, in a folder with the data that they read. A block that is not
ours to run has the line `<!-- not run: reason -->` above it.
"""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The table of contents, and pages about the command line only.
WITHOUT = {"SUMMARY.md", "commands.md", "json.md"}
BOOK = sorted(page for page in (ROOT / "docs/book/src").glob("*.md") if page.name not in WITHOUT)
PAGES = [ROOT / "README.md", *BOOK]
# What a page says if it needs a package that not everyone has.
NEEDS = {
    "import pandas": "pandas",
    "import gymnasium": "gymnasium",
    "tractable.gym": "gymnasium",
    "import optuna": "optuna",
    "sklearn": "sklearn",
    "mpi4py": "mpi4py",
}


@dataclass
class Block:
    line: int
    """Lines of the page before it."""
    text: str
    not_run: str
    """Why it is not run; empty if it is."""


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    before, start = "", None
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if start is not None and line == "```":
            if lines[start - 1] == "```python":
                reason = re.fullmatch("<!-- not run: (.+) -->", before)
                found.append(Block(start, "\n".join(lines[start:number]) + "\n", reason[1] if reason else ""))
            before, start = "", None
        elif start is None and line.startswith("```"):
            start = number + 1
        elif start is None and line.strip():
            before = line
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder: data.csv has two inputs and a number, classes.csv three classes, curve.csv one input."""
    numbers, classes = ["a,b,y"], ["a,b,kind"]
    for i in range(60):
        a, b = i % 10 / 10, i // 10 / 6
        kind = ["low", "middle", "top, high"][int((a + b) * 1.6) % 3]
        numbers.append(f"{a},{b},{30 + 4 * a - 2 * b}")
        classes.append(f'{a},{b},"{kind}"')
    curve = ["x,y", *(f"{x},{x**3 - 3 * x}" for x in (i / 25 - 2 for i in range(101)))]
    for name, rows in {"data": numbers, "classes": classes, "curve": curve}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("folder")
def test_blocks_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run = [block for block in blocks(page) if not block.not_run]
    assert run, f"{page.name}: no block of Python that runs"
    text = "".join(block.text for block in run)
    missing = sorted({package for needle, package in NEEDS.items() if needle in text and find_spec(package) is None})
    if missing:
        pytest.skip(f"{page.name}: not installed: {', '.join(missing)}")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in run:
        # Empty lines first, so that a traceback has the lines of the page.
        exec(compile("\n" * block.line + block.text, str(page), "exec"), names)


def test_only_other_peoples_code_is_not_run() -> None:
    not_run = [(page.name, block.not_run) for page in PAGES for block in blocks(page) if block.not_run]
    assert not_run == [("coming-from.md", "needs pytagi")]
