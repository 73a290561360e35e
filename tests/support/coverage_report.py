"""How much of each package was run: `python -m tests.support.coverage_report FILE`, for a JSON file of coverage."""

import json
import sys
from collections import Counter
from pathlib import Path, PurePath
from typing import Any

from treespan.core.tables import as_text, plain_table

TOP = "treespan"


def package_of(file: str) -> str:
    """Return the folder of a source file, from `treespan` on."""
    folders = PurePath(file).parts[:-1]
    return "/".join(folders[folders.index(TOP) :])


def report(found: dict[str, Any]) -> str:
    """Return a table of packages: lines that can run, lines that have run, and their share."""
    lines, covered = Counter[str](), Counter[str]()
    for file, figures in found["files"].items():
        package, summary = package_of(file), figures["summary"]
        lines[package] += summary["num_statements"]
        covered[package] += summary["covered_lines"]
    table = plain_table("package", "lines", "run", "share")
    rows = [(package, lines[package], covered[package]) for package in sorted(lines) if lines[package]]
    for package, all_lines, run in [*rows, ("all", lines.total(), covered.total())]:
        table.add_row(package, f"{all_lines:,}", f"{run:,}", f"{run / max(all_lines, 1):.0%}")
    return as_text(table)


if __name__ == "__main__":
    print(report(json.loads(Path(sys.argv[1]).read_text())))
