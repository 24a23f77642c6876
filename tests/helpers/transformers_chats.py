"""Behaviours of chat templates that transformers' own tests check; see `transformers_behaviours`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from helpers.transformers_behaviours import Load, behaviour, outcome, with_pad

PLAIN = "{% for m in messages %}{{ m['role'] + m['content'] }}{% endfor %}"
CHAT = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "say 1"},
    {"role": "assistant", "content": "one it is"},
]
TURNS = """\
{%- for m in messages %}
    {{- "<|im_start|>" + m['role'] + "\n" + m['content'] MORE + "<|im_end|>" + "\n"}}
{%- endfor %}"""
OPTIONAL = (
    "{% for m in messages %}{{ m['role'] }}{% if m.content is defined %}: {{ m['content'] }}{% endif %}"
    "{% if m.tool_calls is defined %} ({{ m.tool_calls | length }} calls){% endif %}\n{% endfor %}"
)
GENERATED = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ m['content'] + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
)


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@behaviour
def chats_are_written_by_a_template(load: Load, folder: Path) -> Any:
    t = load()
    text = t.apply_chat_template(CHAT, chat_template=PLAIN, tokenize=False, return_dict=False)
    assert text == "systembe kindusersay 1assistantone it is"
    ids = t.apply_chat_template(CHAT, chat_template=PLAIN, return_dict=False)
    made = t.apply_chat_template(CHAT, chat_template=PLAIN)
    assert made["input_ids"] == ids
    t.chat_template, seen = PLAIN, []
    assert t.apply_chat_template(CHAT, tokenize=False) == text
    for as_file in (False, True):
        place = folder / str(as_file)
        t.save_pretrained(place, save_jinja_files=as_file)
        again = type(t).from_pretrained(place)
        config = json.loads((place / "tokenizer_config.json").read_text())
        assert ("chat_template.jinja" in _files(place)) == as_file == ("chat_template" not in config)
        seen.append((_files(place), again.chat_template, again.apply_chat_template(CHAT, tokenize=False)))
        seen.append(again.apply_chat_template(CHAT, return_dict=False))
    return ids, made, seen


@behaviour
def batches_of_chats(load: Load, folder: Path) -> Any:
    t = with_pad(load)
    batch = [CHAT, CHAT[1:]]
    texts = t.apply_chat_template(batch, chat_template=PLAIN, tokenize=False)
    assert isinstance(texts, list)
    made: list[Any] = [t.apply_chat_template(batch[:n], chat_template=PLAIN) for n in (1, 2)]
    for options in ({"padding": True, "return_tensors": "np"}, {"truncation": True, "max_length": 4}):
        made.append(t.apply_chat_template(batch, chat_template=PLAIN, **options))
    kwargs = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    made.append(t.apply_chat_template(batch, chat_template=PLAIN, tokenizer_kwargs=kwargs))
    twice = {"add_special_tokens": True}
    made.append(outcome(lambda: t.apply_chat_template(CHAT, chat_template=PLAIN, tokenizer_kwargs=twice))[0])
    return texts, t.apply_chat_template(batch[:1], chat_template=PLAIN, tokenize=False), made


@behaviour
def empty_chats_and_bad_templates_raise(load: Load, folder: Path) -> Any:
    t = load()
    t.chat_template = PLAIN
    empty = outcome(lambda: t.apply_chat_template([], tokenize=False))
    t.chat_template = None
    return (
        empty,
        outcome(lambda: t.apply_chat_template(CHAT)),
        outcome(lambda: t.apply_chat_template(CHAT, chat_template="{{ 1 +")),
    )


@behaviour
def missing_values_and_objects_are_messages(load: Load, folder: Path) -> Any:
    @dataclasses.dataclass
    class Message:
        role: str
        content: str | None = None
        tool_calls: list[Any] | None = None

    class Dumped:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "assistant", "content": None, "tool_calls": None}

    t = load()
    plain = [{"role": "user", "content": "Rain?"}, {"role": "assistant"}]
    none = [{"role": "user", "content": "Rain?", "tool_calls": None}, {"role": "assistant", "content": None}]
    objects = [Message("user", "Rain?"), Dumped()]
    texts = [t.apply_chat_template(m, chat_template=OPTIONAL, tokenize=False) for m in (plain, none, objects)]
    assert texts[0] == texts[1] == texts[2]
    return texts, t.apply_chat_template(objects, chat_template=OPTIONAL)


@behaviour
def templates_may_break_and_tell_the_time(load: Load, folder: Path) -> Any:
    t = load()
    broken = (
        "{%- for m in messages %}{{- m.role + ' ' + m.content }}{%- if loop.first %}{%- break %}{%- endif %}"
        "{%- endfor %}"
    )
    text = t.apply_chat_template(CHAT, chat_template=broken, tokenize=False)
    assert text == "system be kind"
    day = t.apply_chat_template(CHAT, chat_template='{{- strftime_now("%Y-%m-%d") }}', tokenize=False)
    return text, len(day)


@behaviour
def answers_are_masked(load: Load, folder: Path) -> Any:
    t, seen = with_pad(load), []
    t.padding_side = "right"
    batch = [[*CHAT, *CHAT[1:]], CHAT]
    options = {"chat_template": GENERATED, "return_assistant_tokens_mask": True, "return_dict": True}
    for given in (batch, batch[0]):
        for more in ({}, {"padding": True, "return_tensors": "np"}, {"truncation": True, "max_length": 14}):
            if given is batch or "padding" not in more:
                seen.append(t.apply_chat_template(given, **options, **more))
    text = t.apply_chat_template(CHAT, chat_template=GENERATED, tokenize=False)
    made = t.apply_chat_template(CHAT, **options)
    first = made.char_to_token(text.index("one it"))
    assert first is None or made["assistant_masks"][first] == 1
    return seen, made, first


@behaviour
def the_last_message_goes_on(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    spaced = [*CHAT[:-1], {"role": "assistant", "content": "one it is "}]
    decoy = [
        CHAT[1],
        {"role": "assistant", "content": "bye: 0"},
        CHAT[1],
        {"role": "assistant", "content": "bye: "},
    ]
    for template in (TURNS.replace("MORE", ""), TURNS.replace("MORE", "| trim")):
        for chat in (CHAT, spaced, decoy):
            for goes_on in (False, True):
                options = {"chat_template": template, "continue_final_message": goes_on}
                seen.append(t.apply_chat_template(chat, tokenize=False, **options))
                assert seen[-1].endswith("<|im_end|>\n") != goes_on
                seen.append(t.apply_chat_template(chat, **options))
            seen.append(t.apply_chat_template(chat, chat_template=template, add_generation_prompt=True))
    thinking = [CHAT[1], {"role": "assistant", "reasoning_content": "I add", "content": "one"}]
    template = (
        "{%- for m in messages %}{{- m['role'] }}{%- if m['reasoning_content'] is defined %}"
        "{{- '<t>' + m['reasoning_content'] + '</t>' }}{%- endif %}{{- m['content'] + '<e>' }}{%- endfor %}"
    )
    text = t.apply_chat_template(
        thinking, chat_template=template, tokenize=False, continue_final_message="reasoning_content"
    )
    assert text.endswith("<t>I add")
    both = {"continue_final_message": True, "add_generation_prompt": True, "chat_template": template}
    return seen, text, outcome(lambda: t.apply_chat_template(thinking, **both))


@behaviour
def named_templates(load: Load, folder: Path) -> Any:
    t, seen = load(), []
    t.chat_template = {"default": "{{'a'}}", "other": "{{'b'}}"}
    for name in ("default", "other", "{{'c'}}"):
        seen.append(t.apply_chat_template(CHAT, chat_template=name, tokenize=False))
    seen.append(outcome(lambda: t.get_chat_template()))
    for as_files in (True, False):
        place = folder / str(as_files)
        t.save_pretrained(place, save_jinja_files=as_files)
        assert type(t).from_pretrained(place).chat_template == t.chat_template
        seen.append((_files(place), json.loads((place / "tokenizer_config.json").read_text())))
    t.chat_template = {"default": "{{'a'}}", "../../OUT": "x"}
    seen.append(outcome(lambda: t.save_pretrained(folder / "in" / "it")))
    assert not (folder / "OUT.jinja").exists()
    t.chat_template = "a"
    t.save_pretrained(folder / "both", save_jinja_files=False)
    (folder / "both" / "chat_template.jinja").write_text("b")
    assert type(t).from_pretrained(folder / "both").chat_template == "b"
    return seen
