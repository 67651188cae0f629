#!/usr/bin/env bash
# Sends what schemathesis makes of the OpenAPI document to `cargo local --demo`: no answer may be a 5xx,
# or another than the document says.
#
# Needs Python 3.10 or newer, and PyPI for the first run: the tool is kept in the target directory.
# SECONDS_TO_TEST is how long requests are sent.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

here=.ci/openapi
work=${CARGO_TARGET_DIR:-$PWD/target}/openapi
mkdir -p "$work"

if ! cmp -s "$here/requirements.txt" "$work/requirements.txt"; then
    echo "installing schemathesis"
    rm -rf "$work/python" "$work/requirements.txt"
    python3 -m venv "$work/python"
    "$work/python/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/requirements.txt"
fi

ready=$work/ready.$$
cargo local --demo --port 0 --cosmos-port 0 >"$ready" 2>"$work/local.log" &
local=$!
trap 'kill -INT "$local" 2>/dev/null || true; wait "$local" || true; rm -f "$ready"' EXIT

deadline=$((SECONDS + 300))
until grep -q '"api"' "$ready"; do
    kill -0 "$local" 2>/dev/null || { tail "$work/local.log" >&2; exit 1; }
    ((SECONDS < deadline)) || { echo "cargo local was not ready in 300 seconds" >&2; exit 1; }
    sleep 0.1
done
api=$(sed -n 's/.*"api":"\([^"]*\)".*/\1/p' "$ready")

# The other checks ask whether each request that fits the schemas succeeds, and whether keys are needed:
# posts need authors, and the stand-in for the host asks nobody for a key.
"$work/python/bin/schemathesis" run "$api/openapi.json" --url "${api%/api}" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,allow_header_conformance \
    --continue-on-failure --max-time "${SECONDS_TO_TEST:-60}" --seed 1 --no-color \
    --suppress-health-check all --warnings off
