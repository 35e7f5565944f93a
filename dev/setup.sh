#!/bin/sh
# Usage: dev/setup.sh run|dev [VENV]
# Makes VENV (default .venv) ready: "run" is the package alone, "dev" also the tools that test and check it.
# Versions are those of dev/constraints.txt. Installs with uv: the one on the PATH, or one that it puts into VENV; with
# pip, which takes several times as long, where neither can be had. Does nothing when nothing changed since the last time.
# Env: PYTHON (the interpreter to use), PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS, PIP_CERT and the proxy
# variables, which uv is told about too.
set -eu

purpose=${1:?usage: dev/setup.sh run|dev [VENV]}
root=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$root"
venv=${2:-.venv}
stamp="$venv/.ace-ready"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }
case $purpose in run | dev) ;; *) fail "dev/setup.sh: '$purpose' is neither run nor dev" ;; esac

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

wanted() { # what the stamp must say: this folder, and these requirements
    printf '%s %s\n' "$root" "$(cat pyproject.toml dev/constraints.txt dev/setup.sh | cksum)"
}

is_ready() { # a dev environment does for running too
    [ -f "$stamp" ] && new_enough "$venv/bin/python" || return 1
    [ "$(cat "$stamp")" = "dev $(wanted)" ] || [ "$(cat "$stamp")" = "$purpose $(wanted)" ]
}

find_python() { # a Python >= 3.11; with "venv", one that can also make an environment with pip in it
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        new_enough "$name" || continue
        [ "${1:-}" != venv ] || "$name" -c 'import ensurepip, venv' >/dev/null 2>&1 || continue
        command -v "$name" && return 0
    done
    return 1
}

requirements() { # what to install, as arguments for either installer
    if [ "$purpose" = dev ]; then
        "$venv/bin/python" dev/requirements.py dev >"$venv/requirements.txt" || return 1
        printf '%s ' --requirement "$venv/requirements.txt"
    fi
    printf '%s ' --constraint dev/constraints.txt --editable .
}

make_venv() { # with pip in it
    new_enough "$venv/bin/python" || {
        python=$(find_python venv) || fail "No Python 3.11 or newer that can make a virtual environment was found." \
            "Install one (on Debian and Ubuntu also its python3-venv package), set PYTHON to it, or install uv."
        "$python" -m venv --clear "$venv" || return 1
    }
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null
}

pip_install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

with_uv() { # with_uv UV
    [ -z "${PIP_FIND_LINKS:-}" ] || export UV_FIND_LINKS="${UV_FIND_LINKS:-$(printf %s "$PIP_FIND_LINKS" | tr ' ' ',')}"
    [ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
    [ -z "${PIP_EXTRA_INDEX_URL:-}" ] || export UV_INDEX="${UV_INDEX:-$PIP_EXTRA_INDEX_URL}"
    [ -z "${PIP_CERT:-}" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"
    if ! new_enough "$venv/bin/python"; then
        "$1" venv --quiet --clear --python "$(find_python || echo '>=3.11')" "$venv" || return 1
    fi
    what=$(requirements) || return 1
    # shellcheck disable=SC2086 # several arguments, none with a space
    "$1" pip install --quiet --python "$venv/bin/python" $what
}

with_pip() {
    what=$(requirements) || return 1
    # Where bytecode goes elsewhere, it is made of what is imported, and not of all that is installed.
    [ -z "${PYTHONPYCACHEPREFIX:-}" ] || what="$what --no-compile"
    # shellcheck disable=SC2086 # several arguments, none with a space
    pip_install $what
}

! is_ready || exit 0
started=$(date +%s)
rm -f "$stamp"
say "Setting up $venv (a minute or less with uv, else three; once) ..."
failed="The installation failed; the lines above say why. Behind a proxy or a mirror set HTTPS_PROXY, PIP_INDEX_URL or
PIP_FIND_LINKS, then run the same command again."
uv=$(command -v uv) || {
    make_venv || fail "$failed"
    ! pip_install --constraint dev/constraints.txt uv || uv="$venv/bin/uv"
}
if [ -z "$uv" ] || ! with_uv "$uv"; then
    say "uv could not do it (see above); trying pip ..."
    make_venv && with_pip || fail "$failed"
fi
printf '%s %s\n' "$purpose" "$(wanted)" >"$stamp"
say "$venv is ready after $(($(date +%s) - started)) s ($("$venv/bin/python" --version))."
