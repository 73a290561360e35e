"""Transcripts on pages: commands and what they print. `python -m tests.support.transcripts` writes them anew.

A transcript is a block ```console. It begins with a command, `$ treespan …`, which goes on after a backslash at the end
of a line. What is typed may come before: `$ printf 'E5\\nquit\\n' | treespan …`.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
WIDTH = 80
BLOCK = re.compile(r"^```console\n\$ (.*?[^\\])\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Transcript:
    """A command of a page, and what the page says that it prints."""

    page: Path
    command: str  # as the page has it
    output: str

    def run(self, folder: Path) -> str:
        """Return what the program prints. It runs in `folder`, which gets the examples."""
        typed, piped, command = self.command.replace("\\\n", " ").rpartition(" | ")
        assert not piped or re.fullmatch(r"printf '[^'%]*'", typed), typed
        keys = typed.removeprefix("printf ").strip("'").replace("\\n", "\n")
        program, *arguments = re.findall(r'"[^"]*"|\S+', command)
        assert program == "treespan"
        (folder / "examples").symlink_to(ROOT / "examples")
        words = [sys.executable, "-m", "treespan", *(word.strip('"') for word in arguments)]
        environment = {**os.environ, "COLUMNS": str(WIDTH)}
        done = subprocess.run(
            words, input=keys, capture_output=True, text=True, timeout=300, cwd=folder, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.rstrip() + "\n"


def transcripts_of(page: Path) -> list[Transcript]:
    return [Transcript(page, *found) for found in BLOCK.findall(page.read_text())]


def transcripts() -> list[Transcript]:
    return [transcript for page in PAGES for transcript in transcripts_of(page)]


def main() -> None:
    for page in PAGES:
        text = page.read_text()
        for transcript in transcripts_of(page):
            with tempfile.TemporaryDirectory() as folder:
                printed = transcript.run(Path(folder))
            before = f"$ {transcript.command}\n{transcript.output}```"
            text = text.replace(before, f"$ {transcript.command}\n{printed}```")
        page.write_text(text)


if __name__ == "__main__":
    main()
