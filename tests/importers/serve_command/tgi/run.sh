export MODEL_ID=mistralai/Mistral-7B-Instruct-v0.3
export LORA_ADAPTERS=support=/data/support,plain/adapter
MAX_INPUT_TOKENS=3000 MAX_TOTAL_TOKENS=4096 text-generation-launcher --quantize bitsandbytes-nf4 \
    --tokenizer-config-path /data/support/tokenizer_config.json --port 8080
