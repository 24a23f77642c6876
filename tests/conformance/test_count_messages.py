"""count_messages against apply_chat_template of transformers, openai-harmony and OpenAI's published overhead."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe.chats import EstimatedCount
from fastbpe.errors import ChatError
from fastbpe.tokenizer.tokenizer import Tokenizer

SPECIAL = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<pad>"]
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "instructions": (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m['content'] | trim }} [/INST]"
        "{% elif m['role'] == 'assistant' %} {{ m['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
    ),
    "tools": (
        "{%- if tools %}{{ tools | tojson(indent=2) }}\n{% endif %}\n"
        "{%- for m in messages %}\n    {%- if m.tool_calls is defined %}{{ m.tool_calls | tojson }}{% endif %}\n"
        "    {{- m.role }}: {{ m.content }}{{ m.reasoning_content }}\n{%- endfor %}{{ pad_token }}{{ mask_token }}"
    ),
    "control": (
        "{% for m in messages %}{% if loop.index0 > 3 %}{% break %}{% endif %}{% generation %}{{ m.content }}"
        "{% endgeneration %}{% endfor %}"
    ),
    "scope": (
        "{% set name = 'the' %}{% for m in messages %}{% generation %}{% set name = m.content %}{{ name }}"
        "{% endgeneration %}{{ name }}{% endfor %}"
    ),
}
CHATS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Hi"}],
    [
        {"role": "system", "content": "be  brief "},
        {"role": "user", "content": " the cat\n\n<|im_end|> sat 世界 🙂"},
    ],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning": "why", "tool_calls": None},
        {"role": "user", "content": ""},
    ],
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather of a place.",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": "City and country."},
                    "unit": {"type": "string", "description": "Scale", "enum": ["C", "F"]},
                },
            },
        },
    }
]


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    text = (
        " ".join(one["content"] for chat in CHATS for one in chat) + "get the weather of a place system user " * 9
    )
    with pytest.warns(fastbpe.TrainingWarning):
        return fastbpe.train([text], vocab_size=400, special_tokens=SPECIAL, progress=False)


def folder_of(trained: Tokenizer, path: Path, config: dict[str, Any]) -> Path:
    trained.export(path / "tokenizer.json")
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    whole = {"tokenizer_class": "PreTrainedTokenizerFast", **named, **config}
    (path / "tokenizer_config.json").write_text(json.dumps(whole), encoding="utf-8")
    return path


def assert_counts_equal(folder: Path, **options: Any) -> None:
    transformers = pytest.importorskip("transformers")
    ours, theirs = fastbpe.load(folder), transformers.AutoTokenizer.from_pretrained(folder)
    for chat in CHATS:
        for tools in (None, TOOLS):
            for begins in (True, False):
                expected = theirs.apply_chat_template(chat, tools=tools, add_generation_prompt=begins, **options)
                template = {"template": options["chat_template"]} if options else {}
                found = ours.count_messages(chat, tools=tools, add_generation_prompt=begins, **template)
                assert found == len(expected["input_ids"]), (chat, tools)


# The model's own template


@pytest.mark.parametrize("name", TEMPLATES)
def test_counts_are_those_of_transformers(trained: Tokenizer, tmp_path: Path, name: str) -> None:
    assert_counts_equal(folder_of(trained, tmp_path, {"chat_template": TEMPLATES[name]}))


def test_file_of_a_template_is_read_before_the_config(trained: Tokenizer, tmp_path: Path) -> None:
    folder_of(trained, tmp_path, {"chat_template": "wrong {{ 1 }}"})
    (tmp_path / "chat_template.jinja").write_bytes(TEMPLATES["tools"].replace("\n", "\r\n").encode())
    assert_counts_equal(tmp_path)


def test_template_for_tools_is_chosen_where_there_are_tools(trained: Tokenizer, tmp_path: Path) -> None:
    named = [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": TEMPLATES["tools"]}]
    assert_counts_equal(folder_of(trained, tmp_path, {"chat_template": named}))
    assert_counts_equal(tmp_path, chat_template="tool_use")


def test_additional_templates_are_found_by_name(trained: Tokenizer, tmp_path: Path) -> None:
    folder_of(trained, tmp_path, {})
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "short.jinja").write_text("{{ messages[0].content }}")
    (tmp_path / "chat_template.jinja").write_text(CHATML)
    assert_counts_equal(tmp_path, chat_template="short")
    assert_counts_equal(tmp_path)


def test_template_stays_with_copies_files_and_changes(trained: Tokenizer, tmp_path: Path) -> None:
    loaded = fastbpe.load(folder_of(trained, tmp_path, {"chat_template": CHATML}))
    n_tokens = loaded.count_messages(CHATS[1])
    loaded.save(tmp_path / "saved.fbpe")
    changed = [loaded.with_special_tokens(["<more>"]), loaded.with_tokens(["<plain>"])]
    for one in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded), fastbpe.load(tmp_path / "saved.fbpe")):
        assert one.count_messages(CHATS[1]) == n_tokens
        assert one == loaded
        assert one.fingerprint == fastbpe.load(tmp_path / "tokenizer.json").fingerprint
    assert [one.count_messages(CHATS[1]) for one in changed] == [n_tokens] * 2


def test_template_of_a_code_point_model(tmp_path: Path) -> None:
    made = fastbpe.train(["the cat sat"] * 9, mode="codepoint", vocab_size=20, progress=False)
    made.export(tmp_path / "tokenizer.model")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages[0].content }}"}))
    loaded = fastbpe.load(tmp_path)
    for one in (loaded, pickle.loads(pickle.dumps(loaded))):
        assert one.count_messages([{"role": "user", "content": "the cat"}]) == made.count("the cat")


def test_template_may_be_given(trained: Tokenizer) -> None:
    assert trained.count_messages(CHATS[0], template=CHATML) == len(
        trained.encode("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", allowed_special="all")
    )


# Harmony


def harmony() -> Tokenizer:
    """A small vocabulary with the name and the special tokens of gpt-oss's."""
    names = ("start", "end", "message", "channel", "constrain", "return", "call")
    made = fastbpe.train(
        ["You are ChatGPT"] * 9, vocab_size=270, special_tokens=[f"<|{n}|>" for n in names], progress=False
    )
    ranks = {token: i for i, token in enumerate(made.vocab) if i not in made.special_tokens.values()}
    return Tokenizer.from_ranks(ranks, pattern="o200k", special_tokens=made.special_tokens, name="o200k_harmony")


