#!/bin/sh
# Writes nginx.conf for the addresses and the number of workers, and becomes nginx.
set -eu
model=${MODEL_URL#http://}
base=${model#"${model%%/*}"}
sed -e "s|@HOST@|${HOST:-127.0.0.1}|" -e "s|@PORT@|${PORT:-8080}|" -e "s|@WORKERS@|${WORKERS:-$(nproc)}|" \
    -e "s|@MODEL@|${model%%/*}|" -e "s|@BASE@|$base|" -e "s|@MODEL_KEY@|$MODEL_KEY|" nginx.conf.in > nginx.conf
# Its path of the error log is fixed when nginx is compiled; -e keeps it from being opened before the configuration is read.
exec nginx -p "$PWD" -c nginx.conf -e stderr
