"""Whatever is made from the code says what the code says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import generated

REPOSITORY = Path(__file__).parent.parent


def test_nothing_is_stale() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.generated", "--check"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_stale_is_named_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    monkeypatch.setattr(generated, "wanted", lambda: {"docs/a.md": "new", "docs/b.md": "same"})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.md").write_text("same", encoding="utf-8")
    assert generated.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/a.md is stale; `make docs` writes it anew\n"
    assert not (tmp_path / "docs/a.md").exists()
    assert generated.main([]) == 0
    assert (tmp_path / "docs/a.md").read_text(encoding="utf-8") == "new"
    assert generated.main(["--check"]) == 0
