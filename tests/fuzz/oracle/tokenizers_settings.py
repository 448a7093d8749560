#!/usr/bin/env python3
"""Random tokenizer settings and texts, asked of flatline and of the tokenizers library.

    tokenizers_settings.py --bin ./flatline [--first 0] [--tries 1000] [--keep FOLDER]

Needs the package tokenizers from PyPI. Never run by make test. Each try is a small tokenizer.json made
from its number, some texts and some ids; ids, byte offsets and decoded texts must be equal. A file that
the library refuses or breaks on is passed over, one that flatline refuses is counted by its message.
"""
import argparse, collections, json, os, random, subprocess, sys, tempfile

from tokenizers import Tokenizer

CHARS = list("abcdeABCxyz0123456789.,;:!?'\"()-_ ") + [
    " ", " ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2009", "\u200b", "\ufeff", "\ufffd", "▁", "Ġ",
    "é", "e\u0301", "Å", "A\u030a", "ñ", "ü", "ß", "İ", "I", "ı", "Σ", "ς", "ǅ", "ﬁ", "½", "²", "①", "Ⅷ", "㍿", "ｱ",
    "\uff9e", "か\u3099", "が", "日", "本", "語", "中", "文", "한", "\u1112\u1161\u11ab", "\u1112", "\u1161", "각",
    "ع", "ر", "ب", "\u0651", "\u064e", "ש", "\u05c1", "हि", "क\u094d", "ष", "ก", "ำ", "Ω", "Д", "д", "ё", "й", "и\u0306",
    "😀", "👨\u200d👩\u200d👧", "🇩🇪", "👍🏽", "\U0001d400", "\U00020000", "\U0001F1E6", "\u0327", "\u0323\u0307",
    "\u0307\u0323", "\x00", "\x01", "\x1f", "\x7f", "\x85", "\u00ad", "\u180e", "\u2028", "\u2581a", "\ue000", "\u0378",
    "\u1e9b\u0323", "\u0344", "\u212b", "\u2126", "\u0958", "\u09cb", "\u09c7\u09be", "\u1026", "¿", "。", "、", "“", "’", "…",
    "don't", "I'm", " 's", "'ll", "hello", " world", "the ", "The", "123", "4567", "_x_", "##a", "</w>", "<0x41>", "<0xE2>",
    "<s>", "</s>", "[MASK]", "<unk>", "new", "tok", "hello world", "\u0897", "\u1c89", "\ua7da", "\u1b4e", "\u10d50"]
REGEXES = [r"\s+", r"\w+|[^\w\s]+", r"\p{L}+", r" ?\p{L}+| ?\p{N}{1,3}|\s+(?!\S)|\s+", r"\d", r"[0-9]{2}", r"'s|'t|\s", r"",
           r"a*", r"(?=[A-Z])", r"^", r"$", r"\b", r".", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"(?i:'s|a)b?", r"[[a-c]\d]+", r"\S+", r"[\S\n]",
           r"\p{Han}", r"[a-z]{1,2}+", r"x{,2}y", r"(?<=a)b", r"\n|\r", r"[^\s|[.,!?]]+", r"\h+", r"\W", r"\D+", r"[一-龥]+",
           r"(?m:a.b)", r"\u0041|\x{e9}", r" {2,}", r"\p{M}+", r"[\p{P}\p{S}]", r"\s*[\r\n]+", r"(?<n>a|b)+", r"\A.", r".\z"]
BEHAVIOURS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
CHARSMAP = None


def pattern(r):
    return {"Regex": r.choice(REGEXES)} if r.random() < .6 else {"String": r.choice([" ", "a", "  ", "▁", ".", "", "é", "ab", "\n"])}


def content(r):
    return r.choice(["", " ", "▁", "x", "xy", "é", "▁▁", "\n", "<s>", "e\u0301"])


def normalizer(r, depth=0):
    kinds = ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel", "Strip", "Replace", "Prepend", "Bert"]
    if CHARSMAP:
        kinds += ["Precompiled", "Precompiled"]
    if depth < 2:
        kinds += ["Sequence"] * 4
    k = r.choice(kinds)
    if k == "Sequence":
        return {"type": k, "normalizers": [normalizer(r, depth + 1) for _ in range(r.randint(0, 3))]}
    if k == "Strip":
        return {"type": k, "strip_left": r.random() < .6, "strip_right": r.random() < .6}
    if k == "Replace":
        return {"type": k, "pattern": pattern(r), "content": content(r)}
    if k == "Prepend":
        return {"type": k, "prepend": content(r)}
    if k == "Precompiled":
        return {"type": k, "precompiled_charsmap": CHARSMAP}
    if k == "Bert":
        return {"type": "BertNormalizer", "clean_text": r.random() < .7, "handle_chinese_chars": r.random() < .7,
                "strip_accents": r.choice([None, True, False]), "lowercase": r.random() < .6}
    return {"type": k}


