"""``aipm plugins new``: complete, clean, and never in the way of what is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from aipm_devkit import scaffold
from aipm_devkit.program import Install

from aipm_core import CallError, StartupError

FILES = [
    ".gitignore",
    "README.md",
    "aipm_weather/__init__.py",
    "aipm_weather/locale/en.toml",
    "aipm_weather/locale/ja.toml",
    "aipm_weather/py.typed",
    "pyproject.toml",
    "tests/test_weather.py",
]


def below(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_new_needs_no_settings_and_says_what_it_wrote(tmp_path: Path) -> None:
    made = Install(tmp_path).json("plugins", "new", "weather", "--dir", "made/here")
    target = tmp_path / "made/here/aipm-weather"
    assert made == {"name": "weather", "directory": str(target), "files": FILES}
    assert below(tmp_path) == [f"made/here/aipm-weather/{file}" for file in FILES]


def test_what_new_writes_has_types_and_passes_its_own_test(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = scaffold.write_plugin("my-weather_k9", tmp_path).directory
    run("mypy", "--cache-dir", str(tmp_path_factory.getbasetemp() / "mypy"), cwd=target)
    run("pytest", cwd=target)


def test_what_new_writes_is_clean_whatever_the_length_of_the_name(tmp_path: Path) -> None:
    for name in ("q", "my-weather_k9", "a" * 30, "-".join("b" * 15)):
        target = scaffold.write_plugin(name, tmp_path).directory
        run("ruff", "format", "--check", ".", cwd=target)
        run("ruff", "check", ".", cwd=target)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is not valid"),
        ("Weather", "is not valid"),
        ("9lives", "is not valid"),
        ("a--b", "is not valid"),
        ("a-9", "is not valid"),
        ("-a", "is not valid"),
        ("a_", "is not valid"),
        ("../up", "is not valid"),
        ("a/b", "is not valid"),
        ("a\nb", "is not valid"),
        ("天気", "is not valid"),
        ("a" * 31, "is not valid: use at most 30"),
        ("core", "belongs to aipm itself"),
        ("sessions", "belongs to aipm itself"),
        ("file-chat", "belongs to aipm itself"),
        ("class", "is a word of Python"),
        ("none", "is a word of Python"),
        ("call", "would give a class Call"),
        ("plugin", "would give a class Plugin"),
    ],
)
def test_a_name_that_cannot_be_is_refused(name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(CallError, match=why) as refused:
        scaffold.write_plugin(name, tmp_path)
    assert refused.value.status == 400
    assert list(tmp_path.iterdir()) == []


def test_a_refused_name_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    done = Install(tmp_path).run("plugins", "new", "--", "-no\nname", check=2)
    assert done.stderr == (
        "aipm: plugin name '-no\\nname' is not valid: use at most 30 of a-z, 0-9, '-' and '_', "
        "and start every part with a letter\n"
    )


@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_what_exists_is_not_touched(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "aipm-weather"
    if kind == "directory":
        target.mkdir()
    elif kind == "file":
        target.write_text("mine", encoding="utf-8")
    else:
        target.symlink_to(tmp_path / "elsewhere")
    before = os.lstat(target)
    done = Install(tmp_path).run("plugins", "new", "weather", check=4)
    assert done.stderr == "aipm: aipm-weather already exists; nothing was written\n"
    assert os.lstat(target) == before
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def full_disk(path: Path, text: str, encoding: str) -> int:
        if path.name == "en.toml":
            raise OSError(28, "No space left on device")
        return write(path, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(StartupError, match=r"^cannot write .*: No space left on device$"):
        scaffold.write_plugin("weather", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    done = Install(tmp_path).run("plugins", "new", "weather", "--dir", "here", check=2)
    assert done.stderr.startswith("aipm: cannot write here/aipm-weather: ")


def test_the_scaffold_accepts_versions_that_keep_their_promises() -> None:
    assert scaffold._bounds("0.1.0") == ">=0.1.0,<0.2"
    assert scaffold._bounds("2.13.4") == ">=2.13.4,<3"
