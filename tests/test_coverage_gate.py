"""tools/coverage_gate.py lets nothing slip: an unreached branch, an unread file, a renamed room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.coverage_gate import PRODUCT, ROOT, WHOLE, Reach, complaints, main, report

FILES = {
    "pyproject.toml": """
        [tool.coverage.run]
        branch = true
        parallel = true
        patch = ["subprocess"]
        data_file = "build/coverage/data"
        include = ["*/aipm_core/*"]
    """,
    "aipm_core/pipeline.py": """
        import sys
        if len(sys.argv) > 1:
            print("asked")
    """,
    "aipm_core/compiling.py": "READY = True",
    "run.py": """
        import subprocess, sys
        subprocess.run([sys.executable, "aipm_core/pipeline.py", *sys.argv[1:]], check=True)
    """,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        lines = text.strip("\n").splitlines()
        (tmp_path / name).write_text("\n".join(line.removeprefix(" " * 8) for line in lines))
    return tmp_path


def run(tree: Path, *arguments: str) -> None:
    outside = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    command = [sys.executable, "-m", "coverage", "run", "run.py", *arguments]
    subprocess.run(command, cwd=tree, env=outside, check=True, capture_output=True, timeout=60)


def judge(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    monkeypatch.chdir(tree)
    code = main(tree)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_branch_no_process_took_and_a_file_nobody_imported_are_told(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tree)
    code, out, err = judge(tree, capsys, monkeypatch)
    assert code == 1
    assert "aipm_core/pipeline.py: 3, 2->3\n" in out
    assert "pipeline: aipm_core/pipeline.py is not reached in 3, 2->3\n" in err
    assert "pipeline: aipm_core/compiling.py is not reached in 1\n" in err
    assert "50.00 % of the branches are reached, less than 95 %\n" in err


def test_what_several_processes_reached_is_added_up(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "aipm_core/compiling.py").unlink()
    run(tree)
    run(tree, "please")
    _, out, err = judge(tree, capsys, monkeypatch)
    assert "pipeline.py" not in out + err
    assert "100.00%" in out.splitlines()[-1]
    assert "pipeline: no file is called aipm_core/compiling.py" in err


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
