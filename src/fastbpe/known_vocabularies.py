"""Table of published vocabularies: files with SHA-256 and address, split patterns, special tokens, models.

Sources: tiktoken 0.14.0 (`tiktoken_ext/openai_public.py`, `tiktoken/model.py`), meta-llama/llama-models
(`models/llama3/tokenizer.py`, `models/llama4/tokenizer.py`), QwenLM's `tokenizer_config.json` of Qwen2. The
converted files are from goliajp/rust-tiktoken (`tiktoken/src/encodings`, decompressed). Its `convert_hf_vocab.py`
writes the bytes and the id of each token in `model.vocab` of a tokenizer.json, and leaves out added tokens.
"""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fastbpe.model import Buffer

#: Address of OpenAI's vocabularies.
OPENAI_SITE = "https://openaipublic.blob.core.windows.net"
_LLAMA_SITE = "https://raw.githubusercontent.com/meta-llama/llama-models/main/models"

_END = "<|endoftext|>"


def _gpt2() -> dict[str, int]:
    return {_END: 50256}


def _p50k_edit() -> dict[str, int]:
    return {**_gpt2(), "<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283}


def _cl100k() -> dict[str, int]:
    return {
        _END: 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    }


def _o200k() -> dict[str, int]:
    return {_END: 199999, "<|endofprompt|>": 200018}


#: Id of <|endofprompt|> in o200k_harmony. tiktoken gives it to <|reserved_200018|> too; here that name is left
#: out.
SHARED_ID = 200018


def _harmony() -> dict[str, int]:
    names = {
        199998: "startoftext",
        199999: "endoftext",
        200002: "return",
        200003: "constrain",
        200005: "channel",
        200006: "start",
        200007: "end",
        200008: "message",
        200012: "call",
    }
    own = {f"<|{names.get(i, f'reserved_{i}')}|>": i for i in range(199998, 201088) if i != SHARED_ID}
    return _o200k() | own


def _numbered(first: int, count: int, group: str = "") -> list[str]:
    return [f"<|{group}reserved_special_token_{i}|>" for i in range(first, first + count)]


def _llama3() -> dict[str, int]:
    names = [
        *("<|begin_of_text|>", "<|end_of_text|>", *_numbered(0, 2), "<|finetune_right_pad_id|>", "<|step_id|>"),
        *("<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>"),
        *_numbered(2, 244),
    ]
    return {name: 128000 + i for i, name in enumerate(names)}


def _llama4() -> dict[str, int]:
    text, vision, reasoning = "text_post_train_", "vision_", "reasoning_"
    names = [
        *("<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"),
        *("<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>", *_numbered(0, 6, text)),
        *("<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>", *_numbered(8, 61, text)),
        *("<|image_start|>", "<|image_end|>", *_numbered(0, 2, vision), "<|tile_x_separator|>"),
        *("<|tile_y_separator|>", *_numbered(2, 4, vision), "<|image|>", *_numbered(6, 1, vision), "<|patch|>"),
        *(*_numbered(7, 1041, vision), *_numbered(0, 8, reasoning)),
        *("<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"),
    ]
    names += _numbered(0, 2048 - len(names))
    return {name: 200000 + i for i, name in enumerate(names)}


def _qwen2() -> dict[str, int]:
    return {_END: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}


class KnownFile(NamedTuple):
    """A published file of ranks in the `.tiktoken` format, or one of GPT-2's two files.

    Attributes:
        name: str – name of the file in a folder of vocabularies.
        sha256: str – its hash, in hexadecimal.
        n_bytes: int – its size.
        n_lines: int – its number of line ends.
        url: str or None – address at its publisher; None: the file is a conversion from `repository`.
        repository: str – ORG/NAME on huggingface.co from which the file was converted; "": it is not a conversion.
    """

    name: str
    sha256: str
    n_bytes: int
    n_lines: int
    url: str | None = None
    repository: str = ""

    def is_in(self, data: Buffer) -> bool:
        """Tell whether data is the content of this file, possibly with CRLF line endings.

        Hashes only data of the right size.
        """
        import hashlib  # here: slow to import, and most programs check no file

        if len(data) == self.n_bytes:
            return hashlib.sha256(data).hexdigest() == self.sha256
        if len(data) != self.n_bytes + self.n_lines:
            return False
        return hashlib.sha256(bytes(data).replace(b"\r\n", b"\n")).hexdigest() == self.sha256


class KnownVocabulary(NamedTuple):
    """A published vocabulary.

    Attributes:
        name: str – its name for `load`.
        file: its file of ranks.
        pattern: str – name of its split pattern.
        special_tokens: function that returns name → id of the special tokens that the file lacks.
        n_leading: int – number of special tokens at the start of the file; their bytes are their names.
    """

    name: str
    file: KnownFile
    pattern: str
    special_tokens: Callable[[], dict[str, int]]
    n_leading: int = 0


def _openai(name: str, sha256: str, n_bytes: int, n_lines: int) -> KnownFile:
    url = f"{OPENAI_SITE}/encodings/{name}.tiktoken"
    return KnownFile(name=f"{name}.tiktoken", sha256=sha256, n_bytes=n_bytes, n_lines=n_lines, url=url)


def _meta(name: str, sha256: str, n_bytes: int, n_lines: int) -> KnownFile:
    url = f"{_LLAMA_SITE}/{name}/tokenizer.model"
    return KnownFile(name=f"{name}_tokenizer.model", sha256=sha256, n_bytes=n_bytes, n_lines=n_lines, url=url)


def _converted(name: str, sha256: str, n_bytes: int, n_lines: int, repository: str) -> KnownFile:
    file = f"{name}.tiktoken"
    return KnownFile(name=file, sha256=sha256, n_bytes=n_bytes, n_lines=n_lines, repository=repository)


_R50K = _openai("r50k_base", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", 835_554, 50_256)
_P50K = _openai("p50k_base", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", 836_186, 50_280)
_CL100K = _openai(
    "cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", 1_681_126, 100_256
)
_O200K = _openai(
    "o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", 3_613_922, 199_998
)
_LLAMA3 = _meta("llama3", "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55", 2_183_982, 128_000)
_LLAMA4 = _meta("llama4", "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed", 3_622_230, 200_000)
_QWEN2 = _converted(
    "qwen2",
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    2_561_218,
    151_643,
    "Qwen/Qwen2-7B",
)
_DEEPSEEK_V3 = _converted(
    "deepseek_v3",
    "ed9f470f46335c100eac498831ffbc54f51ca360c40aa008c5cec556b3be577c",
    2_146_642,
    128_000,
    "deepseek-ai/DeepSeek-V3",
)
_TEKKEN = _converted(
    "mistral_tekken_v3",
    "c50f82e43bc835d06cfa700a09fd37ae4aedd7478be4695b42306471b50f353e",
    2_296_726,
    131_072,
    "mistralai/Mistral-Nemo-Instruct-2407",
)

#: The two files of GPT-2: the merges, and the ids of tokens.
GPT2_MERGES = KnownFile(
    name="vocab.bpe",
    sha256="1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    n_bytes=456_318,
    n_lines=50_001,
    url=f"{OPENAI_SITE}/gpt-2/encodings/main/vocab.bpe",
)
GPT2_IDS = KnownFile(
    name="encoder.json",
    sha256="196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    n_bytes=1_042_301,
    n_lines=0,
    url=f"{OPENAI_SITE}/gpt-2/encodings/main/encoder.json",
)


#: Name → vocabulary. GPT-2 has the ranks of r50k_base.
VOCABULARIES: Mapping[str, KnownVocabulary] = {
    vocabulary.name: vocabulary
    for vocabulary in (
        KnownVocabulary("gpt2", _R50K, "gpt2", _gpt2),
        KnownVocabulary("r50k_base", _R50K, "gpt2", _gpt2),
        KnownVocabulary("p50k_base", _P50K, "gpt2", _gpt2),
        KnownVocabulary("p50k_edit", _P50K, "gpt2", _p50k_edit),
        KnownVocabulary("cl100k_base", _CL100K, "cl100k", _cl100k),
        KnownVocabulary("o200k_base", _O200K, "o200k", _o200k),
        KnownVocabulary("o200k_harmony", _O200K, "o200k", _harmony),
        KnownVocabulary("llama3", _LLAMA3, "llama3", _llama3),
        KnownVocabulary("llama4", _LLAMA4, "llama4", _llama4),
        KnownVocabulary("qwen2", _QWEN2, "qwen2", _qwen2),
        # dict: no special tokens except the leading ones. DeepSeek's others, such as <｜User｜>, are added tokens.
        KnownVocabulary("deepseek_v3", _DEEPSEEK_V3, "deepseek_v3", dict, n_leading=3),
        KnownVocabulary("mistral_tekken_v3", _TEKKEN, "tekken", dict, n_leading=1000),
    )
}
# One vocabulary for each file: the one that the file is named after, so not gpt2, p50k_edit and o200k_harmony.
_MAIN_VOCABULARIES = [VOCABULARIES[name] for name in VOCABULARIES if VOCABULARIES[name].file.name.startswith(name)]


def recognise(data: Buffer) -> KnownVocabulary | None:
    """Find the vocabulary whose published file this is, possibly with CRLF line endings; None if no file matches.

    If several vocabularies share the file, the result is the one with the file's name.
    """
    return next((known for known in _MAIN_VOCABULARIES if known.file.is_in(data)), None)


# Encoding → beginnings of names of OpenAI's models, and whole names. ft:gpt-4o comes before ft:gpt-4.
_PREFIXES = {
    "o200k_base": "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o- ft:gpt-4o",
    "o200k_harmony": "gpt-oss-",
    "cl100k_base": "gpt-4- gpt-3.5-turbo- gpt-35-turbo- ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002",
}
_NAMES = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": (
        "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
        "text-embedding-3-small text-embedding-3-large"
    ),
    "p50k_base": (
        "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 "
        "davinci-codex cushman-codex"
    ),
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": (
        "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
        "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 "
        "text-similarity-ada-001 text-search-davinci-doc-001 text-search-curie-doc-001 "
        "text-search-babbage-doc-001 text-search-ada-doc-001 code-search-babbage-code-001 "
        "code-search-ada-code-001"
    ),
    "gpt2": "gpt2 gpt-2",
}


def _table(names: Mapping[str, str]) -> dict[str, str]:
    return {name: encoding for encoding, joined in names.items() for name in joined.split()}


#: Beginning of a name → encoding, for dated and future names such as gpt-4o-2024-05-13; the first match decides.
MODEL_PREFIX_TO_ENCODING: dict[str, str] = _table(_PREFIXES)
#: Name of a model → encoding.
MODEL_TO_ENCODING: dict[str, str] = _table(_NAMES)


def encoding_of_model(model_name: str) -> str | None:
    """Return the name of the encoding of an OpenAI model; None for other names.

    >>> encoding_of_model("gpt-4o-mini"), encoding_of_model("text-davinci-003"), encoding_of_model("bert")
    ('o200k_base', 'p50k_base', None)
    """
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    matches = (name for prefix, name in MODEL_PREFIX_TO_ENCODING.items() if model_name.startswith(prefix))
    return next(matches, None)
