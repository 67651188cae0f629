#!/usr/bin/env bash
# Drives the web page of a running app with Debian's Chromium. `cargo xtask page` starts an app for it.
#
#   tests/page/run.sh http://127.0.0.1:7071 [FOLDER FOR PICTURES]
#
# Needs Node.js 20, and npm for the first run: what it installs is kept in the target directory. Without
# Chromium it installs Debian's, which needs root; where that fails, the stories are skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

url=$1 pictures=${2:-}
work=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../target}")/page-tests
mkdir -p "$work"

chromium=${CHROMIUM:-$(command -v chromium || true)}
if [[ -z $chromium ]]; then
    echo "installing chromium"
    if { apt-get update && apt-get install -y --no-install-recommends chromium; } >"$work/apt.log" 2>&1; then
        chromium=$(command -v chromium)
    else
        tail -n 3 "$work/apt.log"
        echo "skipped: there is no Chromium, and apt-get cannot install it. CHROMIUM names one elsewhere." >&2
        exit
    fi
fi
# After a change of package.json, in this folder: npm install --package-lock-only --omit-lockfile-registry-resolved
if ! cmp -s "$here/package-lock.json" "$work/installed.json"; then
    echo "installing playwright-core and axe-core"
    cp "$here/package.json" "$here/package-lock.json" "$work"
    npm ci --prefix "$work" --no-audit --no-fund --ignore-scripts --loglevel=error
    cp "$here/package-lock.json" "$work/installed.json"
fi

export PAGE_URL=$url PAGE_PICTURES=$pictures PAGE_TOOLS=$work CHROMIUM=$chromium
node "$here/effects.mjs"
exec node --test --test-reporter=spec "$here/page.mjs"
