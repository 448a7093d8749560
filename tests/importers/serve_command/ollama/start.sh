export OLLAMA_CONTEXT_LENGTH=8192
ollama create support -f Modelfile
ollama run support "hello"
