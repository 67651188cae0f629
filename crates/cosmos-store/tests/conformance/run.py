#!/usr/bin/env python3
"""Runs Microsoft's tests of the Python SDK, from its sdist on PyPI, against a store, and counts the results by file.

    crates/cosmos-store/tests/conformance/run.py URL WORK_FOLDER [pytest arguments]

`cargo xtask conformance` starts the store and calls it. It needs PyPI for the first run.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import venv
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"

# What the store does not have: several write regions, failover, client encryption, full text search, Entra ID.
KINDS = "cosmosQuery or cosmosLong or cosmosSplit or cosmosEmulator or cosmosSearchQuery"
# These test the SDK alone, or regions.
WITHOUT_STORE = [
    "aad", "circuit_breaker", "excluded_locations", "fault_injection", "globaldb", "health_check", "location", "preferred",
    "retry", "routing", "shared_cache", "_unit", "user_agent", "paged", "logging", "utils", "hybrid", "full_text",
    "availability", "failover", "multimaster", "proxy", "timeout", "pk_range_drain", "session_token",
]


def installed(work):
    """Installs the SDK and unpacks its tests, once for each list of requirements."""
    python = work / "venv/bin/python"
    done = work / "requirements.txt"
    if not done.exists() or done.read_text() != REQUIREMENTS.read_text():
        shutil.rmtree(work, ignore_errors=True)
        venv.create(work / "venv", with_pip=True)
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "-r", REQUIREMENTS], check=True)
        sdk = next(line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("azure-cosmos"))
        download = ["download", "--no-deps", "--no-binary", ":all:", "--dest", work, sdk]
        subprocess.run([*pip, *download], check=True)
        with tarfile.open(next(work.glob("azure_cosmos-*.tar.gz"))) as sdist:
            sdist.extractall(work / "sdist", filter="data")
        shutil.copy(REQUIREMENTS, done)
    return python, next((work / "sdist").glob("*/tests"))


def main(url, work, *arguments):
    python, tests = installed(work)
    results = work / "results.xml"
    chosen = [argument for argument in arguments if not argument.startswith("-")]
    files = [tests / name for name in chosen] or [
        file for file in sorted(tests.glob("test_*.py")) if not any(word in file.name for word in WITHOUT_STORE)
    ]
    options = [argument for argument in arguments if argument.startswith("-")]
    command = [python, "-m", "pytest", *files, "-m", KINDS, "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["--timeout=120", f"--junitxml={results}", "--tb=short", *options]
    environment = {**os.environ, "ACCOUNT_HOST": url, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}
    with (work / "output.txt").open("w") as output:
        subprocess.run(command, env=environment, cwd=tests.parent, stdout=output, stderr=subprocess.STDOUT)

    counts = collections.defaultdict(collections.Counter)
    failures = []
    for case in xml.parse(results).iter("testcase"):
        file = case.get("classname").split(".")[1]
        kinds = {child.tag for child in case}
        kind = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        counts[file][kind] += 1
        if kind == "failed":
            reason = next(child for child in case if child.tag in ("failure", "error")).get("message")
            failures.append(f"{file}::{case.get('name')}: {' '.join(reason.split())[:200]}")
    print("| file | passed | failed |\n| --- | ---: | ---: |")
    for file, count in sorted(counts.items()):
        if count["passed"] + count["failed"]:
            print(f"| {file} | {count['passed']} | {count['failed']} |")
    total = sum(counts.values(), collections.Counter())
    print(f"| all | {total['passed']} | {total['failed']} |\n")
    print("\n".join(failures))
    print(f"\n{work / 'output.txt'} has the output of pytest")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), *sys.argv[3:])
