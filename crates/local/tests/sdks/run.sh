#!/usr/bin/env bash
# Shows that @azure/cosmos (npm) and azure-cosmos (PyPI) work against the local endpoint.
# Needs Node.js 20, Python 3.9 or newer, and npm and PyPI for the first run. What it installs is
# kept in the target directory.
#
#   crates/local/tests/sdks/run.sh [command that starts the endpoint]
#
# The command must print one line of JSON with the key "cosmos" on its standard output, as
# `cargo local --cosmos-only --cosmos-port 0` does.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/sdks
mkdir -p "$work"

if (($#)); then
    start=("$@")
else
    (cd "$root" && cargo build --quiet -p tributary-local --bin tributary-local)
    start=("$(dirname "$work")/debug/tributary-local" --app "$root" --cosmos-only --cosmos-port 0 --partitions 2)
fi

# Each is installed once for its pinned version.
# After a change of package.json, in this folder: npm install --package-lock-only --omit-lockfile-registry-resolved
if ! cmp -s "$here/package-lock.json" "$work/installed.json"; then
    echo "installing @azure/cosmos"
    cp "$here/package.json" "$here/package-lock.json" "$work"
    npm ci --prefix "$work" --no-audit --no-fund --loglevel=error
    cp "$here/package-lock.json" "$work/installed.json"
fi
if ! cmp -s "$here/requirements.txt" "$work/requirements.txt"; then
    echo "installing azure-cosmos"
    rm -rf "$work/python"
    python3 -m venv "$work/python"
    "$work/python/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/requirements.txt"
fi

ready=$work/ready.$$
"${start[@]}" >"$ready" &
endpoint=$!
trap 'kill "$endpoint" 2>/dev/null || true; rm -f "$ready"' EXIT

deadline=$((SECONDS + 120))
until grep -q '"cosmos"' "$ready"; do
    kill -0 "$endpoint" 2>/dev/null || { echo "the endpoint ended before it was ready" >&2; exit 1; }
    ((SECONDS < deadline)) || { echo "the endpoint was not ready in 120 seconds" >&2; exit 1; }
    sleep 0.1
done
url=$(sed -n 's/.*"cosmos":"\([^"]*\)".*/\1/p' "$ready")

echo "endpoint: $url"
scripts=$root/crates/cosmos-store/tests/conformance
SDK_HOME=$work node "$scripts/javascript.mjs" "$url"
"$work/python/bin/python" "$scripts/python.py" "$url"
echo "both SDKs work against the local endpoint"
