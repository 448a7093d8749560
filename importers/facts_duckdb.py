#!/usr/bin/env python3
"""The facts form of a data set by DuckDB, next to the data.

    pip install duckdb numpy xxhash
    python facts_duckdb.py --split train='data/train-*.parquet' --split test=data/test.jsonl -o facts
    flatline check facts

facts_rows.py has to stand beside this file; it says what kinds of files are read. The rows' facts are
computed in processes (--processes, as many as the machine has), DuckDB reads Parquet, also by its own
addresses (s3://..., hf://...), and finds the rows that share a band or an input; what does not fit
--memory goes to disk, below the folder that is written. JSON lines, arrays and CSV are local files.
"""
import glob
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

try:
    import duckdb

    import facts_rows
except ModuleNotFoundError as error:
    raise SystemExit("facts_duckdb.py: no module %s; pip install duckdb numpy xxhash, and facts_rows.py beside "
                     "this file" % error.name)

AT_ONCE = 2000              # rows of one piece of work
AT_ONCE_BYTES = 8 << 20
FILE_ROWS = 1000000

COLUMNS = {"split": "VARCHAR", "row": "BIGINT", "exact": "UBIGINT", "input": "UBIGINT",
           "target": "UBIGINT", "n_words": "INTEGER", "n_target_words": "INTEGER",
           "n_shingles": "INTEGER", "n_bytes": "INTEGER", "n_tokens": "INTEGER", "class": "VARCHAR",
           "opening": "UBIGINT[]", "bands": "UBIGINT[]", "groups": "MAP(VARCHAR, UBIGINT)",
           "flags": "INTEGER"}


# ---- The rows of the files ----

def files_of(connection, patterns):
    """Sorted by name; addresses that are not local are DuckDB's."""
    out = []
    for pattern in patterns:
        if "://" in pattern:
            found = [row[0] for row in connection.execute("SELECT file FROM glob(?)", [pattern]).fetchall()]
        else:
            found = [path for path in glob.glob(pattern) or [pattern] if os.path.exists(path)]
        if not found:
            raise SystemExit("facts_duckdb.py: %s: no such file" % pattern)
        out += found
    return sorted(set(out), key=lambda path: (path.rpartition("/")[2], path))


def table_rows(path):
    """Of a Parquet file, in its order."""
    with duckdb.connect() as connection:
        rows = connection.execute("SELECT * FROM read_parquet(?, hive_partitioning = false)", [path])
        names = [column[0] for column in rows.description]
        while True:
            part = rows.fetchmany(AT_ONCE)
            if not part:
                return
            for row in part:
                yield {name: facts_rows.value_of(value) for name, value in zip(names, row)}


def rows_of(path):
    if facts_rows.is_table(path):
        return table_rows(path)
    if "://" in path:
        raise SystemExit("facts_duckdb.py: %s: only Parquet is read from there" % path)
    return facts_rows.rows_of_file(path)


def pieces_of(files):
    """Lists of rows, bounded by number and by size."""
    part, n_bytes = [], 0
    for path in files:
        for item in rows_of(path):
            part.append(item)
            n_bytes += len(item) if isinstance(item, bytes) else 1000
            if len(part) == AT_ONCE or n_bytes >= AT_ONCE_BYTES:
                yield part
                part, n_bytes = [], 0
    if part:
        yield part


