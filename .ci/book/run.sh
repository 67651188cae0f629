#!/usr/bin/env bash
# Builds the book into target/book, and fails if a page or a link is missing.
#
# Needs Python 3.11 or newer and Node.js 20, and PyPI and npm for the first run: the tools are kept in the
# target directory. With --serve, it shows the book on http://127.0.0.1:8000 and follows changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

here=.ci/book
work=${CARGO_TARGET_DIR:-$PWD/target}/book-tools
python=$work/python/bin/python

mkdir -p "$work"
if ! cmp -s "$here/requirements.txt" "$work/requirements.txt"; then
    rm -rf "$work/python" "$work/requirements.txt"
    python3 -m venv "$work/python"
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/requirements.txt"
fi
# After a change of package.json, in this folder: npm install --package-lock-only --omit-lockfile-registry-resolved
if ! cmp -s "$here/package-lock.json" "$work/installed.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$work"
    npm ci --prefix "$work" --no-audit --no-fund --loglevel=error
    cp "$here/package-lock.json" "$work/installed.json"
fi

export NO_MKDOCS_2_WARNING=1
if [[ ${1:-} == --serve ]]; then
    exec "$python" -m mkdocs serve --no-strict --config-file "$here/mkdocs.yml"
fi
"$python" -m mkdocs build --quiet --clean --config-file "$here/mkdocs.yml"
mkdir -p target/book/assets
cp "$work/node_modules/mermaid/dist/mermaid.min.js" target/book/assets/
echo "the book: $(find target/book -name '*.html' | wc -l) pages in target/book"
