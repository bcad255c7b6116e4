"""SQL is made of constants: what comes from outside travels as a parameter, never as a text."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [
    file
    for file in sorted([*(ROOT / "aipm_core").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])
    if "tests" not in file.parts and file.stem != "testing"
]
SQL = re.compile(r"(select|insert|update|delete|create table|drop|alter|pragma|vacuum)\s")
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
# Made of literals a few lines above: question marks, or terms that are written out.
LOOKED_AT = {
    ("event_log.py", "places"),
    ("projection.py", "places"),
    ("service.py", "' and '.join([*where, 'seq > ?'])"),
    ("requests.py", "where"),
    ("leases.py", "places"),
    ("search.py", "asked"),
    ("search.py", "self._last"),
    ("marks.py", "values"),
    # Written in hexadecimal digits: several statements in one trip take no parameters.
    ("named_locks.py", "_key(name)"),
    ("writer.py", "literal(text)"),
    ("requests.py", "' and project_id = ?' if named else ''"),
    ("grants.py", "_among(projects)"),
    ("runs.py", "places"),
    # Names that the database tells of its own tables, quoted: `aipm db copy` knows no plugin's.
    ("postgres_side.py", "listed"),
    ("postgres_side.py", "row['sequence']"),
    ("postgres_side.py", "table"),
    ("sqlite_side.py", "_listed(columns)"),
    ("sqlite_side.py", "places"),
    ("sqlite_side.py", "table"),
}


def put_into_sql(file: Path) -> Iterator[str]:
    """Yield every expression that stands in an SQL text."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            words = "".join(
                str(part.value) for part in node.values if isinstance(part, ast.Constant)
            )
            if SQL.match(words):
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        yield ast.unparse(part.value)


def test_there_is_sql_to_look_at() -> None:
    found = {(file.name, put) for file in FILES for put in put_into_sql(file)}
    assert len(found) > 10
    assert found >= LOOKED_AT


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_sql_is_made_of_constants(file: Path) -> None:
    for put in put_into_sql(file):
        assert CONSTANT.fullmatch(put) or (file.name, put) in LOOKED_AT, put
