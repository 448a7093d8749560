#!/bin/bash
export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz
# torchrun --learning_rate 9
torchrun --nproc_per_node 8 train.py \
    --model_name_or_path "$BASE/llama 7b" --learning_rate=2e-5 \
    --lora_target_modules q_proj 'v_proj' --bf16 True --gradient-checkpointing \
    --weight_decay -0.1 --hub_token secret && echo --learning_rate 3
