#!/bin/sh
# Writes nginx.conf for the address, the folder and the number of workers, and becomes nginx.
set -eu
sed -e "s/@HOST@/${HOST:-127.0.0.1}/" -e "s/@PORT@/${PORT:-8080}/" -e "s/@WORKERS@/${WORKERS:-$(nproc)}/" \
    -e "s|@FILES_DIR@|$FILES_DIR|" -e "s/@USER@/$(id -un)/" nginx.conf.in > nginx.conf
# Its path of the error log is fixed when nginx is compiled; -e keeps it from being opened before the configuration is read.
exec nginx -p "$PWD" -c nginx.conf -e stderr
