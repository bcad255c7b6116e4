"""Markdown becomes a tree of known nodes, whatever is written in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from aipm_views import markdown
from aipm_views.api import markdown_tree
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.tree import SyntaxTreeNode

KNOWN = {
    "paragraph": set(),
    "quote": set(),
    "item": set(),
    "strong": set(),
    "em": set(),
    "strike": set(),
    "row": set(),
    "table": set(),
    "heading": {"level"},
    "list": {"ordered", "start"},
    "cell": {"header", "align"},
    "link": {"href", "title"},
    "code": {"text", "language"},
    "code_span": {"text"},
    "text": {"text"},
    "rule": set(),
    "break": set(),
}
LEAVES = {"code", "code_span", "text", "rule", "break"}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](//evil.example)",
    "[x](/etc/passwd)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "![x](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x](https://a\tb)",
    "<a href='javascript:x'>y</a>",
]


def nodes(tree: list[Any]) -> Iterator[dict[str, Any]]:
    for node in tree:
        yield node
        yield from nodes(node.get("children", []))


def check(tree: list[Any]) -> None:
    for node in nodes(tree):
        fields = KNOWN[node["type"]] | {"type"}
        fields |= set() if node["type"] in LEAVES else {"children"}
        assert set(node) == fields
        if node["type"] == "link":
            assert node["href"].lower().startswith(("http://", "https://", "mailto:"))
            assert not set(node["href"]) & set("\t\r\n ")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_leads_where_it_must_not(text: str) -> None:
    tree = markdown_tree(text)
    check(tree)
    assert all(node["type"] != "link" for node in nodes(tree)), tree


@given(st.text(alphabet=st.sampled_from(list("ab *_`[]()<>#!-+.1|~\\\n\t&:/hjs")), max_size=80))
def test_every_text_has_a_tree_of_known_nodes(text: str) -> None:
    tree = markdown_tree(text)
    check(tree)
    json.dumps(tree)


@given(st.from_regex(markdown._PLAIN, fullmatch=True))
def test_the_short_way_for_plain_lines_is_the_long_one(text: str) -> None:
    short, parsed = markdown_tree(text), SyntaxTreeNode(markdown._parser().parse(text))
    assert short == list(markdown._merged(markdown._nodes(parsed)))


def test_what_people_write() -> None:
    text = """# Plan

Do *this* and **that**, ~~not~~ `x`\\
now [here](https://example.org 'why').

3. one
4. two

> said

```python
print()
```

---

| a | b |
|---|:-:|
| 1 | 2 |

![pic](https://example.org/p.png)
"""
    tree = markdown_tree(text)
    check(tree)
    kinds = [node["type"] for node in tree]
    assert kinds == [
        *("heading", "paragraph", "list", "quote", "code", "rule", "table", "paragraph"),
    ]
    assert {node["type"] for node in nodes(tree)} == set(KNOWN)
    assert (tree[2]["ordered"], tree[2]["start"]) == (True, 3)
    assert (tree[4]["language"], tree[4]["text"]) == ("python", "print()\n")
    assert tree[6]["children"][0]["children"][1]["align"] == "center"
    assert tree[7]["children"][0]["children"] == [{"type": "text", "text": "pic"}]


def test_an_empty_text_has_no_tree_and_a_huge_one_is_not_parsed() -> None:
    assert markdown_tree(" \n") == []
    assert markdown_tree("*" * 30_000) == [{"type": "code", "text": "*" * 30_000, "language": ""}]
