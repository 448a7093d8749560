#!/usr/bin/env python3
"""Random templates, prompts and Modelfiles, and given templates on a set of conversations, through Go
with Ollama (ollama_prompt.go) and through core/text/go (go_render.c). By hand, never by make test.

    go_templates.py --oracle ./oracle --ours ./ours [--seed N] [--n 3000] [TEMPLATE FILES ...]

Counts what is the same and shows what is not: outputs, errors of one side only, lines of errors.
"""
import argparse, collections, json, random, re, subprocess

DATA = {
    "s": "  Hello <World> ", "n": 5, "f": 2.5, "z": None, "t": True, "no": False, "es": "", "o": {}, "e": [],
    "l": [3, 1, "x", None, 2.5, [1], {"k": "v"}], "big": 1e21, "mid": 1234567, "neg": -7.25, "small": 0.00001,
    "d": {"b": 1, "a": "x", "c": {"y": [10, 20, {"z": "deep"}]}, "nil": None}, "words": ["b", "A", "a"],
    "u": "Çé日本👩\u200d👧\u00ad\u2028", "q": "a\"b'c\\d\n<&>=\u0000\u007f",
    "m": [{"Role": "user", "Content": "hi"},
          {"Role": "assistant", "Content": "yo", "Calls": [{"name": "f", "args": {"p": 1, "q": "<"}}]}, {"Role": "tool"}],
}
PLAIN = {
    "fields": ".s .n .f .z .t .no .l .e .es .o .d .d.a .d.c.y .big .mid .neg .small .u .q .m .words .missing "
              ".missing.x .d.nil .d.nil.x .s.x . $ $.d $.m .Role .Content .Calls .k".split(),
    "ranges": [".l", ".m", ".d", ".words", "$.m", ".e", "3", ".z", ".missing", ".n", "$"],
    "index": ["index .l 1", "index .l 9", 'index .d "a"', 'index .d "c" "y" 2 "z"', "index .words 1", "index .u 0"],
    "slice": ["slice .s 1 4", "slice .words 1", "slice .l 2 5", "slice .u 0 2", "slice .s 3 2", "slice .words 0 3 3"],
    "start": "{{ $x := .s }}{{ $y := .d }}{{ $i := 0 }}",
}
PROMPT = {
    "fields": ".System .Prompt .Response .Messages .Tools .Think .ThinkLevel .IsThinkSet $.Messages $.System .Role "
              ".Content .ToolCalls .Thinking .Images .Function .Function.Name .Function.Arguments .Function.Arguments.city "
              ".Function.Parameters .Function.Parameters.Properties .Type $.Tools . $ .missing .missing.x .Response.x "
              ".ID .Tools.String .Suffix".split(),
    "ranges": [".Messages", "$.Messages", ".Tools", ".ToolCalls", ".Function.Arguments",
               ".Function.Parameters.Properties", "2", ".Images"],
    "index": ["index .Messages 0", "index $.Messages 2", "index .ToolCalls 0", 'index .Function.Arguments "city"',
              'index .Function.Parameters.Properties "unit"'],
    "slice": ["slice .Messages 1", "slice $.Messages 0 1", "slice .Content 1", "slice .Prompt 0 2"],
    "start": "{{ $x := .System }}{{ $y := .Prompt }}{{ $i := 0 }}",
}
TEXTS = ['"a"', '"user"', '"<b>&"', "`raw\\n`", '"\\n\\t\\x41\\u00e9\\""', '""', '"x y"', '"%d"']
NUMBERS = "0 1 2 3 -1 2.5 1e3 0x1F 0b11 1_000 'a' 1.0 9223372036854775807 017 1e30 .5".split()
CALLS = "len not print println html js urlquery json printf index slice eq ne lt le gt ge and or call currentDate".split()
VERBS = ["%v", "%d", "%s", "%q", "%x", "%X", "%5d", "%-5s|", "%05d", "%.2f", "%8.3f", "%e", "%g", "%t", "%c", "%U", "%T",
         "%+v", "%#v", "%%", "%[2]v %[1]v", "%*d", "%.*f", "%!", "%", "%z", "% d", "%+d", "%o", "%b", "%#x", "%6.2s|",
         "%#q", "%+q", "%O", "%010.3f", "%[3]d", "%.3v", "%6v|", "%-8v|", "%08s", "%G", "%E", "%3c|", "%x %v"]
