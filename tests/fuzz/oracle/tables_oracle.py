#!/usr/bin/env python3
"""Random tables (types x nulls x encodings x codecs x page versions x row groups), written by pyarrow as
Parquet and Arrow, read back by bench_table and compared with pyarrow value by value. Needs pyarrow from
PyPI; run by hand, never by make test:

    make build/asan/tests/bench/bench_table
    tables_oracle.py build/asan/tests/bench/bench_table [SEED [COUNT]]

Prints each difference with the seed that gives it, and a summary.
"""
import json, os, random, subprocess, sys, tempfile

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from tables_values import expected_rows

WORDS = ["", "a", "é", "日本語", "hello world", "\u0000nul", "quote\"back\\slash", "line\nend", "👍🏽", "x" * 300]


def scalar_types(rng):
    return rng.choice([
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.binary(),
        pa.large_binary(), pa.binary(rng.randint(1, 20)), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"),
        pa.time64("us"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"),
        pa.timestamp("ns"), pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="Europe/Berlin"),
        pa.decimal128(rng.randint(1, 15), 3 if rng.random() < .5 else 0) if rng.random() < .5 else pa.decimal128(rng.randint(16, 38), rng.randint(0, 16)),
        pa.decimal256(rng.randint(39, 76), rng.randint(0, 38)), pa.null(), pa.string_view(), pa.binary_view(),
        pa.string(), pa.string(), pa.int64(), pa.float64(),
    ])


def some_type(rng, depth, is_arrow):
    r = rng.random()
    if depth < 4 and r < .35:
        k = rng.random()
        inner = some_type(rng, depth + 1, is_arrow)
        if k < .3:
            return pa.list_(inner)
        if k < .4:
            return pa.large_list(inner)
        if k < .5 and not pa.types.is_null(inner):
            return pa.list_(inner, rng.randint(1, 3))
        if k < .6:
            return pa.map_(pa.string() if rng.random() < .7 else pa.int32(), inner)
        return pa.struct([pa.field("f%d" % i, inner if i == 0 else some_type(rng, depth + 1, is_arrow),
                                   nullable=rng.random() < .8) for i in range(rng.randint(1, 3))])
    t = scalar_types(rng)
    if r > .9 and (pa.types.is_string(t) or pa.types.is_integer(t)):
        return pa.dictionary(rng.choice([pa.int8(), pa.int32(), pa.uint16()]), t)
    return t


def number(rng, t):
    bits = t.bit_width
    low, high = (0, 2 ** bits - 1) if pa.types.is_unsigned_integer(t) else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
    k = rng.random()
    if k < .2:
        return rng.choice([low, high, 0, 1 if high else 0])
    return rng.randint(low, high) if k < .5 else rng.randint(max(low, -100), min(high, 100))


def value(rng, t, nullable, few):
    if nullable and rng.random() < rng.few_nulls:
        return None
    T = pa.types
    if T.is_null(t):
        return None
    if T.is_dictionary(t):
        return value(rng, t.value_type, False, True)
    if T.is_integer(t):
        return rng.randint(0, 5) if few else number(rng, t)
    if T.is_boolean(t):
        return rng.random() < .5
    if T.is_floating(t):
        return rng.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 0.1, rng.gauss(0, 100)])
    if T.is_string(t) or T.is_large_string(t) or T.is_string_view(t):
        return rng.choice(WORDS) + ("" if few else str(rng.randint(0, 10 ** 6)) * rng.randint(0, 3))
    if T.is_fixed_size_binary(t):
        return rng.randbytes(t.byte_width)
    if T.is_binary(t) or T.is_large_binary(t) or T.is_binary_view(t):
        return rng.randbytes(rng.randint(0, 20))
    if T.is_decimal(t):
        import decimal
        n = rng.randint(-10 ** t.precision + 1, 10 ** t.precision - 1)
        with decimal.localcontext(decimal.Context(prec=80)):
            return decimal.Decimal(n).scaleb(-t.scale)
    if T.is_date(t):
        n = rng.randint(-100000, 100000)
        return n if T.is_date32(t) else n * 86400000
    if T.is_time(t):
        return rng.randint(0, 86399) * {"s": 1, "ms": 1000, "us": 10 ** 6, "ns": 10 ** 9}[t.unit] + (rng.randint(0, 999) if t.unit != "s" else 0)
    if T.is_timestamp(t):
        scale = {"s": 1, "ms": 1000, "us": 10 ** 6, "ns": 10 ** 9}[t.unit]
        return rng.randint(-9 * 10 ** 9, 9 * 10 ** 9) * scale + rng.randint(0, scale - 1)
    if T.is_fixed_size_list(t):
        return [value(rng, t.value_type, True, few) for _ in range(t.list_size)]
    if T.is_map(t):
        keys = {("k%d" % rng.randint(0, 9)) if T.is_string(t.key_type) else rng.randint(0, 9) for _ in range(rng.randint(0, 3))}
        return [(k, value(rng, t.item_type, True, few)) for k in sorted(keys)]
    if T.is_list(t) or T.is_large_list(t):
        return [value(rng, t.value_type, True, few) for _ in range(rng.choice([0, 1, 2, 3, 7]))]
    if T.is_struct(t):
        return {f.name: value(rng, f.type, f.nullable, few) for f in t}
    raise SystemExit("no value of %s" % t)


