#!/bin/sh
# Usage: dev/postgres_local.sh start|stop
# A PostgreSQL on this machine to try things with, of the programs that are installed (apt install postgresql). Its data
# stays in POSTGRES_HOME.
# Env: POSTGRES_PORT (default 5433), POSTGRES_HOME (default .local/postgres)
set -eu

action=${1:?usage: dev/postgres_local.sh start|stop}
cd "$(dirname "$0")/.."
home=${POSTGRES_HOME:-.local/postgres}

server_pid() { # of the server that start.sh left running here, if it still runs
    pid=$(sed -n 's/^POSTGRES_PID=//p' "$home/server.env" 2>/dev/null)
    [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && echo "$pid"
}

start() {
    if pid=$(server_pid); then
        echo "It is running already (process $pid)."
    else
        bash dev/postgres/start.sh "$home" "${POSTGRES_PORT:-5433}" >/dev/null
    fi
    cat <<EOF
PostgreSQL answers. For ace-graph, in the shell or in .env:
  ACE_STORE=$(sed -n 's/^POSTGRES_URI=//p' "$home/server.env")
EOF
}

stop() {
    if pid=$(server_pid); then
        kill -INT "$pid" # closes the connections that are open
        while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
        rm "$home/server.env"
        echo "Stopped (process $pid)."
    fi
}

case $action in
start) start ;;
stop) stop ;;
*) echo "dev/postgres_local.sh: '$action' is neither start nor stop" >&2; exit 1 ;;
esac