BROKEN = ["{{end}}", "{{else}}", "{{", "}}", "{{ .a", '{{ "x }}', "{{.a.}}", "{{ .1 }}", "{{1.2.3}}", "{{$}}", "{{ foo }}",
          "{{-3}}", "{{- 3 -}}", "{{3 -}}\n", "{{ (.s }}", "{{ .s) }}", "{{ @ }}", "{{ .a,b }}", "{{ nil }}", "{{ $z }}",
          "{{if}}{{end}}", "{{ 1i }}", '{{"a" "b"}}', "{{ .s | 5 }}", "{{ 'ab' }}", "{{ 08 }}", '{{define "t9"}}']


class Writer:
    def __init__(self, rng, names):
        self.r, self.names = rng, names

    def pick(self, of):
        return self.r.choice(of)

    def atom(self, depth):
        x = self.r.random()
        if x < .45 or (x > .88 and depth <= 0):
            return self.pick(self.names["fields"])
        if x < .6:
            return self.pick(TEXTS)
        if x < .72:
            return self.pick(NUMBERS)
        if x < .8:
            return self.pick(["true", "false", "nil"])
        if x < .88:
            return self.pick(["$x", "$y", "$i", "$x", "$x.a", "$y.Role"])
        return "(" + self.pipe(depth - 1) + ")" + (self.pick([".a", ".Role", ".x.y"]) if self.r.random() < .1 else "")

    def command(self, depth):
        if self.r.random() < .4:
            return self.atom(depth)
        name = self.pick(CALLS)
        if name in ("index", "slice") and self.r.random() < .7:
            return self.pick(self.names[name])
        if name == "printf":
            form = "".join(self.pick(VERBS) + self.pick(["", " ", "-"]) for _ in range(self.r.randint(1, 2)))
            return "printf " + json.dumps(form) + "".join(" " + self.atom(depth - 1) for _ in range(self.pick([0, 1, 1, 2, 3])))
        n = {"len": 1, "not": 1, "json": 1}.get(name) or (2 if name in ("ne", "lt", "le", "gt", "ge") else self.pick([1, 2, 2, 3]))
        return name + "".join(" " + self.atom(depth - 1) for _ in range(n))

    def pipe(self, depth):
        text = self.command(depth)
        while self.r.random() < .2:
            text += self.pick([" | ", "|"]) + self.pick(
                ["len", "json", "print", "html", "js", "urlquery", "not", 'printf "%v"', 'eq "a"', "println", "$x", "5"])
        return text

    def action(self, text):
        return self.pick(["{{", "{{", "{{- "]) + text + self.pick(["}}", "}}", " -}}", " }}"])

    def node(self, depth, in_range):
        x = self.r.random()
        if depth <= 0 or x < .35:
            return self.pick(["a", " b ", "\n", "\n  \n", "<|im_start|>", "{", "}", "x{y", "", "é", "\t- "])
        if x < .62:
            return self.action(self.pipe(2))
        if x < .70:
            return self.action(self.pick(["$x := ", "$x = ", "$y := ", "$x:= "]) + self.pipe(2))
        if x < .80:
            text = self.action("if " + self.pipe(2)) + self.body(depth - 1, in_range)
            while self.r.random() < .3:
                text += self.action("else if " + self.pipe(1)) + self.body(depth - 1, in_range)
            return text + self.otherwise(depth, in_range)
        if x < .90:
            over = self.pick(self.names["ranges"] + [self.pipe(1)])
            head = self.pick(["", "$x := ", "$i, $x := ", "$x = ", "$i, $x = ", "$i,$x:="])
            return self.action("range " + head + over) + self.body(depth - 1, True) + self.otherwise(depth, in_range)
        if x < .95:
            text = self.action("with " + self.pick(["", "$y := "]) + self.pipe(2)) + self.body(depth - 1, in_range)
            if self.r.random() < .3:
                text += self.action("else with " + self.pipe(1)) + self.body(depth - 1, in_range)
            return text + self.otherwise(depth, in_range)
        if x < .97:
            return self.action(self.pick(["break", "continue"])) if in_range else "{{/* c\n */}}"
        if x < .985:
            return self.action('template "%s"%s' % (self.pick(["t1", "t2", "zz"]), self.pick(["", " .", " .d", " .m"])))
        return self.pick(["{{- /* c */ -}}", '{{block "b%d" .}}{{.}}{{end}}' % self.r.randint(0, 3)] + BROKEN)

    def otherwise(self, depth, in_range):
        text = self.action("else") + self.body(depth - 1, in_range) if self.r.random() < .35 else ""
        return text + self.action("end")

    def body(self, depth, in_range):
        return "".join(self.node(depth, in_range) for _ in range(self.r.randint(1, 4)))

    def template(self):
        text = '{{define "t1"}}[{{.}}%s]{{end}}' % self.body(1, False) if self.r.random() < .3 else ""
        text += self.names["start"] if self.r.random() < .8 else ""
        text += self.body(3, False)
        if self.r.random() < .03:
            at = self.r.randrange(len(text) + 1)
            text = text[:at] + self.pick(["", "{{", "}}", '"', "(", "\x00", " "]) + text[at + self.r.randint(0, 2):]
        return text


