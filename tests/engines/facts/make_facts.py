#!/usr/bin/env python3
"""Makes the folders beside this file anew: facts of small data sets, computed by DuckDB and by Spark.

    pip install pyspark==3.5.1 duckdb numpy xxhash
    python tests/engines/facts/make_facts.py [SEED]

`small` is a plain data set; `odd` has rows of every form with all that goes wrong in rows, drawn from the
seed. Both engines have to give the same bytes; they are kept in `facts`, as Parquet in `facts-duckdb-parquet`
and `facts-spark-parquet`. tests/unit/test_form_write.c holds `flatline facts` to them. With a seed nothing
is kept: odd rows of that seed are made in a temporary folder and `./flatline facts` is compared, too.
"""
import argparse
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TOP, "importers"))
import facts_duckdb  # noqa: E402
import facts_spark  # noqa: E402

WORDS = ["\u0130stanbul", "\u03a3\u0391\u03a3", "\u03a3", "\u00df", "\u01c5", "\ufb01x", "\u2460", "\uff21",
         "\u0378", "\U0001fae8", "\U00011f00a", "\u1e9e", "\u00e9", "e\u0301", "\u0345\u03b1", "\uac00",
         "\u1100\u1161", "\U0001f469\u200d\U0001f4bb", "\u6f22\u5b57", "\ud800", "\udc00", "\ud83d\ude00",
         "\0", "a\0b", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85", "\u00a8", "\ufdfa", "\u212b",
         "\u0130\u0307", "\U0001d400", "\U00010570", "\ua7f2", "word", "The", "don't", "\"q\"", "\\", "</s>",
         "\t", "\n", "\r\n", "\u200b", "\ufeff", "\x7f", "\ufffd", "\ufffe", "\U0010ffff", "\u0660"]
PLAIN = "alpha beta gamma delta epsilon zeta eta".split()
NUMBERS = ["0", "1", "-0", "3.50", "1e5", "1E-3", "NaN", "Infinity", "-Infinity", "12345678901234567890123",
           "0.1", "-1", "1e999"]
COLUMNS = ["messages", "conversations", "conversation", "prompt", "completion", "chosen", "rejected", "label",
           "labels", "class", "category", "intent", "text", "instruction", "input", "output", "response",
           "system", "history", "question", "query", "problem", "answer", "input_ids", "id", "user_id", "url",
           "source", "lang", "metadata", "score", "premise", "hypothesis", "Session_ID", "doc", "type",
           "user.lang", "TEXT", "weird\ud800key", "k\0y", "e_id", "thread"]
BROKEN = ["null", "[]", "1", '"x"', " ", "{}", "\x0b{}", '{"a":01}', '{"a":1.}', '{"a":-}', "{'a':1}",
          '{"a":"\\u12"}', '{"a":"\\x"}', '{"a":+1}', '{"a":.5}', '{"text":"a\tb"}', '{"text":"a\x01b"}',
          '{"text":nul}', '{"a":1}}', '{"a":-Infinity,"text":"x"}', '{"a":-NaN}']


class Raw(str):
    """A number as it is written."""


