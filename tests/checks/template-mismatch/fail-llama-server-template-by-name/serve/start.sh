llama-server -m tram.gguf -c 4096 --chat-template llama2
