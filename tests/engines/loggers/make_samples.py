#!/usr/bin/env python3
"""Writes the samples beside it: a small run by each logger, in a folder of the logger's name, and beside the folder
NAME.jsonl, what the logger's own reader returns for it: {"series", "step", "value"} a point, {"setting", "value"}
a setting. WRITERS.txt gets the versions. Needs the packages from PyPI; run by hand, never by make test:

    make_samples.py OUT NAME…      NAME: tensorboard torch_gz tensorboardx lightning mlflow_files mlflow_db
                                         wandb wandb_values trackio trainer_log
wandb_values is run with wandb 0.17.9, the last one that ships a reader of its log in Python, over the folder that
wandb made; trainer_log needs LLaMA-Factory and transformers.
"""
import csv, glob, gzip, json, math, os, shutil, sqlite3, sys, tempfile
from importlib.metadata import version

OUT = sys.argv[1]
NAN, INF = float("nan"), float("inf")
ROWS = [{"train/loss": 2.5, "train/learning_rate": 2e-4, "train/grad_norm": 1.25},
        {"train/loss": 2.1, "train/learning_rate": 1.8e-4, "train/grad_norm": 0.75},
        {"train/loss": NAN, "train/learning_rate": 1.6e-4, "train/grad_norm": INF},
        {"train/loss": 1.7, "train/learning_rate": 1.4e-4, "train/grad_norm": -INF},
        {"train/loss": 1e-300, "train/learning_rate": 0.0, "train/grad_norm": 5e-324, "eval/loss": 1.46},
        {"train/loss": -0.0, "train/learning_rate": 1e-05, "train/grad_norm": 123456789.125, "eval/loss": 1.0 / 3}]
CONFIG = {"learning_rate": 2e-4, "per_device_train_batch_size": 8, "bf16": True, "lr_scheduler_type": "cosine",
          "max_steps": 60, "note": "é \"quoted\" 日本語", "nothing": None}