def pre_tokenizer(r, depth=0):
    kinds = ["ByteLevel", "ByteLevel", "BertPreTokenizer", "CharDelimiterSplit", "Metaspace", "Metaspace", "Whitespace",
             "WhitespaceSplit", "Split", "Split", "Split", "Punctuation", "Digits", "UnicodeScripts", "FixedLength"]
    if depth < 2:
        kinds += ["Sequence"] * 4
    k = r.choice(kinds)
    if k == "Sequence":
        return {"type": k, "pretokenizers": [pre_tokenizer(r, depth + 1) for _ in range(r.randint(0, 3))]}
    if k == "ByteLevel":
        return {"type": k, "add_prefix_space": r.random() < .5, "trim_offsets": r.random() < .5, "use_regex": r.random() < .6}
    if k == "CharDelimiterSplit":
        return {"type": k, "delimiter": r.choice([" ", "a", "▁", "é", "\n"])}
    if k == "Metaspace":
        return metaspace(r)
    if k == "Split":
        return {"type": k, "pattern": pattern(r), "behavior": r.choice(BEHAVIOURS), "invert": r.random() < .4}
    if k == "Punctuation":
        return {"type": k, "behavior": r.choice(BEHAVIOURS)}
    if k == "Digits":
        return {"type": k, "individual_digits": r.random() < .5}
    if k == "FixedLength":
        return {"type": k, "length": r.randint(1, 6)}
    return {"type": k}


def metaspace(r):
    m = {"type": "Metaspace", "replacement": r.choice(["▁", "▁", "_", "é"])}
    if r.random() < .3:
        m["add_prefix_space"] = r.random() < .7
        if not m["add_prefix_space"]:
            m["prepend_scheme"] = "never"
    elif r.random() < .8:
        m["prepend_scheme"] = r.choice(["always", "first", "never"])
    if r.random() < .5:
        m["split"] = r.random() < .5
    return m


def post_processor(r, vocab, depth=0):
    kinds = ["TemplateProcessing", "TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel", "ByteLevel"]
    if depth < 1:
        kinds += ["Sequence"] * 2
    k = r.choice(kinds)
    some = r.sample(sorted(vocab), 2)
    if k == "Sequence":
        return {"type": k, "processors": [post_processor(r, vocab, 1) for _ in range(r.randint(0, 3))]}
    if k == "BertProcessing":
        return {"type": k, "sep": [some[0], vocab[some[0]]], "cls": [some[1], vocab[some[1]]]}
    if k == "RobertaProcessing":
        return {"type": k, "sep": [some[0], vocab[some[0]]], "cls": [some[1], vocab[some[1]]],
                "trim_offsets": r.random() < .5, "add_prefix_space": r.random() < .5}
    if k == "ByteLevel":
        return {"type": k, "add_prefix_space": r.random() < .5, "trim_offsets": r.random() < .7, "use_regex": True}
    tokens = {t: {"id": t, "ids": [vocab[t]] * r.randint(1, 2), "tokens": [t]} for t in some}
    for t in tokens.values():
        t["tokens"] = t["tokens"] * len(t["ids"])
    special = lambda: {"SpecialToken": {"id": r.choice(some), "type_id": 0}}
    a = {"Sequence": {"id": "A", "type_id": 0}}
    b = {"Sequence": {"id": "B", "type_id": 1}}
    single = [special() for _ in range(r.randint(0, 2))] + [a] + [special() for _ in range(r.randint(0, 2))]
    return {"type": k, "single": single, "pair": [special(), a, special(), b], "special_tokens": tokens}