HARMONY_HEAD = (
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
    "Knowledge cutoff: 2024-06\n"
    f"Current date: {date.today()}\n\nReasoning: medium\n\n"
    "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>"
)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([{"role": "user", "content": "Hi"}], "<|start|>user<|message|>Hi<|end|>"),
        (
            [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            ],
            "<|start|>developer<|message|># Instructions\n\nBe brief<|end|><|start|>user<|message|>Hi<|end|>",
        ),
        (
            [
                {"role": "user", "content": "Hi"},
                {
                    "role": "assistant",
                    "reasoning_content": "hm",
                    "content": None,
                    "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a":"x"}'}}],
                },
                {"role": "tool", "tool_call_id": "1", "content": "res"},
            ],
            "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>analysis<|message|>hm<|end|>"
            '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":"x"}<|call|>'
            "<|start|>functions.f<|channel|>commentary to=assistant<|message|>res<|end|>",
        ),
        (
            [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "thinking": "hm", "content": "Yes"},
                {"role": "user", "content": "Bye"},
            ],
            "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Yes<|end|>"
            "<|start|>user<|message|>Bye<|end|>",
        ),
    ],
)
def test_harmony_is_counted_as_its_library_writes_it(messages: Any, text: str) -> None:
    """openai-harmony 0.0.8 renders as many ids, with recipients before the channels."""
    tokenizer = harmony()
    ids = tokenizer.encode(f"{HARMONY_HEAD}{text}<|start|>assistant", allowed_special="all")
    assert tokenizer.count_messages(messages) == len(ids)
    assert tokenizer.count_messages(messages, add_generation_prompt=False) == len(ids) - 1 - len(
        tokenizer.encode("assistant")
    )
    assert tokenizer.count_messages(messages, template="harmony") == len(ids)


def test_harmony_takes_both_forms_of_calls_and_of_results() -> None:
    call = {"name": "f", "arguments": '{"a":"x"}'}
    chats = [
        [{"role": "assistant", "tool_calls": [made]}, {"role": "tool", "content": "res", **answered}]
        for made in ({"id": "1", "function": call}, {"id": "1", **call})
        for answered in ({"tool_call_id": "1"}, {"name": "f"})
    ]
    assert len({harmony().count_messages(chat) for chat in chats}) == 1


