docker run --gpus all -e HF_TOKEN=$HF_TOKEN -p 8000:8000 \
    vllm/vllm-openai:v0.9.1 --model /models/merged --dtype=bfloat16 --max-model-len=8192
