"""How the reference reads our source (an extension of Griffe, which mkdocstrings asks).

- In a docstring, lines `name: text` are a list, and lines after `>>>` are code.
- A field's comment on its line is its description; so is the help of an `option(...)`.
- A scheme or game without a docstring is described by its `summary`.
"""

import ast
import importlib
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import Any

import griffe

_NAMES = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (.*)")


class HouseStyle(griffe.Extension):
    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = in_markdown(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        summary = cls.members.get("summary")
        if cls.docstring is None and isinstance(summary, griffe.Attribute) and summary.value:
            cls.docstring = griffe.Docstring(_sentence(ast.literal_eval(str(summary.value))), parent=cls)
        if _is_of_schemes(cls):  # what runtimes ask of a scheme is not for its users
            for name in [name for name, member in cls.members.items() if member.is_function]:
                del cls.members[name]

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """A field gets a description. An option's value becomes its default, as a caller sees it."""
        if not isinstance(attr.parent, griffe.Class) or not isinstance(attr.filepath, Path):
            return
        description = ""
        if isinstance(attr.value, griffe.ExprCall) and str(attr.value.function) in ("option", "ts.option"):
            field = getattr(importlib.import_module(attr.module.path), attr.parent.name).__dataclass_fields__[attr.name]
            attr.value = repr(field.default)
            description = field.metadata["help"] + _bounds(**field.metadata)
        elif attr.lineno and not _is_of_schemes(attr):
            description = _comments(attr.filepath).get(attr.lineno, "")
        if description and attr.docstring is None:
            attr.docstring = griffe.Docstring(_sentence(description), parent=attr)


def _is_of_schemes(obj: griffe.Object) -> bool:
    return obj.path.startswith("treespan.schemes.")


def in_markdown(text: str) -> str:
    """A docstring as Markdown."""
    return "\n\n".join(_block(block) for block in text.split("\n\n"))


def _block(block: str) -> str:
    lines = block.split("\n")
    if lines[0].startswith(">>> "):
        return "\n".join(["```pycon", *lines, "```"])
    if not _NAMES.fullmatch(lines[0]):
        return block
    items: list[str] = []
    for line in lines:
        found = _NAMES.fullmatch(line)
        if found:
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            items.append(f"- {names}: {found[2]}")
        else:
            items[-1] += " " + line.strip()
    return "\n".join(items)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _bounds(low: float | None, high: float | None, choices: tuple[str, ...] | None, help: str) -> str:
    if choices:
        return "; one of " + ", ".join(f"`{choice}`" for choice in choices)
    if low is not None and high is not None:
        return f"; {low:,} to {high:,}"
    return f"; at least {low:,}" if low is not None else f"; at most {high:,}" if high is not None else ""


@cache
def _comments(path: Path) -> dict[int, str]:
    """Comments that follow code, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT
        and token.line[: token.start[1]].strip()
        and "type: ignore" not in token.string
    }
