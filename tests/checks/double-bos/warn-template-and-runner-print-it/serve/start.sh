llama-server -m tram.gguf -c 4096