def say(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


# ---- Work of the processes ----

def work_ways(items):
    return facts_rows.common_ways([facts_rows.text_of(item) for item in items])


def work_count(trie, prefix, items):
    texts = (facts_rows.text_of(item) for item in items)
    return trie.count(facts_rows.strip_front(text, prefix) for text in texts if text is not None)


def work_rows(facts, split, first, items):
    rows, columns, groups = facts.of(split, first, items)
    lines = "".join(facts_rows.row_line(row) + "\n" for row in rows)
    return len(rows), lines.encode("utf-8"), columns, groups


class Processes:
    """Results in order, with few pieces on their way."""

    def __init__(self, n):
        self.n = n
        self.pool = ProcessPoolExecutor(n, mp_context=multiprocessing.get_context("spawn"))

    def map(self, function, calls):
        waiting = []
        for call in calls:
            waiting.append(self.pool.submit(function, *call))
            if len(waiting) > 3 * self.n:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


# ---- Common text ----

def count_ways(processes, files, trie, prefix):
    total = [0] * trie.n
    for counts in processes.map(work_count, ((trie, prefix, part) for part in pieces_of(files))):
        total = [a + b for a, b in zip(total, counts)]
    return total


def find_common(processes, files):
    """(prefix, suffix), lists of words."""
    prefixes, suffixes, n_rows = {}, {}, 0
    for front, back, n in processes.map(work_ways, ((part,) for part in pieces_of(files))):
        prefixes.update((tuple(way), 0) for way in front)
        suffixes.update((tuple(way), 0) for way in back)
        n_rows += n
        say("looking for common text, row %d " % n_rows)
    prefix, suffix = [], []
    if prefixes:
        trie = facts_rows.Trie(prefixes, False)
        prefix = trie.choose(count_ways(processes, files, trie, ""), n_rows)
    if suffixes:
        trie = facts_rows.Trie(suffixes, True)
        suffix = trie.choose(count_ways(processes, files, trie, " ".join(prefix)), n_rows)
    return prefix, suffix


# ---- Rows ----

class Lines:
    """Numbered files of lines."""

    def __init__(self, folder, stem):
        self.folder, self.stem, self.n, self.file, self.n_files = folder, stem, 0, None, 0

    def put(self, data, n):
        if self.file is None or self.n >= FILE_ROWS:
            self.close()
            self.file = open("%s/%s-%05d.jsonl" % (self.folder, self.stem, self.n_files), "wb")
            self.n_files, self.n = self.n_files + 1, 0
        self.file.write(data)
        self.n += n

    def close(self):
        if self.file:
            self.file.close()


def write_rows(processes, splits, facts, folder):
    """([(split, rows, files)], columns, group columns)"""
    out, columns, groups, lines = [], set(), set(), Lines(folder, "rows")
    for name, files in splits:
        n_rows = 0

        def calls():
            first = 0
            for part in pieces_of(files):
                yield facts, name, first, part
                first += len(part)

        for n, data, more_columns, more_groups in processes.map(work_rows, calls()):
            lines.put(data, n)
            columns = set(facts_rows.first_names(columns | more_columns))
            groups = set(facts_rows.first_names(groups | more_groups))
            n_rows += n
            say("%s: row %d " % (name, n_rows))
        out.append((name, n_rows, [path.rpartition("/")[2] for path in files]))
    lines.put(b"", 0)
    lines.close()
    return out, columns, groups


# ---- Candidates ----

def rows_table(folder):
    columns = ", ".join("'%s': '%s'" % item for item in COLUMNS.items())
    return "read_json('%s/rows-*.jsonl', format = 'newline_delimited', columns = {%s})" % (
        folder.replace("'", "''"), columns)


def find_candidates(connection, folder):
    """Fills `chosen` (split, row); the crowded bands."""
    rows = rows_table(folder)
    connection.execute("CREATE TABLE ids (split VARCHAR, row BIGINT)")
    crowded = []
    for band in range(facts_rows.BANDS):
        say("comparing rows, band %d of %d " % (band + 1, facts_rows.BANDS))
        connection.execute("CREATE OR REPLACE TABLE band AS SELECT split, row, bands[%d] AS hash FROM %s "
                           "WHERE bands IS NOT NULL" % (band + 1, "rows"))
        connection.execute(
            "CREATE OR REPLACE TABLE shared AS SELECT hash, count(*) AS n, min(split) <> max(split) AS spans "
            "FROM band GROUP BY hash HAVING n > ? OR spans", [facts_rows.CROWD])
        crowded += [(band, h, n) for h, n in connection.execute(
            "SELECT hash, n FROM shared WHERE n > ?", [facts_rows.CROWD]).fetchall()]
        connection.execute("INSERT INTO ids SELECT split, row FROM band SEMI JOIN "
                           "(SELECT hash FROM shared WHERE n <= ? AND spans) USING (hash)",
                           [facts_rows.CROWD])
    connection.execute("INSERT INTO ids SELECT split, row FROM rows WHERE n_words > 0 AND input IN "
                       "(SELECT input FROM rows WHERE n_words > 0 GROUP BY input "
                       "HAVING min(target) <> max(target))")
    connection.execute("CREATE TABLE chosen AS SELECT DISTINCT split, row FROM ids")
    return crowded


def load_rows(connection, folder):
    connection.execute("CREATE TABLE rows AS SELECT split, row, n_words, input, target, bands FROM %s"
                       % rows_table(folder))


def write_candidates(connection, splits, folder):
    lines = Lines(folder, "candidates")
    for name, files in splits:
        wanted = connection.cursor().execute("SELECT row FROM chosen WHERE split = ? ORDER BY row", [name])
        wanted_rows = iter(lambda: wanted.fetchone(), None)
        next_row = next(wanted_rows, None)
        items = itertools.chain.from_iterable(pieces_of(files)) if next_row else ()
        for number, item in enumerate(items):
            if number == next_row[0]:
                lines.put((facts_rows.candidate_line(name, number, item) + "\n").encode("utf-8"), 1)
                next_row = next(wanted_rows, None)
                if next_row is None:
                    break
        if next_row is not None:
            raise SystemExit("facts_duckdb.py: the data changed while it was read")
    lines.put(b"", 0)
    lines.close()


# ---- Parquet ----

def to_parquet(connection, made, folder):
    """The files of lines as Parquet, one each."""
    kinds = {"rows": COLUMNS,
             "candidates": {"split": "VARCHAR", "row": "BIGINT", "input": "VARCHAR", "target": "VARCHAR"}}
    for name in sorted(os.listdir(made)):
        stem = name.rpartition(".")[0]
        columns = ", ".join("'%s': '%s'" % item for item in kinds[stem.rpartition("-")[0]].items())
        connection.execute(
            "COPY (SELECT * FROM read_json('%s/%s', format = 'newline_delimited', columns = {%s}, "
            "maximum_object_size = 1000000000)) TO '%s/%s.parquet' (FORMAT parquet, COMPRESSION zstd)"
            % (made.replace("'", "''"), name, columns, folder.replace("'", "''"), stem))


# ---- All ----

def place_for(path):
    """A folder beside the one that is asked for; it gets its name when it is whole."""
    path = path.rstrip("/") or "/"
    if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise SystemExit("facts_duckdb.py: %s: is there already; expected a new folder" % path)
    return path, tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path) or ".")


