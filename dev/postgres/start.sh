#!/usr/bin/env bash
# Usage: dev/postgres/start.sh HOME [PORT]
# Starts a PostgreSQL server with the programs that are installed (apt install postgresql), its data in HOME/data, on
# 127.0.0.1 and PORT (default 0: a free one), and waits until it answers. Where HOME has data, it goes on with that.
# Prints POSTGRES_URI= and POSTGRES_PID=, which are also in HOME/server.env. As root it runs as another user, because
# PostgreSQL refuses root.
# Env: POSTGRES_PASSWORD (default: none is asked for), POSTGRES_OPTIONS (more options of the server)
set -euo pipefail

home=${1:?usage: dev/postgres/start.sh HOME [PORT]}
port=${2:-0}
mkdir -p "$home"
home=$(cd "$home" && pwd -P)
data=$home/data

fail() { printf '%s\n' "$*" >&2; exit 1; }

programs() { # the folder with initdb, postgres and pg_ctl, of the newest version
  local found
  if found=$(command -v initdb); then dirname "$(readlink -f "$found")"; return; fi
  for found in $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin | sort -rV); do
    [ -x "$found/initdb" ] && echo "$found" && return
  done
  fail "there are no programs of PostgreSQL here: apt install postgresql"
}

as_server() { # runs a command as the user that the server runs as
  if [ "$(id -u)" = 0 ]; then runuser -u "$user" -- "$@"; else "$@"; fi
}

bin=$(programs)
user=postgres
id "$user" >/dev/null 2>&1 || user=nobody
cd "$home"
if [ "$(id -u)" = 0 ]; then
  chown "$user" "$home"
  as_server test -x "$home" || fail "the user $user can't enter $home: choose another folder"
fi
if [ ! -s "$data/PG_VERSION" ]; then
  auth=(--auth=trust)
  if [ -n "${POSTGRES_PASSWORD:-}" ]; then
    (umask 077 && printf '%s' "$POSTGRES_PASSWORD" >"$home/password")
    [ "$(id -u)" != 0 ] || chown "$user" "$home/password"
    auth=(--auth=scram-sha-256 --pwfile="$home/password")
  fi
  as_server "$bin/initdb" --pgdata="$data" --username=ace --encoding=UTF8 --locale=C --no-sync "${auth[@]}" >/dev/null
  rm -f "$home/password"
fi
if [ "$port" = 0 ]; then
  port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
fi
as_server "$bin/pg_ctl" --pgdata="$data" --log="$home/log" --wait --timeout=60 --silent \
  --options="-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='$home' ${POSTGRES_OPTIONS:-}" start \
  >/dev/null 2>&1 </dev/null || fail "PostgreSQL did not start: $(tail -5 "$home/log" 2>/dev/null)"
printf 'POSTGRES_URI=postgresql://ace@127.0.0.1:%s/postgres\nPOSTGRES_PID=%s\n' "$port" "$(head -1 "$data/postmaster.pid")" |
  tee "$home/server.env"
