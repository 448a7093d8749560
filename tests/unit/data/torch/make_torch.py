"""Makes the files of this folder with torch: state dicts whose tensors are no plain run of bytes."""
import torch

torch.manual_seed(1)
A, B = "m.0.q_proj.lora_A.weight", "m.0.q_proj.lora_B.weight"
torch.save({A: torch.ones(4, 2).t(), B: torch.ones(4, 4)[:, :2]}, "views.bin")
torch.save({A: torch.ones(2, 4).to(torch.float8_e4m3fn), B: torch.ones(2, dtype=torch.uint16)}, "kinds.bin")
torch.save({A: torch.ones(2, 4, dtype=torch.complex64)}, "complex.bin")
torch.save({"epoch": 3, "model_state_dict": {A: torch.ones(2, 4)}, "optimizer": {"lr": 0.1}}, "nested.bin")
torch.save({A: torch.ones(2, 4).to_sparse()}, "sparse.bin")
torch.save([torch.ones(2)], "list.bin")
torch.save(torch.nn.Parameter(torch.ones(2)), "parameter.bin")
torch.save({}, "empty.bin")
torch.save({A: torch.ones(2, 4), B: torch.ones(4, 2)}, "legacy.bin", _use_new_zipfile_serialization=False)
data = open("legacy.bin", "rb").read()
open("legacy_cut.bin", "wb").write(data[:-40])
data = open("views.bin", "rb").read()
open("zip_cut.bin", "wb").write(data[:-30])