def some_table(rng, is_arrow):
    n = rng.choice([0, 1, 5, 100, 600, 1500])
    fields, arrays = [], []
    for i in range(rng.randint(1, 5)):
        t = some_type(rng, 0, is_arrow)
        nullable = rng.random() < .8
        rng.few_nulls = rng.choice([0, .1, .9])
        few = rng.random() < .4
        values = [value(rng, t, nullable, few) for _ in range(n)]
        fields.append(pa.field("c%d" % i, t, nullable=nullable or pa.types.is_null(t)))
        arrays.append(pa.array(values, type=t))
    return pa.table(arrays, schema=pa.schema(fields))


ENCODINGS = {
    "int": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "float": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "bytes": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "fixed": ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"],
    "bool": ["PLAIN", "RLE"],
}


def leaves(schema):
    """Path and physical kind of each leaf, as the Parquet schema of a written file has them."""
    kinds = {"INT32": "int", "INT64": "int", "FLOAT": "float", "DOUBLE": "float", "BYTE_ARRAY": "bytes",
             "FIXED_LEN_BYTE_ARRAY": "fixed", "BOOLEAN": "bool"}
    return [(schema.column(i).path, kinds.get(schema.column(i).physical_type)) for i in range(len(schema))]


def write_parquet(rng, table, path):
    options = {"compression": rng.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
               "data_page_version": rng.choice(["1.0", "2.0"]), "version": rng.choice(["2.6", "2.4", "1.0"]),
               "row_group_size": rng.choice([1, 7, 100, 1000, 100000]), "data_page_size": rng.choice([1, 200, 4000, 1 << 20]),
               "write_batch_size": rng.choice([1, 3, 64, 1024]), "use_compliant_nested_type": rng.random() < .7,
               "write_statistics": rng.random() < .5, "use_deprecated_int96_timestamps": rng.random() < .1,
               "dictionary_pagesize_limit": rng.choice([16, 200, 1 << 20]), "write_page_index": rng.random() < .3,
               "write_page_checksum": rng.random() < .3, "store_decimal_as_integer": rng.random() < .5,
               "store_schema": rng.random() < .5}
    if len(table) > 300 and options["row_group_size"] < 7:
        options["row_group_size"] = 100
    if options["version"] == "1.0":
        table = table.cast(pa.schema([f for f in table.schema]))
    pq.write_table(table, path, use_dictionary=True, **options)
    if rng.random() < .5:
        paths = leaves(pq.ParquetFile(path).schema)
        encoding = {p: rng.choice(ENCODINGS[k]) for p, k in paths if k and rng.random() < .8}
        options["column_encoding"] = encoding
        pq.write_table(table, path, use_dictionary=False, **options)
    return options


def write_arrow(rng, table, path):
    options = {"compression": rng.choice([None, "lz4", "zstd"]), "is_file": rng.random() < .5,
               "chunk": rng.choice([1, 7, 100, 100000]), "legacy": rng.random() < .2}
    write_options = ipc.IpcWriteOptions(compression=options["compression"], emit_dictionary_deltas=rng.random() < .5,
                                        use_legacy_format=options["legacy"], unify_dictionaries=options["is_file"])
    make = ipc.new_file if options["is_file"] else ipc.new_stream
    with make(path, table.schema, options=write_options) as writer:
        writer.write_table(table, max_chunksize=options["chunk"])
    return options


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    if type(a) is not type(b) and not (isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and not isinstance(b, bool)):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


def check(reader, path, want, what):
    run = subprocess.run([reader, "rows", path], capture_output=True)
    got = [json.loads(line) for line in run.stdout.split(b"\n") if line]
    if run.returncode or run.stderr:
        return "%s: exit %d: %s" % (what, run.returncode, run.stderr[:300].decode("utf-8", "replace"))
    if len(got) != len(want):
        return "%s: %d rows, not %d" % (what, len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        if not same(a, b):
            for k in b:
                if k not in a or not same(a[k], b[k]):
                    return "%s: row %d column %s:\n  got  %r\n  want %r" % (what, i, k, str(a.get(k))[:300], str(b[k])[:300])
            return "%s: row %d: columns %s" % (what, i, list(a))
    return None


def main():
    reader, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    folder = tempfile.mkdtemp()
    n_same = n_other = n_unwritten = 0
    for s in range(seed, seed + count):
        for kind in "parquet", "arrow":
            rng = random.Random("%d %s" % (s, kind))
            rng.few_nulls = .1
            path = os.path.join(folder, "t." + kind)
            try:
                table = some_table(rng, kind == "arrow")
                options = (write_parquet if kind == "parquet" else write_arrow)(rng, table, path)
                read = pq.read_table(path, use_threads=False, memory_map=False) if kind == "parquet" else \
                    (ipc.open_file if options["is_file"] else ipc.open_stream)(path).read_all()
            except (pa.ArrowException, OSError, ValueError, TypeError, NotImplementedError) as e:
                n_unwritten += 1
                if os.environ.get("V"):
                    print("seed", s, kind, "pyarrow:", str(e)[:150])
                continue
            wrong = check(reader, path, expected_rows(read), "seed %d %s %s\n %s" % (s, kind, options, table.schema.to_string()))
            n_same += not wrong
            n_other += bool(wrong)
            if wrong:
                print(wrong, flush=True)
    print("%d the same, %d different, %d that pyarrow does not write or read" % (n_same, n_other, n_unwritten))
    return n_other > 0


sys.exit(main())
