#!/usr/bin/env python3
"""Makes git repositories of random history and compares flatline's list of one file's commits with git's.

    git_history.py BENCH FOLDER [--commits N] [--seeds N]

BENCH is the program of tests/bench/bench_history.c. For every seed a repository is made with `git
fast-import` (branches, merges, renames, copies, edits, deletions, mode changes), then asked: as it is,
packed, and as a shallow clone. The answers must be the same lists in the same order. Exit 1 at a difference.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys

ENV = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", TZ="UTC", LC_ALL="C")
KEYS = ["learning_rate", "num_train_epochs", "lora_r", "lora_alpha", "seed", "packing", "max_length",
        "warmup_steps", "per_device_train_batch_size", "logging_steps", "bf16", "output_dir"]


class Maker:
    """Writes a fast-import stream."""

    def __init__(self, out, rng):
        self.out, self.rng, self.mark, self.time = out, rng, 0, 1600000000
        self.names = 0

    def text(self, config):
        return "".join(f"{k}: {v}\n" for k, v in config.items())

    def config(self):
        return {k: self.rng.randrange(100000) for k in KEYS}

    def put(self, path, text, mode="100644"):
        data = text.encode()
        self.out.write(f"M {mode} inline {path}\ndata {len(data)}\n".encode() + data + b"\n")

    def commit(self, branch, parents, subject, changes):
        self.mark += 1
        self.time += self.rng.choice([0, 1, 60, 3600, -1800])
        out = self.out
        out.write(f"commit refs/heads/{branch}\nmark :{self.mark}\n"
                  f"author Dev <dev@example.com> {self.time} +0100\n"
                  f"committer Dev <dev@example.com> {self.time} +0000\n"
                  f"data {len(subject)}\n{subject}\n".encode())
        if parents:
            out.write(f"from :{parents[0]}\n".encode())
        for p in parents[1:]:
            out.write(f"merge :{p}\n".encode())
        changes()
        out.write(b"\n")
        return self.mark


class State:
    def __init__(self, mark, files, config, path):
        self.mark, self.files, self.config, self.path = mark, dict(files), dict(config), path


def step(m, s, branch, linear):
    rng = m.rng
    what = rng.random()
    files = s.files

    def changes():
        nonlocal what
        if what < 0.45 and s.path in files:
            k = rng.choice(KEYS)
            s.config[k] = rng.randrange(100000)
            files[s.path] = m.text(s.config)
            m.put(s.path, files[s.path])
        elif what < 0.47 and s.path in files:
            m.names += 1
            new = rng.choice([f"configs/run{m.names}.yaml", f"old/{m.names}/train.yaml",
                              f"train{m.names}.yaml"])
            text = files.pop(s.path)
            if rng.random() < 0.5:
                s.config[rng.choice(KEYS)] = rng.randrange(100000)
                text = m.text(s.config)
            m.out.write(f"D {s.path}\n".encode())
            m.put(new, text)
            files[new] = text
            s.path = new
        elif what < 0.48 and s.path in files:
            m.names += 1
            new = f"copies/c{m.names}.yaml"
            files[new] = files[s.path]
            m.put(new, files[new])
            if rng.random() < 0.5:
                s.path = new
        elif what < 0.485 and s.path in files and len(files) > 3:
            m.out.write(f"D {s.path}\n".encode())
            del files[s.path]
        elif what < 0.50 and s.path not in files:
            files[s.path] = m.text(s.config)
            m.put(s.path, files[s.path])
        elif what < 0.51 and s.path in files:
            m.put(s.path, files[s.path], "100755")
        else:
            name = f"src/f{rng.randrange(12)}.py"
            files[name] = f"x = {rng.randrange(10**9)}\n" * rng.randrange(1, 30)
            m.put(name, files[name])

    s.mark = m.commit(branch, [s.mark] if s.mark else [], f"change {m.mark}", changes)


def make(folder, seed, n_commits, linear):
    rng = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True, env=ENV)
    fast = subprocess.Popen(["git", "-C", folder, "fast-import", "--quiet", "--force"],
                            stdin=subprocess.PIPE, env=ENV)
    m = Maker(fast.stdin, rng)
    config = m.config()
    s = State(0, {}, config, "configs/sft.yaml")

    def first():
        for name, text in (("configs/sft.yaml", m.text(config)), ("README.md", "hello\n"),
                           ("src/f0.py", "x = 0\n")):
            s.files[name] = text
            m.put(name, text)
    s.mark = m.commit("main", [], "first config", first)
    while m.mark < n_commits:
        if not linear and rng.random() < 0.06:
            side = State(s.mark, s.files, s.config, s.path)
            for _ in range(rng.randrange(1, 6)):
                step(m, side, "side", linear)
            for _ in range(rng.randrange(0, 4)):
                step(m, s, "main", linear)
            take = rng.random() < 0.5

            def merged():
                if not take:
                    return
                for p in list(s.files):
                    if p not in side.files:
                        m.out.write(f"D {p}\n".encode())
                for p, text in side.files.items():
                    m.put(p, text)
                s.files, s.config, s.path = dict(side.files), dict(side.config), side.path
            s.mark = m.commit("main", [s.mark, side.mark], "Merge branch 'side'", merged)
        else:
            step(m, s, "main", linear)
    fast.stdin.close()
    if fast.wait():
        sys.exit("git fast-import failed")
    subprocess.run(["git", "-C", folder, "symbolic-ref", "HEAD", "refs/heads/main"], check=True, env=ENV)
    return s.path


def git_list(folder, path):
    """One line a commit: hash, then git's own raw line (modes, blobs, status, similarity, paths)."""
    out = subprocess.run(["git", "-C", folder, "log", "--follow", "--raw", "--no-abbrev", "--format=%H", "--",
                          path], env=ENV, capture_output=True, text=True, check=True).stdout
    lines = [line for line in out.splitlines() if line]
    return [f"{a} {b}" for a, b in zip(lines[::2], lines[1::2])]


