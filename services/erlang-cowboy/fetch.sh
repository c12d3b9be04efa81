#!/bin/sh
# Puts the compiled Cowboy, its libraries and Gun into ./lib, out of Debian's rabbitmq-server package, and jiffy, which
# decodes JSON in C. The packages are unpacked here and not installed.
set -eu
mkdir -p package lib
cd package
# A fresh machine has no package lists yet.
fetch() { apt-get -qq download rabbitmq-server erlang-jiffy; }
fetch || { apt-get -qq update && fetch; }
for file in *.deb; do
    dpkg-deb -x "$file" .
done
cd ..
for library in cowboy cowlib ranch gun; do
    mv package/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins/$library-[0-9]* lib/
done
mv package/usr/lib/erlang/lib/jiffy-* lib/
rm -r package
