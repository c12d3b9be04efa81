#!/bin/sh
# Writes the configuration for the address and the number of workers, starts PHP-FPM and nginx in front of it, and
# stops both.
set -eu
: "${HOST:=127.0.0.1}" "${PORT:=8080}" "${WORKERS:=$(nproc)}" "${CHILDREN:=$((2 * WORKERS))}"

fill() {
    sed -e "s|@HOST@|$HOST|" -e "s|@PORT@|$PORT|" -e "s|@WORKERS@|$WORKERS|" -e "s|@CHILDREN@|$CHILDREN|" \
        -e "s|@HERE@|$PWD|" -e "s|@USER@|$(id -un)|" -e "s|@GROUP@|$(id -gn)|" "$1.in" > "$1"
}
fill nginx.conf
fill php-fpm.conf

# Neither outlives this script, even if it is killed (setpriv). PHP-FPM must be told that root may be its user (-R);
# nginx has a fixed path for its first messages (-e).
setpriv --pdeathsig TERM "$PHP_FPM" -R --nodaemonize --fpm-config php-fpm.conf &
fpm=$!
setpriv --pdeathsig TERM nginx -p "$PWD" -c nginx.conf -e stderr &
nginx=$!

# The signal ends the wait. What is being answered is finished; a request that is left half-sent has five seconds.
stop() {
    trap '' TERM
    kill -QUIT "$nginx"
    timeout 5 tail --pid="$nginx" -f /dev/null || kill -TERM "$nginx"
    wait "$nginx" || true
    kill -QUIT "$fpm"
    wait "$fpm"
    exit 0
}
trap stop TERM
wait "$nginx"
