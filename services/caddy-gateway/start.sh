#!/bin/sh
# Splits the model's address for the configuration, and becomes Caddy.
set -eu
address=${MODEL_URL#http://}
export MODEL="${address%%/*}" MODEL_PATH="${address#"${address%%/*}"}"
export HOST="${HOST:-127.0.0.1}" PORT="${PORT:-8080}" GOMAXPROCS="${WORKERS:-$(nproc)}"
exec ./server run --config caddy.json
