#!/bin/sh
# Writes h2o.conf for the address and the number of workers, and becomes h2o.
set -eu
sed -e "s/@HOST@/${HOST:-127.0.0.1}/" -e "s/@PORT@/${PORT:-8080}/" -e "s/@WORKERS@/${WORKERS:-$(nproc)}/" \
    -e "s|@HERE@|$PWD|" h2o.conf.in > h2o.conf
if [ -n "${TLS_PORT:-}" ]; then
    sed -i -e "s/^#TLS //" -e "s/@TLS_PORT@/$TLS_PORT/" -e "s|@TLS_CERT@|$TLS_CERT|" -e "s|@TLS_KEY@|$TLS_KEY|" h2o.conf
fi
exec h2o --mode worker --conf h2o.conf
