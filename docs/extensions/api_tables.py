"""Tables of the API: names with the first sentence of their docstrings, linked to where they are described.

    ```{api-table}         every name that the pages describe, with a heading for each page
    tokenizer/encode
    tokenizer/decode
    ```

    ```{api-members} fastbpe.tiktoken.Encoding        the public members of a class
    ```

Types in signatures link to their classes: those of fastbpe to this site, those of Python and numpy to theirs.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx import addnodes

DESCRIBED = re.compile(r"^\.\. auto(class|function|method|property|attribute):: (\S+)$", re.MULTILINE)
ROLES = {"class": "class", "function": "func"}
PYTHON = "https://docs.python.org/3/library/"
TYPES = {
    **{
        name: f"{PYTHON}exceptions.html#{name}"
        for name, found in vars(builtins).items()
        if inspect.isclass(found) and issubclass(found, BaseException)
    },
    **{
        name: f"{PYTHON}stdtypes.html#{name}"
        for name in ("str", "bytes", "bytearray", "list", "tuple", "dict", "set")
    },
    **{name: f"{PYTHON}functions.html#{name}" for name in ("int", "float", "bool", "object")},
    "None": f"{PYTHON}constants.html#None",
    **{
        name: f"{PYTHON}collections.abc.html#collections.abc.{name}"
        for name in ("Iterable", "Iterator", "Sequence", "Mapping", "Collection", "Callable", "Set", "Generator")
    },
    **{name: f"{PYTHON}typing.html#typing.{name}" for name in ("Any", "Literal", "Self")},
    "Path": f"{PYTHON}pathlib.html#pathlib.Path",
    "PathLike": f"{PYTHON}os.html#os.PathLike",
    "ndarray": "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html",
    "NDArray": "https://numpy.org/doc/stable/reference/typing.html#numpy.typing.NDArray",
}


class ApiTable(Directive):
    """A heading and a table for each page that is named."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        here = Path(env.doc2path(env.docname)).parent
        found: list[nodes.Node] = []
        for name in self.content:
            path = here / f"{name}.md"
            env.note_dependency(str(path))
            text = path.read_text(encoding="utf-8")
            title = re.search(r"^# (.+)$", text, re.MULTILINE)
            assert title, f"{path} has no title"
            docname = str(path.relative_to(env.srcdir).with_suffix(""))
            found.append(nodes.rubric("", "", _to_page(docname, title[1])))
            found.append(_table([(ROLES.get(kind, "obj"), target) for kind, target in DESCRIBED.findall(text)]))
        return found


class ApiMembers(Directive):
    """A table of the public members of a class."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        owner = self.arguments[0]
        names = [name for name in dir(_object(owner)) if not name.startswith("_")]
        return [_table([("obj", f"{owner}.{name}") for name in names])]


def _to_page(docname: str, title: str) -> nodes.Node:
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="doc", reftarget=f"/{docname}", refexplicit=True, refwarn=True
    )
    link += nodes.inline(text=title)
    return link


def _table(rows: list[tuple[str, str]]) -> nodes.table:
    group = nodes.tgroup(cols=2)
    group += [nodes.colspec(colwidth=width) for width in (30, 70)]
    body = nodes.tbody()
    for role, target in rows:
        xref = addnodes.pending_xref("", refdomain="py", reftype=role, reftarget=target, refexplicit=True)
        xref += nodes.literal(text=_short(target))
        said = nodes.paragraph("", "", *_words(_first_sentence(target)))
        body += nodes.row("", nodes.entry("", nodes.paragraph("", "", xref)), nodes.entry("", said))
    group += body
    return nodes.table("", group, classes=["api-table"])


def _short(target: str) -> str:
    """Return a name without its module, and a member without its class."""
    return target.rpartition(".")[2]


def _object(target: str) -> Any:
    """Return what a full name stands for."""
    parts = target.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = inspect.getattr_static(found, name) if inspect.isclass(found) else getattr(found, name)
        return found
    raise ImportError(target)


def _first_sentence(target: str) -> str:
    found = _object(target)
    found = getattr(found, "__func__", found)
    said = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.!?]) (?=[A-Z`])|: (?=[A-Z`])", said)[0].removesuffix(".")


def _words(text: str) -> list[nodes.Node]:
    parts = text.split("`")
    return [nodes.literal(text=part) if at % 2 else nodes.Text(part) for at, part in enumerate(parts) if part]


def resolve_type(app: Any, env: Any, node: Any, contnode: Any) -> nodes.reference | None:
    """Link a type of a signature that autodoc names by the module that defines it, or that is not of this site."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    own = {
        full: entry
        for full, entry in env.domains["py"].objects.items()
        if full.startswith("fastbpe.") and full.rpartition(".")[2] == name
        if entry.objtype in ("class", "exception")
    }
    # A name that only drop-ins have, and several of them, is not linked: which one is meant is not known here.
    entry = own.get(f"fastbpe.{name}") or (next(iter(own.values())) if len(own) == 1 else None)
    if entry:
        address = app.builder.get_relative_uri(node["refdoc"], entry.docname)
        return nodes.reference("", "", contnode, internal=True, refuri=f"{address}#{entry.node_id}")
    if name in TYPES:
        return nodes.reference("", "", contnode, internal=False, refuri=TYPES[name])
    return None


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("api-table", ApiTable)
    app.add_directive("api-members", ApiMembers)
    app.connect("missing-reference", resolve_type)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
