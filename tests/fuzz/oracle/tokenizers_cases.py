#!/usr/bin/env python3
"""Writes tests/engines/tokenizers/cases.jsonl: small settings, texts and ids with what the tokenizers
library makes of them. Needs that package from PyPI; run by hand when a case is added, never by make test.

    tokenizers_cases.py > tests/engines/tokenizers/cases.jsonl

The first line holds the models by name; a case names one.
"""
import json, sys

from tokenizers import Tokenizer

from tokenizers_settings import LETTERS


def byte_model():
    vocab = {c: i for i, c in enumerate(LETTERS.values())}
    merges = []
    for word in ("Ġa", "he", "ll", "hell", "hello", "Ã©", "Ġhello", "ĊĊ", "æĹ", "ðŁ"):
        for cut in range(1, len(word)):
            if word[:cut] in vocab and word[cut:] in vocab:
                merges.append([word[:cut], word[cut:]])
                vocab[word] = len(vocab)
                break
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocab, "merges": merges}


def fallback_model():
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for b in range(256):
        vocab["<0x%02X>" % b] = len(vocab)
    for c in "▁abcdehlor ":
        vocab[c] = len(vocab)
    vocab.update({"▁a": len(vocab), "he": len(vocab) + 1, "##a": len(vocab) + 2, "</w>": len(vocab) + 3})
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
            "vocab": vocab, "merges": [["▁", "a"], ["h", "e"]]}


def letter_model():
    """Every character is its own token or unknown: what comes before the model is seen."""
    vocab = {"<unk>": 0}
    for c in "abcdefghijklmnopqrstuvwxyzABCDE0123456789 .,!?'-_▁éåäñßςσ\u0301\u030a\u0323\u0307日本語中が가각ｱアｶ½①xy\n\t":
        vocab.setdefault(c, len(vocab))
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocab, "merges": []}


def word_model():
    vocab = {"<unk>": 0, "[CLS]": 1, "[SEP]": 2, "hello": 3, "world": 4, "a": 5, " ": 6, ".": 7, "n't": 8, "##s": 9,
             "do": 10, "not": 11, "'": 12, "▁a": 13, "|": 14, "<pad>": 15, "h": 16, "!": 17, "▁": 18, "b</w>": 19, "é": 20}
    return {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}


MODELS = {"bytes": byte_model(), "fallback": fallback_model(), "letters": letter_model(), "words": word_model()}
PLAIN = ["", " ", "hello world", " a  b\n\nc ", "Don't I'M 12345", "日本 é e\u0301 👍🏽"]
ACCENTS = ["e\u0301a\u0323\u0307", "A\u030a\u212bé", "\u0307\u0323a\u0307\u0323", "İßΣς", "가\u11a8\u1100\u1161", "ｱｶ\uff9e①½ﬁ", "\u0344a\u1e9b\u0323",
           "日a本", "a\x00b\x01c\u00ad\u200bd\ufffde\u3000f\u2028g\u180eh", "\u0958x\U0001d15e", " \u00a0a\u2003", "\u1734a\u0897\u1ac5"]
SPLITS = ["aa,bb", ",a,,b,", "", "a1b22.3", "日本a ½①x", "a\u180eb\u2028c", "\n\na \n", "hello  world "]