def folder(name):
    path = os.path.join(OUT, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def save(name, points, settings=()):
    with open(os.path.join(OUT, name + ".jsonl"), "w", encoding="utf-8") as f:
        for series, step, value in points:
            f.write(json.dumps({"series": series, "step": step, "value": value}) + "\n")
        for key, value in settings:
            f.write(json.dumps({"setting": key, "value": value}, ensure_ascii=False) + "\n")


def texts(config):
    """A setting as flatline shows it."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from ((key + "." + k, v) for k, v in texts(value))
        else:
            yield key, value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


# ---- TensorBoard

def event_points(path):
    from tensorboard.backend.event_processing import event_file_loader
    from tensorboard.util import tensor_util
    for file in sorted(glob.glob(os.path.join(path, "**", "*tfevents*"), recursive=True)):
        if file.endswith(".gz"):
            continue
        plugin = {}
        for event in event_file_loader.EventFileLoader(file).Load():
            for v in event.summary.value:
                plugin.setdefault(v.tag, v.metadata.plugin_data.plugin_name)
                if plugin[v.tag] == "scalars":
                    yield v.tag, event.step, float(tensor_util.make_ndarray(v.tensor).reshape(-1)[0])


def write_torch(path):
    from torch.utils.tensorboard import SummaryWriter
    w = SummaryWriter(path)
    for i, row in enumerate(ROWS):
        for tag, value in row.items():
            w.add_scalar(tag, value, (i + 1) * 10, new_style=tag == "train/grad_norm")
    w.add_text("args", json.dumps(CONFIG))
    w.add_hparams({k: v for k, v in CONFIG.items() if v is not None}, {"hparam/best": 1.5}, run_name="hparams")
    w.close()


def rename_events(path):
    for i, file in enumerate(sorted(glob.glob(os.path.join(path, "**", "*tfevents*"), recursive=True))):
        os.rename(file, os.path.join(os.path.dirname(file), "events.out.tfevents.%d.host" % (1700000000 + i)))


def tensorboard():
    path = folder("torch")
    write_torch(path)
    rename_events(path)
    save("torch", event_points(path), texts({k: v for k, v in CONFIG.items() if v is not None}))
    path = folder("torch_gz")
    for file in glob.glob(os.path.join(OUT, "torch", "events*")):
        with open(file, "rb") as f, open(os.path.join(path, os.path.basename(file) + ".gz"), "wb") as g:
            g.write(gzip.compress(f.read(), mtime=0))
    # the folder of hparams is left out
    save("torch_gz", (p for p in event_points(os.path.join(OUT, "torch")) if p[0] != "hparam/best"), texts(CONFIG))


def tensorboardx():
    from tensorboardX import SummaryWriter
    path = folder("tensorboardx")
    w = SummaryWriter(path)
    for i, row in enumerate(ROWS):
        w.add_scalars("pair", {"a": i / 7, "b": -i / 3}, i * 10)
        for tag, value in row.items():
            w.add_scalar(tag, value, (i + 1) * 10, summary_description="of the test", display_name="shown " + tag)
    w.close()
    rename_events(path)
    save("tensorboardx", event_points(path))


# ---- Lightning

def lightning():
    import lightning as L, torch
    from lightning.pytorch.core.saving import load_hparams_from_yaml
    from lightning.pytorch.loggers import CSVLogger

    class Model(L.LightningModule):
        def __init__(self, learning_rate, weight_decay, optim, dims):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, index):
            loss = self.layer(batch).pow(2).mean()
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            if index == 3:
                self.log("odd", NAN)
            return loss

        def validation_step(self, batch, index):
            self.log("val_loss", self.layer(batch).pow(2).mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), self.hparams.learning_rate)

    torch.manual_seed(0)
    path = folder("lightning")
    data = torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=2)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=CSVLogger(path, flush_logs_every_n_steps=3), log_every_n_steps=2,
                        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
    trainer.fit(Model(1e-2, 0.01, "sgd", [4, 1]), data, data)
    version_folder = os.path.join(path, "lightning_logs", "version_0")
    points = []
    for row in csv.DictReader(open(os.path.join(version_folder, "metrics.csv"))):
        points += [(k, int(row["step"]), float(v)) for k, v in row.items() if k not in ("step",) and v != ""]
    save("lightning", points, texts(load_hparams_from_yaml(os.path.join(version_folder, "hparams.yaml"), use_omegaconf=False)))


# ---- MLflow

def log_mlflow(client):
    run = client.create_run(client.get_experiment_by_name("sample").experiment_id, run_name="first", start_time=1700000000000)
    at = 1700000000000
    for i, row in enumerate(ROWS):
        for key, value in row.items():
            client.log_metric(run.info.run_id, key, value, timestamp=at + i * 1000, step=(i + 1) * 10)
    for key, value in CONFIG.items():
        client.log_param(run.info.run_id, key, value)
    client.set_tag(run.info.run_id, "mlflow.source.name", "train.py")
    client.set_terminated(run.info.run_id, "FINISHED", end_time=at + 9000)
    return run.info.run_id


def mlflow_values(name, client, run_id):
    run, points = client.get_run(run_id), []
    for key in run.data.metrics:
        # its database has no infinity: the largest double stands for it
        points += [(key, m.step, math.copysign(INF, m.value) if abs(m.value) == sys.float_info.max else m.value)
                   for m in client.get_metric_history(run_id, key)]
    # MLflow keeps str(value): Python's words for what JSON writes otherwise
    words = {"True": "true", "False": "false", "None": "null", "2e-04": "0.0002"}
    save(name, points, ((k, words.get(v, v)) for k, v in run.data.params.items()))


def mlflow_files():
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from mlflow import MlflowClient
    path = folder("mlflow_files")
    client = MlflowClient("file:" + os.path.join(path, "mlruns"))
    client.create_experiment("sample", artifact_location="file:///sample")
    mlflow_values("mlflow_files", client, log_mlflow(client))
    shutil.rmtree(os.path.join(path, "mlruns", "0"), ignore_errors=True)


def mlflow_db():
    from mlflow import MlflowClient
    path = folder("mlflow_db")
    file = os.path.join(path, "mlflow.db")
    client = MlflowClient("sqlite:///" + file)
    client.create_experiment("sample", artifact_location="file:///sample")
    mlflow_values("mlflow_db", client, log_mlflow(client))
    c = sqlite3.connect(file)  # the other sixty tables are empty and large
    kept = {"runs", "metrics", "latest_metrics", "params", "tags", "experiments", "alembic_version"}
    c.execute("pragma foreign_keys=off")
    for table, in c.execute("select name from sqlite_master where type='table' and name not like 'sqlite_%'").fetchall():
        if table not in kept:
            c.execute('drop table "%s"' % table)
    c.execute("delete from experiments where name <> 'sample'")  # its place is one of this machine
    c.commit()
    c.execute("pragma journal_mode=delete")
    c.execute("pragma page_size=1024")
    c.execute("vacuum")
    c.close()


# ---- W&B

def wandb():
    import wandb as w
    path = folder("wandb")
    run = w.init(project="sample", name="first", dir=path, mode="offline", config=CONFIG, id="sample01",
                 settings=w.Settings(x_disable_stats=True, disable_git=True, console="off", x_disable_meta=True, save_code=False))
    for i, row in enumerate(ROWS):
        run.log(dict(row, nested={"a": i, "b": {"c": i / 8}}), step=(i + 1) * 10)
    run.finish()
    for file in glob.glob(os.path.join(path, "wandb", "*")):
        if os.path.islink(file) or os.path.isfile(file):
            os.remove(file)
        else:
            shutil.rmtree(os.path.join(file, "logs"), ignore_errors=True)
            shutil.rmtree(os.path.join(file, "tmp"), ignore_errors=True)
            shutil.rmtree(os.path.join(file, "files"), ignore_errors=True)
            os.rename(file, os.path.join(path, "wandb", "offline-run-20240101_000000-sample01"))


def wandb_values():
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore
    store = DataStore()
    store.open_for_scan(glob.glob(os.path.join(OUT, "wandb", "wandb", "*", "*.wandb"))[0])
    points, settings, step = [], {}, 0
    while True:
        data = store.scan_data()
        if data is None:
            break
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "history":
            row = {".".join(i.nested_key) or i.key: json.loads(i.value_json, parse_int=float) for i in record.history.item}
            for key, value in row.items():
                if isinstance(value, dict):
                    points += [("%s.%s" % (key, k), int(row["_step"]), v) for k, v in flat(value)]
                elif not key.startswith("_"):
                    points.append((key, int(row["_step"]), float(value)))
        for update in record.run.config.update if kind == "run" else record.config.update if kind == "config" else []:
            settings[".".join(update.nested_key) or update.key] = json.loads(update.value_json)
    save("wandb", points, ((k, v) for k, v in texts(settings) if not k.startswith("_wandb")))


def flat(d):
    for k, v in d.items():
        if isinstance(v, dict):
            yield from ((k + "." + a, b) for a, b in flat(v))
        else:
            yield k, float(v)


# ---- Trackio

def trackio():
    path = folder("trackio")
    os.environ["TRACKIO_DIR"] = path
    import trackio as t
    from trackio.sqlite_storage import SQLiteStorage
    for name, scale in ("first", 1), ("second", 2):
        t.init(project="sample", name=name, config=dict(CONFIG, nested={"scale": scale}), embed=False, auto_log_gpu=False, auto_log_cpu=False)
        for i, row in enumerate(ROWS):
            t.log(dict({k: v * scale for k, v in row.items()}, nested={"a": i}, text="words", samples=t.Table(dataframe=frame()) if i == 2 else i),
                  step=(i + 1) * 10)
        if scale == 2:
            t.alert(title="loss is not finite", text="at step 30", level=t.AlertLevel.ERROR)
        t.finish()
    for name in "first", "second":
        points = []
        for row in SQLiteStorage.get_logs("sample", name):
            for key, value in row.items():
                if key in ("step", "timestamp"):
                    continue
                if isinstance(value, dict) and "_type" not in value:
                    points += [(key + "." + k, row["step"], v) for k, v in flat(value)]
                elif isinstance(value, (int, float)):
                    points.append((key, row["step"], float(value)))
        config = SQLiteStorage.get_run_config("sample", name)
        save("trackio." + name, points, ((k, v) for k, v in texts(config) if not k.startswith("_")))
    for file in glob.glob(os.path.join(path, "**"), recursive=True):
        if os.path.isfile(file) and not file.endswith(".db"):
            os.remove(file)
    c = sqlite3.connect(os.path.join(path, "sample.db"))
    c.execute("pragma wal_checkpoint(truncate)")
    c.execute("pragma journal_mode=delete")
    for table in "traces", "artifacts", "artifact_versions", "artifact_aliases", "run_artifact_links", "pending_uploads":
        c.execute('drop table if exists "%s"' % table)
    c.execute("pragma page_size=1024")
    c.execute("vacuum")
    c.close()


def frame():
    import pandas
    return pandas.DataFrame({"prompt": ["a"], "score": [0.5]})


# ---- LLaMA-Factory: its callback in a Trainer of transformers

def trainer_log():
    import torch, transformers
    from llamafactory.train.callbacks import LogCallback
    path = folder("trainer_log")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x, labels=None):
            return {"loss": (self.layer(x) - labels).pow(2).mean()}

    torch.manual_seed(0)
    data = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(24)]
    args = transformers.TrainingArguments(output_dir=path, num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2, eval_strategy="steps",
                                          eval_steps=6, save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True, learning_rate=0.01)
    trainer = transformers.Trainer(model=Model(), args=args, train_dataset=data, eval_dataset=data[:8], callbacks=[LogCallback()])
    trainer.train()
    for name in os.listdir(path):
        if name != "trainer_log.jsonl":
            shutil.rmtree(os.path.join(path, name), ignore_errors=True)
    points = []
    for line in open(os.path.join(path, "trainer_log.jsonl")):
        row = json.loads(line)
        points += [(k, row["current_steps"], float(v)) for k, v in row.items()
                   if isinstance(v, (int, float)) and k not in ("current_steps", "total_steps")]
    save("trainer_log", points)


for wanted in sys.argv[2:]:
    globals()[wanted]()
