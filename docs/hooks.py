"""What MkDocs does for this site beyond its plugins: the page of the command line, and links that leave the site."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

COMMAND_LINE = "cli.md"
_LINK = re.compile(r"\[([^]\n]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
INTRODUCTION = """---
search:
  boost: 0.5
---

# Command line

This page is made from the program: it has what `treespan COMMAND --help` prints.

A GAME or SCHEME is a *spec*, `name:option=value,option=value`, such as `go:size=9,komi=7.5` or `span:grant=3`.
After a mistake in its options, a command prints one line on stderr and ends with exit status 2.
Ctrl-C ends a search with the best move so far; a command that has nothing to show then ends with status 130.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the command line, which no file has."""
    files.append(File.generated(config, COMMAND_LINE, content=command_line_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write links to files of the repository that are not in the site as plain text."""
    folder = PurePosixPath(page.file.src_uri).parent
    lines, in_code = markdown.split("\n"), False
    for i, line in enumerate(lines):
        in_code ^= line.startswith("```")
        if not in_code:
            lines[i] = _LINK.sub(lambda link: _checked(link, folder, Path(config.docs_dir), files), line)
    return "\n".join(lines)


def _checked(link: re.Match[str], folder: PurePosixPath, docs: Path, files: Files) -> str:
    """A link as it is, or its text if its target lies outside the site. MkDocs reports targets that are nowhere."""
    target = (docs / folder / link[2]).resolve()
    if target.is_relative_to(docs.resolve()) or not target.exists():
        return link[0]
    return link[1] if link[1].startswith("`") else f"`{link[1]}`"


def command_line_page() -> str:
    """The help of every command in Markdown."""
    import typer.main

    from treespan import cli  # noqa: F401 - it adds the commands
    from treespan.cli.app import app

    program: Any = typer.main.get_command(app)
    return "\n".join([INTRODUCTION, *_sections(program, "treespan", 2)])


def _sections(group: Any, path: str, level: int) -> list[str]:
    """Of each command of a group, and of the groups in it: what it does, how it is called, examples, options."""
    lines = []
    for name, command in group.commands.items():
        title = f"{path} {name}"
        words, examples = _help(command.help or "")
        lines += [f"{'#' * level} {title}", "", *words, *_usage(title, command), *examples, *_parameters(command)]
        if hasattr(command, "commands"):
            lines += _sections(command, title, level + 1)
    return lines


def _help(text: str) -> tuple[list[str], list[str]]:
    """A command's help: paragraphs, and examples as they stand."""
    words: list[str] = []
    examples: list[str] = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b\n"):  # Click's sign for text that keeps its lines
            head, *rest = paragraph.removeprefix("\b\n").split("\n")
            examples += [head, "", "```sh", *(line.removeprefix("  ") for line in rest), "```", ""]
        else:
            words += [paragraph, ""]
    return words, examples


def _parts(command: Any) -> tuple[list[Any], list[Any]]:
    """Arguments and options of a command."""
    kinds = ("argument", "option")
    arguments, options = ([one for one in command.params if one.param_type_name == kind] for kind in kinds)
    return arguments, options


def _usage(title: str, command: Any) -> list[str]:
    arguments, options = _parts(command)
    if not arguments and not options:
        return []
    words = [title, *map(_argument_word, arguments), *(["[OPTIONS]"] if options else [])]
    return ["```", " ".join(words), "```", ""]


def _parameters(command: Any) -> list[str]:
    """A table of arguments and options."""
    arguments, options = _parts(command)
    rows = [(f"`{_argument_word(one)}`", "", one.help or "") for one in arguments]
    rows += [(f"`{_option_words(one)}`", _default(one), one.help or "") for one in options]
    if not rows:
        return []
    return [
        "| | default | meaning |",
        "| --- | --- | --- |",
        *(f"| {' | '.join(map(_cell, row))} |" for row in rows),
        "",
    ]


def _argument_word(parameter: Any) -> str:
    word = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return word if parameter.required else f"[{word}]"


def _option_words(parameter: Any) -> str:
    """An option as it is typed: `--ranks INT`, `--plot / --no-plot`."""
    words = [" ".join(parameter.opts)]
    if parameter.secondary_opts:
        words.append(" ".join(parameter.secondary_opts))
    if parameter.is_flag:
        return " / ".join(words)
    return f"{words[0]} {_kind(parameter)}"


def _kind(parameter: Any) -> str:
    name = str(parameter.type.name).upper()
    return {
        "TEXT": "TEXT",
        "STR": "TEXT",
        "INTEGER": "INT",
        "INT RANGE": "INT",
        "INTEGER RANGE": "INT",
        "FLOAT RANGE": "FLOAT",
    }.get(name, name)


def _default(parameter: Any) -> str:
    """The default as it is typed; nothing where there is none."""
    value = parameter.default
    if value is None or value == "" or callable(value):
        return ""
    if parameter.is_flag:
        if not parameter.secondary_opts:
            return ""
        return f"`{(parameter.opts if value else parameter.secondary_opts)[0]}`"
    return f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
