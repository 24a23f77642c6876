"""The tokenizer's class for each model_type of a config.json, as AutoTokenizer of transformers 5.24 chooses it.

tests/conformance/test_folder_classes.py compares these tables with transformers.
"""

from __future__ import annotations

from functools import lru_cache

#: The class of transformers that takes a tokenizer.json as it is.
BACKEND = "TokenizersBackend"
# Classes with the name of their model type, such as OpenAIGPT for "openai-gpt".
_SAME_NAME = (
    "Albert Barthez Bartpho Bert BertGeneration BertJapanese Bertweet BigBird BioGpt Blenderbot "
    "BlenderbotSmall ByT5 CLIP CTRL Camembert Canine Clvp CodeLlama Cohere Cpm CpmAnt Deberta DebertaV2 Dia "
    "Esm Esmc FNet FSMT FastSpeech2Conformer Flaubert Funnel GPT2 GPTNeoX GPTNeoXJapanese GPTSw3 Gemma "
    "Herbert LED LayoutLMv2 LayoutLMv3 LayoutXLM Luke Lxmert M2M100 MBart MBart50 MLuke MPNet Marian MarkupLM "
    "Mgpstr MobileBert Mvp MyT5 Nllb Nougat OpenAIGPT PLBart Pegasus Perceiver Phobert ProphetNet Qwen2 Rag "
    "Reformer RemBert RoCBert RoFormer Roberta SeamlessM4T Siglip Siglip2 SpeechT5 Splinter T5 Tapas Tipsv2 "
    "Udop VideoPrism Vits Whisper XGLM XLM XLMRoberta XLNet"
)
# Class → other model types, written without "_" and "-".
_OTHERS = {
    "Albert": "yoso",
    "Bart": "florence2",
    "Bert": "align bark blip bros chineseclip convbert distilbert electra ernie flava git groundingdino "
    "layoutlm megatronbert mmgroundingdino nezha nomicbert qdqbert realm retribert squeezebert tvp vilt "
    "visualbert",
    "CLIP": "aimv2 clipseg groupvit omdetturbo oneformer owlv2 owlvit sam3 sam3video xclip",
    "Cohere": "ayavision cohere2",
    "DPRQuestionEncoder": "dpr",
    "Esmc": "esmfold2",
    "GPT2": "blip2 codegen dbrx emu3 gptneo gptj hyperclovaxvisionv2 instructblip instructblipvideo jais2 "
    "opt phi starcoder2",
    "GPTNeoX": "falconmamba mamba mamba2 mpt olmo olmoe rwkv xlstm",
    "Gemma": "diffusiongemma gemma2 gemma3 gemma3text gemma3n gemma3ntext recurrentgemma shieldgemma2 "
    "t5gemma zaya",
    "Lasr": "lasrctc lasrencoder",
    "Llama": "idefics idefics2",
    "Nllb": "nllbmoe",
    "Nougat": "ppformulanet",
    "Parakeet": "granitespeech5ctc nemotron35asr nemotronasrstreaming omniasrctc parakeetctc parakeetrnnt "
    "parakeettdt",
    "Qwen2": "audioflamingo3 colqwen2 cosmos3omni dots3note funasrnano hunyuanvl internvl lightonocr "
    "mosstranscribediarize ovis2 qianfanocr qwen25omni qwen25vl qwen2audio qwen2moe qwen2vl qwen3 qwen3asr "
    "qwen3moe qwen3next qwen3omnimoe qwen3vl qwen3vlmoe vibevoice",
    "Qwen3_5": "qwen35 qwen35moe qwen35moetext qwen35text qwen4exp",
    "Roberta": "bart bridgetower clap data2vectext ibert lilt longformer mega mra robertaprelayernorm",
    "SeamlessM4T": "seamlessm4tv2",
    "Speech2Text": "speechtotext",
    "T5": "mt5 musicgen musicgenmelody switchtransformers",
    "Wav2Vec2CTC": "data2vecaudio hubert unispeech unispeechsat wav2vec2 wav2vec2bert wav2vec2conformer",
    "Wav2Vec2PhonemeCTC": "wav2vec2phoneme",
    "XLMRoberta": "gte jinaembeddingsv3 metaclip2 trocr xmod",
    BACKEND: "EvollaModel arctic aria beam bigbirdpegasus camembertv2base canary chatlm cohereasr ernie45 "
    "ernie45moe flexolmo fuyu glm glm4 glm4moe glm4moelite glm4v glm4vmoe glmasr glmimage gotocr2 gptbigcode "
    "gradiumphonontts granite granitemoe granitemoehybrid granitemoeshared h2ovlchat hyperclovax hyperclovaxvlm "
    "internlm2 internlm3 iquestcoder jamba kimik25 kimilinear kosmos2 llava llavanext mimov2flash minicpm3 "
    "minicpmocr minicpmv minicpmv46 minicpmv47 minimaxm2 ministral ministral3 mistral mistral3 mistrallarge4 "
    "mixtral modernbert modernbertdecoder molmo molmo2 nemospeechlm nemotron nvfp4 nystromformer olmo2 olmo3 "
    "olmohybrid omniasr opencua openvla paddleocrvl pegasusx persimmon phi3 phi3v phimoe pix2struct pixtral "
    "pockettts smolvlm stablelm step3vl umt5 vipllava voxtral voxtralrealtime xlmrobertaxl",
}
# Types whose class is used even if tokenizer_config.json names another: published files name wrong classes.
_CLASS_COUNTS = ("hyperclovaxvisionv2", "qwen2", "qwen35", "qwen35moe", "qwen35moetext", "qwen4exp", "siglip2")


def class_of(model_type: object) -> str | None:
    """Return the class for a model type, without "Tokenizer"; None if transformers does not know the type."""
    return _classes().get(_plain(model_type))


def is_class(name: str) -> bool:
    """Tell whether transformers has a class of this name for some model type."""
    return name in _classes().values()


def corrects(model_type: object) -> bool:
    """Tell whether the class for a model type replaces the one that a tokenizer_config.json names."""
    return _plain(model_type) in _CLASS_COUNTS


def _plain(model_type: object) -> str:
    return model_type.replace("_", "").replace("-", "") if isinstance(model_type, str) else ""


@lru_cache(maxsize=1)
def _classes() -> dict[str, str]:
    """Return model type, without "_" and "-" → class."""
    found = {name.lower(): name for name in _SAME_NAME.split()}
    return found | {kind: name for name, kinds in _OTHERS.items() for kind in kinds.split()}