def decoder(r, depth=0):
    kinds = ["BPEDecoder", "ByteLevel", "ByteLevel", "WordPiece", "Metaspace", "CTC", "Replace", "Fuse", "Strip", "ByteFallback"]
    if depth < 2:
        kinds += ["Sequence"] * 4
    k = r.choice(kinds)
    if k == "Sequence":
        return {"type": k, "decoders": [decoder(r, depth + 1) for _ in range(r.randint(0, 4))]}
    if k == "BPEDecoder":
        return {"type": k, "suffix": r.choice(["</w>", "a", "", "é"])}
    if k == "ByteLevel":
        return {"type": k, "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    if k == "WordPiece":
        return {"type": k, "prefix": r.choice(["##", "", "a"]), "cleanup": r.random() < .6}
    if k == "Metaspace":
        return metaspace(r)
    if k == "CTC":
        return {"type": k, "pad_token": r.choice(["<pad>", "a", "e"]), "word_delimiter_token": r.choice(["|", "b", " "]),
                "cleanup": r.random() < .6}
    if k == "Replace":
        return {"type": k, "pattern": pattern(r), "content": content(r)}
    if k == "Strip":
        return {"type": k, "content": r.choice([" ", "a", "▁", "é"]), "start": r.randint(0, 2), "stop": r.choice([0, 0, 1])}
    return {"type": k}


def byte_letters():
    bs = list(range(0x21, 0x7f)) + list(range(0xa1, 0xad)) + list(range(0xae, 0x100))
    out = {b: chr(b) for b in bs}
    n = 0
    for b in range(256):
        if b not in out:
            out[b] = chr(256 + n)
            n += 1
    return out


LETTERS = byte_letters()


def words(r):
    out = []
    for _ in range(r.randint(5, 40)):
        w = "".join(r.choice(CHARS) for _ in range(r.randint(1, 3)))
        if r.random() < .4:
            w = "".join(LETTERS[b] for b in w.encode())
        elif r.random() < .4:
            w = w.replace(" ", "▁")
        out.append(w)
    return out


def model(r):
    kind = r.choice(["WordLevel", "BPE", "BPE", "BPE", "Unigram", "WordPiece"])
    base = ["<unk>", "<s>", "</s>"] + words(r)
    if r.random() < .7:
        base += list(LETTERS.values())
    if r.random() < .5:
        base += [c for c in CHARS if len(c) == 1]
    if r.random() < .3:
        base += ["<0x%02X>" % b for b in range(256)]
    if kind == "WordPiece":
        base += ["##" + w for w in base]
    seen = {}
    for w in base:
        seen.setdefault(w, len(seen))
    if kind == "WordLevel":
        return {"type": kind, "vocab": seen, "unk_token": "<unk>"}, seen
    if kind == "WordPiece":
        return {"type": kind, "vocab": seen, "unk_token": "<unk>", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": r.choice([100, 5])}, seen
    if kind == "Unigram":
        return {"type": kind, "unk_id": 0, "byte_fallback": r.random() < .3,
                "vocab": [[w, -r.random() * 10] for w in seen]}, seen
    single = [w for w in seen if len(w) == 1]
    merges = []
    pool = list(single)
    for _ in range(r.randint(0, 60)):
        if len(pool) < 2:
            break
        a, b = r.choice(pool), r.choice(pool)
        if r.random() < .4 and LETTERS[0xc3] in seen:
            e = r.choice(["é", "日", " a", "he", "\n\n", "😀"]).encode()
            a, b = LETTERS[e[0]], LETTERS[e[1]]
            if a not in seen or b not in seen:
                continue
        if [a, b] in merges or len(a + b) > 8:
            continue
        merges.append([a, b])
        seen.setdefault(a + b, len(seen))
        pool.append(a + b)
    m = {"type": kind, "dropout": None, "unk_token": r.choice(["<unk>", None]), "continuing_subword_prefix": None,
         "end_of_word_suffix": None, "fuse_unk": r.random() < .5, "byte_fallback": r.random() < .3,
         "ignore_merges": r.random() < .3, "vocab": seen, "merges": merges}
    return m, seen


def added(r, vocab):
    out, seen = [], set()
    for _ in range(r.choice([0, 1, 3, 6])):
        c = r.choice(["<s>", "</s>", "[MASK]", "new", "tok", "  ", "\n", "hello", "hello world", "é", "A", "a b", "日本", "<unk>",
                      "".join(r.choice(CHARS) for _ in range(2)), "Hello", " x", "ab"])
        if c in seen:
            continue
        seen.add(c)
        out.append({"id": vocab.get(c, len(vocab) + len(out)), "content": c, "single_word": r.random() < .25,
                    "lstrip": r.random() < .25, "rstrip": r.random() < .25, "normalized": r.random() < .5,
                    "special": r.random() < .5})
    return out


def settings(r):
    m, vocab = model(r)
    maybe = lambda p, make: make() if r.random() < p else None
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added(r, vocab),
            "normalizer": maybe(.7, lambda: normalizer(r)), "pre_tokenizer": maybe(.8, lambda: pre_tokenizer(r)),
            "post_processor": maybe(.6, lambda: post_processor(r, vocab)), "decoder": maybe(.8, lambda: decoder(r)),
            "model": m}, vocab


def text(r, tokens):
    out = []
    for _ in range(r.choice([0, 1, 2, 5, 12, 30])):
        x = r.random()
        if tokens and x < .15:
            out.append(r.choice(tokens)["content"])
        elif x < .18:
            out.append(chr(r.choice([r.randint(0x20, 0x2ff), r.randint(0x300, 0x3fff), r.randint(0xa000, 0xd7ff),
                                     r.randint(0x10000, 0x1ffff)])))
        else:
            out.append(r.choice(CHARS))
    return "".join(out)


def expect(tokenizer, asked):
    if "text" in asked:
        e = tokenizer.encode(asked["text"], add_special_tokens=asked["special"])
        at = [0]
        for c in asked["text"]:
            at.append(at[-1] + len(c.encode()))
        return {"ids": e.ids, "offsets": [[at[min(a, len(at) - 1)], at[min(b, len(at) - 1)]] for a, b in e.offsets]}
    return {"text": tokenizer.decode(asked["ids"], skip_special_tokens=asked["skip_special"])}


def one(number, a, tally):
    r = random.Random(number)
    made, vocab = settings(r)
    raw = json.dumps(made, ensure_ascii=r.random() < .5)
    try:
        tokenizer = Tokenizer.from_str(raw)
        tokenizer.no_truncation()
        tokenizer.no_padding()
    except BaseException as e:
        tally["refused by the library: %.40s" % e] += 1
        tokenizer = None
    if tokenizer and tokenizer.normalizer and made["added_tokens"]:
        try: # of equal normalised tokens the library takes any
            forms = [tokenizer.normalizer.normalize_str(t["content"]) for t in made["added_tokens"] if t["normalized"]]
        except BaseException:
            forms = [""]
        if len(set(forms)) < len(forms) or "" in forms:
            return True
    asked, wanted = [], []
    for _ in range(a.texts):
        q = {"text": text(r, made["added_tokens"]), "special": r.random() < .5}
        d = {"ids": [r.randint(0, len(vocab) + 3) for _ in range(r.choice([0, 1, 3, 10]))], "skip_special": r.random() < .5}
        for x in (q, d):
            if tokenizer is None:
                continue
            try:
                w = expect(tokenizer, x)
            except BaseException as e:
                tally["the library breaks off"] += 1
                continue
            asked.append(x)
            wanted.append(w)
    path = os.path.join(a.tmp, "tokenizer.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write(raw)
    done = subprocess.run([a.bin, "tokenize", "--batch", "--tokenizer", path], capture_output=True, timeout=60,
                          input="".join(json.dumps(x) + "\n" for x in asked).encode())
    if done.returncode not in (0, 2):
        print(number, "exit", done.returncode, done.stderr[-300:].decode("utf-8", "replace"))
        return False
    if tokenizer is None:
        if done.returncode == 0:
            tally["read though the library refuses it"] += 1
            if a.verbose:
                print(number, "read though refused")
        return True
    if done.returncode == 2:
        tally["refused: " + done.stderr.decode("utf-8", "replace").split("tokenizer.json: ")[-1].strip()[:60]] += 1
        return True
    got = done.stdout.decode().splitlines()
    for x, w, g in zip(asked, wanted, got + ["{}"] * len(asked)):
        g = json.loads(g)
        if "error" in g:
            tally["error: " + g["error"][:60]] += 1
            continue
        if g != w:
            print(number, json.dumps(x), "\n  wanted", json.dumps(w)[:400], "\n  got   ", json.dumps(g)[:400])
            slim = {k: v for k, v in made.items() if k != "model"}
            for k in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens"):
                s = json.dumps(slim[k])
                print("   ", k, s if len(s) < 700 else s[:300] + "…")
            print("    model", made["model"]["type"], {k: v for k, v in made["model"].items() if k not in ("vocab", "merges")})
            if a.keep:
                os.makedirs(a.keep, exist_ok=True)
                with open(os.path.join(a.keep, "%d.json" % number), "w", encoding="utf-8") as f:
                    f.write(raw)
            return False
        tally["equal"] += 1
    return True


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--bin", default="./flatline")
    ap.add_argument("--first", type=int, default=0)
    ap.add_argument("--tries", type=int, default=1000)
    ap.add_argument("--texts", type=int, default=12)
    ap.add_argument("--stop", type=int, default=5)
    ap.add_argument("--keep")
    ap.add_argument("--charsmap", help="a tokenizer.json whose Precompiled normalizer is used, too")
    ap.add_argument("--verbose", action="store_true")
    a = ap.parse_args()
    global CHARSMAP
    if a.charsmap:
        with open(a.charsmap, encoding="utf-8") as f:
            n = json.load(f)["normalizer"]
        CHARSMAP = [x for x in n.get("normalizers", [n]) if x["type"] == "Precompiled"][0]["precompiled_charsmap"]
    tally = collections.Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as a.tmp:
        for number in range(a.first, a.first + a.tries):
            bad += not one(number, a, tally)
            if bad >= a.stop:
                print("stopped at", number)
                break
    for k, v in tally.most_common(40):
        print("%8d %s" % (v, k))
    print("%d tries differ" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
