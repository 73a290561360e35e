"""Why a function does not compile, in one line instead of Numba's sixty: cause, remedy, and the user's line of code."""

import re
from pathlib import Path
from types import FunctionType
from typing import Any

from treespan.core.errors import TreespanError
from treespan.core.jit import Function

NO_PYTHON = "compiled code cannot print values or call Python; remove it, or look with NUMBA_DISABLE_JIT=1"
# A pattern in Numba's message; what the message means to the author of a rule
_MEANINGS = (
    ("cannot (print) values|ObjModeLiftedWith", NO_PYTHON),
    (
        r"NRT required but not enabled",
        "compiled code cannot make lists, sets, strings or arrays; use fields of the position, or `moves` as scratch",
    ),
    (r"unsupported opcode \(IMPORT_NAME\)", "a rule cannot import; import at the top of the file"),
    (r"unsupported opcode \(STORE_GLOBAL\)", "a rule cannot set a global variable; use a field of the position"),
    (r"unsupported opcode \((\w+)\)", "compiled code cannot do Python's {0}; write it with loops and numbers"),
    (r"Cannot modify readonly array", "compiled code cannot write to a global array; use a field of the position"),
    (r"<function \w*sort", "compiled code cannot sort arrays; write a loop"),
    (
        r"Casting (\w+).* to (\w+) directly is unsupported[\s\S]*?During: resolving callee type: class\(\w+\)\s+"
        r"During: typing of call at \S*games/table\.py",
        "it returns {0}; it must return a number, as {1}",
    ),
    (
        r"(?:unsupported NumPy function|No implementation of function Function\(<built-in function) '?(?:numpy\.)?"
        r"(zeros|ones|empty|full|array|arange|zeros_like|empty_like|ones_like|copy)\b",
        "compiled code cannot make arrays (np.{0}); use a field of the position, or `moves` as scratch",
    ),
    (
        r"(?:Cannot unify|Can't unify return type from the following types:) (.+?)(?= for '\$|\n|$)",
        "a value has two types: {0}",
    ),
    (r"variable '(\w+)' in globals, is not supported", "compiled code cannot use the list `{0}`; make it a tuple"),
    (r"Unknown attribute '(\w+)' of type (\S+)", "Unknown attribute '{0}' of a {1}"),
    (r"(?:NameError: name|Untyped global name) '(\w+)'", "the name '{0}' is not known to compiled code"),
    (r"No implementation of function Function\(<function (\w+)", "compiled code has no {0} for these arguments"),
    (
        r"No implementation of function Function\(<built-in .*\s+>>> (\w+)(\(.*\))",
        "compiled code has no {0} for arguments of the types {1}",
    ),
    (r"Invalid use of (.+?) with (?:argument|parameter)", "invalid use of {0}"),
)
_PLAIN_WORDS = {"none": "nothing", "unicode_type": "a text", "Literal": "a text"}  # for Numba's types
_EXAMPLES = {"float64": "0.5", "int64": "3", "uint64": "np.uint64(3)"}
_NOISE = ("Failed in nopython", "This error may have been caused", "During: ", "- ", "[", "File ")


class CompileError(TreespanError):
    """A function cannot be compiled. The message is one line."""


def explain(error: BaseException, function: Function) -> CompileError:
    """Return an error that says what the function's author can do about Numba's error."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if isinstance(error, KeyError):  # how Numba says that a record has no such field
        name = str(error).strip("'\"")
        found: tuple[str, tuple[str, ...]] = (f"a position has no field '{name}'", (name,))
    else:
        found = _cause(text)
    cause, words = found
    if cause.startswith("the name "):
        cause = _about_name(words[0], function) or cause
    elif cause.startswith("it returns "):
        words = ("return",)
    place = _line_of(text, function) or _line_with(words, function)
    return CompileError(f"{function.title} does not compile: {cause}{place}")


def _cause(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is wrong, and names that the faulty line probably contains."""
    for pattern, meaning in _MEANINGS:
        found = re.search(pattern, text)
        if found:
            parts = tuple(part.strip() for part in found.groups() if part)
            plain = [_PLAIN_WORDS.get(part) or _EXAMPLES.get(part) or part for part in parts]
            return meaning.format(*plain), parts
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(_NOISE)]
    first = lines[0] if lines else text
    return first, tuple(re.findall(r"'(\w+)'", first))


def _about_name(name: str, function: Function) -> str:
    """Return what is wrong with the value of a name that compiled code does not know; "" if it has no value."""
    for plain in _functions_below(function):
        if name in plain.__globals__ and name in plain.__code__.co_names:
            value = plain.__globals__[name]
            if isinstance(value, FunctionType):
                return f"`{name}` is a plain function; decorate `{name}` with @njit of treespan.core.jit"
            kind = "a class" if isinstance(value, type) else f"of type {type(value).__name__}"
            return f"compiled code cannot use `{name}`, which is {kind}; use numbers, tuples and NumPy's arrays"
    return ""


def _functions_below(function: Function) -> list[Any]:
    """Return the plain functions in which the error may be: the function itself and all that it calls."""
    return [known for known in function.fingerprint.functions if known.__code__.co_filename]


def _line_of(text: str, function: Function) -> str:
    """Return the last line of the author's files that the error names: `; nim.py, line 12: the code`."""
    files = {Path(plain.__code__.co_filename).name: plain.__code__.co_filename for plain in _functions_below(function)}
    named = re.findall(r'File "([^"]+)", line (\d+)', text) + re.findall(r" (?:at|from) (\S+\.py) \((\d+)\)", text)
    for path, number in reversed(named):
        name = Path(path).name
        if name in files and not _is_ours(files[name]):
            return _quoted(files[name], int(number))
    return ""


def _line_with(words: tuple[str, ...], function: Function) -> str:
    """Return the first line of the author's code that contains one of these names."""
    for plain in _functions_below(function):
        code = plain.__code__
        if _is_ours(code.co_filename):
            continue
        lines = sorted({number for _, _, number in code.co_lines() if number})
        for number in lines:
            text = _read_line(code.co_filename, number)
            if any(re.search(rf"\b{re.escape(word)}\b", text) for word in words):
                return _quoted(code.co_filename, number)
    return ""


def _is_ours(path: str) -> bool:
    return Path(path).is_relative_to(Path(__file__).parents[1])


def _quoted(path: str, number: int) -> str:
    return f"; {Path(path).name}, line {number}: {_read_line(path, number)}"


def _read_line(path: str, number: int) -> str:
    try:
        return Path(path).read_text(errors="replace").splitlines()[number - 1].strip()
    except (OSError, IndexError):
        return ""
