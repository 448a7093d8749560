#!/usr/bin/env python3
"""Random texts through real tokenizer files, asked of flatline and of the tokenizers library.

    tokenizers_texts.py --bin ./flatline [--seed 0] [--texts 300] FILE…

Needs the package tokenizers from PyPI; never run by make test. Ids, byte offsets and the text that the
ids give back must be equal.
"""
import argparse, json, random, subprocess, sys

from tokenizers import Tokenizer

from tokenizers_settings import expect, text


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--bin", default="./flatline")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--texts", type=int, default=300)
    ap.add_argument("files", nargs="+")
    a = ap.parse_args()
    bad = 0
    for path in a.files:
        r = random.Random("%d %s" % (a.seed, path))
        t = Tokenizer.from_file(path)
        t.no_truncation()
        t.no_padding()
        added = [{"content": x.content} for x in t.get_added_tokens_decoder().values()]
        asked = []
        for _ in range(a.texts):
            asked.append({"text": "".join(text(r, added) for _ in range(r.randint(1, 4))), "special": r.random() < .5})
            asked.append({"ids": [r.randrange(t.get_vocab_size() + 3) for _ in range(r.randint(0, 20))], "skip_special": r.random() < .5})
        done = subprocess.run([a.bin, "tokenize", "--batch", "--tokenizer", path], capture_output=True, check=True,
                              input="".join(json.dumps(x) + "\n" for x in asked).encode())
        wrong = 0
        for x, g in zip(asked, done.stdout.decode().splitlines()):
            w = expect(t, x)
            if json.loads(g) != w:
                wrong += 1
                if wrong == 1:
                    print(path, json.dumps(x), "\n  wanted", json.dumps(w)[:600], "\n  got   ", g[:600])
        print("%s: %d of %d differ" % (path, wrong, len(asked)))
        bad += wrong
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