def test_harmony_shows_reasoning_after_the_last_answer() -> None:
    """An empty message and one with calls are no answers."""
    tokenizer = harmony()
    thought: dict[str, Any] = {"role": "assistant", "reasoning": "hm", "content": ""}
    n_shown = tokenizer.count_messages([thought]) - tokenizer.count_messages([{**thought, "reasoning": None}])
    assert n_shown > tokenizer.count("hm")
    for later, n in (
        ({"role": "assistant", "content": "Yes"}, 0),
        ({"role": "assistant", "content": ""}, n_shown),
        ({"role": "assistant", "content": "I call", "tool_calls": [{"function": {"name": "f"}}]}, n_shown),
    ):
        found = tokenizer.count_messages([thought, later])
        assert found - tokenizer.count_messages([{**thought, "reasoning": None}, later]) == n
    assert tokenizer.count_messages([{**thought, "reasoning": 5}]) == tokenizer.count_messages(
        [{**thought, "reasoning": None}]
    )


def test_special_tokens_in_messages_are_text_in_harmony() -> None:
    tokenizer = harmony()
    plain, special = (tokenizer.count_messages([{"role": "user", "content": text}]) for text in ("", "<|end|>"))
    assert special - plain == tokenizer.count("<|end|>") > 1


# OpenAI's closed models


def openai(name: str) -> Tokenizer:
    ranks = {bytes([i]): i for i in range(256)} | {b"us": 256, b"er": 257, b"user": 258}
    return Tokenizer.from_ranks(ranks, pattern=None, name=name)


def test_estimate_is_the_published_overhead() -> None:
    tokenizer = openai("o200k_base")
    chat = [
        {"role": "system", "content": "be brief", "name": "bob"},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    ]
    found = tokenizer.count_messages(chat)
    assert isinstance(found, EstimatedCount)
    assert repr(found) == f"EstimatedCount({int(found)})"
    assert found == 3 + (3 + 6 + 8 + 1 + 3) + (3 + 1 + 2)
    calls = [{"function": {"name": "f", "arguments": "{}"}}]
    assert (
        tokenizer.count_messages([{"role": "assistant", "content": None, "tool_calls": calls}])
        == 3 + 3 + 9 + 1 + 2
    )


@pytest.mark.parametrize(("name", "first"), [("o200k_base", 7), ("cl100k_base", 10)])
def test_estimate_of_tools_is_the_published_overhead(name: str, first: int) -> None:
    tokenizer = openai(name)
    n_tokens = first + tokenizer.count("get_weather:Get the weather of a place") + 3
    n_tokens += 3 + tokenizer.count("place:string:City and country")
    n_tokens += 3 + tokenizer.count("unit:string:Scale") - 3 + 2 * (3 + 1) + 12
    chat = [{"role": "user", "content": "Hi"}]
    assert tokenizer.count_messages(chat, tools=TOOLS) - tokenizer.count_messages(chat) == n_tokens


def test_estimate_takes_parts_that_are_missing() -> None:
    tokenizer = openai("o200k_base")

    def n_tokens(function: dict[str, Any], *, is_bare: bool = False) -> int:
        return tokenizer.count_messages(CHATS[0], tools=[function if is_bare else {"function": function}])

    plain = n_tokens({"name": "f", "description": ""})
    for rest in ({}, {"description": None}, {"parameters": None}, {"parameters": {"properties": {}}}):
        assert n_tokens({"name": "f", **rest}) == n_tokens({"name": "f", **rest}, is_bare=True) == plain
    assert n_tokens({"name": "f", "parameters": {"properties": {"a": None}}}) == plain + 3 + 3 + tokenizer.count(
        "a::"
    )
    refusal = [{"role": "assistant", "refusal": "no"}]
    assert tokenizer.count_messages(refusal) == tokenizer.count_messages([{"role": "assistant", "content": "no"}])


# Refusals: each tells the way out


