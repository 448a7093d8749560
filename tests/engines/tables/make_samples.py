#!/usr/bin/env python3
"""Writes the samples beside it: small tables by pyarrow, polars, datasets and duckdb, each with the writer's own
values as JSON lines (NAME.jsonl) by tests/fuzz/oracle/tables_values.py, and WRITERS.txt with the versions. Needs
those packages from PyPI; run by hand, never by make test:

    make_samples.py [FOLDER]
"""
import datetime, decimal, json, os, shutil, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../fuzz/oracle"))
import datasets, duckdb, polars, pyarrow as pa, pyarrow.feather, pyarrow.ipc as ipc, pyarrow.parquet as pq
from tables_values import expected_rows

OUT = sys.argv[1] if len(sys.argv) > 1 else HERE


def table():
    D = decimal.Decimal
    chat = [[{"role": "user", "content": "hi 😀"}, {"role": "assistant", "content": "hello \u0000 \"x\"\n"}], [], None,
            [{"role": "user", "content": None}], [None, {"role": "system", "content": "日本語"}]]
    return pa.table({
        "messages": pa.array(chat, pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        "input_ids": pa.array([[1, 2, 3], [], None, [None, -5], [2 ** 31 - 1]], pa.list_(pa.int32())),
        "nested": pa.array([[[1], []], [], None, [None, [2, None]], [[3]]], pa.list_(pa.large_list(pa.int64()))),
        "i8": pa.array([-128, 127, None, 0, 1], pa.int8()), "u8": pa.array([0, 255, None, 1, 2], pa.uint8()),
        "i64": pa.array([2 ** 63 - 1, -2 ** 63, None, 9007199254740993, 0]),
        "u64": pa.array([2 ** 64 - 1, 0, None, 2 ** 63, 1], pa.uint64()), "u32": pa.array([2 ** 32 - 1, 0, None, 7, 1], pa.uint32()),
        "f16": pa.array([0.5, -65504.0, None, float("inf"), 6e-8], pa.float16()),
        "f32": pa.array([0.1, float("nan"), None, -0.0, 1e38], pa.float32()),
        "f64": pa.array([0.1, float("nan"), None, float("-inf"), 5e-324]),
        "ok": pa.array([True, False, None, True, True]), "text": pa.array(["", "é", None, "x" * 100, "prefix"]),
        "large": pa.array(["a", None, "c", "prefixed", "prefixes"], pa.large_string()),
        "bytes": pa.array([b"", b"\x00\xff", None, b"abc", b"abcd"]), "fixed": pa.array([b"abc", b"\x00\x01\x02", None, b"abd", b"abe"], pa.binary(3)),
        "day": pa.array([0, -719162, None, 19844, 2932896], pa.date32()), "noon": pa.array([43200000000, 0, None, 1, 86399999999], pa.time64("us")),
        "at": pa.array([0, -1, None, 1714555800250000, 253402300799999999], pa.timestamp("us")),
        "instant": pa.array([0, -1, None, 1714555800250, 1], pa.timestamp("ms", tz="UTC")),
        "nanos": pa.array([1, -1, None, 1714555800250000001, 0], pa.timestamp("ns")),
        "price": pa.array([D("1.50"), D("-0.01"), None, D("9999999.99"), D("0.00")], pa.decimal128(9, 2)),
        "exact": pa.array([D("12345678901234567890.123"), D("-0.001"), None, D("0.000"), D("1.000")], pa.decimal128(30, 3)),
        "map": pa.array([[("a", 1), ("b", None)], [], None, [("é", 2)], [("a", 3)]], pa.map_(pa.string(), pa.int32())),
        "by_number": pa.array([[(1, "x")], [], None, [(2, None), (3, "y")], []], pa.map_(pa.int32(), pa.string())),
        "s": pa.array([{"a": 1, "b": {"c": "x"}}, {"a": None, "b": None}, None, {"a": 2, "b": {"c": None}}, {"a": 3, "b": {"c": "z"}}]),
        "pair": pa.array([[1, 2], [3, None], None, [5, 6], [7, 8]], pa.list_(pa.int16(), 2)), "none": pa.nulls(5),
    })


def save(name, rows):
    with open(os.path.join(OUT, name + ".jsonl"), "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")


def parquet(name, t, **options):
    path = os.path.join(OUT, name + ".parquet")
    pq.write_table(t, path, **options)
    save(name + ".parquet", expected_rows(pq.read_table(path)))


def arrow(name, t, make, **options):
    path = os.path.join(OUT, name + ".arrow")
    with make(path, t.schema, options=ipc.IpcWriteOptions(**options)) as w:
        w.write_table(t, max_chunksize=2)
    save(name + ".arrow", expected_rows(t))


t = table()
parquet("pyarrow_snappy", t)
parquet("pyarrow_zstd_v2", t, compression="zstd", data_page_version="2.0", use_dictionary=False, row_group_size=2)
parquet("pyarrow_gzip_int96", t.select(["at", "text", "messages"]), compression="gzip", use_deprecated_int96_timestamps=True, version="1.0")
parquet("pyarrow_brotli", t.select(["text", "messages", "input_ids"]), compression="brotli")
parquet("pyarrow_lz4", t.select(["text", "messages", "input_ids"]), compression="lz4", data_page_size=1, write_batch_size=1)
parquet("pyarrow_encodings", t.select(["i64", "u32", "f32", "f64", "f16", "text", "large", "bytes", "fixed", "ok", "input_ids"]), compression="none",
        use_dictionary=False, column_encoding={"i64": "DELTA_BINARY_PACKED", "u32": "DELTA_BINARY_PACKED", "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT",
        "f16": "BYTE_STREAM_SPLIT", "text": "DELTA_LENGTH_BYTE_ARRAY", "large": "DELTA_BYTE_ARRAY", "bytes": "DELTA_BYTE_ARRAY", "fixed": "BYTE_STREAM_SPLIT",
        "ok": "RLE", "input_ids.list.element": "DELTA_BINARY_PACKED"})
many = pa.table({"step": pa.array(range(300)), "loss": pa.array([2.0 / (1 + i) for i in range(300)]), "note": pa.array(["warm" if i < 100 else "x%d" % (i % 7) for i in range(300)])})
parquet("pyarrow_many_pages", many, data_page_size=64, write_batch_size=8, row_group_size=128, dictionary_pagesize_limit=32)
arrow("pyarrow_stream", t, ipc.new_stream)
arrow("pyarrow_file_lz4", t.append_column("category", pa.array(["a", "b", None, "a", "c"]).dictionary_encode()), ipc.new_file, compression="lz4", unify_dictionaries=True)
deltas = pa.chunked_array([pa.array(x).dictionary_encode() for x in (["a", "b"], ["b", "a", "c"])])
arrow("pyarrow_stream_zstd_deltas", pa.table({"text": t["text"], "category": deltas}), ipc.new_stream, compression="zstd", emit_dictionary_deltas=True)
views = pa.table({"v": pa.array(["short", "longer than twelve bytes", None, "", "é" * 20], pa.string_view())})
arrow("pyarrow_views", views, ipc.new_stream)
pyarrow.feather.write_feather(many, os.path.join(OUT, "pyarrow_feather.arrow"))
save("pyarrow_feather.arrow", expected_rows(many))

p = polars.DataFrame({"text": ["a", None, "longer than twelve bytes"], "n": [1, None, 3], "x": [0.5, float("nan"), None],
                      "tags": [["a"], [], None], "s": [{"a": 1}, {"a": None}, {"a": 3}], "d": [datetime.date(2024, 5, 1), None, datetime.date(1969, 12, 31)],
                      "t": [datetime.datetime(2024, 5, 1, 9, 30, 0, 250000), None, datetime.datetime(1960, 1, 1)], "ok": [True, None, False]})
p.write_parquet(os.path.join(OUT, "polars_zstd.parquet"))
p.write_ipc(os.path.join(OUT, "polars_ipc.arrow"))
for codec in "lz4", "zstd":
    p.write_ipc(os.path.join(OUT, "polars_ipc_%s.arrow" % codec), compression=codec)
p.write_ipc_stream(os.path.join(OUT, "polars_stream_zstd.arrow"), compression="zstd")
for codec in "uncompressed", "snappy", "gzip", "brotli", "lz4":
    p.write_parquet(os.path.join(OUT, "polars_%s.parquet" % codec), compression=codec, row_group_size=2)
for name in sorted(os.listdir(OUT)):
    if name.startswith("polars_") and not name.endswith(".jsonl"):
        save(name, expected_rows(p.to_arrow()))

c = duckdb.connect()
query = """select i as id, 'row ' || (i % 5) as text, i / 7.0::double as score, [i, i + 1] as ids, {'role': 'user', 'content': 'q' || i} as turn,
 case when i % 3 = 0 then null else i % 2 = 0 end as ok, (i / 4)::decimal(9,2) as price, timestamp '2024-05-01 09:30:00' + interval (i) minute as at,
 i::ubigint as big from range(60) r(i)"""
for name, options in ("duckdb_snappy", ""), ("duckdb_zstd_v2", ", codec zstd, parquet_version v2"):
    path = os.path.join(OUT, name + ".parquet")
    c.execute("copy (%s) to '%s' (format parquet%s)" % (query, path, options))
    got = c.execute(query).to_arrow_table()
    save(name + ".parquet", expected_rows(got))

d = datasets.Dataset.from_list([{"messages": [{"role": "user", "content": "q%d" % i}, {"role": "assistant", "content": "a%d" % i}], "label": i % 2} for i in range(40)],
    features=datasets.Features({"messages": [{"role": datasets.Value("string"), "content": datasets.Value("string")}], "label": datasets.ClassLabel(names=["no", "yes"])}))
with tempfile.TemporaryDirectory() as tmp:
    d.save_to_disk(tmp, num_shards=2)
    folder = os.path.join(OUT, "datasets_folder")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for f in "data-00000-of-00002.arrow", "data-00001-of-00002.arrow", "state.json", "dataset_info.json":
        shutil.copy(os.path.join(tmp, f), folder)
d.to_parquet(os.path.join(OUT, "datasets_hub.parquet"))
save("datasets_hub.parquet", [{"messages": r["messages"], "label": r["label"]} for r in d])
again = datasets.load_from_disk(folder)
for i, part in enumerate(again.shard(2, k, contiguous=True) for k in range(2)):
    save("datasets_folder/data-%05d-of-00002.arrow" % i, [{"messages": r["messages"], "label": r["label"]} for r in part])
def streamed():
    for i in range(25):
        yield {"text": "row %d" % i, "score": i / 3, "ids": list(range(i % 4))}


with tempfile.TemporaryDirectory() as tmp:  # the cache's own writer, and rows that were never a whole
    kept = datasets.Dataset.from_generator(streamed, cache_dir=tmp)
    shutil.copy(kept.cache_files[0]["filename"], os.path.join(OUT, "datasets_cache.arrow"))
    save("datasets_cache.arrow", list(kept))
    kept.to_iterable_dataset().to_parquet(os.path.join(OUT, "datasets_stream.parquet"), batch_size=10)
    save("datasets_stream.parquet", list(kept))

with open(os.path.join(OUT, "WRITERS.txt"), "w") as f:
    f.write("Made by make_samples.py with pyarrow %s, polars %s, datasets %s, duckdb %s (PyPI). NAME.jsonl holds what the\n"
            "writer's own reader returns for NAME, as core/read/table_value.h writes it.\n" % (pa.__version__, polars.__version__, datasets.__version__, duckdb.__version__))
