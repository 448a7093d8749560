#!/bin/sh
vllm serve acme/desk-7b --max-model-len 4096
