"""Flags that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from fastbpe._utils.arguments import decimal
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.cli.streams import STDIN
from fastbpe.errors import FormatError, SpecialTokenError
from fastbpe.tokenizer.loading import load
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.tokenizer.tokenizer import Tokenizer

_MODEL_HELP = "tokenizer: a file or folder of any format, or a name such as gpt-4o or org/name (see fetch)"


class Named(NamedTuple):
    """A tokenizer, and its name on the command line."""

    name: str
    tokenizer: Tokenizer


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the input of a command that reads one file or standard input."""
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default=STDIN, help="file to read (default and -: standard input)"
    )


def add_model(
    parser: argparse.ArgumentParser, *, as_flag: bool = True, several: bool = False, required: bool = True
) -> None:
    """Add the tokenizer file, and the flags for a pattern and special tokens, which the file may lack.

    Args:
        parser: the command's parser.
        as_flag: the file is passed with -m; False: as a positional argument.
        several: -m may be repeated.
        required: bool – whether -m must be given.
    """
    group = parser.add_argument_group("tokenizer")
    if several:
        said = _MODEL_HELP + "; repeatable"
        group.add_argument(
            "-m", "--model", metavar="MODEL", required=required, action="append", default=[], help=said
        )
    elif as_flag:
        group.add_argument("-m", "--model", metavar="MODEL", required=required, help=_MODEL_HELP)
    else:
        parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    group.add_argument(
        "--pattern",
        metavar="NAME_OR_REGEX",
        help="split pattern, only for formats that do not store it (.tiktoken, merges.txt): gpt2, cl100k, o200k, "
        "..., a regex, or none (no splitting)",
    )
    group.add_argument(
        "--special",
        metavar="TOKEN=ID",
        action="append",
        type=token_and_id,
        help="define a special token and its id (repeatable); these replace all special tokens of the "
        "vocabulary file. Not for a sentencepiece model as .model, .fbpe or .gguf, which defines its own, "
        "or for a tokenizer from `train --mode ids`",
    )


def add_special(parser: argparse._ActionsContainer) -> None:
    """Add the flag for special tokens that texts may contain."""
    parser.add_argument(
        "--allow-special",
        metavar="TOKEN",
        action="append",
        default=[],
        help="encode this special token in the text as its id, not as text (repeatable); all: every special token",
    )


def allowed_special(names: Sequence[str], models: Sequence[Named]) -> str | frozenset[str]:
    """Return the special tokens to allow. Raises SpecialTokenError for a name that no tokenizer has."""
    if "all" in names:
        return "all"
    known = {name: None for model in models for name in model.tokenizer.special_tokens}
    if unknown := sorted(set(names) - known.keys()):
        has = ", ".join(map(repr, known)) or "none"
        raise SpecialTokenError(
            f"--allow-special: {unknown[0]!r} is not a special token of any tokenizer given with -m; special "
            f"tokens: {has}"
        )
    return frozenset(names)


def load_model(args: argparse.Namespace) -> Tokenizer:
    """Load the tokenizer given by the flags of `add_model`."""
    return load_text_model(args.model, *flags_of(args))


def load_models(args: argparse.Namespace) -> list[Named]:
    """Load the tokenizers given by the flags of `add_model(several=True)`, in order."""
    return [Named(name, load_text_model(name, *flags_of(args))) for name in args.model]


def load_any(args: argparse.Namespace) -> Tokenizer | SequenceTokenizer:
    """Load the tokenizer given by the flags of `add_model`: for text or for sequences of integers."""
    pattern, special = flags_of(args)
    tokenizer: Tokenizer | SequenceTokenizer = load(args.model, pattern=pattern, special_tokens=special)
    return tokenizer


def flags_of(args: argparse.Namespace) -> tuple[str | None, dict[str, int] | None]:
    """Return the pattern and the special tokens given by the flags of `add_model`; None: not given."""
    return args.pattern, None if args.special is None else dict(args.special)


def load_text_model(
    name: str, pattern: str | None = None, special_tokens: Mapping[str, int] | None = None
) -> Tokenizer:
    """Load a tokenizer for text. Raises FormatError for a tokenizer for sequences of integers."""
    tokenizer = load(name, pattern=pattern, special_tokens=special_tokens)
    if not isinstance(tokenizer, Tokenizer):
        raise FormatError(
            f"{name}: this tokenizer encodes sequences of integers, but the command needs a tokenizer of text"
        )
    return tokenizer


def token_and_id(text: str) -> tuple[str, int]:
    """Parse TOKEN=ID. The last `=` counts, because a token may contain others."""
    token, equals, token_id = text.rpartition("=")
    if not equals or not token or not token_id.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not TOKEN=ID, for example '<|end|>=50000'")
    return token, decimal(token_id)


def add_roles(parser: argparse._ActionsContainer) -> None:
    """Add the flag for roles of special tokens."""
    parser.add_argument(
        "--roles",
        metavar="ROLE=TOKEN",
        type=_role_of,
        action="append",
        help="give a role to a special token of the tokenizer, such as 'eos=</s>'; roles: bos, eos, unk, sep, "
        "pad, cls, mask (repeatable)",
    )


def roles_of(args: argparse.Namespace) -> dict[str, str] | None:
    """Return the roles given with the flag; None if it is not given."""
    return dict(args.roles) if args.roles else None


def _role_of(text: str) -> tuple[str, str]:
    """Read `ROLE=TOKEN`."""
    role, sign, token = text.partition("=")
    if not sign or not token:
        raise argparse.ArgumentTypeError(f"{text!r}: pass a role and its token, such as 'eos=</s>'")
    return role, token