def make(options, splits, work):
    made, written = os.path.join(work, "lines"), os.path.join(work, "facts")
    os.mkdir(made)
    connection = duckdb.connect(os.path.join(work, "rows.duckdb"))
    if options.memory:
        connection.execute("SET memory_limit = '%s'" % options.memory.replace("'", ""))
    splits = [(name, files_of(connection, patterns)) for name, patterns in splits]
    processes = Processes(options.processes)
    training = [path for name, files in splits if name == "train" for path in files]
    prefix, suffix = find_common(processes, training)
    heads, columns, groups = write_rows(processes, splits, facts_rows.Facts(prefix, suffix), made)
    processes.pool.shutdown()
    load_rows(connection, made)
    crowded = find_candidates(connection, made)
    write_candidates(connection, splits, made)
    with open(os.path.join(work, "facts.json"), "w", encoding="utf-8") as out:
        out.write(facts_rows.head("facts_duckdb.py", heads, prefix, suffix, columns, groups, crowded))
    if options.format == "parquet":
        os.mkdir(written)
        to_parquet(connection, made, written)
        made = written
    n = connection.execute("SELECT count(*) FROM chosen").fetchone()[0]
    connection.close()
    os.rename(os.path.join(work, "facts.json"), os.path.join(made, "facts.json"))
    return made, sum(head[1] for head in heads), n


def more_arguments(parser):
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="that compute the rows' facts (%(default)s)")
    parser.add_argument("--memory", metavar="SIZE", help="DuckDB's, for example 8GB")


def main():
    options, splits = facts_rows.arguments("facts_duckdb.py", __doc__, more_arguments)
    path, work = place_for(options.output)
    try:
        made, n_rows, n_candidates = make(options, splits, work)
        if os.path.isdir(path):
            os.rmdir(path)
        os.chmod(made, 0o755)
        os.rename(made, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        say("")
    print(facts_rows.summary(path, n_rows, n_candidates))


if __name__ == "__main__":
    main()
