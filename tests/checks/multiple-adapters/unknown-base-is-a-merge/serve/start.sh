#!/bin/sh
vllm serve ./sft-merged --enable-lora --lora-modules office=run