def cases():
    def encode(name, model, texts, special=True, **parts):
        for t in texts:
            yield {"name": name, "model": model, "parts": parts, "text": t, "special": special}

    def decode(name, model, ids, skip=False, **parts):
        for i in ids:
            yield {"name": name, "model": model, "parts": parts, "ids": i, "skip_special": skip}

    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"):
        yield from encode(form, "letters", ACCENTS, normalizer={"type": form})
    yield from encode("Strip", "letters", [" \u00a0a b\u2003", "   ", "a ", " a"], normalizer={"type": "Strip", "strip_left": True, "strip_right": True})
    yield from encode("Strip right", "letters", [" a b ", "  "], normalizer={"type": "Strip", "strip_left": False, "strip_right": True})
    for accents in (None, True, False):
        yield from encode("BertNormalizer", "letters", ACCENTS, normalizer={
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": accents, "lowercase": accents is None})
    yield from encode("normalizer ByteLevel", "bytes", PLAIN, normalizer={"type": "ByteLevel"})
    yield from encode("Prepend and Replace", "fallback", PLAIN, normalizer={"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})
    yield from encode("Prepend of several", "letters", ["a", "日b"], normalizer={"type": "Prepend", "prepend": "xy"})
    for p, c in (({"Regex": "\\s+"}, " "), ({"Regex": "a*"}, "x"), ({"String": "bb"}, ""), ({"Regex": "(?i:é|A)"}, "xyx")):
        yield from encode("Replace", "letters", ["aabb  c", "日é A", " ", "b"], normalizer={"type": "Replace", "pattern": p, "content": c})
    yield from encode("text before an empty match", "letters", ["ab", "é"], normalizer={"type": "Replace", "pattern": {"Regex": "^"}, "content": "x"})

    for behaviour in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            yield from encode("Split " + behaviour, "words", [",a,,a,", "a,,a", ",,", "a"], pre_tokenizer={
                "type": "Split", "pattern": {"String": ","}, "behavior": behaviour, "invert": invert})
            yield from encode("Split by regex " + behaviour, "letters", SPLITS[:5], pre_tokenizer={
                "type": "Split", "pattern": {"Regex": "\\d|,"}, "behavior": behaviour, "invert": invert})
    digits = "[0-9]{2}"
    for regex in ("\\w+|[^\\w\\s]+", "\\s+", "\\S", "a*", "", "(?=a)", "^", "$", "\\b", "\\h", "[[ab]1]+", "[^\\s|[.,!?]]+", "[a-z]{1,2}+", "a{,1}b",
                  "\\p{Han}", "\\p{^L}", "(?m:a.b)", "\\u0061", "\\x{61}", "(?<=a)a", "\\p{L}\\p{M}*+", digits, "\\v", "[\\S\\n]", "(?<n>a)", "\\A.", ".\\z"):
        yield from encode("pattern " + regex, "words", SPLITS + ["\u1c89\ua7da\u1b4e a\U0001fae8", "\n\x0ba.b", "\x7f½ a²b"], pre_tokenizer={
            "type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False})
    for t in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"):
        yield from encode(t, "words", SPLITS + ["hello\u3000world, a!b_c\u200dd", "αβ ab日本ひカーc 1", "_a\u203f\u0301-b", "¿a¡\u1b4ea\u166da"], pre_tokenizer={"type": t})
    yield from encode("CharDelimiterSplit", "words", SPLITS, pre_tokenizer={"type": "CharDelimiterSplit", "delimiter": ","})
    yield from encode("Digits", "letters", SPLITS, pre_tokenizer={"type": "Digits", "individual_digits": False})
    yield from encode("Digits alone", "words", ["a12b", "١a²\U00010d40"], pre_tokenizer={"type": "Digits", "individual_digits": True})
    yield from encode("Punctuation", "words", SPLITS[:4], pre_tokenizer={"type": "Punctuation", "behavior": "Contiguous"})
    yield from encode("Punctuation alone", "words", ["hello.world!a", "$a^"], pre_tokenizer={"type": "Punctuation"})
    yield from encode("FixedLength", "words", ["aaaaa", "日a本a", ""], pre_tokenizer={"type": "FixedLength", "length": 2})
    for scheme in ("always", "first", "never"):
        for split in (True, False):
            yield from encode("Metaspace " + scheme, "fallback", PLAIN + ["<s>a<s> a", "▁a"], pre_tokenizer={
                "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split},
                added_tokens=[{"id": 1, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}])
    yield from encode("Metaspace of old", "fallback", PLAIN[:3], pre_tokenizer={"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"})
    for prefix in (True, False):
        for regex in (True, False):
            yield from encode("ByteLevel", "bytes", PLAIN + ["  hello", "'ll 're"], pre_tokenizer={
                "type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex})
    yield from encode("ByteLevel before others", "bytes", PLAIN, pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "Digits", "individual_digits": False}, {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False}]})
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    yield from encode("ByteLevel after what changes the text", "bytes", ACCENTS, pre_tokenizer=byte_level, normalizer={"type": "NFC"})

    def token(content, **flags):
        return {"id": 900, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False, **flags}

    some = ["a<m>b", "a <m> b", "<m><m>", " <m>", "<mm>", "x<m>", "é<m>é", "<m> \u3000 <m>", "<M>", "a_<m>", "<m>\u0301"]
    for flags in ({}, {"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}, {"single_word": True}, {"normalized": True}, {"special": True}):
        yield from encode("added token", "letters", some, added_tokens=[token("<m>", **flags), token("<mm", **flags)],
                          normalizer={"type": "Lowercase"}, pre_tokenizer={"type": "WhitespaceSplit"})
    yield from encode("added token that the one before swallowed", "letters", ["a\nb", "ab c", "b\n\na"], added_tokens=[
        token("a", rstrip=True, normalized=True), token("\n", lstrip=True, normalized=True)],
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True})
    yield from encode("leftmost and longest", "letters", ["abcd", "xabc", "aab", "ababab"], added_tokens=[token("ab"), token("abc"), token("bcd"), token("a")])
    yield from encode("added token of the vocabulary", "words", ["hello", "a hello"], added_tokens=[token("hello", special=True)])

    specials = {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}, "two": {"id": "two", "ids": [3, 4], "tokens": ["hello", "world"]}}
    a, b = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    cls, two = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"SpecialToken": {"id": "two", "type_id": 0}}
    for single in ([cls, a], [a, two], [cls, a, a], [two], []):
        for special in (True, False):
            yield from encode("TemplateProcessing", "words", ["a", ""], special, post_processor={
                "type": "TemplateProcessing", "single": single, "pair": [a, b], "special_tokens": specials})
    yield from encode("TemplateProcessing twice", "words", ["a"], post_processor={"type": "Sequence", "processors": [
        {"type": "TemplateProcessing", "single": [cls, a], "pair": [a, b], "special_tokens": specials},
        {"type": "TemplateProcessing", "single": [a, two], "pair": [b, two, a], "special_tokens": specials}]})
    yield from encode("BertProcessing", "words", ["a", ""], post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})
    for trim in (True, False):
        for prefix in (True, False):
            yield from encode("RobertaProcessing", "bytes", PLAIN, post_processor={
                "type": "RobertaProcessing", "sep": ["a", 64], "cls": ["b", 65], "trim_offsets": trim, "add_prefix_space": prefix}, pre_tokenizer=byte_level)
            yield from encode("ByteLevel trims", "bytes", PLAIN + ["a \u3000<m>\u3000 b"], post_processor={
                "type": "ByteLevel", "trim_offsets": trim, "add_prefix_space": prefix, "use_regex": True}, pre_tokenizer=byte_level,
                added_tokens=[token("<m>", lstrip=True, rstrip=True)])
    yield from encode("trimming after a template", "bytes", [" a hello"], pre_tokenizer=byte_level, post_processor={"type": "Sequence", "processors": [
        {"type": "TemplateProcessing", "single": [cls, a], "pair": [a, b], "special_tokens": specials},
        {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False, "use_regex": True}]})

    v = MODELS["fallback"]["vocab"]
    by = lambda *bs: [v["<0x%02X>" % x] for x in bs]
    yield from decode("ByteFallback", "fallback", [by(0xE6, 0x97, 0xA5), by(0xE6, 0x97), by(0x41, 0xFF, 0x42) + [v["a"]], [v["a"]] + by(0xC3) + [v["b"]], []],
                      decoder={"type": "ByteFallback"})
    llama = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                              {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    yield from decode("decoders of Llama 2", "fallback", [[v["▁a"], v["b"]], [v["▁"], v["▁"], v["a"]], [1, v["▁a"], 2], [5000, v["a"]]], decoder=llama)
    vb = MODELS["bytes"]["vocab"]
    raw = lambda bs: [vb[LETTERS[x]] for x in bs]
    for broken in (b"\xe6\x97", b"\xe6\x97a", b"\xf0\x9f\x91", b"\xed\xa0\x80", b"\xc0\xaf", b"\xff\xfea", b"\xe6\xe6\x97\xa5", b"\xf4\x90\x80\x80", b"\xe2\x82"):
        yield from decode("decoder ByteLevel", "bytes", [raw(broken)], decoder=byte_level)
    yield from decode("decoder ByteLevel, other letters", "words", [[3, 13, 20, 6]], decoder=byte_level)
    w = list(range(0, 21))
    for cleanup in (True, False):
        yield from decode("decoder WordPiece", "words", [[3, 9, 7], [10, 8], [10, 11, 4], [3, 12, 5, 17], [9, 9], w], decoder={"type": "WordPiece", "prefix": "##", "cleanup": cleanup})
        yield from decode("decoder CTC", "words", [[3, 3, 15, 3, 14, 4], [15, 15], w, [16, 16, 16]], decoder={
            "type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": cleanup})
    for scheme in ("always", "never"):
        yield from decode("decoder Metaspace", "words", [[13, 13, 3], [18, 18], []], decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True})
    yield from decode("BPEDecoder", "words", [[19, 19, 5], [19], []], decoder={"type": "BPEDecoder", "suffix": "</w>"})
    yield from decode("BPEDecoder without a suffix", "words", [[19, 20, 5]], decoder={"type": "BPEDecoder", "suffix": ""})
    yield from decode("decoder Replace", "words", [[3, 4, 5], w], decoder={"type": "Replace", "pattern": {"Regex": "[lo]+"}, "content": "_"})
    yield from decode("no decoder", "words", [[3, 4], [], [99, 3]])
    kept = [token("hello", special=True), token("NEW", special=True), token("Soft", normalized=True, special=True)]
    for skip in (True, False):
        yield from decode("special tokens", "words", [[3, 4, 21, 22], [21]], skip, added_tokens=kept, normalizer={"type": "Lowercase"})


def main():
    print(json.dumps({"models": MODELS}, ensure_ascii=False))
    n = 0
    for c in cases():
        parts = c.pop("parts")
        made = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
                "post_processor": None, "decoder": None, **parts, "model": MODELS[c["model"]]}
        try:
            t = Tokenizer.from_str(json.dumps(made))
            if "text" in c:
                e = t.encode(c["text"], add_special_tokens=c["special"])
                at = [0]
                for x in c["text"]:
                    at.append(at[-1] + len(x.encode()))
                c["want"] = {"ids": e.ids, "offsets": [[at[min(x, len(at) - 1)], at[min(y, len(at) - 1)]] for x, y in e.offsets]}
            else:
                c["want"] = {"text": t.decode(c["ids"], skip_special_tokens=c["skip_special"])}
        except BaseException as e:
            print("%s: %s" % (c["name"], e), file=sys.stderr)
            continue
        print(json.dumps({**c, **parts}, ensure_ascii=False))
        n += 1
    print(n, "cases", file=sys.stderr)


if __name__ == "__main__":
    main()
