cd ~/llama.cpp
./server -m ../models/model.gguf -c 4096 --lora-scaled a.gguf 0.75