def our_list(bench, folder, path):
    done = subprocess.run([bench, folder, path, "--list"], capture_output=True, text=True)
    return [done.stderr.strip()] if done.returncode else done.stdout.splitlines()


def compare(bench, folder, path, what):
    theirs, ours = git_list(folder, path), our_list(bench, folder, path)
    if theirs == ours:
        return True
    at = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
    print(f"{what} {path}: git has {len(theirs)}, we have {len(ours)}; the first difference is at {at}: "
          f"{theirs[at:at + 1]} and {ours[at:at + 1]}")
    return False


def main():
    p = argparse.ArgumentParser()
    p.add_argument("bench")
    p.add_argument("folder")
    p.add_argument("--commits", type=int, default=300)
    p.add_argument("--seeds", type=int, default=10)
    p.add_argument("--keep", action="store_true")
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    n_good = n = 0
    for seed in range(a.seeds):
        folder = os.path.join(a.folder, f"r{seed}")
        make(folder, seed, a.commits, linear=seed % 3 == 0)
        paths = subprocess.run(["git", "-C", folder, "ls-tree", "-r", "--name-only", "HEAD"], env=ENV,
                               capture_output=True, text=True, check=True).stdout.split()
        configs = [x for x in paths if x.endswith(".yaml")] + paths[:2]
        for path in configs:
            n += 1
            n_good += compare(a.bench, folder, path, f"seed {seed}")
        subprocess.run(["git", "-C", folder, "gc", "-q"], check=True, env=ENV)
        for path in configs:
            n += 1
            n_good += compare(a.bench, folder, path, f"seed {seed} packed")
        shallow = folder + "-shallow"
        shutil.rmtree(shallow, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", "--depth", "40", "file://" + os.path.abspath(folder), shallow],
                       check=True, env=ENV)
        for path in configs:
            n += 1
            n_good += compare(a.bench, shallow, path, f"seed {seed} shallow")
        if not a.keep:
            shutil.rmtree(folder)
            shutil.rmtree(shallow)
    print(f"{n_good} of {n} lists are git's")
    return 0 if n == n_good else 1


if __name__ == "__main__":
    sys.exit(main())
