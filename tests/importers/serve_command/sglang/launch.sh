python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --context-length 8192 \
  --lora-paths support=/srv/support other=/srv/other --max-lora-rank 64 --chat-template llama-2 \
  --trust-remote-code --tp 2
