"""fastbpe count: count tokens, as wc counts words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from fastbpe._core.text.utf8_text import utf8_size
from fastbpe._utils.progress import Phase, Reporter
from fastbpe.chats import EstimatedCount
from fastbpe.cli import chat_messages, documents, streams
from fastbpe.cli.failures import Complaints
from fastbpe.cli.shared_flags import Named, add_model, load_models
from fastbpe.display.layout import n_columns, padded
from fastbpe.display.visible import visible_text
from fastbpe.tokenizer.tokenizer import Tokenizer

_N_CHATS = 200  # chats per worker process; starting one takes as long as rendering hundreds of chats
_Rows = list[tuple[list[int], str]]  # the counts of each file or chat, one per tokenizer, and its name
SUMMARY = "count the tokens of files"
DETAILS = f"""

Repeat -m for one column per tokenizer. Special tokens in the text count as plain text.
If a file cannot be read, the command reports it, counts the others, and exits with
status 1.

With --messages, each FILE contains chats. A chat is a JSON array of messages, or a request
to a chat API ({{"messages": [...], "tools": [...]}}). A FILE is one chat, a JSON array of
chats, or JSON lines with a chat per line. The chat template of the model (-m FOLDER, or a
.fbpe made from it; needs jinja2), or the one that --template chooses, turns each chat into
text, and the tokens of that text are counted. gpt-oss needs no template: its format,
harmony, is built in. OpenAI's closed models (-m gpt-4o) need no template, either: the count
is an estimate, because their format is not published. A template is a program: it runs in a
separate process, with limits on time (10 seconds per chat), memory and the length of the
text.{documents.DETAILS}"""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe count -m words.fbpe words.txt words.txt
   7 words.txt
   7 words.txt
  14 total
  $ fastbpe count -m words.fbpe < words.txt
  7
  $ echo '{"id": 1, "body": "lower lowest"}' > words.jsonl
  $ fastbpe count -m words.fbpe --text-field body words.jsonl
  6 words.jsonl
  $ fastbpe train words.txt -o more.fbpe --vocab-size 262 --quiet
  $ fastbpe count -m words.fbpe -m more.fbpe words.txt
  words.fbpe  more.fbpe
           7          5 words.txt
  $ mkdir model && fastbpe convert words.fbpe model/tokenizer.json --quiet
  $ echo '{"chat_template": "{{ messages[0].content }}"}' > model/tokenizer_config.json
  $ echo '[{"role": "user", "content": "lower lowest"}]' > chat.json
  $ fastbpe count -m model --messages chat.json
  6 chat.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="text to count (default: standard input)")
    documents.add_arguments(parser)
    add_model(parser, several=True)
    parser.add_argument("--messages", action="store_true", help="count chats: each FILE contains messages as JSON")
    parser.add_argument(
        "--template",
        metavar="NAME",
        help="with --messages: a .jinja, .jinja2 or .j2 file; the name of one of the model's other templates; "
        "harmony; or openai (an estimate). Default: the model's own template; without it, harmony for gpt-oss and "
        "openai for OpenAI's closed models",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(args: argparse.Namespace) -> int:
    """Count and print. Returns the exit status."""
    if args.messages:
        documents.refuse_arguments(args, "they are for text, and --messages reads JSON")
    elif args.template is not None:
        args.wrong("--template needs --messages")
    documents.separator_of(args)
    models = load_models(args)
    complaints = Complaints(args)
    rows, n_inputs = (_count_messages if args.messages else _count_files)(args, models, complaints)
    if args.json:
        found: list[dict[str, object]] = []
        for counts, name in rows:
            for model, n_tokens in zip(models, counts, strict=True):
                found.append({"file": streams.name_of(name), "model": model.name, "n_tokens": int(n_tokens)})
                if args.messages:
                    found[-1]["is_estimate"] = isinstance(n_tokens, EstimatedCount)
        streams.say_json(found)
        return complaints.status
    if rows and n_inputs > 1:
        rows.append(([sum(column) for column in zip(*(counts for counts, _ in rows), strict=True)], "total"))
    if rows:
        _print(rows, [visible_text(model.name) for model in models], named=bool(args.files) or n_inputs > 1)
    for i, model in enumerate(models):
        if any(isinstance(counts[i], EstimatedCount) for counts, _ in rows):
            streams.note(f"{model.name}: its chat format is not published, so the counts are estimates")
    return complaints.status


def _count_files(args: argparse.Namespace, models: list[Named], complaints: Complaints) -> tuple[_Rows, int]:
    """Return the counts and the name of each readable file, and the number of inputs.

    Inputs are the files, or the FILE arguments if there are more of these.
    """
    rows: _Rows = []
    n_names = 0
    with Reporter(None).phase("counting", None, unit="B", unit_scale=True) as phase:
        for argument in args.files or [streams.STDIN]:
            names: list[str] = []
            with complaints.reported():
                names = documents.files_of(argument, args)
            for name in names:
                with complaints.reported():
                    rows.append((_count(models, name, args, phase), name))
            n_names += len(names)
    return rows, max(len(args.files), n_names)


def _count_messages(args: argparse.Namespace, models: list[Named], complaints: Complaints) -> tuple[_Rows, int]:
    """Return the counts and the place of each chat that could be counted, and the number of these chats."""
    template = None if args.template is None else chat_messages.template_of(args.template)
    rows: _Rows = []
    for argument in args.files or [streams.STDIN]:
        requests: list[chat_messages.Request] = []
        with complaints.reported():
            requests = chat_messages.read(argument)
        for start in range(0, len(requests), _N_CHATS):
            batch = requests[start : start + _N_CHATS]
            columns = [chat_messages.count(model, batch, args.template, template) for model in models]
            for request, *counts in zip(batch, *columns, strict=True):
                with complaints.reported(), chat_messages.placed(request):
                    rows.append(([chat_messages.counted(count) for count in counts], request.where))
    return rows, len(rows)


def _print(rows: _Rows, models: list[str], *, named: bool) -> None:
    """Print a row for each file; for several tokenizers, with column headings. named: include file names."""
    heads = [models] if len(models) > 1 else []
    lines = [*heads, *([str(n_tokens) for n_tokens in counts] for counts, _ in rows)]
    widths = [max(map(n_columns, column)) for column in zip(*lines, strict=True)]
    names = [""] * len(heads) + [visible_text(name) if named else "" for _, name in rows]
    for line, name in zip(lines, names, strict=True):
        numbers = "  ".join(padded(cell, width, right=True) for cell, width in zip(line, widths, strict=True))
        streams.say(f"{numbers} {name}" if name else numbers)


def _count(models: list[Named], name: str, args: argparse.Namespace, phase: Phase) -> list[int]:
    """Count the tokens of a file for each tokenizer. Reads a file, but not standard input, once per tokenizer."""
    if name == streams.STDIN and len(models) > 1:  # can be read only once: keep whole documents in memory
        counts = [0] * len(models)
        for text in documents.whole(name, args):
            for number, model in enumerate(models):
                counts[number] += model.tokenizer.count(text)
            phase.update(utf8_size([text]))
        return counts
    return [sum(_counts(model.tokenizer, name, args, phase)) for model in models]


def _counts(tokenizer: Tokenizer, name: str, args: argparse.Namespace, phase: Phase) -> Iterator[int]:
    for texts, _ in documents.read(name, args, tokenizer):
        for text in texts:
            yield tokenizer.count(text)
        phase.update(utf8_size(texts))
