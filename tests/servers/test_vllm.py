"""vLLM itself with the tokenizer mode of fastbpe, against its mode "hf": no model runs, and no GPU is needed.

`.ci/servers` makes the environment. Elsewhere the tests are skipped.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import pickle
import random
from types import SimpleNamespace
from typing import Any

import pytest

import fastbpe

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vllm is not installed"),
    pytest.mark.filterwarnings("ignore"),
]

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 512,
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 512,
}
TEXTS = [
    "the cat sat on the mat",
    "世界 🙂 and Grüße\n\n",
    "<|im_start|>the  \t cats<|im_end|>",
    "a",
]
CHATS = [
    [{"role": "user", "content": text} for text in TEXTS[:n]] + [{"role": "assistant", "content": "so"}] * (n > 2)
    for n in range(1, 5)
]


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """vLLM's modules, with the plugins that its entry points name, and a model's folder without weights."""
    os.environ.update(VLLM_TARGET_DEVICE="cpu", VLLM_LOGGING_LEVEL="ERROR", HF_HUB_OFFLINE="1")
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    from vllm.renderers import registry as renderers
    from vllm.renderers.params import ChatParams, TokenizeParams
    from vllm.sampling_params import SamplingParams
    from vllm.tokenizers import TokenizerRegistry, get_tokenizer
    from vllm.v1.engine import detokenizer

    folder = tmp_path_factory.mktemp("model")
    text = " ".join(TEXTS) * 20
    fastbpe.train([text], vocab_size=320, special_tokens=SPECIAL, progress=False).export(folder / "tokenizer.json")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 512,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps(CONFIG))
    modes = {mode: get_tokenizer(str(folder), tokenizer_mode=mode) for mode in ("hf", "fastbpe")}
    return SimpleNamespace(
        folder=folder,
        modes=modes,
        renderers=renderers,
        detokenizer=detokenizer,
        ChatParams=ChatParams,
        TokenizeParams=TokenizeParams,
        SamplingParams=SamplingParams,
        TokenizerRegistry=TokenizerRegistry,
    )


def renderer_of(vllm: Any, mode: str) -> Any:
    """The renderer that `vllm serve --tokenizer-mode MODE` would make."""
    from vllm.config import ModelConfig

    model = ModelConfig(model=str(vllm.folder), tokenizer_mode=mode, dtype="float32")
    config = SimpleNamespace(
        model_config=model,
        parallel_config=SimpleNamespace(_api_process_rank=0, _api_process_count=1),
        cache_config=None,
        scheduler_config=None,
    )
    return vllm.renderers.renderer_from_config(config)


def test_plugin_registers_the_mode_twice(vllm: Any) -> None:
    assert vllm.TokenizerRegistry.load_tokenizer_cls("fastbpe").__module__ == "fastbpe.transformers.vllm"
    registry = vllm.renderers.RENDERER_REGISTRY
    assert registry.load_renderer_cls("fastbpe") is registry.load_renderer_cls("hf")


def test_tokenizer_is_that_of_mode_hf_accelerated(vllm: Any) -> None:
    stock, ours = vllm.modes["hf"], vllm.modes["fastbpe"]
    assert fastbpe.transformers.status(ours)["accelerated"]
    assert not fastbpe.transformers.status(stock)["accelerated"]
    names = "name_or_path truncation_side max_token_id max_chars_per_token all_special_ids is_fast vocab_size"
    for name in names.split():
        assert getattr(ours, name) == getattr(stock, name), name
    assert (len(ours), ours.get_vocab()) == (len(stock), stock.get_vocab())
    for text in TEXTS:
        for options in ({}, {"truncation": True, "max_length": 3}, {"add_special_tokens": False}):
            assert ours(text, **options).input_ids == stock(text, **options).input_ids
    for one in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert one.encode(TEXTS[0]) == stock.encode(TEXTS[0])
        assert fastbpe.transformers.status(one)["accelerated"]
    assert not fastbpe.transformers.status(ours)["handed_over"]


def test_chats_render_to_the_same_ids(vllm: Any) -> None:
    stock, ours = (renderer_of(vllm, mode) for mode in ("hf", "fastbpe"))
    assert type(ours) is type(stock)
    params = vllm.ChatParams(chat_template_kwargs={"add_generation_prompt": True, "tokenize": False})
    sizes = vllm.TokenizeParams(max_total_tokens=512, add_special_tokens=False)
    for chat in CHATS:
        seen = [one.render_chat([chat], params, sizes)[1][0] for one in (stock, ours)]
        assert seen[0]["prompt_token_ids"] == seen[1]["prompt_token_ids"], chat
        assert len(seen[1]["prompt_token_ids"]) > 5


@pytest.mark.parametrize("seed", range(4))
def test_streams_give_the_same_text(vllm: Any, seed: int) -> None:
    rng = random.Random(seed)
    stock = vllm.modes["hf"]
    for _ in range(20):
        text = "".join(rng.choice(TEXTS) for _ in range(4))
        ids = stock(text).input_ids
        cut = rng.randrange(len(ids))
        for options in ({}, {"skip_special_tokens": False}, {"stop": ["cat"], "include_stop_str_in_output": True}):
            request = SimpleNamespace(
                request_id="1",
                prompt_token_ids=ids[:cut],
                prompt_embeds=None,
                sampling_params=vllm.SamplingParams(**options),
            )
            seen = []
            for tokenizer in vllm.modes.values():
                stream = vllm.detokenizer.IncrementalDetokenizer.from_new_request(tokenizer, request)
                assert type(stream).__name__ == "FastIncrementalDetokenizer"
                steps = [(stream.update([i], False), stream.get_next_output_text(False, True)) for i in ids[cut:]]
                seen.append((steps, stream.output_text))
            assert seen[0] == seen[1]
