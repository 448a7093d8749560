"""The Python side of the bench of rendering; run in the venv that rendering.sh makes.

  render_peers.py requests                  the requests, a JSON object a line
  render_peers.py time REQUESTS MILLISECONDS TABLE TEXTS
                                            TABLE and TEXTS are bench_render's: each template renders
                                            the same request with jinja2, as transformers sets it up,
                                            and with minijinja; adds to each line whether the text is
                                            the same and both times in processor microseconds (0: the
                                            program refuses the template)
  render_peers.py sum TABLE                 medians and what differs, as lines of a shell script
"""
import json
import os
import statistics
import sys
import time

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
TURNS = [
    ("user", "What is the capital of France?"),
    ("assistant", "The capital of France is Paris."),
    ("user", "And how many people live there? Please give a number and the year of the count."),
    ("assistant", "About 2.1 million people lived in the city itself in 2023; with all that belongs "
                  "to it there are more than 10 million."),
    ("user", "Write a short poem about the river."),
]
BEGIN = ("system", "You are a helpful assistant. Answer in whole sentences.")
END = ("assistant", "It flows through stone and light.")
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def requests():
    # six messages each; the second for templates that refuse a system turn
    for turns, prompt in (([BEGIN] + TURNS, True), (TURNS + [END], False)):
        print(json.dumps({"messages": [{"role": role, "content": text} for role, text in turns],
                          "add_generation_prompt": prompt, "special_tokens": TOKENS}))


def least_time(render, budget):
    least = None
    for _ in range(3):
        begun, n, spent = time.process_time(), 0, 0
        while spent < budget:
            for _ in range(20):
                render()
            n += 20
            spent = time.process_time() - begun
        least = spent / n if least is None else min(least, spent / n)
    return least * 1e6


def variables_of(request):
    return dict(request["special_tokens"], messages=request["messages"], tools=None, documents=None,
                add_generation_prompt=request["add_generation_prompt"])


def jinja2_of(text, variables):
    from transformers.utils.chat_template_utils import _compile_jinja_template

    compiled = _compile_jinja_template(text)
    return lambda: compiled.render(**variables)


def minijinja_of(text, variables):
    import minijinja

    def raise_exception(message):
        raise ValueError(message)

    environment = minijinja.Environment(templates={"chat": text})
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.keep_trailing_newline = False
    environment.pycompat = True
    environment.add_function("raise_exception", raise_exception)
    environment.add_function("strftime_now", lambda form: time.strftime(form))
    return lambda: environment.render_template("chat", **variables)


def one(make, text, variables, budget):
    try:
        render = make(text, variables)
        return render(), least_time(render, budget)
    except Exception:  # a language that the program does not have, a text that it cannot make
        return None, 0


def time_all(requests_file, milliseconds, table, texts):
    with open(requests_file, encoding="utf-8") as f:
        variables = [variables_of(json.loads(line)) for line in f if line.strip()]
    with open(table, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    for i, (path, chosen, compiling, rendering) in enumerate(rows):
        if int(chosen) < 0:
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(texts, str(i)), encoding="utf-8", newline="") as f:
            ours = f.read()
        theirs, jinja2 = one(jinja2_of, text, variables[int(chosen)], float(milliseconds) / 1e3)
        other, mini = one(minijinja_of, text, variables[int(chosen)], float(milliseconds) / 1e3)
        print("\t".join([path, compiling, rendering, "same" if theirs == ours else "other",
                         "%.2f" % jinja2, "same" if other == ours else "other", "%.2f" % mini]))


def median(values):
    return statistics.median(values) if values else 0


def sum_up(table):
    with open(table, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    both = [(float(r[2]), float(r[4])) for r in rows if float(r[4]) > 0]
    mini = [(float(r[2]), float(r[6])) for r in rows if float(r[6]) > 0]
    print("templates=%d compile_us=%.0f compile_most_us=%.0f" % (
        len(rows), median([float(r[1]) for r in rows]), max(float(r[1]) for r in rows)))
    for name, pairs in (("jinja2", both), ("minijinja", mini)):
        print("%s_n=%d %s_ours=%.0f %s_theirs=%.0f %s_ratio=%.2f %s_least=%.2f" % (
            name, len(pairs), name, 1e6 / median([a for a, _ in pairs] or [1e6]),
            name, 1e6 / median([b for _, b in pairs] or [1e6]),
            name, median([b / a for a, b in pairs]), name, min([b / a for a, b in pairs] or [0])))
    # a template that prints the clock or that transformers' own version refuses is not told from others
    print("different=%d" % sum(r[3] != "same" for r in rows))


if __name__ == "__main__":
    {"requests": requests, "time": time_all, "sum": sum_up}[sys.argv[1]](*sys.argv[2:])
