#!/bin/sh
# Writes nginx.conf for the address and the number of workers, and executes nginx.
set -eu
sed -e "s/@HOST@/${HOST:-127.0.0.1}/" -e "s/@PORT@/${PORT:-8080}/" -e "s/@WORKERS@/${WORKERS:-$(nproc)}/" nginx.conf.in > nginx.conf
# nginx opens a compiled-in error log before it reads the configuration; -e prevents this.
exec nginx -p "$PWD" -c nginx.conf -e stderr
