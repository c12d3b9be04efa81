#!/bin/sh
# Prints the version of a library in a jar built by Maven: jar-version.sh JAR GROUP ARTIFACT.
set -eu

# A machine may have only the newest JDK.
PATH="$PATH${JDK_NEWEST:+:$JDK_NEWEST/bin}"

properties="META-INF/maven/$2/$3/pom.properties"
jar xf "$1" "$properties"
sed -n 's/^version=//p' "$properties" | tr -d '\r' | sed 's/\.\(Final\|RELEASE\)$//'
