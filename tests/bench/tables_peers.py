"""Tables for the bench, and pyarrow's time for their columns with one thread.
    tables_peers.py make FOLDER
    tables_peers.py time FILE COLUMN ...
"""
import random, sys, time

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq


def write_stream(path, table):
    with ipc.new_stream(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table, max_chunksize=1000)


def make(folder):
    import numpy as np
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(5000)]
    text = lambda n: " ".join(rng.choices(words, k=n))
    n = 60000
    chat = pa.table({"messages": [[{"role": "user", "content": text(30)}, {"role": "assistant", "content": text(90)}] for _ in range(n)],
                     "id": list(range(n)), "extra": [text(40) for _ in range(n)]})
    pq.write_table(chat, folder + "/chat.parquet")
    write_stream(folder + "/chat.arrow", chat)
    n, r = 1000000, np.random.default_rng(1)
    metrics = pa.table({"step": np.arange(n), "loss": r.random(n) * 3, "lr": np.linspace(1e-4, 0, n)})
    pq.write_table(metrics, folder + "/metrics.parquet")
    write_stream(folder + "/metrics.arrow", metrics)
    ids = [r.integers(0, 150000, 512).astype(np.int32) for _ in range(10000)]
    tokens = pa.table({"input_ids": pa.array(ids, pa.list_(pa.int32()))})
    pq.write_table(tokens, folder + "/ids.parquet")
    write_stream(folder + "/ids.arrow", tokens)


def read(path, columns):
    if path.endswith(".parquet"):
        return pq.read_table(path, columns=columns, use_threads=False)
    names = ipc.open_stream(path).schema.names
    options = ipc.IpcReadOptions(included_fields=[names.index(c) for c in columns], use_threads=False)
    return ipc.open_stream(path, options=options).read_all()


def main():
    if sys.argv[1] == "make":
        return make(sys.argv[2])
    pa.set_cpu_count(1)
    best = 1e9
    for _ in range(5):
        begin = time.process_time()
        read(sys.argv[2], sys.argv[3:])
        best = min(best, time.process_time() - begin)
    print("%.4f" % best)


main()
