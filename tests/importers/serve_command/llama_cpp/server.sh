LLAMA_ARG_CTX_SIZE=2048 ./build/bin/llama-server -m models/support-bot-q8_0.gguf -a support \
   --lora-scaled adapters/support.gguf:0.5 --lora adapters/tone.gguf,adapters/more.gguf --lora-init-without-apply \
   --chat-template-file templates/chatml.jinja --no-jinja -n 256 --no-context-shift \
   --override-kv tokenizer.ggml.add_bos_token=bool:false -fa --host 0.0.0.0
