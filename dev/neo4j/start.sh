#!/usr/bin/env bash
# Usage: dev/neo4j/start.sh JARS HOME [PORT]
# Starts a Neo4j Community server from the folder JARS (see get.sh) with its data in HOME; Bolt only, on 127.0.0.1,
# on PORT or on a free one. Prints NEO4J_URI and NEO4J_PID once Bolt answers (about 6 s) and keeps the two lines in
# HOME/server.env. To stop it: kill NEO4J_PID.
# Env: JAVA_HOME; NEO4J_AUTH_ENABLED=true for a server that asks for a password (neo4j/neo4j at first: set_password.py
# sets another); HEAP (512m); START_SECONDS (90); SETTINGS (more lines for neo4j.conf).
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
jars=$(cd "$1" && pwd -P)
mkdir -p "$2"/{conf,data,import,licenses,logs,plugins,run}
home=$(cd "$2" && pwd -P)
here=$(cd "$(dirname "$0")" && pwd -P)
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
python=${PYTHON:-python3}
port=${3:-0}
if [ "$port" != 0 ] && "$python" -IS "$here/bolt_port.py" taken "$port"; then
    echo "Port $port is taken by another program: choose another one." >&2
    exit 1
fi
[ "$port" != 0 ] || port=$("$python" -IS "$here/bolt_port.py" free)

cat >"$home/conf/neo4j.conf" <<CONF
server.config.strict_validation.enabled=false
server.directories.data=$home/data
server.directories.import=$home/import
server.directories.logs=$home/logs
server.directories.plugins=$home/plugins
server.directories.run=$home/run
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:$port
server.bolt.advertised_address=127.0.0.1:$port
server.http.enabled=false
server.https.enabled=false
server.memory.pagecache.size=64m
dbms.security.auth_enabled=${NEO4J_AUTH_ENABLED:-false}
dbms.usage_report.enabled=false
db.lock.acquisition.timeout=10s
db.transaction.timeout=60s
# Transaction logs must not fill the disk of who tries things out: 256 MB would be set aside at once, and kept.
db.tx_log.preallocate=false
db.tx_log.rotation.retention_policy=keep_none
${SETTINGS:-}
CONF

options=(
    -Xms256m "-Xmx${HEAP:-512m}" -XX:+UseSerialGC
    -Dfile.encoding=UTF-8 -Djava.awt.headless=true -Dlog4j2.disable.jmx=true
    -Dio.netty.tryReflectionSetAccessible=true --enable-native-access=ALL-UNNAMED
)
for package in java.nio java.io sun.nio.ch java.util.concurrent; do
    options+=("--add-opens=java.base/$package=ALL-UNNAMED")
done
major=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
[ "${major:-0}" -lt 24 ] || options+=(--sun-misc-unsafe-memory-access=allow)

case $(cd "$jars" && echo neo4j-server-*.jar) in
    neo4j-server-5.*) main=org.neo4j.server.CommunityEntryPoint ;;
    *) main=org.neo4j.server.Neo4jCommunity ;;
esac

log=$home/logs/neo4j.log
touch "$log"
read_before=$(wc -c <"$log")
listens() { # this process, and nobody else on the port
    tail -c +$((read_before + 1)) "$log" | grep -q "Bolt enabled on .*:$port\." &&
        "$python" -IS "$here/bolt_port.py" answers "$port"
}

nohup "$java" "${options[@]}" -cp "$jars/*" "$main" --home-dir="$home" --config-dir="$home/conf" \
    >"$home/console.log" 2>&1 </dev/null &
pid=$!

give_up() {
    echo "Neo4j $1; the end of its logs:" >&2
    tail -n 40 "$home/console.log" "$home"/logs/*.log >&2 || true
    kill "$pid" 2>/dev/null || true
    exit 1
}

deadline=$((SECONDS + ${START_SECONDS:-90}))
until listens; do
    kill -0 "$pid" 2>/dev/null || give_up "stopped at once"
    [ $SECONDS -lt $deadline ] || give_up "did not answer on port $port in time"
    sleep 0.25
done
printf 'NEO4J_URI=bolt://127.0.0.1:%s\nNEO4J_PID=%s\n' "$port" "$pid" | tee "$home/server.env"
