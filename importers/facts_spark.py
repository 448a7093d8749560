#!/usr/bin/env python3
"""The facts form of a data set by Spark, next to the data.

    spark-submit --py-files facts_rows.py facts_spark.py \\
        --split train='hdfs:///data/train-*.parquet' --split test=hdfs:///data/test.jsonl -o hdfs:///facts
    python facts_spark.py --split train='train-*.jsonl' --split test=test.jsonl -o facts    (pip install pyspark)
    flatline check facts

Needs Spark 3.5 or newer, and numpy and xxhash on the workers. facts_rows.py has to stand beside this
file; it says what kinds of files are read. Rows stay with the workers: the driver gets counts, names,
bands that are crowded, and what may be the common text. Rows are numbered in their files' order,
whatever the partitions: Parquet by row_index, lines by the place of their block. JSON arrays and CSV are
read as whole files of 2 GB at most. Lines are taken as bytes and parsed by facts_rows.py: Spark's own
reader would infer what is not there.
"""
import os
import pickle
import posixpath
import re
import sys
import zlib
from urllib.parse import unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    from pyspark import StorageLevel
    from pyspark.sql import SparkSession, functions as F, types as T

    import facts_rows  # beside this file, or sent by --py-files
except ModuleNotFoundError as error:
    raise SystemExit("facts_spark.py: no module %s; pip install pyspark numpy xxhash, and facts_rows.py beside "
                     "this file" % error.name)

AT_ONCE = 2000
AT_ONCE_BYTES = 8 << 20
PART_BYTES = 64 << 20       # of texts that are looked at together

_long, _int, _text = T.LongType(), T.IntegerType(), T.StringType()
ROWS = T.StructType([
    T.StructField("split", _text), T.StructField("row", _long), T.StructField("exact", _long),
    T.StructField("input", _long), T.StructField("target", _long), T.StructField("n_words", _int),
    T.StructField("n_target_words", _int), T.StructField("n_shingles", _int),
    T.StructField("n_bytes", _int), T.StructField("n_tokens", _int), T.StructField("class", _text),
    T.StructField("opening", T.ArrayType(_long)), T.StructField("bands", T.ArrayType(_long)),
    T.StructField("groups", T.MapType(_text, _long)), T.StructField("flags", _int)])
TEXTS = T.StructType([T.StructField("split", _text), T.StructField("row", _long),
                      T.StructField("input", _text), T.StructField("target", _text)])


def signed(value):
    """The same bits: Spark has no unsigned numbers."""
    return value - (1 << 64) if value >> 63 else value


# ---- Files ----

class Storage:
    """What Hadoop knows of files: local ones, HDFS, S3 and so on."""

    def __init__(self, spark):
        self.jvm, self.conf = spark._jvm, spark._jsc.hadoopConfiguration()

    def path(self, name):
        return self.jvm.org.apache.hadoop.fs.Path(name)

    def of(self, path):
        return path.getFileSystem(self.conf)

    def glob(self, pattern):
        path = self.path(pattern)
        found = self.of(path).globStatus(path)
        return [status.getPath().toString() for status in found or ()]

    def names(self, folder):
        path = self.path(folder)
        return [status.getPath().getName() for status in self.of(path).listStatus(path)]

    def exists(self, name):
        path = self.path(name)
        return self.of(path).exists(path)

    def rename(self, source, target):
        path = self.path(source)
        if not self.of(path).rename(path, self.path(target)):
            raise SystemExit("facts_spark.py: %s: cannot be renamed" % source)

    def remove(self, name):
        path = self.path(name)
        self.of(path).delete(path, True)

    def head(self, name, n=65536):
        stream = self.of(self.path(name)).open(self.path(name))
        try:
            return bytes(stream.readNBytes(n))
        finally:
            stream.close()

    def write(self, name, text):
        stream = self.of(self.path(name)).create(self.path(name), False)
        try:
            stream.write(text.encode("utf-8"))
        finally:
            stream.close()


def base(path):
    return posixpath.basename(path)


def files_of(storage, patterns):
    out = []
    for pattern in patterns:
        found = storage.glob(pattern)
        if not found:
            raise SystemExit("facts_spark.py: %s: no such file" % pattern)
        out += found
    return sorted(set(out), key=lambda path: (base(path), path))


def is_whole(storage, path):
    """Is the file read as a whole?"""
    if facts_rows.is_whole(path):
        return True
    head = storage.head(path)
    if head.startswith(b"\x1f\x8b"):
        head = zlib.decompressobj(31).decompress(head, 65536)
    if not facts_rows.is_array(head) and re.search(r"\.json(\.gz)?$", path, re.I):
        for line in facts_rows.lines_of(head.split(b"\n")):
            if len(line) < 60000:
                facts_rows.check_lines(path, line)
            break
    return facts_rows.is_array(head)


