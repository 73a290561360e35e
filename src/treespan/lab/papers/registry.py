"""All studies by key."""

import difflib

from treespan.core.errors import OptionError
from treespan.lab.papers import beyond, beyond_go, bourki2010, cazenave2008, gelly2008, graf2011, yoshizoe2011
from treespan.lab.papers.study import Study

MODULES = (yoshizoe2011, cazenave2008, gelly2008, graf2011, bourki2010, beyond, beyond_go)
STUDIES: dict[str, Study] = {study.key: study for module in MODULES for study in module.STUDIES}
NEAR = 4  # most keys that an error offers


def papers() -> list[str]:
    return list(dict.fromkeys(study.paper for study in STUDIES.values()))


def find_studies(key: str) -> list[Study]:
    """Return the study of a key, or all studies of a paper."""
    if key in STUDIES:
        return [STUDIES[key]]
    found = [study for study in STUDIES.values() if study.paper == key]
    if found:
        return found
    known = [*STUDIES, *papers()]
    near = difflib.get_close_matches(key, known, n=NEAR, cutoff=0.4)
    near += [other for other in known if other.startswith(key.partition(".")[0] + ".") and other not in near]
    remedy = f"did you mean {', '.join(near)}?" if near else f"papers: {', '.join(papers())}"
    raise OptionError(f"unknown key '{key}'; {remedy} (treespan paper list shows all)")