def user(content, **more):
    return dict({"role": "user", "content": content}, **more)


def bot(content, **more):
    return dict({"role": "assistant", "content": content}, **more)


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, **more):
    return dict({"function": {"name": name, "arguments": arguments}}, **more)


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Get <weather> & more", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "unit": {"type": "string", "enum": ["c", "f"], "description": "x"},
            "city": {"type": ["string", "null"], "description": "The city"}}}}},
    {"type": "function", "function": {"name": "add", "description": "", "parameters": {
        "type": "object", "required": ["a", "b"], "properties": {
            "b": {"type": "integer"}, "a": {"type": "number", "default": 3},
            "opt": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "obj": {"type": "object", "properties": {"z": {"type": "boolean"}, "a": {"type": "string"}}}}}}},
]
CHATS = [
    [user("Hi")], [system("You are X."), user("Hi")], [user("Hi"), bot("Hello!"), user("More <b>?")],
    [system("S1"), user("a"), bot("b"), user("c")], [system("S1"), user("a"), system("S2"), user("c")],
    [user("a"), user("b"), bot("c"), bot("d")], [user("a"), bot("partial")], [system("S"), system("T"), user("é\n\nl ")],
    [bot("first")],
    [user("w?"), bot("", tool_calls=[call("get_weather", {"city": "Paris", "n": 1, "deep": {"b": [1, None], "a": "<"}})]),
     {"role": "tool", "content": "22 C", "tool_name": "get_weather"}, user("thx")],
    [user("w?"), bot("calling", tool_calls=[call("f", {}, id="1"), call("g", {"x": 1e21}, id="2")]),
     {"role": "tool", "content": "A", "tool_call_id": "1"}, {"role": "tool", "content": "B"}],
    [user("q"), bot("ans", thinking="let me think"), user("q2")], [system(""), user("")],
    [{"role": "control", "content": "thinking"}, user("x")], [user("  spaced  \n"), bot("\n x"), user("z")],
    [{"role": "USER", "content": "upper"}, {"role": "Assistant", "content": "x"}, user("y")],
    [user("see [img] and", images=["aGk=", "aGk="]), user("x", images=["aGk="])],
]
PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
OPENAI_CHATS = [
    [user([{"type": "text", "text": "x [img] z"}, PART, {"type": "text", "text": "[img]"}])], [user([{"type": "audio"}])],
    [user([PART, PART]), bot(None, tool_calls=[call("f", '{"city": "Rome", "b": 1}', id="c1", type="function")]),
     {"role": "tool", "tool_call_id": "c1", "content": "sunny"}, user("ok")],
    [user("q"), bot("", tool_calls=[call("f", "not json", id="c2")])], [user("q"), bot("x", tool_calls=[call("f", "[]")])],
    [user("q"), bot("x", reasoning="hm"), {"role": "tool", "name": "nm", "content": "r"}],
]


