"""fastbpe completion: print a script that completes commands, flags and values in a shell."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator

from fastbpe.cli import streams
from fastbpe.cli.parser import Parser
from fastbpe.patterns import PATTERNS
from fastbpe.published.find import KNOWN_NAMES

SUMMARY = "print a completion script for bash, zsh or fish"
DETAILS = """

Completes commands, options and their values, names of vocabularies after -m, and
files. Add the line for your shell to its startup file; for fish, run the line once:
  bash (~/.bashrc):   eval "$(fastbpe completion bash)"
  zsh (~/.zshrc):     eval "$(fastbpe completion zsh)"   (after compinit)
  fish:               fastbpe completion fish > ~/.config/fish/completions/fastbpe.fish"""
EXAMPLE = r"""
example:
  $ fastbpe completion bash > fastbpe.bash
  $ bash -n fastbpe.bash
"""
_TOKENIZERS = ("model", "base", "names")  # options and arguments that take names of vocabularies
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's argument."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    commands = _commands(args.root)
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    streams.say(script(commands))


class _Command:
    """A command of the parser, as completion needs it.

    Attributes:
        name, summary: str – as shown by `fastbpe --help`.
        flags: its flags except --help.
        positional: list of str – known values of its arguments; may be empty.
        takes_files: bool – its arguments may be files.
    """

    def __init__(self, name: str, parser: Parser) -> None:
        self.name, self.summary = name, parser.summary
        actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
        self.flags = [action for action in actions if action.option_strings]
        arguments = [action for action in actions if not action.option_strings]
        self.positional = [value for action in arguments for value in _values(action)]
        self.takes_files = any(map(_takes_files, arguments))


def _commands(root: argparse.ArgumentParser) -> list[_Command]:
    subparsers = next(action for action in root._actions if isinstance(action, argparse._SubParsersAction))
    return [_Command(name, parser) for name, parser in subparsers.choices.items()]


def _values(action: argparse.Action) -> list[str]:
    """List the values that an option or argument may have, or the best-known ones; []: any value."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.dest == "pattern":
        return [*PATTERNS]
    return [*KNOWN_NAMES] if action.dest in _TOKENIZERS else []


def _takes_files(action: argparse.Action) -> bool:
    """Tell whether to complete files: not for choices, patterns and names; for a number, it is harmless."""
    return action.choices is None and action.dest not in ("pattern", "names")


def _takes_value(flag: argparse.Action) -> bool:
    return flag.nargs != 0


def _quoted(text: str) -> str:
    """Quote a text for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _words(words: Iterable[str]) -> str:
    return _quoted(" ".join(words))


def _help(action: argparse.Action) -> str:
    """Return the help of a flag as plain text."""
    return (action.help or "").replace("%%", "%")


def _bash(commands: list[_Command]) -> str:
    def cases() -> Iterator[str]:
        for command in commands:
            yield f"    {command.name})"
            yield f"      flags={_words(name for flag in command.flags for name in flag.option_strings)}"
            yield f"      words={_words(command.positional)}"
            yield '      case "$prev" in'
            for flag in command.flags:
                if _takes_value(flag):
                    yield f"        {'|'.join(flag.option_strings)}) flags='' words={_words(_values(flag))} ;;"
            yield "      esac ;;"

    names = _words(["--help", "--version", *(command.name for command in commands)])
    return "\n".join(
        [
            "# Completion of fastbpe for bash; made by `fastbpe completion bash`.",
            "_fastbpe() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" flags="" words=""',
            "  local IFS=$' \\t\\n'",  # the default, for the lists below: a user may have set another
            "  COMPREPLY=()",
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f'    COMPREPLY=($(compgen -W {names} -- "$cur"))',
            "    return",
            "  fi",
            '  case "${COMP_WORDS[1]}" in',
            *cases(),
            "  esac",
            '  case "$cur" in -*) words="$words $flags --help" ;; esac',
            '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
            "}",
            "complete -o default -o bashdefault -F _fastbpe fastbpe",
        ]
    )


def _zsh(commands: list[_Command]) -> str:
    def specs(command: _Command) -> Iterator[str]:
        for flag in command.flags:
            repeats = "*" if isinstance(flag, argparse._AppendAction) else ""
            for name in flag.option_strings:
                said = re.sub(r"[\[\]:\\]", r"\\\g<0>", _help(flag))
                spec = f"{repeats}{name}[{said}]"
                if _takes_value(flag):
                    spec += f":{flag.dest}:{_zsh_values(_values(flag), _takes_files(flag))}"
                yield _quoted(spec)
        yield _quoted(f"*:argument:{_zsh_values(command.positional, command.takes_files)}")

    described = [f"    {_quoted(f'{command.name}:{command.summary}')}" for command in commands]
    names = _quoted(f"names:name:({' '.join(KNOWN_NAMES)})")
    lines = [
        "#compdef fastbpe",
        "# Completion of fastbpe for zsh; made by `fastbpe completion zsh`.",
        f"_fastbpe_models() {{ _alternative {names} 'files:file:_files' }}",
        "_fastbpe() {",
    ]
    lines += ["  local -a commands=(", *described, "  )"]
    lines += ["  if (( CURRENT == 2 )); then", "    _describe command commands", "    return", "  fi"]
    lines += ["  local command=$words[2]", "  shift words", "  (( CURRENT-- ))", '  case "$command" in']
    for command in commands:
        lines.append(f"    {command.name}) _arguments {' '.join(specs(command))} ;;")
    return "\n".join([*lines, "  esac", "}", "compdef _fastbpe fastbpe"])


def _zsh_values(values: list[str], takes_files: bool) -> str:
    """Return a zsh action that completes values; with takes_files, files, and known tokenizers if values exist."""
    if takes_files:
        return "_fastbpe_models" if values else "_files"
    return f"({' '.join(values)})"


def _fish(commands: list[_Command]) -> str:
    lines = ["# Completion of fastbpe for fish; made by `fastbpe completion fish`."]
    for command in commands:
        named = f"-a {command.name} -d {_fish_quoted(command.summary)}"
        lines.append(f"complete -c fastbpe -n __fish_use_subcommand -f {named}")
        after_command = f"complete -c fastbpe -n '__fish_seen_subcommand_from {command.name}'"
        if command.positional:
            only = "" if command.takes_files else " -f"
            lines.append(f"{after_command}{only} -a {_words(command.positional)}")
        for flag in command.flags:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.option_strings
            )
            values = _values(flag)
            takes = (" -r" if _takes_files(flag) else " -x") if _takes_value(flag) else ""
            takes += f" -a {_words(values)}" if values else ""
            lines.append(f"{after_command} {names}{takes} -d {_fish_quoted(_help(flag))}")
    return "\n".join(lines)
