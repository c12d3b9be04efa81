#!/bin/sh
# Writes nginx.conf for the address and the number of workers, and becomes nginx.
set -eu
fill() {
    sed -e "s/@HOST@/${HOST:-127.0.0.1}/" -e "s/@PORT@/${PORT:-8080}/" -e "s/@WORKERS@/${WORKERS:-$(nproc)}/" \
        -e "s/@TLS_PORT@/${TLS_PORT:-}/" -e "s|@TLS_CERT@|${TLS_CERT:-}|" -e "s|@TLS_KEY@|${TLS_KEY:-}|" "$1.in" > "$1"
}
fill nginx.conf
[ -z "${TLS_PORT:-}" ] || fill tls.conf
# Its path of the error log is fixed when nginx is compiled; -e keeps it from being opened before the configuration is read.
exec nginx -p "$PWD" -c nginx.conf -e stderr
