#!/usr/bin/env bash
# Usage: dev/neo4j/get.sh [VERSION] [FOLDER]
# Collects the jars of a Neo4j Community server with Maven (123 MB, about a minute, once) and prints their folder.
# 5.26.31 (the default) runs on Java 17 or newer, 2026.02.3 on Java 21 or newer. Needs mvn; no Docker, no root.
set -euo pipefail
version=${1:-5.26.31}
folder=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/ace-neo4j/lib-$version}
here=$(cd "$(dirname "$0")" && pwd -P)

complete() { [ -f "$folder/neo4j-server-$version.jar" ] && [ -f "$folder/neo4j-bolt-$version.jar" ]; }

if ! complete; then
    command -v mvn >/dev/null || { echo "mvn was not found: install Maven, or use docker compose instead" >&2; exit 1; }
    echo "Fetching the jars of Neo4j $version with Maven: 123 MB, once ..." >&2
    mkdir -p "$(dirname "$folder")"
    # Into a folder of its own first, so that a fetch that was cut off is never taken for a server.
    part=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    mvn --batch-mode --quiet --file "$here/pom.xml" -Dneo4j.version="$version" -Dlib.dir="$part" package >&2
    rm -rf "$folder"
    mv "$part" "$folder"
    complete || { echo "Maven left no complete Neo4j $version in $folder" >&2; exit 1; }
fi
echo "$folder"
