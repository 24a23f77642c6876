"""Parser of the command line: short usage, two-line errors, and suggestions for misspelled words."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any, NoReturn

from fastbpe._utils.suggestions import did_you_mean
from fastbpe.cli import streams
from fastbpe.published.find import ENDINGS, KNOWN_NAMES

WRONG_USAGE = 2  # exit status
#: Words that people type → the command that they mean.
_SYNONYMS = {
    "tokenize": "encode",
    "tokenise": "encode",
    "detokenize": "decode",
    "detokenise": "decode",
    "learn": "train",
    "len": "count",
    "wc": "count",
    "print": "show",
    "view": "show",
    "diff": "compare",
    "vocabulary": "vocab",
    "inspect": "info",
    "export": "convert",
    "check": "verify",
    "download": "fetch",
    "pull": "fetch",
    "serve": "web",
}
# Messages of argparse, which `error` rewords.
_REQUIRED = "the following arguments are required: "
_UNKNOWN_INTEGER = re.compile(r"invalid int value: (.*)")
_UNKNOWN_NUMBER = re.compile(r"invalid float value: (.*)")
_EXCLUSIVE = re.compile(r"(.*): not allowed with argument (.*)")
_VALUE_OF_SWITCH = re.compile(r"ignored explicit argument (.*)")
_LONG_QUOTED = re.compile(r"""(?<![^ (:])(["'])((?:(?!\1).){60})(?:(?!\1).){20,}\1""")
_PATHS = ("FILE", "FOLDER", "MODEL", "OUT", "PAGE", "PATH", "PICTURE", "RUN")  # metavars
_IDS = re.compile(r"[\[\],\d]+")  # argument that looks like ids for decode: "1", "[1,", "2]"


class Parser(argparse.ArgumentParser):
    """Parser that suggests the most similar option, command or choice for an unknown one.

    It refuses an option that takes one value but is given twice; argparse would use the last value. An error has
    two lines: the mistake with its way out, and the usage.

    Attributes:
        summary: str – the command in a few words.
    """

    def __init__(self, summary: str = "", **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self.summary = summary
        self._positionals.title = "arguments"
        self._given: list[str] = []
        for action in (None, "store"):  # None: the action of an argument that is added without action=
            self.register("action", action, _StoreOnce)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments. The command's parser, not the one of `fastbpe`, reports surplus arguments."""
        found, left_over = self.parse_known_args(args, namespace)
        if left_over:
            command: Parser = getattr(found, "command", self)
            command.error(command._too_many(left_over))
        return found

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments. Reports an unknown option before a missing argument."""
        given = sys.argv[1:] if args is None else list(args)
        self._given = given
        for argument in given:
            if argument == "--" or (self._subparsers and not argument.startswith("-")):
                break  # values only, or the arguments of a command
            flag = argument.partition("=")[0]
            # An argument with a space is a value for argparse.
            if flag.startswith("--") and " " not in argument and flag not in self._option_string_actions:
                near = did_you_mean(flag, (known for known in self._option_string_actions if known[:2] == "--"))
                self.error(f"there is no option {flag}; {near or f'`{self.prog} --help` lists them'}")
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the error and the usage, one line each, and end the program."""
        if message.startswith(_REQUIRED):
            message = self._missing(message.removeprefix(_REQUIRED).split(", "))
        message = message.removeprefix("argument ").replace("expected one argument", "needs a value")
        message = _UNKNOWN_INTEGER.sub(r"\1 is not an integer", message)
        message = _UNKNOWN_NUMBER.sub(r"\1 is not a number", message)
        message = _EXCLUSIVE.sub(r"\2 and \1: pass one of them", message)
        message = _VALUE_OF_SWITCH.sub(r"takes no value; leave \1 out", message)
        message = _LONG_QUOTED.sub(r"\1\2...\1", message)
        streams.complain(message)
        if sys.stderr is not None:
            usage = self.format_usage().strip()
            print(f"{usage}  (more: {self.prog} --help)", file=sys.stderr)
        self.exit(WRONG_USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a help or the version. Raises OSError for a full disk or a closed pipe, which argparse ignores."""
        streams.write(message.encode())
        streams.flush()

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert a value. Raises ArgumentError for an empty path, such as from an unset variable of a shell."""
        if not arg_string and action.metavar in _PATHS:
            name = "/".join(action.option_strings) or action.metavar
            raise argparse.ArgumentError(
                None, f"{name} is empty; pass {'a name or path' if action.metavar == 'MODEL' else 'a path'}"
            )
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value outside the choices."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        near = did_you_mean(value, choices)
        if isinstance(action, argparse._SubParsersAction):
            if not near and (known := _SYNONYMS.get(str(value).lower())):
                near = f"did you mean {known}?"
            raise argparse.ArgumentError(
                None, f"there is no command {value!r}; {near or f'`{self.prog} --help` lists them'}"
            )
        name = "/".join(action.option_strings) or str(action.metavar or action.dest)
        ways = f"choose one of {', '.join(choices)}"
        raise argparse.ArgumentError(None, f"{name} {value}: {f'{near} {ways}' if near else ways}")

    def _missing(self, names: list[str]) -> str:
        """Return the error for arguments that are not given."""
        if names == ["-m/--model"]:
            model = next(filter(_names_model, self._given), "gpt-4o")
            guess = f"did you mean -m {model}?" if model in self._given else f"pass -m {model} or -m FILE"
            return f"no tokenizer: {guess}"
        if names == ["COMMAND"]:
            return "no command"
        return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing"

    def _too_many(self, left_over: list[str]) -> str:
        """Return the error for arguments that are left over."""
        first = left_over[0]
        if first in ("-m", "--model") and any(action.dest == "model" for action in self._actions):
            return f"{self.prog} takes the tokenizer without -m"  # as an argument: info, convert
        if first.startswith("-") and first != "-":
            return f"there is no option {first}; `{self.prog} --help` lists them"
        if self.prog.endswith(" decode") and all(map(_IDS.fullmatch, left_over)):
            return "ids come from a file or through a pipe: echo 1 2 3 | fastbpe decode -m MODEL"
        too_many = "one argument too many" if len(left_over) == 1 else "too many arguments"
        return f"{too_many}: {' '.join(left_over)}"


def short_usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage of a command in one line: its required arguments, and "[options]" for the rest."""
    needed, values = [], []
    for action in parser._actions:
        name = str(action.metavar or action.dest.upper())
        if action.option_strings:
            if action.required:
                needed.append(f"{action.option_strings[0]} {name}")
        else:
            several = {"*": f"[{name} ...]", "+": f"{name} ...", "?": f"[{name}]"}
            values.append(several.get(str(action.nargs), name))
    return " ".join(["%(prog)s", *needed, "[options]", *values])


def _names_model(argument: str) -> bool:
    """Tell whether an argument may be a tokenizer: a known name, or an existing file with one of ENDINGS.

    A .txt file is more likely a text than a vocab.txt or merges.txt.
    """
    if argument in KNOWN_NAMES:
        return True
    return argument.endswith(ENDINGS) and not argument.endswith(".txt") and os.path.exists(argument)


class _StoreOnce(argparse._StoreAction):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, flag: str | None = None
    ) -> None:
        stored: set[str] = vars(namespace).setdefault("_stored", set())  # dest of each argument so far
        if self.dest in stored:
            parser.error(f"{'/'.join(self.option_strings)} is given twice, but takes one value")
        stored.add(self.dest)
        super().__call__(parser, namespace, values, flag)
