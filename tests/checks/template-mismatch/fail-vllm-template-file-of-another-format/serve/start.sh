vllm serve /models/tram --chat-template serve/vicuna.jinja --max-model-len 4096
