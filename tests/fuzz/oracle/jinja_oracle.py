#!/usr/bin/env python3
"""Random templates and contexts, rendered by flatline and by the real jinja2 in transformers'
environment. By hand, never by make test: needs jinja2 3.1.2.

    jinja_oracle.py --bin ./flatline [--seed N] [--n 10000] [--keep FILE]
"""
import argparse, datetime, json, random, re, subprocess, sys, tempfile, os

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.exceptions import TemplateError

sys.set_int_max_str_digits(4300)


class Tracker(Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(lineno)

    def _support(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(format):
        return datetime.datetime(2026, 1, 15).strftime(format)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Tracker, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENV = environment()
CONTEXT = {
    "s": "  Hello World  ", "n": 5, "f": 2.5, "z": None, "t": True, "l": [3, 1, 2],
    "d": {"b": 1, "a": "x", "B": 2, "items": 7, "_p": 3}, "e": [], "es": "", "o": {},
    "u": "Çé日本👩\u200d👧 ΑΣ ß İ", "q": "a\"b'c\\d\n<&>", "big": 12345678901234567890123, "neg": -7,
    "ll": [{"r": "user", "c": "hi", "k": {"v": 1}}, {"r": "tool", "c": "yo", "k": {"v": 0}}, {"r": "user"}],
    "nest": {"x": {"y": [10, 20, {"z": "deep"}]}}, "fl": [1.0, 2.5, 1e-7, 1e22], "w": "a-b c_d\tE f\nline two\n\n",
    "mixed": [1, "a", None, True, 2.5, [1], {"k": 1}], "words": ["b", "A", "a", "C", "b"],
}
NAMES = list(CONTEXT) + ["x", "y", "zz", "loop", "ns"]
FILTERS0 = "abs capitalize count default e first float int items last length list lower max min reverse round safe " \
    "sort string sum title trim unique upper wordcount dictsort join tojson indent escape forceescape urlencode select " \
    "reject striptags center filesizeformat xmlattr".split()
TESTS0 = "odd even defined undefined none boolean false true integer float lower upper string mapping number sequence " \
    "iterable callable escaped filter test".split()
TESTS1 = "divisibleby sameas in == eq ne != > gt lt < <= >= ge le equalto".split()
METHODS0 = "strip lstrip rstrip split rsplit splitlines upper lower title capitalize swapcase casefold isdigit isalpha isalnum " \
    "isspace isupper islower istitle isnumeric isdecimal isprintable isidentifier isascii keys values items copy " \
    "expandtabs is_integer bit_length".split()
METHODS1 = ["strip('x')", "lstrip(' H')", "rstrip('d ')", "split(' ')", "split('l', 1)", "rsplit('o', 1)", "rsplit(none, 1)",
            "split(none, 1)", "startswith('  H')", "endswith(('d  ', 'x'))", "replace('l', 'LL')", "replace('', '-')",
            "replace('l', 'L', 1)", "find('o')", "rfind('o')", "index('o')", "count('l')", "count('')", "join(words)",
            "join('abc')", "join(mixed)", "format(n, f, x=1)", "center(20, '*')", "ljust(20)", "rjust(20, '日')", "zfill(8)",
            "partition(' ')", "rpartition(' ')", "removeprefix('  ')", "removesuffix('  ')", "get('a')", "get('q', 9)",
            "index(1)", "count(1)", "append(1)", "update(d)", "splitlines(true)", "find('o', 3)", "rfind('o', 0, 5)",
            "startswith('H', 2)", "encode()", "pop()", "pop('a')", "title().lower()", "get(l)", "isdisjoint(d)"]


class Generator:
    def __init__(self, r):
        self.r = r

    def pick(self, *options):
        return self.r.choice(options)

    def literal(self):
        r = self.r
        return r.choice(["1", "0", "2", "-1", "3", "7", "2.5", "0.5", "1e3", "1e16", "10", "true", "false", "none", "''", "'a'",
                         "'abc'", "'é日'", '"q\'"', "' x '", "'a,b,c'", "[]", "[1, 2]", "['a', 'b', 'a']", "{}", "{'a': 1, 'b': 2}",
                         "(1, 2)", "(1,)", "()", "'%s-%d'", "'{} {x}'", "'Hello World'", "1_000", "0x1f", "'\\n'", "'<b>'",
                         "'5'", "'2.9'", "'x' 'y'", "range(3)", "range(1, 6, 2)", "'%5.2f|%-4s|%x'", "'{0:>6}|{1:.2f}'", "'ǅaﬁ'",
                         "9223372036854775807", "-9223372036854775808", "{1: 2, 'k': none, true: 4}", "[[1, 2], [3]]"])

    def name(self):
        return self.r.choice(NAMES)

    def attr(self):
        return self.r.choice(["a", "b", "r", "c", "k", "x", "y", "items", "keys", "zz", "0", "v", "_p", "strip", "index", "last", "B"])

    def args(self, d):
        return ", ".join(self.expr(d) for _ in range(self.r.randint(0, 2)))

    def filter(self, d):
        r = self.r
        k = r.random()
        if k < 0.55:
            return r.choice(FILTERS0)
        return r.choice([
            "default(%s)" % self.expr(d), "default(%s, true)" % self.expr(d), "join(%s)" % self.pick("', '", "''", "1", "none"),
            "join(',', attribute='r')", "map(attribute='%s')" % self.attr(), "map(attribute='k.v')", "map('%s')" % r.choice(FILTERS0),
            "map(attribute='c', default='D')", "selectattr('%s')" % self.attr(), "selectattr('r', 'equalto', 'user')", "selectattr('c', 'defined')",
            "rejectattr('%s')" % self.attr(), "rejectattr('r', 'in', words)", "select('%s')" % r.choice(TESTS0),
            "select('%s', %s)" % (r.choice(TESTS1), self.expr(d)), "reject('%s')" % r.choice(TESTS0), "sort(reverse=true)",
            "sort(case_sensitive=true)", "sort(attribute='r')", "sort(attribute='r,c')", "unique(true)", "unique(attribute='r')", "batch(2)",
            "batch(2, 'f')", "slice(2)", "slice(3, 'f')", "round(%s)" % self.pick("1", "2", "-1", "0", "none"), "round(1, 'ceil')", "round(method='floor')",
            "int(7)", "int(base=16)", "int(0, 2)", "float(1.5)", "replace('l', 'L')", "replace('a', %s)" % self.expr(d), "replace('l', '', 1)",
            "indent", "indent(2)", "indent(2, true)", "indent('>', blank=true)", "truncate(5)", "truncate(5, true, '…', 0)", "center(30)",
            "trim('%s')" % self.pick("x", " H", "a", "Hd "), "tojson(indent=2)", "tojson(sort_keys=true)", "tojson(ensure_ascii=true)",
            "tojson(separators=(',', ':'))", "dictsort(true)", "dictsort(by='value')", "dictsort(reverse=true)", "groupby('r')",
            "groupby('k.v')", "groupby('c', default='')", "sum(attribute='r')", "sum(start=10)", "min(attribute='r')", "max(true)", "attr('%s')" % self.attr(),
            "format(%s)" % self.args(d), "list", "list", "string", "string", "wordwrap(8)", "d('x')", "length", "safe"])

    def expr(self, d=3):
        r = self.r
        if d <= 0:
            return r.choice([self.literal(), self.name()])
        k = r.random()
        e = lambda: self.expr(d - 1)
        if k < 0.14:
            return self.literal()
        if k < 0.28:
            return self.name()
        if k < 0.40:
            return "%s|%s" % (self.atom(d - 1), self.filter(d - 2))
        if k < 0.48:
            return "%s.%s" % (self.atom(d - 1), self.attr())
        if k < 0.56:
            return "%s[%s]" % (self.atom(d - 1), r.choice(["0", "-1", "'a'", "'r'", "1:", ":-1", "::-1", "::2", "1:3", "-2:", "5:1:-1", "10", "none", self.expr(d - 2)]))
        if k < 0.66:
            return "(%s %s %s)" % (e(), r.choice(["+", "-", "*", "/", "//", "%", "~", "~", "+", "**" if r.random() < 0.1 else "+"]), e())
        if k < 0.73:
            return "(%s %s %s)" % (e(), r.choice(["==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or"]), e())
        if k < 0.78:
            t = r.choice(TESTS0) if r.random() < 0.6 else "%s(%s)" % (r.choice([x for x in TESTS1 if x.isalpha()]), self.expr(d - 2))
            return "(%s is %s%s)" % (self.atom(d - 1), r.choice(["", "", "not "]), t)
        if k < 0.82:
            return "(%s if %s else %s)" % (e(), e(), e()) if r.random() < 0.8 else "(%s if %s)" % (e(), e())
        if k < 0.85:
            return r.choice(["not ", "-", "+"]) + self.atom(d - 1)
        if k < 0.95:
            return "%s.%s" % (self.atom(d - 1), r.choice(METHODS0) + "()" if r.random() < 0.5 else r.choice(METHODS1))
        return r.choice(["[%s, %s]" % (e(), e()), "{'k': %s, 'j': %s}" % (e(), e()), "(%s, %s)" % (e(), e()), "dict(a=%s)" % e(),
                         "%s(%s)" % (r.choice(["m", "m2"]), self.args(d - 1)), "namespace(a=%s).a" % e(), "%s ~ %s ~ %s" % (e(), e(), e())])

    def atom(self, d):
        e = self.expr(d)
        return e if re.fullmatch(r"\w+", e) and not e[0].isdigit() else "(%s)" % e

    def open(self):
        return self.r.choice(["{%", "{%-", "{% ", "{%+ ", "{%- "]) + " "

    def close(self):
        return self.r.choice([" %}", " -%}", "%}", " +%}", " %}\n", " %}\n  "])

    def tag(self, text):
        return self.open() + text + self.close()

    def data(self):
        return self.r.choice(["", "a", " ", "\n", "  \n", "x\n  ", "\t", "日", "{", "}", "# ", "\r\n", "{# c #}", "{#- c -#}", "  {# c #}\n", "\u00a0", "a b\n\n"])

    def body(self, d, loops=0):
        return "".join(self.statement(d - 1, loops) for _ in range(self.r.randint(1, 3)))

    def target(self):
        return self.r.choice(["x", "y", "zz", "n", "x, y", "s"])

    def printed(self):
        r = self.r
        return r.choice([self.name, self.name, self.literal, lambda: self.expr(1), lambda: self.expr(2),
                         lambda: "%s|%s" % (self.name(), r.choice("string list|default default('x') upper title tojson length|d e safe".split())),
                         lambda: "m(%s)" % self.args(1)])()

    def statement(self, d, loops=0):
        r = self.r
        k = r.random()
        if d <= 0 or k < 0.35:
            return self.data() + r.choice(["{{ ", "{{- ", "{{"]) + self.printed() + r.choice([" }}", " -}}", "}}"]) + self.data()
        if k < 0.50:
            text = self.tag("if " + self.expr(1)) + self.body(d, loops)
            if r.random() < 0.4:
                text += self.tag("elif " + self.expr(1)) + self.body(d, loops)
            if r.random() < 0.5:
                text += self.tag("else") + self.body(d, loops)
            return text + self.tag("endif")
        if k < 0.70:
            head = "for %s in %s" % (self.target(), r.choice(["l", "ll", "words", "d", "d.items()", "d|items", "[[1,2],[3,4]]", "range(3)", "u", "mixed", "e", "zz", self.expr(1)]))
            if r.random() < 0.25:
                head += " if " + self.expr(2)
            if r.random() < 0.05:
                head += " recursive"
            inner = self.body(d, loops + 1)
            if r.random() < 0.4:
                inner += "{{ loop.%s }}" % r.choice("index index0 first last length revindex revindex0 previtem nextitem depth cycle('a','b') changed(x) depth0".split())
            if r.random() < 0.15:
                inner += self.tag("if " + self.expr(1)) + self.tag(r.choice(["break", "continue"])) + self.tag("endif")
            text = self.tag(head) + inner
            if r.random() < 0.2:
                text += self.tag("else") + self.body(d, loops)
            return text + self.tag("endfor")
        if k < 0.80:
            return self.tag("set %s = %s" % (r.choice(["x", "y", "zz", "ns.a", "n", "x"]), self.expr(1)))
        if k < 0.83:
            return self.tag("set %s%s" % (r.choice(["x", "y", "zz"]), r.choice(["", "", " | upper", "|trim|length"]))) + self.body(d, loops) + self.tag("endset")
        if k < 0.90:
            return self.tag("macro %s(%s)" % (r.choice(["m", "m2"]), r.choice(["", "a", "a, b=1", "a, b=a", "x=n", "a, caller=none"]))) + self.body(d) + \
                r.choice(["", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ a }}{{ b }}"]) + self.tag("endmacro")
        if k < 0.93:
            return self.tag("call%s %s(%s)" % (r.choice(["", "(v)", "(v=1)"]), r.choice(["m", "m2"]), self.args(1))) + self.body(d) + self.tag("endcall")
        if k < 0.95:
            return self.tag("filter " + self.filter(0)) + self.body(d, loops) + self.tag("endfilter")
        if k < 0.97:
            return self.tag("with x = %s, y = %s" % (self.expr(1), self.expr(1))) + self.body(d, loops) + self.tag("endwith")
        if k < 0.985:
            return self.tag("generation") + self.body(d) + self.tag("endgeneration")
        if k < 0.99:
            return self.tag("autoescape " + r.choice(["true", "false", "t"])) + self.body(d, loops) + self.tag("endautoescape")
        return self.tag("raw") + "{{ x }} {% y %}" + self.tag("endraw")

    def template(self):
        head = self.r.choice(["{% set ns = namespace(a=1) %}{% macro m(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{% macro m2() %}-{% endmacro %}"] * 4 + ["", "{% set ns = namespace(a=1) %}", "{% macro m(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}"])
        return head + "".join(self.statement(3) for _ in range(self.r.randint(1, 4)))


def expected(template):
    try:
        return {"text": ENV.from_string(template).render(**json.loads(json.dumps(CONTEXT)))}
    except TemplateError as e:
        return {"error": "%s: %s" % (type(e).__name__, e)}
    except RecursionError as e:
        return {"skip": "recursion"}
    except Exception as e:
        return {"error": "%s: %s" % (type(e).__name__, e)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bin", default="./flatline")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--n", type=int, default=10000)
    ap.add_argument("--show", type=int, default=20)
    ap.add_argument("--expressions", action="store_true")
    ap.add_argument("--keep")
    a = ap.parse_args()
    different = agreed = errors = 0
    kept = []
    context = json.dumps({"kwargs": CONTEXT})
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "t.jinja")
        for seed in range(a.seed, a.seed + a.n):
            g = Generator(random.Random(seed))
            template = "{{ %s }}" % g.expr(4) if a.expressions else g.template()
            want = expected(template)
            if "skip" in want or " at 0x" in want.get("text", "") or " object>" in want.get("text", ""):
                continue
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(template)
            done = subprocess.run([a.bin, "render", "--batch", "--now", "2026-01-15T00:00:00", path], input=context.encode(),
                                  capture_output=True, timeout=60)
            try:
                got = json.loads(done.stdout.decode("utf-8", "surrogatepass"))
            except ValueError:
                got = {"broken": done.returncode, "stderr": done.stderr.decode("utf-8", "replace")[-1500:]}
            same = got.get("text") == want["text"] if "text" in want else "error" in got and got["kind"] != "limit"
            agreed += same
            errors += "error" in want
            if not same and "not known here" in got.get("error", ""):
                continue
            if not same:
                different += 1
                kept.append({"seed": seed, "template": template, **want})
                if different <= a.show:
                    print("seed %d\n  %r\n  want %.300r\n  got  %.300r" % (seed, template, want, got))
    print("%d agreed (%d of them errors), %d differ" % (agreed, errors, different))
    if a.keep:
        with open(a.keep, "w", encoding="utf-8") as f:
            for k in kept:
                f.write(json.dumps(k, ensure_ascii=False) + "\n")


main()
