"""Network profiles: files in and out, and what is wrong with bad ones."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from treespan.core.errors import OptionError
from treespan.runtimes.network import PROFILES, Network, find_profile, load_profile

QDR = find_profile("qdr")


def test_a_written_profile_is_read_back(tmp_path: Path) -> None:
    profile = replace(QDR, name='a "quoted" name', latency=1.25e-6, source="back\\slash")
    file = tmp_path / "profile.toml"
    file.write_text(profile.as_toml())
    assert find_profile(str(file)) == profile


def test_every_shipped_profile_has_its_file_s_name() -> None:
    folder = Path(__file__).parents[2] / "src" / "treespan" / "runtimes" / "profiles"
    assert sorted(PROFILES) == sorted(file.stem for file in folder.glob("*.toml"))


def test_the_paper_s_cpu_costs_stay() -> None:
    assert 2 * QDR.overhead + QDR.handle == pytest.approx(8.5e-6)  # fitted to UCT1 and UCT2 of yoshizoe2011


@pytest.mark.parametrize("field", [field.name for field in fields(Network)])
def test_every_field_must_be_there(field: str, tmp_path: Path) -> None:
    lines = [line for line in QDR.as_toml().splitlines() if not line.startswith(f"{field} =")]
    file = tmp_path / "profile.toml"
    file.write_text("\n".join(lines))
    with pytest.raises(OptionError, match=f"lacks {field}; treespan calibrate writes a full one"):
        load_profile(file)


MISTAKES = [
    ("latency = -1e-6", r"latency = -1e-06 is out of range; give 0..10 seconds"),
    ("latency = nan", r"latency = nan is out of range"),
    ("latency = 1500", r"latency = 1500 is out of range; give 0..10 seconds"),
    ('latency = "1us"', r"latency = '1us' is not a number"),
    ("latency = true", r"latency = True is not a number"),
    ("source = 3", r"source = 3 is not a text"),
    ("latensy = 1e-6", r"unknown field of network profile .* 'latensy'; did you mean 'latency'\?"),
    ("latency = = 1", r"is not TOML"),
]


@pytest.mark.parametrize("line, complaint", MISTAKES)
def test_bad_files_are_refused_in_one_line(line: str, complaint: str, tmp_path: Path) -> None:
    name = line.partition(" ")[0]
    kept = [text for text in QDR.as_toml().splitlines() if not text.startswith(f"{name} =")]
    file = tmp_path / "profile.toml"
    file.write_text("\n".join([*kept, line]))
    with pytest.raises(OptionError, match=complaint) as caught:
        load_profile(file)
    assert "\n" not in str(caught.value)


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"did you mean 'qdr'\? known: 10gbe, .*qdr, .*shared-memory, .*or a file"):
        find_profile("qrd")
    with pytest.raises(OptionError, match=r"unknown network profile 'token-ring'; known: 10gbe, .*qdr, "):
        find_profile("token-ring")
    with pytest.raises(OptionError, match=r"cannot read network profile 'nothing\.toml': No such file"):
        find_profile("nothing.toml")
