"""Rules of those classes of transformers that build their tokenizer from the pieces of a sentencepiece model.

Such a class takes only the pieces, their scores and the normalization rules from the model. It moves ids as
fairseq does, adds the codes of languages, and has normalizers and a pre-tokenizer of its own. It builds the same
steps for a tokenizer.json.
tests/conformance/test_piece_folders.py compares these rules with transformers 5.24.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.huggingface.class_settings import DEBERTA_ROLES, LUKE, ROBERTA_ROLES, Settings
from fastbpe.formats.huggingface.step_json import replace

Steps = list[dict[str, Any]]

_MBART_LIST = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP "
    "nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
_MBART50_LIST = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE "
    "ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
_NLLB_LIST = (
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab ars_Arab "
    "ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl "
    "bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn "
    "cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn "
    "est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn "
    "gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn "
    "ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab "
    "kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn "
    "kon_Latn kor_Hang kmr_Latn lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn "
    "lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn mkd_Cyrl plt_Latn mlt_Latn "
    "mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn "
    "nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab quy_Latn "
    "ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn smo_Latn "
    "sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn "
    "szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn "
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn "
    "vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zul_Latn"
)
_MBART_CODES = tuple(_MBART_LIST.split())
_FAIRSEQ = ("bos", "pad", "eos", "unk")
_ALBERT_ROLES = {**DEBERTA_ROLES, "unk": "<unk>", "pad": "<pad>"}
_IN_BERT = ("cls $A sep", "cls $A sep $B:1 sep:1")
_IN_ROBERTA = ("bos $A eos", "bos $A eos eos $B eos")


class Rules(NamedTuple):
    """Rules of a class.

    Attributes:
        settings: the class's settings for the other files of the folder.
        normalizers: function from (tokenizer_config.json, the model's rules as Precompiled, or []) to normalizers.
        splits_words: text is split at white space before spaces become U+2581.
        template: template for a text and for two texts: $A and $B are the texts, "lang" is the token of the
            language, and each other word is a role. A type id other than 0 follows ":". Empty: add_bos_token and
            add_eos_token decide.
        unknown: id of the unknown token; "piece": the id in the model; "listed": the index, in the pieces of the
            tokenizer.json, of the first piece that is the token of the role unk, or else `unknown_else`; "scored":
            as "listed", but only pieces with the score 0 count.
        unknown_else: id of the unknown token if no piece is found for "listed" or "scored"; -1: the id in the
            model.
        head: roles, or texts, of the tokens that replace the first `n_replaced` pieces.
        codes: codes of languages, after the pieces.
        ends_with_mask: the token of the role mask follows the codes.
        language: the language if `language_key` in tokenizer_config.json names none.
        language_key: the key in tokenizer_config.json that names the language.
        merges: the tokenizer merges pieces; the merge that makes the piece with the lowest id comes first.
        falls_back: the tokenizer has no unknown token: unknown characters become byte tokens.
        splits_punctuation: if tokenizer_config.json sets split_by_punct, the class separates punctuation.
        has_prefix: add_prefix_space in tokenizer_config.json decides whether words begin with U+2581.
        is_early: the class makes the template before it adds tokens, and replaces it if tokenizer_config.json sets
            add_bos_token or add_eos_token.
    """

    settings: Settings
    normalizers: Callable[[Mapping[str, Any], Steps], Steps]
    splits_words: bool = False
    template: tuple[str, ...] = ()
    unknown: int | str = 3
    unknown_else: int = -1
    head: tuple[str, ...] = ()
    n_replaced: int = 0
    codes: tuple[str, ...] = ()
    ends_with_mask: bool = False
    language: str = ""
    language_key: str = "src_lang"
    merges: bool = False
    falls_back: bool = False
    splits_punctuation: bool = False
    has_prefix: bool = False
    is_early: bool = False


def precompiled(charsmap: bytes) -> Steps:
    """Return the normalization rules of a model as a normalizer."""
    if not charsmap:
        return []
    return [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}]


_SPACES = replace("Regex", " {2,}", " ")
_QUOTES = [replace("String", "``", '"'), replace("String", "''", '"')]
_LOWER = {"type": "Lowercase"}
_RIGHT = {"type": "Strip", "strip_left": False, "strip_right": True}
_PLAIN = [replace("Regex", r"\s{2,}|[\n\r\t]", " "), {"type": "NFC"}, _RIGHT]
_SEAMLESS = [
    replace("Regex", r"[\n\r\t]", " "),
    {"type": "NFKC"},
    _RIGHT,
    replace("Regex", " +▁", "▁"),
    replace("Regex", "^▁+$", ""),
    replace("Regex", " {2,}", "▁"),
]


def _own(config: Mapping[str, Any], rules: Steps) -> Steps:
    return rules


def _own_and_spaces(config: Mapping[str, Any], rules: Steps) -> Steps:
    return [*rules, _SPACES]


def _spaces_if_own(config: Mapping[str, Any], rules: Steps) -> Steps:
    return [*rules, _SPACES] if rules else []


def _pegasus(config: Mapping[str, Any], rules: Steps) -> Steps:
    return [*(rules or [replace("Regex", r"\n", " ")]), _SPACES]


def _bare(*, keeps_accents: Any, lowers: Any) -> Steps:
    """Return the normalizers of ALBERT and its relatives that remove accents and upper case."""
    accents = [] if keeps_accents else [{"type": "NFKD"}, {"type": "StripAccents"}]
    return accents + ([_LOWER] if lowers else [])


def _albert(config: Mapping[str, Any], rules: Steps) -> Steps:
    bare = _bare(keeps_accents=config.get("keep_accents", False), lowers=config.get("do_lower_case", True))
    return [*_QUOTES, *bare, *rules]


def _xlnet(config: Mapping[str, Any], rules: Steps) -> Steps:
    return [*_QUOTES, *_bare(keeps_accents=False, lowers=config.get("do_lower_case", False)), *rules]


def _rembert(config: Mapping[str, Any], rules: Steps) -> Steps:
    bare = _bare(keeps_accents=config.get("keep_accents", True), lowers=config.get("do_lower_case", False))
    return [*_QUOTES, _SPACES, *bare, *rules]


def _deberta(config: Mapping[str, Any], rules: Steps) -> Steps:
    return ([_LOWER] if config.get("do_lower_case", False) else []) + _PLAIN


def _tips(config: Mapping[str, Any], rules: Steps) -> Steps:
    return ([_LOWER] if config.get("do_lower_case", True) else []) + rules


_LEFT = Settings(ROBERTA_ROLES, mask={"lstrip": True})
_FAIRSEQ_RULES = Rules(Settings(ROBERTA_ROLES), _own, head=_FAIRSEQ, n_replaced=3, ends_with_mask=True)
_XLM_ROBERTA = _FAIRSEQ_RULES._replace(splits_words=True, template=_IN_ROBERTA, has_prefix=True)
_MBART = _FAIRSEQ_RULES._replace(
    settings=_LEFT,
    normalizers=lambda config, rules: [],
    splits_words=True,
    template=("$A eos lang", "$A $B eos lang"),
    codes=_MBART_CODES,
    language="en_XX",
)
_T5 = Rules(
    Settings({"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}),
    _own,
    splits_words=True,
    template=("$A eos", "$A eos $B eos"),
    unknown=2,
)
#: Classes that take a unigram model only. The others take any model.
UNIGRAM_ONLY = ("Barthez", "Camembert", "MLuke")
#: Name without "Tokenizer" and "Fast" → rules.
CLASSES: Mapping[str, Rules] = {
    "XLMRoberta": _XLM_ROBERTA,
    "MBart": _MBART,
    "MBart50": _MBART._replace(
        settings=_LEFT._replace(roles={role: name for role, name in ROBERTA_ROLES.items() if role != "bos"}),
        normalizers=_own_and_spaces,
        splits_words=False,
        template=("lang $A eos", "lang $A $B eos"),
        head=("cls", "pad", "eos", "unk"),
        codes=(*_MBART_CODES, *_MBART50_LIST.split()),
    ),
    "Camembert": _XLM_ROBERTA._replace(
        settings=Settings(ROBERTA_ROLES, mask={"lstrip": True, "special": True}),
        head=("<s>NOTUSED", "pad", "</s>NOTUSED", "unk", "<unk>NOTUSED"),
        n_replaced=1,
        unknown="listed",
        unknown_else=0,
    ),
    "Nllb": Rules(
        Settings(ROBERTA_ROLES, mask={"lstrip": True, "special": True, "normalized": True}, ignores_null=True),
        _spaces_if_own,
        template=("lang $A eos", "lang $A $B eos"),
        head=_FAIRSEQ,
        language="eng_Latn",
        merges=True,
    ),
    "Reformer": Rules(Settings({"eos": "</s>", "unk": "<unk>"}, makes_special=True), _spaces_if_own, merges=True),
    "Barthez": Rules(_LEFT, lambda config, rules: _PLAIN, has_prefix=True),
    "BigBird": Rules(
        _LEFT._replace(roles={**_ALBERT_ROLES, "bos": "<s>", "eos": "</s>"}),
        lambda config, rules: [replace("Regex", " {2,}", "▁")],
        template=_IN_BERT,
        unknown="scored",
        unknown_else=100,
        has_prefix=True,
    ),
    "Albert": Rules(
        Settings(_ALBERT_ROLES),
        _albert,
        splits_words=True,
        template=_IN_BERT,
        unknown=1,
        has_prefix=True,
        is_early=True,
    ),
    "RemBert": Rules(Settings(_ALBERT_ROLES, makes_special=True), _rembert, unknown=2, has_prefix=True),
    "DebertaV2": Rules(
        Settings(DEBERTA_ROLES),
        _deberta,
        template=_IN_BERT,
        unknown="scored",
        splits_punctuation=True,
        has_prefix=True,
    ),
    "XLNet": Rules(
        _LEFT._replace(roles={**ROBERTA_ROLES, "sep": "<sep>", "cls": "<cls>"}),
        _xlnet,
        splits_words=True,
        template=("$A sep cls:2", "$A sep $B:1 sep:1 cls:2"),
        unknown="piece",
    ),
    "LayoutXLM": _FAIRSEQ_RULES._replace(
        settings=_LEFT,
        normalizers=lambda config, rules: [_RIGHT, replace("Regex", " {2,}", "▁")],
        template=("cls $A sep", "cls $A sep sep $B sep"),
        has_prefix=True,
    ),
    "Udop": Rules(
        Settings({"eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>"}, ignores_null=True),
        lambda config, rules: [],
        splits_words=True,
        template=("$A eos", "$A eos $B eos"),
        unknown="listed",
        unknown_else=2,
    ),
    "MLuke": Rules(
        _LEFT._replace(
            specific={**LUKE.specific, "entity_1_token": "▁<ent>", "entity_2_token": "▁<ent2>"},
            makes_special=True,
            joins_extra=True,
        ),
        lambda config, rules: _QUOTES,
        template=("cls $A sep", "cls $A sep sep $B:1 sep:1"),
        unknown=0,
    ),
    "SeamlessM4T": Rules(
        Settings({role: name for role, name in ROBERTA_ROLES.items() if role != "mask"}),
        lambda config, rules: _SEAMLESS,
        template=("eos lang $A eos", "eos lang $A $B eos"),
        head=("<pad>", "<unk>", "<s>", "</s>"),
        language="fra",
        language_key="tgt_lang",
        merges=True,
    ),
    "T5": _T5,
    "VideoPrism": _T5._replace(template=()),
    "Tipsv2": Rules(
        Settings({"unk": "<unk>", "pad": "<pad>"}), _tips, splits_words=True, merges=True, falls_back=True
    ),
    "Pegasus": Rules(
        Settings({"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}),
        _pegasus,
        template=("$A eos", "$A $B eos"),
        unknown="scored",
        n_replaced=2,
    ),
}
#: Name → rules, for the classes above and for classes that fastbpe reads only from a tokenizer.json.
WITH_JSON: Mapping[str, Rules] = {
    **CLASSES,
    "Lasr": _T5._replace(unknown=3),
    "XGLM": Rules(
        Settings({role: name for role, name in ROBERTA_ROLES.items() if role != "mask"}),
        _own_and_spaces,
        template=("eos $A", "eos $A eos eos $B"),
        has_prefix=True,
    ),
}
#: Classes that add the tokens <extra_id_0> ….
WITH_SENTINELS = ("T5", "Lasr", "VideoPrism")
#: Special tokens without a role that a class adds to a tokenizer.json if no other file names such tokens.
DEFAULT_EXTRA: Mapping[str, tuple[str, ...]] = {
    "Camembert": ("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"),
    "XLNet": ("<eop>", "<eod>"),
    "Nllb": tuple(_NLLB_LIST.split()),
    "XGLM": tuple(f"<madeupword{i}>" for i in range(7)),
}