# ---- Rows with their numbers: RDDs of (number in the split, item) ----

def numbered_lines(spark, paths, first):
    """Lines of files. A block of a file is read by one task, line after line; how many lines the blocks
    before it have is counted first."""
    lines = spark.read.text(paths, lineSep="\n").select(
        F.col("value").cast("binary"), F.col("_metadata.file_path"),
        F.col("_metadata.file_block_start")).rdd

    def blocks(rows):
        """(file, start, lines of the block)"""
        at, place = None, None
        for data, path, start in rows:
            if (path, start) != place:
                place, at = (path, start), 0
            data = bytes(data)
            if start == 0 and at == 0 and data.startswith(b"\xef\xbb\xbf"):
                data = data[3:]
            at += 1
            if data.strip(facts_rows.BLANKS.encode()):
                yield place, data

    def count(rows):
        counts = {}
        for place, _ in blocks(rows):
            counts[place] = counts.get(place, 0) + 1
        return counts.items()

    counts = dict(lines.mapPartitions(count).collect())
    order = {path: i for i, path in enumerate(paths)}
    starts = {}
    for place in sorted(counts, key=lambda place: (order[canonical(place[0], order)], place[1])):
        starts[place] = first
        first += counts[place]

    def number(rows):
        next_number = {}
        for place, data in blocks(rows):
            n = next_number.get(place, starts[place])
            next_number[place] = n + 1
            yield n, data

    return lines.mapPartitions(number), first


def canonical(path, known):
    """Spark writes file:///a where Hadoop writes file:/a, and % for what is not plain."""
    for name in (path, unquote(path)):
        for text in (name, re.sub(r"^file:/+", "file:/", name)):
            if text in known:
                return text
    raise SystemExit("facts_spark.py: %s: a file that was not asked for" % path)


def numbered_table(spark, paths, first):
    """Rows of Parquet files, one data frame a file: columns may differ."""
    parts = []
    for path in paths:
        frame = spark.read.parquet(path)
        n = frame.count()
        names = frame.columns
        begin = first

        def rows(part, names=names, begin=begin):
            for row in part:
                yield begin + row[0], {name: facts_rows.value_of(plain(row[i + 1]))
                                       for i, name in enumerate(names)}

        index = F.col("_metadata.row_index")
        parts.append(frame.select(index, *[F.col("`%s`" % name.replace("`", "``")) for name in names])
                     .rdd.mapPartitions(rows))
        first += n
    return parts, first


