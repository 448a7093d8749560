vllm serve base-model --port 8000 &
vllm serve tuned-model --port 8001 --max-model-len 'unclosed
