#!/bin/sh
# Usage: dev/neo4j_local.sh start|stop
# A Neo4j on this machine to try things with: Docker where an engine answers, else a server put together with Java 17
# and Maven (123 MB, once). Its data stays in the Docker volume or in .local/neo4j.
# Env: NEO4J_PASSWORD (Docker; default ace-local-password), NEO4J_BOLT_PORT (default 7687)
set -eu

action=${1:?usage: dev/neo4j_local.sh start|stop}
cd "$(dirname "$0")/.."
home=.local/neo4j
port=${NEO4J_BOLT_PORT:-7687}
export NEO4J_PASSWORD="${NEO4J_PASSWORD:-ace-local-password}"

fail() { printf '%s\n' "$*" >&2; exit 1; }
docker_answers() { docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1; }
server_pid() { # of the server that start.sh left running here, if it still runs
    pid=$(sed -n 's/^NEO4J_PID=//p' "$home/server.env" 2>/dev/null)
    # After a restart of the machine another program may have its number.
    [ -n "$pid" ] && ps -ww -p "$pid" -o args= 2>/dev/null | grep -qF -- "--home-dir=$(cd "$home" && pwd -P)" && echo "$pid"
}

start() {
    if docker_answers; then
        docker compose up --detach --wait
    elif pid=$(server_pid); then
        echo "It is running already (process $pid)."
        port=$(sed -n 's/^NEO4J_URI=.*://p' "$home/server.env")
    elif command -v java >/dev/null 2>&1 && command -v mvn >/dev/null 2>&1; then
        echo "No Docker engine answers: putting a server together with Java and Maven (123 MB, the first time only)."
        jars=$(bash dev/neo4j/get.sh)
        bash dev/neo4j/start.sh "$jars" "$home" "$port" >/dev/null ||
            fail "No Neo4j was started. Another port: NEO4J_BOLT_PORT=7688 make neo4j"
    else
        fail "A local Neo4j needs a Docker engine that answers, or Java 17 or newer with Maven."
    fi
    echo "Neo4j answers. For ace-graph, in the shell or in .env:"
    echo "  NEO4J_URI=bolt://127.0.0.1:$port"
    if docker_answers; then
        echo "  NEO4J_USERNAME=neo4j"
        echo "  NEO4J_PASSWORD=$NEO4J_PASSWORD"
    else
        echo "It has no password, and only this machine reaches it."
    fi
}

stop() {
    if docker_answers; then docker compose down; fi
    if pid=$(server_pid); then
        kill "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
        rm "$home/server.env"
        echo "Stopped (process $pid)."
    fi
}

case $action in
start) start ;;
stop) stop ;;
*) fail "dev/neo4j_local.sh: '$action' is neither start nor stop" ;;
esac
