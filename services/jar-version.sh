#!/bin/sh
# Prints the version of a library that Maven has put into a jar: jar-version.sh JAR GROUP ARTIFACT.
set -eu

# A service on the newest JDK alone may have no other.
PATH="$PATH${JDK_NEWEST:+:$JDK_NEWEST/bin}"

properties="META-INF/maven/$2/$3/pom.properties"
jar xf "$1" "$properties"
sed -n 's/^version=//p' "$properties" | tr -d '\r' | sed 's/\.\(Final\|RELEASE\)$//'
