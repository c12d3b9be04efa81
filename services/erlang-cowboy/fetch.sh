#!/bin/sh
# Puts the compiled Cowboy, its libraries, Gun and jsx into ./lib. They lie inside Debian's rabbitmq-server package,
# which is unpacked here and not installed.
set -eu
mkdir -p package lib
cd package
# A fresh machine has no package lists yet.
apt-get -qq download rabbitmq-server || { apt-get -qq update && apt-get -qq download rabbitmq-server; }
dpkg-deb -x rabbitmq-server_*.deb .
cd ..
for library in cowboy cowlib ranch gun jsx; do
    mv package/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins/$library-[0-9]* lib/
done
rm -r package
