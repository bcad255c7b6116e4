"""The pictures in docs/ show what the program does now."""

from pathlib import Path

REPOSITORY = Path(__file__).parent.parent


def test_pictures_load_nothing_from_elsewhere() -> None:
    for file in (REPOSITORY / "docs").rglob("*.svg"):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "<script" not in text