class Odd:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, items):
        return self.r.choice(items)

    def chance(self, p):
        return self.r.random() < p

    def text(self):
        if self.chance(.1):
            return self.pick(["", "", " ", "\n\t ", "\u2003", "\x0b", "\u00a0"])
        words = [self.pick(WORDS) if self.chance(.5) else self.pick(PLAIN)
                 for _ in range(self.pick([1, 1, 2, 3, 4, 5, 6, 8, 12, 20]))]
        return self.pick(["", "", " "]) + self.pick([" ", " ", " ", "  ", "\n", ""]).join(words)

    def value(self, depth=0):
        kind = self.r.random()
        if kind < .5 or depth > 2:
            return self.text()
        if kind < .62:
            return Raw(self.pick(NUMBERS))
        if kind < .78:
            return self.pick([None, None, True, False])
        if kind < .9:
            return [self.value(depth + 1) for _ in range(self.r.randrange(4))]
        return {self.pick(["user", "lang", "text", "a", "type", "value", "content", "role"]):
                self.value(depth + 1) for _ in range(self.r.randrange(4))}

    def content(self):
        if self.chance(.7):
            return self.text()
        if self.chance(.3):
            return self.value()
        return [self.pick([{"type": "text", "text": self.text()}, {"type": "image"}, self.text(),
                           {"text": None}, None, Raw("1")]) for _ in range(self.r.randrange(4))]

    def turn(self):
        if self.chance(.03):
            return self.value()
        turn = {}
        role, content = self.pick([("role", "content")] * 6 + [("from", "value")] * 3 +
                                  [("role", "value"), ("from", "content")])
        if self.chance(.96):
            turn[role] = self.pick(["user", "assistant", "system", "human", "gpt", "model", "bot", "tool", ""])
        if self.chance(.94):
            turn[content] = self.content()
        if self.chance(.08):
            turn["tool_calls"] = self.pick([[{"id": "1"}], [], None, "x"])
        if self.chance(.04):
            turn["function_call"] = self.pick([{"name": "f"}, None, "x", {}])
        if self.chance(.05):
            turn[self.pick(["role", "from", "content", "value", "weight"])] = self.value()
        return turn

    def turns(self):
        turns = [self.turn() for _ in range(self.pick([0, 1, 1, 2, 2, 3, 4, 5]))]
        kind = self.r.random()
        return written(turns) if kind < .05 else self.value() if kind < .08 else turns

    def side(self):
        kind = self.r.random()
        return self.text() if kind < .5 else self.turns() if kind < .85 else \
            self.turn() if kind < .93 else self.value()

    def row(self):
        kind, row = self.r.random(), {}
        if kind < .3:
            row[self.pick(["messages", "conversations", "conversation"])] = self.turns()
        elif kind < .45:
            row = {"prompt": self.side(), "completion": self.side()}
        elif kind < .6:
            row = {"chosen": self.side(), "rejected": self.side()}
            if self.chance(.7):
                row["prompt"] = self.side()
            if self.chance(.3):
                turns = [self.turn() for _ in range(3)]
                row.update(chosen=turns[:2] + [self.turn()], rejected=turns)
            if self.chance(.2):
                row["messages"] = self.turns()
        elif kind < .7:
            row = {"instruction": self.text(), "output": self.text()}
            if self.chance(.6):
                row["input"] = self.text()
            if self.chance(.4):
                row["history"] = self.pick([[[self.text(), self.text()]], [], None, self.text(),
                                            [{"a": self.text()}], [self.text()], '[["q","a"]]'])
        elif kind < .8:
            row["text"] = self.text()
        elif kind < .9:
            row[self.pick(["question", "query", "problem", "prompt"])] = self.side()
            row[self.pick(["answer", "response", "output"])] = self.side()
        for _ in range(self.pick([0, 0, 1, 2, 4])):
            row[self.pick(COLUMNS)] = self.pick([{"user": self.text(), "lang": self.text()}, self.text(),
                                                 Raw(self.pick(NUMBERS)), self.value()])
        names = list(row)
        if self.chance(.3):
            self.r.shuffle(names)
        return {name: row[name] for name in names}

    def line(self, row):
        text = written(row)
        kind = self.r.randrange(100)
        if kind == 0:
            text = text[:self.r.randrange(len(text) + 1)]
        elif kind == 1:
            text += " x"
        elif kind == 2:
            text = "\ufeff" + text
        elif kind == 3:
            text = '{"a":' + "[" * self.pick([198, 199, 200]) + "]" * 200 + "}"
        elif kind == 4 and len(row) > 0:
            text = '{"messages":[{"role":"user","content":"x"}],' + text[1:]
        elif kind < 12:
            text = self.pick(BROKEN)
        line = text.encode("utf-8", "surrogatepass")
        if self.chance(.02):
            line = line[:5] + b"\xff\xc0" + line[5:]
        return line + (b"\r\n" if self.chance(.1) else b"\n")

    def file(self, path, n):
        pool = [self.row() for _ in range(20)]
        with open(path, "wb") as out:
            if self.chance(.3):
                out.write(b"\xef\xbb\xbf")
            out.write(b'{"text":"first"}\n')
            for _ in range(n):
                row = dict(self.pick(pool) if self.chance(.4) else self.row())
                if self.chance(.3):
                    row[self.pick(COLUMNS)] = self.value()
                out.write(self.line(row))


