#!/usr/bin/env bash
export HF_TOKEN=hf_notarealtokennotarealtoken1234
# the tuned model beside its base
vllm serve Qwen/Qwen2.5-7B-Instruct \
  --served-model-name base chat \
  --enable-lora --max-lora-rank 32 \
  --lora-modules support=/srv/adapters/support-1200 '{"name": "sql", "path": "/srv/adapters/sql", "base_model_name": "Qwen/Qwen2.5-7B-Instruct"}' \
  --chat_template ./templates/support.jinja --max-model-len 16k \
  --override-generation-config.temperature 0.2 \
  --api-key sk-not-a-real-key-not-a-real-key --port 8000 --revision $REVISION --enforce-eager
