"""The cost model of a simulated cluster: LogGP (Alexandrov et al. 1995) and the CPU cost of a job.

A message of n bytes keeps the sender busy for o, leaves at most every g, is on the way for L + n G and keeps the
receiver busy for o. Handling a job takes `handle`. A profile is a TOML file with these figures: the package has some
in `profiles/`, `treespan calibrate` measures one.
"""

import math
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from treespan.core.errors import OptionError, about, shown, unknown_name

MAX_SECONDS = 10.0  # of any figure: more is a mistaken unit


@dataclass(frozen=True)
class Network:
    """A profile; times in seconds."""

    name: str
    latency: float  # L
    overhead: float  # o, CPU on each side of a message
    gap: float  # g, between two messages of one sender
    per_byte: float  # G
    handle: float  # CPU of one search or report job
    per_ply: float  # CPU of a playout, a ply; virtual playouts take their set time
    sequential: float  # CPU of a playout's tree work in the sequential df-UCT, the base of speed-ups
    source: str

    def costs_ns(self) -> tuple[float, ...]:
        """In nanoseconds, for the simulator: L, o, g, G, handle, a ply."""
        return tuple(
            seconds * 1e9
            for seconds in (self.latency, self.overhead, self.gap, self.per_byte, self.handle, self.per_ply)
        )

    def as_toml(self) -> str:
        """The text of a profile's file."""
        texts = {
            name: f'"{_escaped(value)}"' if isinstance(value, str) else f"{value:.4g}"
            for name, value in asdict(self).items()
        }
        lines = [f"{name} = {text}" for name, text in texts.items()]
        return "# Costs of a simulated cluster: give this file as its network. Times are in seconds.\n" + (
            "\n".join(lines) + "\n"
        )


_TEXTS = ("name", "source")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def load_profile(path: Path) -> Network:
    """Read a profile's file; says in one line what is wrong with it."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(
            f"cannot read network profile '{shown(path)}'{about('network', path)}: {error.strerror}; name another"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(
            f"network profile '{path}'{about('network', path)} is not TOML: {error}; name another"
        ) from None
    known = [field.name for field in fields(Network)]
    for name in values:
        if name not in known:
            raise unknown_name(f"field of network profile {path}", name, known)
    missing = [name for name in known if name not in values]
    if missing:
        which = f"network profile '{path}'{about('network', path)}"
        raise OptionError(f"{which} lacks {', '.join(missing)}; treespan calibrate writes a full one")
    return Network(**{name: _checked(name, value, path) for name, value in values.items()})


def _checked(name: str, value: Any, path: Path) -> Any:
    which = f"network profile '{path}'{about('network', path)}"
    if name in _TEXTS:
        if not isinstance(value, str) or not value:
            raise OptionError(f"{which}: {name} = {value!r} is not a text; give one in quotes")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"{which}: {name} = {value!r} is not a number; give one such as 1e-6")
    if not (math.isfinite(value) and 0 <= value <= MAX_SECONDS):
        raise OptionError(f"{which}: {name} = {value} is out of range; give 0..{MAX_SECONDS:g} seconds")
    return float(value)


PROFILES = {
    profile.name: profile for profile in map(load_profile, sorted((Path(__file__).parent / "profiles").glob("*.toml")))
}


def find_profile(name_or_path: str) -> Network:
    """A profile of the package by its name, or any other by its file."""
    if name_or_path in PROFILES:
        return PROFILES[name_or_path]
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        return load_profile(Path(name_or_path))
    known = f"known: {', '.join(PROFILES)}, or a file FILE.toml"
    error = unknown_name("network profile", name_or_path, PROFILES, "network")
    raise error if "known:" in str(error) else OptionError(f"{error.message} {known}")
