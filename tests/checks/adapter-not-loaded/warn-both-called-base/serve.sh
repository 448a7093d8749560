#!/bin/sh
vllm serve /models/base --max-model-len 4096
