#!/usr/bin/env bash
# Sends what schemathesis makes of the OpenAPI document to a running app: no answer may be a 5xx, or
# another than the document says; and each request again in the ways of http_checks.py. `cargo xtask api`
# starts an app for it.
#
#   .ci/openapi/run.sh http://127.0.0.1:7071/api SECONDS
#
# Needs Python 3.10 or newer, and PyPI for the first run: the tool is kept in the target directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

api=$1 seconds=$2
here=.ci/openapi
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/openapi
mkdir -p "$work"

if ! cmp -s "$here/requirements.txt" "$work/requirements.txt"; then
    echo "installing schemathesis"
    rm -rf "$work/python" "$work/requirements.txt"
    python3 -m venv "$work/python"
    "$work/python/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/requirements.txt"
fi

# The other checks ask whether each request that fits the schemas succeeds, and whether keys are needed:
# posts need authors, and the stand-in for the host asks for no key.
PYTHONPATH=$(realpath "$here") SCHEMATHESIS_HOOKS=http_checks
export PYTHONPATH SCHEMATHESIS_HOOKS
cd "$work" # It keeps what it has learned where it runs.
"$work/python/bin/schemathesis" run "$api/openapi.json" --url "${api%/api}" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,allow_header_conformance,head_is_get_without_a_body,no_command_reads_one_of_two_values,a_body_may_end_with_a_trailer \
    --continue-on-failure --max-time "$seconds" --seed 1 --no-color \
    --suppress-health-check all --warnings off
