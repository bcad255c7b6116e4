"""Markdown as a tree of known nodes: nothing of it is HTML, and nothing can be executed.

What is not on the list becomes text; a link leads only where a link may lead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from aipm_core import Json

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

_LINK = re.compile(r"(?:https?://|mailto:)[^\x00-\x20\x7f]+", re.IGNORECASE)
# One line without a sign that could mean something: most titles and many descriptions.
_PLAIN = re.compile(r"[^\W\d_][\w ,;:()'\"?/%€@。、「」（）：？！ー-]*[\w).?!。]")
_LONGEST = 20_000  # characters; the rest is shown as it is written
_CONTAINERS = {
    "paragraph": "paragraph",
    "blockquote": "quote",
    "list_item": "item",
    "strong": "strong",
    "em": "em",
    "s": "strike",
    "tr": "row",
    "table": "table",
}
_TRANSPARENT = frozenset({"root", "inline", "thead", "tbody"})
_CODE = frozenset({"code_block", "fence"})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 30 ms that only a reader of views pays

    settings = {"html": False, "linkify": False, "maxNesting": 20}
    return MarkdownIt("commonmark", settings).enable(["table", "strikethrough"])


def markdown_tree(text: str) -> list[Json]:
    """Return the tree of a text: a list of nodes ``{"type", "children"?, …}``."""
    from markdown_it.tree import SyntaxTreeNode

    if not text.strip():
        return []
    if len(text) > _LONGEST:
        return [{"type": "code", "text": text, "language": ""}]
    if _PLAIN.fullmatch(text):
        return [{"type": "paragraph", "children": [{"type": "text", "text": text}]}]
    return list(_merged(_nodes(SyntaxTreeNode(_parser().parse(text)))))


def _nodes(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    for child in node.children:
        if child.type in _TRANSPARENT:
            yield from _nodes(child)
        else:
            yield from _node(child)


def _node(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    if node.type in _CONTAINERS:
        yield _with_children(node, type=_CONTAINERS[node.type])
    elif node.type in _CODE:
        yield {"type": "code", "text": node.content, "language": _word(node.info)}
    elif node.type in ("softbreak", "hardbreak"):
        yield {"type": "break"} if node.type == "hardbreak" else {"type": "text", "text": "\n"}
    elif node.type == "code_inline":
        yield {"type": "code_span", "text": node.content}
    elif node.type == "hr":
        yield {"type": "rule"}
    elif node.type in _SHAPED:
        yield from _SHAPED[node.type](node)
    else:
        yield {"type": "text", "text": node.content}


def _heading(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    yield _with_children(node, type="heading", level=int(node.tag[1:]))


def _list(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    ordered = node.type == "ordered_list"
    start = int(node.attrs.get("start", 1))
    yield _with_children(node, type="list", ordered=ordered, start=start)


def _cell(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    align = str(node.attrs.get("style", "")).removeprefix("text-align:")
    yield _with_children(node, type="cell", header=node.type == "th", align=align)


def _link(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    href = str(node.attrs.get("href", ""))
    if _LINK.fullmatch(href) is None:
        yield from _nodes(node)
        return
    title = str(node.attrs.get("title", ""))
    yield _with_children(node, type="link", href=href, title=title)


def _image(node: SyntaxTreeNode) -> Iterator[dict[str, Json]]:
    """Show where an image is; nothing is fetched before somebody follows the link."""
    address, words = str(node.attrs.get("src", "")), {"type": "text", "text": node.content}
    if _LINK.fullmatch(address) is None:
        yield words
        return
    title = str(node.attrs.get("title", ""))
    words = words if node.content else {"type": "text", "text": address}
    yield {"type": "link", "href": address, "title": title, "children": [words]}


_SHAPED = {
    "heading": _heading,
    "bullet_list": _list,
    "ordered_list": _list,
    "th": _cell,
    "td": _cell,
    "link": _link,
    "image": _image,
}


def _with_children(node: SyntaxTreeNode, **fields: Json) -> dict[str, Json]:
    return {**fields, "children": list(_merged(_nodes(node)))}


def _merged(nodes: Iterable[dict[str, Json]]) -> Iterator[dict[str, Json]]:
    """Join texts that stand side by side: they were one, or are one to a reader."""
    held: dict[str, Json] | None = None
    for node in nodes:
        if node.get("text") == "" and node["type"] == "text":
            continue
        if held is not None and node["type"] == "text":
            held = {"type": "text", "text": held["text"] + node["text"]}
            continue
        if held is not None:
            yield held
        held = node if node["type"] == "text" else None
        if held is None:
            yield node
    if held is not None:
        yield held


def _word(info: str) -> str:
    """Return the first word behind a fence, if it looks like the name of a language."""
    word = info.strip().split(" ", 1)[0]
    return word if re.fullmatch(r"[A-Za-z0-9_+#.-]{1,32}", word) else ""