def modelfile(rng):
    words = "FROM from PARAMETER parameter TEMPLATE SYSTEM Adapter MESSAGE LICENSE RENDERER REQUIRES FOO".split()
    values = ["llama3", "./x.gguf", '"a b"', '"""multi\nline"""', '"""a\n"b"\n\n"""  ', '"open\nmore"', '"""open',
              'x "y" z', '""', '""""""', '"', '""" a """ b\n"""', "é日\u200d\u00a0x", "a\tb", "", " ", "# no", "\ttab "]
    text = rng.choice(["", "", "\ufeff", "# c\n", "\n\n", " "]) + "FROM m\n"
    for _ in range(rng.randint(1, 5)):
        word, value = rng.choice(words), rng.choice(values)
        if word.lower() == "parameter":
            value = rng.choice(["stop", "num_ctx", "x-y"]) + rng.choice([" ", "  ", "\n"]) + rng.choice(["4096", '"<|x|>"', "1 2"])
        elif word == "MESSAGE":
            value = rng.choice(["user", "assistant", "tool", "User"]) + rng.choice([" ", "\n"]) + value
        text += rng.choice(["", "  ", '# comment """ \n']) + word + rng.choice([" ", " ", "\t", ""]) + value
        text += rng.choice(["\n", "\n", "\r\n", "\n\n", ""])
    return text


def questions(options):
    rng = random.Random(options.seed)
    plain, prompts = Writer(rng, PLAIN), Writer(rng, PROMPT)
    for _ in range(options.n):
        yield {"template": plain.template(), "data": DATA}
        yield {"template": prompts.template(), "messages": rng.choice(CHATS), "tools": rng.choice([None, TOOLS, []]),
               "system": rng.choice(["", "Sys"]), "think": rng.choice([None, None, True, False])}
        yield {"modelfile": modelfile(rng)}
    for path in options.templates:
        text = open(path, newline="").read()
        for tools in (None, TOOLS):
            for chat in CHATS:
                for own, think in (("", None), ("Default system", None), ("", True), ("", False)):
                    yield {"template": text, "messages": chat, "tools": tools, "system": own, "think": think}
            for chat in OPENAI_CHATS:
                yield {"template": text, "openai": {"messages": chat, "tools": tools}}


def verdict(question, theirs, ours):
    their_error, our_error = theirs.get("error"), ours.get("error")
    if our_error is not None and ours["kind"] in (2, 3):
        return "refused by us"
    if (their_error is None) != (our_error is None):
        if their_error is None and b"\x1e\x1f" in b"\x1e" + bytes.fromhex(theirs["hex"]):
            return "a parameter without a name, which Ollama refuses later"
        return "DIFFERENT: one fails"
    if their_error is None or "data" in question:
        if theirs["hex"] != ours["hex"]:
            return "DIFFERENT: output"
    line = re.match(r"template: :(\d+)", their_error or "")
    if line and int(line.group(1)) != ours["line"]:
        return "DIFFERENT: line of the error"
    return "same" if their_error is None else "same failure"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("templates", nargs="*")
    options = parser.parse_args()
    asked = list(questions(options))
    lines = "".join(json.dumps(q) + "\n" for q in asked).encode()
    answers = [[json.loads(line) for line in subprocess.run([program], input=lines, stdout=subprocess.PIPE).stdout.splitlines()]
               for program in (options.oracle, options.ours)]
    assert len(answers[0]) == len(answers[1]) == len(asked), [len(a) for a in answers]
    counts = collections.Counter()
    for question, theirs, ours in zip(asked, *answers):
        found = verdict(question, theirs, ours)
        counts[found] += 1
        if found.startswith("DIFFERENT") and counts[found] <= 5:
            print(found, json.dumps(question)[:1500])
            for name, answer in (("  Go:  ", theirs), ("  ours:", ours)):
                print(name, answer.get("error"), answer.get("line", ""), repr(bytes.fromhex(answer["hex"]))[-300:])
    for found, n in counts.most_common():
        print("%7d %s" % (n, found))


if __name__ == "__main__":
    main()