def written(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(written, value))
    if isinstance(value, dict):
        return "{%s}" % ",".join(json.dumps(key) + ":" + written(item) for key, item in value.items())
    return json.dumps(value)


def odd_files(seed, folder):
    odd = Odd(seed)
    for name, n in (("train-0.jsonl", 60), ("train-1.jsonl", 30), ("test.jsonl", 30)):
        odd.file(os.path.join(folder, name), n)


# ---- Engines ----

def lines(folder, stem):
    return b"".join(open(path, "rb").read() for path in sorted(glob.glob("%s/%s-*" % (folder, stem))))


def head(folder):
    with open(os.path.join(folder, "facts.json"), encoding="utf-8") as text:
        out = json.load(text)
    del out["made_by"], out["version"]
    return out


def compare(a, b):
    for stem in "rows", "candidates":
        if lines(a, stem) != lines(b, stem):
            raise SystemExit("%s and %s: %s differ" % (a, b, stem))
    if head(a) != head(b):
        raise SystemExit("%s and %s: facts.json differs" % (a, b))


def by_duckdb(splits, folder, kind):
    work = tempfile.mkdtemp()
    made, _, _ = facts_duckdb.make(argparse.Namespace(format=kind, processes=2, memory=None), splits, work)
    shutil.move(made, folder)
    shutil.rmtree(work)


def by_engines(spark, data, out, kinds):
    splits = [("train", [os.path.join(data, "train-*.jsonl")]), ("test", [os.path.join(data, "test.jsonl")])]
    for kind in kinds:
        by_duckdb(splits, "%s/duckdb-%s" % (out, kind), kind)
        facts_spark.make(spark, argparse.Namespace(format=kind), splits, "%s/spark-%s" % (out, kind))
    compare(out + "/duckdb-jsonl", out + "/spark-jsonl")


def by_flatline(data, folder):
    subprocess.run([os.path.join(TOP, "flatline"), "facts", os.path.join(data, "train-0.jsonl"),
                    os.path.join(data, "train-1.jsonl"), os.path.join(data, "test.jsonl"), "-o", folder],
                   check=True, stdout=subprocess.DEVNULL)


def keep(made, place):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(made, place)


def main():
    spark, seed = facts_spark.session(), int(sys.argv[1]) if len(sys.argv) > 1 else None
    spark.sparkContext.addPyFile(facts_spark.__file__)   # imported here, not the program itself
    work = tempfile.mkdtemp()
    if seed is not None:
        odd_files(seed, work)
        by_engines(spark, work, work, ["jsonl"])
        by_flatline(work, work + "/flatline")
        compare(work + "/duckdb-jsonl", work + "/flatline")
        print("seed %d: DuckDB, Spark and flatline give the same bytes" % seed)
    else:
        os.makedirs(os.path.join(HERE, "odd"), exist_ok=True)
        odd_files(20260, os.path.join(HERE, "odd"))
        for name, kinds in (("small", ["jsonl", "parquet"]), ("odd", ["jsonl"])):
            out = os.path.join(work, name)
            by_engines(spark, os.path.join(HERE, name), out, kinds)
            keep(out + "/duckdb-jsonl", os.path.join(HERE, name, "facts"))
            for engine in ("duckdb", "spark") if "parquet" in kinds else ():
                keep("%s/%s-parquet" % (out, engine), os.path.join(HERE, name, "facts-%s-parquet" % engine))
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
