#!/bin/sh
# talks about llama-server only
echo start llama-server by hand
