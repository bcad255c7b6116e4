"""tools/coverage_gate.py lets nothing slip: an unreached branch, an unread file, a renamed room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.coverage_gate import PRODUCT, ROOT, WHOLE, Reach, complaints, report

GATE = ROOT / "tools/coverage_gate.py"
FILES = {
    "pyproject.toml": """
        [tool.coverage.run]
        branch = true
        parallel = true
        patch = ["subprocess"]
        data_file = "build/coverage/data"
        include = ["*/aipm_core/*"]
    """,
    "aipm_core/pipeline/call.py": """
        import sys
        if len(sys.argv) > 1:
            print("asked")
    """,
    "aipm_core/pipeline/build.py": "READY = True",
    "run.py": """
        import subprocess, sys
        subprocess.run([sys.executable, "aipm_core/pipeline/call.py", *sys.argv[1:]], check=True)
    """,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        lines = text.strip("\n").splitlines()
        (tmp_path / name).write_text("\n".join(line.removeprefix(" " * 8) for line in lines))
    return tmp_path


def run(tree: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run in a process of its own that nobody measures: two measurers in one lose their data."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    return subprocess.run(
        [sys.executable, *command], cwd=tree, env=outside, capture_output=True, text=True
    )


def measure(tree: Path, *arguments: str) -> None:
    assert run(tree, "-m", "coverage", "run", "run.py", *arguments).returncode == 0


def test_a_branch_no_process_took_and_a_file_nobody_imported_are_told(tree: Path) -> None:
    measure(tree)
    judged = run(tree, GATE, str(tree))
    assert judged.returncode == 1
    assert "aipm_core/pipeline/call.py: 3, 2->3\n" in judged.stdout
    assert "pipeline: aipm_core/pipeline/call.py is not reached in 3, 2->3\n" in judged.stderr
    assert "pipeline: aipm_core/pipeline/build.py is not reached in 1\n" in judged.stderr
    assert "50.00 % of the branches are reached, less than 95 %\n" in judged.stderr


def test_what_several_processes_reached_is_added_up(tree: Path) -> None:
    (tree / "aipm_core/pipeline/build.py").unlink()
    measure(tree)
    measure(tree, "please")
    judged = run(tree, GATE, str(tree))
    assert "pipeline.py" not in judged.stdout + judged.stderr
    assert "100.00%" in judged.stdout.splitlines()[-1]
    assert "pipeline: no file is called aipm_core/pipeline/build.py" in judged.stderr


@pytest.mark.parametrize(
    ("branches_taken", "lines_run", "told"),
    [(95, 950, []), (94, 950, ["branches"]), (95, 949, ["lines"])],
)
def test_the_whole_is_held_to_the_threshold(
    branches_taken: int, lines_run: int, told: list[str]
) -> None:
    file = Reach(
        name="aipm_core/runtime.py",
        lines=1000,
        lines_run=lines_run,
        branches=100,
        branches_taken=branches_taken,
        missed="7",
    )
    assert [said.split()[4] for said in complaints([file], whole={})] == told


def test_every_room_names_files_that_are_there() -> None:
    files = [str(f.relative_to(ROOT)) for pattern in PRODUCT for f in ROOT.glob(pattern)]
    reached = [Reach(name=name) for name in files]
    assert list(complaints(reached, whole=WHOLE)) == []
    assert any("aipm_markers" in line for line in report(reached))
