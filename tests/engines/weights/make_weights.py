"""Makes the files of this folder with the real writers, and values.tsv with what torch computes of them.

    python make_weights.py      (torch, peft, transformers, safetensors)

values.tsv: file, tensor, shape, norm of the finite values, values that are not zero, that are not finite,
and for a lora_B the norm of B·A; nan where there is none.
"""
import os

import peft
import safetensors
import torch
import transformers
from peft import IA3Config, LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

CONFIG = LlamaConfig(hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
                     num_key_value_heads=1, vocab_size=16)
LORA = dict(r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"])


def base():
    torch.manual_seed(1)
    return LlamaForCausalLM(CONFIG)


def save(name, config, dtype=None):
    model = get_peft_model(base(), config)
    torch.manual_seed(2)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data.normal_(0, 0.05)
    if dtype:
        model = model.to(dtype)
    model.save_pretrained("tmp")
    os.replace("tmp/adapter_model.safetensors", name + ".safetensors")
    return model


def tensors(path):
    return load_file(path) if path.endswith(".safetensors") else torch.load(path)


def row(path, name, tensor, all_tensors):
    values = None if tensor.dtype == torch.bool else tensor.double()
    norm = delta = float("nan")
    nonzero = nonfinite = -1
    if values is not None:
        finite = torch.isfinite(values)
        norm = float(values[finite].norm())
        nonzero, nonfinite = int((values != 0).sum()), int((~finite).sum())
    for a, b in (("lora_A", "lora_B"), ("lora_embedding_A", "lora_embedding_B")):
        other = all_tensors.get(name.replace(b, a)) if b in name else None
        if other is not None:
            delta = float((values.flatten(1) @ other.double().flatten(1)).norm())
    return "\t".join([path, name, str(list(tensor.shape)).replace(" ", ""), "%.9g" % norm, str(nonzero),
                      str(nonfinite), "%.9g" % delta])


save("lora", LoraConfig(**LORA))
save("dora", LoraConfig(use_dora=True, **LORA))
save("bf16", LoraConfig(**LORA), torch.bfloat16)
save("f16", LoraConfig(modules_to_save=["lm_head"], **LORA), torch.float16)
save("embedding", LoraConfig(r=2, target_modules=["embed_tokens"]))
save("ia3", IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]))
save("prompt", PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))
save("prefix", PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))
merged = get_peft_model(base(), LoraConfig(init_lora_weights=False, **LORA)).merge_and_unload()
merged.save_pretrained("tmp")
os.replace("tmp/model.safetensors", "merged.safetensors")
torch.save(get_peft_model(base(), LoraConfig(init_lora_weights=False, **LORA)).state_dict(), "state.bin")
torch.manual_seed(3)
x = torch.randn(48)
save_file({"e4m3": x.to(torch.float8_e4m3fn), "e5m2": x.to(torch.float8_e5m2),
           "e4m3fnuz": x.to(torch.float8_e4m3fnuz), "e5m2fnuz": x.to(torch.float8_e5m2fnuz),
           "f64": x.double(), "f16": x.half() * 1e-6, "i8": (x * 40).to(torch.int8),
           "u8": (x.abs() * 40).to(torch.uint8), "i64": (x * 1e5).long(), "bool": x > 0,
           "odd": torch.tensor([1.0, float("nan"), float("inf"), 0.0])}, "dtypes.safetensors")

files = sorted(f for f in os.listdir(".") if f.endswith((".safetensors", ".bin")))
with open("values.tsv", "w") as out:
    for path in files:
        found = tensors(path)
        for name in sorted(found):
            out.write(row(path, name, found[name], found) + "\n")
with open("WRITERS.txt", "w") as out:
    out.write("torch %s, peft %s, transformers %s, safetensors %s\n" % (
        torch.__version__, peft.__version__, transformers.__version__, safetensors.__version__))