@pytest.mark.parametrize(
    ("messages", "options", "told"),
    [
        ("Hi", {}, r'messages must be a list of dicts such as \{"role": "user", "content": "Hi"\}, not str'),
        ([], {}, "messages is empty: a chat has at least one message"),
        (["Hi"], {}, r"messages\[0\] must be a dict .* not str"),
        ([{"content": "Hi"}], {}, r'messages\[0\]\["role"\] must be a str'),
        ([{"role": 5, "content": "Hi"}], {}, r'messages\[0\]\["role"\] must be a str'),
        (CHATS[0], {"tools": "f"}, "tools must be a list of dicts, each the JSON schema of a function"),
        (CHATS[0], {"tools": [len]}, r"tools\[0\] must be the JSON schema of a function"),
        (
            CHATS[0],
            {},
            "this tokenizer has no chat template: load the model's folder, .* or pass .* as template=",
        ),
        (CHATS[0], {"template": "chatml"}, r"'chatml' is not a name \(harmony\) or the text of a jinja2 template"),
        (
            CHATS[0],
            {"template": "openai"},
            'template="openai" is for o200k_base and cl100k_base, not this tokenizer',
        ),
        (CHATS[0], {"template": "{% if %}"}, "chat template: TemplateSyntaxError: "),
        (CHATS[0], {"template": "{{ raise_exception('no roles') }}"}, "chat template: TemplateError: no roles"),
        (CHATS[0], {"template": "{{ ''.__class__.__mro__ }}"}, "chat template: SecurityError: "),
    ],
)
def test_refusals(trained: Tokenizer, messages: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ChatError, match=told) as caught:
        trained.count_messages(messages, **options)
    assert isinstance(caught.value, ValueError)


def test_refusals_of_built_in_formats() -> None:
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]
    for tokenizer in (harmony(), openai("o200k_base")):
        with pytest.raises(ChatError, match=r"\[0\] is 'image_url', not text: .* add this number to the result"):
            tokenizer.count_messages(image)
        for part in (5, {"type": "text", "text": 5}, {"image_url": "a.png"}):
            with pytest.raises(ChatError, match=r"\[0\] must be a str, or a dict such as .*, not "):
                tokenizer.count_messages([{"role": "user", "content": [part]}])
        for calls, told in (
            (5, r'messages\[0\]\["tool_calls"\] must be a list of calls, not int'),
            (
                [{"function": {"name": "f", "arguments": {1, 2}}}],
                "the arguments of a call must be text, or JSON: O",
            ),
        ):
            with pytest.raises(ChatError, match=told):
                tokenizer.count_messages([{"role": "assistant", "tool_calls": calls}])
    with pytest.raises(
        ChatError, match=r"fastbpe writes harmony without tools: load the folder of a gpt-oss model"
    ):
        harmony().count_messages(CHATS[0], tools=TOOLS)
    with pytest.raises(ChatError, match=r'messages\[0\]\["tool_calls"\]: a call must be '):
        harmony().count_messages([{"role": "assistant", "tool_calls": [{"function": {"name": 5}}]}])
    with pytest.raises(ChatError, match=r"messages\[0\] does not answer an earlier call"):
        harmony().count_messages([{"role": "tool", "content": "x"}])
    with pytest.raises(ChatError, match="counts the start of the reply"):
        openai("cl100k_base").count_messages(CHATS[0], add_generation_prompt=False)
    with pytest.raises(TypeError, match="template must be the text or the name of a template, not int"):
        harmony().count_messages(CHATS[0], template=5)  # type: ignore[arg-type]


def test_without_jinja2_the_error_names_the_extra(trained: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastbpe.chats import message_counts

    message_counts._renderer.cache_clear()
    monkeypatch.setattr(message_counts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'fastbpe-tokenizer\[chat\]'"):
        trained.count_messages(CHATS[0], template="{{ 1 }}")


@pytest.mark.parametrize("data", [b"\xff", b"a" * ((1 << 20) + 1)])
def test_damaged_file_of_a_template_is_a_format_error(trained: Tokenizer, tmp_path: Path, data: bytes) -> None:
    folder_of(trained, tmp_path, {})
    (tmp_path / "chat_template.jinja").write_bytes(data)
    with pytest.raises(
        fastbpe.FormatError, match=r"chat_template.jinja(:1: not UTF-8: invalid byte 0xff|: more than 1,048,576)"
    ):
        fastbpe.load(tmp_path)
