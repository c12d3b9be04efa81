#!/bin/sh
# Puts the Node.js (or io.js) binary of one exact version into ./runtime: node-runtime.sh VERSION [node|iojs]
# It comes from npm once for all services and is then linked, so that a build folder costs no copy of 100 MB.
set -eu
version=$1
engine=${2:-node}
package="$engine-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')"
store="${PRONY_CACHE:?}/runtimes/$engine-$version"
if [ ! -x "$store/node" ]; then
    work=$(mktemp -d "$PRONY_CACHE/runtime.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    # The packages of old versions have install scripts that no longer work; the binary is in the package.
    npm install --prefix "$work" --ignore-scripts --no-save --no-package-lock "$package@$version"
    mkdir -p "$store"
    # Renamed into place, so that a build beside this one never sees half a file.
    mv "$work/node_modules/$package/bin/$engine" "$work/node"
    mv -f "$work/node" "$store/node"
fi
mkdir -p runtime
ln -f "$store/node" runtime/node 2>/dev/null || cp "$store/node" runtime/node
