"""The report as one HTML page that contains its styles and pictures."""

from collections.abc import Sequence
from html import escape

from treespan.lab.papers.markdown import (
    INTRODUCTION,
    NOT_RUN,
    Grid,
    chart_of,
    grids,
    machine_line,
    overview,
    paragraph,
    status,
)
from treespan.lab.papers.report import Result

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-top: 2px solid #ddd; padding-top: 1rem; }
h3 { margin-bottom: .4rem; font-size: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
th:first-child, td:first-child, .list td { text-align: left; white-space: normal; }
td.missing { color: #999; font-style: italic; }
pre { background: #f5f5f5; padding: .5rem .8rem; overflow-x: auto; }
p.verdict { background: #f2f7fb; border-left: 4px solid #0072B2; padding: .6rem .9rem; }
p.note, p.machine { color: #666; font-size: .85rem; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
  body { background: #16181b; color: #ddd; } h2, th, td { border-color: #3a3d42; } pre { background: #22252a; }
  p.verdict { background: #1d2731; } svg { background: #fff; }
}
"""


def as_html(results: Sequence[Result], pictures: dict[str, dict[str, str]]) -> str:
    """Return the whole report; `pictures` are SVG texts by key and title of the block."""
    rows = [
        [f'<a href="#{escape(line[0])}">{escape(line[0])}</a>', *map(escape, line[1:])] for line in overview(results)
    ]
    body = ["<h1>Laboratory report</h1>", f"<p>{escape(INTRODUCTION)}</p>"]
    body += [_table(["key", "what", "runtime", "status"], rows, "list")]
    for result in results:
        body += _section(result, pictures.get(result.study.key, {}))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    page = [f"<!DOCTYPE html>\n<html lang='en'><head>{head}<title>treespan: laboratory report</title>"]
    return "\n".join([*page, f"<style>{STYLE}</style></head><body>", *body, "</body></html>"]) + "\n"


def _section(result: Result, pictures: dict[str, str]) -> list[str]:
    study = result.study
    found = [f'<h2 id="{escape(study.key)}">{escape(study.key)}: {escape(study.title)}</h2>']
    found.append(f"<p>Runtime: {escape(study.runtime)}. Status: {escape(status(result))}.</p>")
    for run in result.runs:
        found += [f"<pre>{escape(run.command)}</pre>", f'<p class="machine">{escape(machine_line(run))}</p>']
    found.append(f'<p class="verdict">{escape(paragraph(result))}</p>')
    if (chart := chart_of(result)) and chart.title in pictures:
        found += [f"<h3>{escape(chart.title)}</h3>", pictures[chart.title]]
    for sub_table in grids(result):
        found += _sub_table(sub_table, pictures.get(sub_table.title, ""))
    return found


def _sub_table(grid: Grid, picture: str) -> list[str]:
    rows = [[escape(text) for text in row] for row in grid.rows]
    notes = [f'<p class="note">{escape(note)}</p>' for note in grid.notes]
    return [f"<h3>{escape(grid.title)}</h3>", picture, _table([*map(escape, grid.head)], rows), *notes]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    cells = "".join(f"<th>{text}</th>" for text in head)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        marked = (f'<td class="missing">{text}</td>' if text == NOT_RUN else f"<td>{text}</td>" for text in row)
        lines.append(f"<tr>{''.join(marked)}</tr>")
    return f'<div class="scroll"><table class="{kind}">' + "\n".join(lines) + "</table></div>"
