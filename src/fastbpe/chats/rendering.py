"""Rendering of models' chat templates, in this process or in a worker with JSON input and output.

A template is a program that a stranger wrote. It runs in jinja2's sandbox, which keeps it from Python's objects.
For `fastbpe web` and `fastbpe count`, it runs in a worker, with limits on processor time and memory, which the
sandbox does not set: nested loops may run forever, and one expression may create a text of gigabytes. This file
imports nothing from fastbpe, so the worker starts quickly.

Standard input: {"template", "runs": [variables…], "max_characters", "seconds", "max_bytes"}: the limits of each
run on its text, processor time and memory. Standard output: one line per run, {"text": …} or {"error": …}.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import sys
import time
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class GenerationTag(Extension):
    """The block {% generation %} of transformers, which marks the assistant's text, rendered as its body.

    Variables that are set in it end with it. It may contain break and continue of a loop around it, which
    transformers refuses, whose body is a function.
    """

    tags = {"generation"}  # noqa: RUF012 – jinja2 reads it so

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the body of the block."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class TooLong(Exception):
    """The rendered text has more characters than allowed."""


def _raise_exception(message: object) -> NoReturn:
    raise jinja2.TemplateError(str(message))


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def limit(seconds: int, max_bytes: int) -> None:
    """Limit this process: seconds of processor time from now on, bytes of memory.

    Windows has no such limits, and macOS refuses the limit of memory. Lower limits of the caller stay.
    """
    try:
        import resource
    except ImportError:
        return
    until = math.ceil(time.process_time()) + seconds  # the system takes whole seconds
    for what, most in ((resource.RLIMIT_CPU, until), (resource.RLIMIT_AS, max_bytes)):
        first = _first_limit(what)
        with contextlib.suppress(ValueError, OSError):
            soft = most if first == resource.RLIM_INFINITY else min(most, first)
            resource.setrlimit(what, (soft, resource.getrlimit(what)[1]))


@functools.cache
def _first_limit(what: int) -> int:
    """Return the soft limit with which this process started."""
    import resource

    return resource.getrlimit(what)[0]


def compiled(template: str) -> jinja2.Template:
    """Compile a template with the same extensions, filters and functions as in transformers.

    transformers refuses attributes of a namespace that begin with "_"; here they are undefined, as in the sandbox.

    Raises jinja2.TemplateError if it is invalid.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(template)


def written(template: jinja2.Template, variables: dict[str, Any], max_characters: int) -> str:
    """Render a compiled template.

    Raises:
        jinja2.TemplateError: the template refuses the messages, or tries to leave the sandbox.
        TooLong: the text has more than max_characters characters.
    """
    text, n_characters = [], 0
    for part in template.generate(variables):
        n_characters += len(part)
        if n_characters > max_characters:
            raise TooLong(f"the template writes more than {max_characters:,} characters")
        text.append(part)
    return "".join(text)


def main() -> None:
    """Read a request from standard input, and write the answers to standard output."""
    request = json.load(sys.stdin)
    compile_once = functools.cache(compiled)
    for variables in request["runs"]:
        limit(request["seconds"], request["max_bytes"])
        try:
            answer = {"text": written(compile_once(request["template"]), variables, request["max_characters"])}
        except MemoryError:
            answer = {"error": f"the template needs more than {request['max_bytes']:,} bytes of memory"}
        except Exception as error:  # a template may do anything with its variables and raise any error
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