def plain(value):
    """Rows of Spark as dictionaries, all the way down."""
    if hasattr(value, "asDict"):
        return {name: plain(value[i]) for i, name in enumerate(value.__fields__)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def numbered_whole(spark, path, first):
    """Of a file that is read as a whole."""
    items = spark.read.format("binaryFile").load(path).select("content").rdd.flatMap(
        lambda row: facts_rows.rows_of_bytes(path, bytes(row[0])))
    n = items.count()
    return items.mapPartitions(lambda part: ((first + i, item) for i, item in enumerate(part))), first + n


def kind_of(storage, path):
    return "table" if facts_rows.is_table(path) else "whole" if is_whole(storage, path) else "lines"


def rows_of(spark, storage, files):
    """(RDD of (number, item), rows) of a split, its files one after the other."""
    parts, first, i = [], 0, 0
    kinds = [kind_of(storage, path) for path in files]
    while i < len(files):
        end = i + 1
        while end < len(files) and kinds[end] == kinds[i] != "whole":
            end += 1
        if kinds[i] == "lines":
            part, first = numbered_lines(spark, files[i:end], first)
            parts.append(part)
        elif kinds[i] == "table":
            more, first = numbered_table(spark, files[i:end], first)
            parts += more
        else:
            part, first = numbered_whole(spark, files[i], first)
            parts.append(part)
        i = end
    return (parts[0] if len(parts) == 1 else spark.sparkContext.union(parts)), first


# ---- Common text ----

def ways_of(rows):
    """The ways of a partition, part by part."""
    def ways(items):
        texts, n_bytes = [], 0
        for _, item in items:
            text = facts_rows.text_of(item)
            if text is None:
                continue
            texts.append(text)
            n_bytes += len(text)
            if n_bytes >= PART_BYTES:
                yield facts_rows.common_ways(texts)
                texts, n_bytes = [], 0
        if texts:
            yield facts_rows.common_ways(texts)

    fronts, backs, n_rows = {}, {}, 0
    for front, back, n in rows.mapPartitions(ways).toLocalIterator():
        fronts.update((tuple(way), 0) for way in front)
        backs.update((tuple(way), 0) for way in back)
        n_rows += n
    return fronts, backs, n_rows


def counts_of(rows, trie, prefix):
    def count(items):
        texts = (facts_rows.text_of(item) for _, item in items)
        yield trie.count(facts_rows.strip_front(text, prefix) for text in texts if text is not None)

    return rows.mapPartitions(count).treeReduce(lambda a, b: [x + y for x, y in zip(a, b)])


def find_common(rows):
    fronts, backs, n_rows = ways_of(rows)
    prefix, suffix = [], []
    if fronts:
        trie = facts_rows.Trie(fronts, False)
        prefix = trie.choose(counts_of(rows, trie, ""), n_rows)
    if backs:
        trie = facts_rows.Trie(backs, True)
        suffix = trie.choose(counts_of(rows, trie, " ".join(prefix)), n_rows)
    return prefix, suffix


# ---- Rows ----

def facts_of(rows, name, facts):
    """(row of the form, line) of each row, and the names of its columns: an RDD of
    (made, line, columns, group columns)."""
    def pieces(items):
        part, n_bytes = [], 0
        for number, item in items:
            if part and (number != part[-1][0] + 1 or len(part) == AT_ONCE or n_bytes >= AT_ONCE_BYTES):
                yield part
                part, n_bytes = [], 0
            part.append((number, item))
            n_bytes += len(item) if isinstance(item, (bytes, bytearray)) else 1000
        if part:
            yield part

    def make(items):
        for part in pieces(items):
            yield facts.of(name, part[0][0], [item for _, item in part])

    return rows.mapPartitions(make)


def as_row(made):
    return tuple([made[name] if name not in ("exact", "input", "target") else signed(made[name])
                  for name in facts_rows.ROW[:11]] +
                 [[signed(h) for h in made["opening"]],
                  None if made["bands"] is None else [signed(h) for h in made["bands"]],
                  {key: signed(h) for key, h in made["groups"].items()}, made["flags"]])


def names_of(pieces):
    """(columns, group columns)"""
    def names(parts):
        columns, groups = set(), set()
        for _, more_columns, more_groups in parts:
            columns = set(facts_rows.first_names(columns | more_columns))
            groups = set(facts_rows.first_names(groups | more_groups))
        yield columns, groups

    def join(a, b):
        return (set(facts_rows.first_names(a[0] | b[0])), set(facts_rows.first_names(a[1] | b[1])))

    return pieces.mapPartitions(names).treeReduce(join)


def save(storage, frame, folder, stem, file_format):
    """Spark's part files, called as the form calls them."""
    made = "%s/%s" % (folder, stem)
    if file_format == "parquet":
        frame.write.parquet(made, compression="zstd")
    else:
        frame.write.text(made, lineSep="\n")
    parts = sorted(name for name in storage.names(made) if name.startswith("part-"))
    for i, name in enumerate(parts):
        storage.rename("%s/%s" % (made, name), "%s/%s-%05d.%s" % (folder, stem, i, file_format))
    storage.remove(made)
    if not parts and file_format == "jsonl":
        storage.write("%s/%s-00000.jsonl" % (folder, stem), "")


def save_rows(spark, storage, pieces, folder, file_format):
    if file_format == "parquet":
        frame = spark.createDataFrame(pieces.flatMap(lambda part: map(as_row, part[0])), ROWS)
    else:
        frame = spark.createDataFrame(pieces.flatMap(
            lambda part: ((facts_rows.row_line(made),) for made in part[0])), "value string")
    save(storage, frame, folder, "rows", file_format)


# ---- Candidates ----

def find_candidates(rows):
    """(frame of split and row, crowded bands) of the rows of the form."""
    exploded = rows.where(F.col("bands").isNotNull()).select(
        "split", "row", F.posexplode("bands").alias("band", "hash"))
    shared = exploded.groupBy("band", "hash").agg(
        F.count("*").alias("n"), (F.min("split") != F.max("split")).alias("spans")) \
        .where((F.col("n") > facts_rows.CROWD) | F.col("spans")).persist(StorageLevel.MEMORY_AND_DISK)
    crowded = [(row[0], row[1] % (1 << 64), row[2]) for row in shared.where(
        F.col("n") > facts_rows.CROWD).select("band", "hash", "n").collect()]
    near = exploded.join(shared.where((F.col("n") <= facts_rows.CROWD) & F.col("spans")),
                         ["band", "hash"], "left_semi").select("split", "row")
    inputs = rows.where(F.col("n_words") > 0).select("split", "row", "input", "target")
    several = inputs.groupBy("input").agg((F.min("target") != F.max("target")).alias("several")) \
        .where("several")
    return near.union(inputs.join(several, "input", "left_semi").select("split", "row")).distinct(), crowded


def save_candidates(spark, storage, texts, chosen, names, folder, file_format):
    """In the order of the splits."""
    place = F.lit(0)
    for i, name in enumerate(names):
        place = F.when(F.col("split") == name, i).otherwise(place)
    kept = texts.join(chosen, ["split", "row"], "left_semi").orderBy(place, "row").rdd
    if file_format == "parquet":
        frame = spark.createDataFrame(kept.map(
            lambda row: (row[0], row[1]) + facts_rows.candidate_texts(unpacked(row[2]))), TEXTS)
    else:
        frame = spark.createDataFrame(kept.map(
            lambda row: (facts_rows.candidate_line(row[0], row[1], unpacked(row[2])),)), "value string")
    save(storage, frame, folder, "candidates", file_format)


def packed(item):
    """A row as bytes, that it may be joined: lines as they are, objects by their kind of value."""
    return bytearray(b"l" + item) if isinstance(item, (bytes, bytearray)) else \
        bytearray(b"p" + pickle.dumps(item))


def unpacked(data):
    data = bytes(data)
    return data[1:] if data[:1] == b"l" else pickle.loads(data[1:])


# ---- All ----

def make(spark, options, splits, folder):
    storage = Storage(spark)
    found = [(name, files_of(storage, patterns)) for name, patterns in splits]
    numbered = [(name, files) + rows_of(spark, storage, files) for name, files in found]
    prefix, suffix = [], []
    for name, _, rows, n in numbered:
        if name == "train" and n:
            prefix, suffix = find_common(rows)
    facts = facts_rows.Facts(prefix, suffix)
    pieces = spark.sparkContext.union([facts_of(rows, name, facts) for name, _, rows, _ in numbered])
    pieces = pieces.persist(StorageLevel.MEMORY_AND_DISK)
    columns, groups = names_of(pieces)
    save_rows(spark, storage, pieces, folder, options.format)
    rows = spark.createDataFrame(pieces.flatMap(lambda part: (
        (made["split"], made["row"], made["n_words"], signed(made["input"]), signed(made["target"]),
         None if made["bands"] is None else [signed(h) for h in made["bands"]]) for made in part[0])),
        "split string, row long, n_words int, input long, target long, bands array<long>")
    chosen, crowded = find_candidates(rows)
    chosen = chosen.persist(StorageLevel.MEMORY_AND_DISK)
    texts = spark.createDataFrame(spark.sparkContext.union([
        rows.map(lambda row, name=name: (name, row[0], packed(row[1]))) for name, _, rows, _ in numbered]),
        "split string, row long, data binary")
    save_candidates(spark, storage, texts, chosen, [name for name, _ in splits], folder, options.format)
    heads = [(name, n, [base(path) for path in files]) for name, files, _, n in numbered]
    storage.write(folder + "/facts.json", facts_rows.head(
        "facts_spark.py", heads, prefix, suffix, columns, groups, crowded))
    return sum(n for _, _, _, n in numbered), chosen.count()


def session():
    """Without checksum files beside local ones; on one machine 200 parts of a join are too many."""
    spark = SparkSession.builder.appName("flatline facts") \
        .config("spark.hadoop.fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem").getOrCreate()
    context = spark.sparkContext
    if context.master.startswith("local") and not context.getConf().contains("spark.sql.shuffle.partitions"):
        spark.conf.set("spark.sql.shuffle.partitions", 4 * context.defaultParallelism)
    if os.path.isfile(facts_rows.__file__): # the workers' folder is another one
        context.addPyFile(os.path.abspath(facts_rows.__file__))
    return spark


def main():
    options, splits = facts_rows.arguments("facts_spark.py", __doc__)
    spark = session()
    storage = Storage(spark)
    path = options.output.rstrip("/")
    made = path + ".partial"
    if storage.exists(path) and storage.names(path):
        raise SystemExit("facts_spark.py: %s: is there already; expected a new folder" % path)
    storage.remove(made)
    n_rows, n_candidates = make(spark, options, splits, made)
    if storage.exists(path):
        storage.remove(path)
    storage.rename(made, path)
    print(facts_rows.summary(path, n_rows, n_candidates))
    spark.stop()


if __name__ == "__main__":
    main()
