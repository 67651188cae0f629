#!/usr/bin/env python3
"""Runs foreign suites against a store, and prints the results by file as the tables of docs/conformance.md.

    crates/cosmos-store/tests/conformance/run.py URL WORK_FOLDER [sync | async | scripts | files of tests] [pytest options]

- `sync`, `async`: Microsoft's tests of the Python SDK, from its sdist on PyPI
- `scripts`: `javascript.mjs` and `python.py` beside this file, with the SDKs from npm and PyPI

`cargo xtask conformance` starts the store and calls it. It needs PyPI and npm for the first run, and fails if a test
fails that has no reason in KNOWN. It is also the plugin of pytest that skips what the store does not have.
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
NPM = HERE.parents[2] / "local/tests/sdks"

# The kinds of tests that need no second region and no identity of Entra ID.
KINDS = "cosmosQuery or cosmosLong or cosmosSplit or cosmosEmulator or cosmosSearchQuery"

# Parts of the names of files that are not run.
FILES = {
    "identities of Entra ID": ["_aad"],
    "several regions": [
        "availability", "circuit_breaker", "excluded_locations", "failover", "globaldb", "health_check", "location",
        "multimaster", "preferred", "regional",
    ],
    "the SDK alone, without a service or with faults of its own": [
        "_unit", "fault_injection", "logging", "_paged", "pk_range_drain", "proxy", "read_timeout", "retry", "retryable",
        "routing", "session_token_helpers", "shared_cache", "user_agent", "utils",
    ],
}

# Parts of the names of tests that are skipped.
TESTS = {
    "stored procedures": ["stored_procedure", "sproc", "get_resource_with_dictionary_and_object"],
    "triggers": ["trigger"],
    "user-defined functions": ["udf"],
    "users and permissions": ["test_user_", "permission", "test_authorization"],
    "several write regions": ["_mwr_"],
}

# Parts of the names of tests that fail, and why.
KNOWN = {
    "all_versions_and_deletes": "The container of the test has no `changeFeedPolicy`, without which the store refuses this "
    "feed. Microsoft's test account seems to allow it for all containers.",
    "timeout": "The test expects a timeout of less than a millisecond to end a request. On one machine the answer is there "
    "before the SDK waits for it.",
    "path_parser": "The sdist lacks a file that the test reads, `BaselineTest.PathParser.json`.",
    "write_disabled::test_partitioned_collection_document_crud_and_query": "The SDK knows the `_rid` of a container from the "
    "bodies of items. Writes without bodies have none, so it sends the session token of another container: 404/1002.",
    "test_existing_child_revision": "The test waits until it sees a range that is about to split. The store splits at once.",
    "test_hybrid_search_queries": "Two of the 13 results that the test expects have no score, so the SDK sorts them by the "
    "text of their `_rid`. The store numbers items otherwise than Azure.",
    "static_continuation": "The test sends a continuation that Azure made for another container. The store takes only its own.",
}

SKIPPED = "not in this store: "


def pytest_collection_modifyitems(items):
    """Skips the tests of TESTS."""
    import pytest

    for item in items:
        for reason, names in TESTS.items():
            if any(name in item.name for name in names):
                item.add_marker(pytest.mark.skip(reason=SKIPPED + reason))


def installed(work):
    """Installs the SDKs and unpacks the tests, once for each list of requirements."""
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


def scripts(url, work, python):
    """Runs the scripts beside this file, and returns the number of those that fail."""
    lock = work / "package-lock.json"
    if not lock.exists() or lock.read_text() != (NPM / lock.name).read_text():
        shutil.copy(NPM / "package.json", work)
        shutil.copy(NPM / lock.name, work)
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=work, check=True)
    environment = {**os.environ, "SDK_HOME": str(work), "PYTHONWARNINGS": "ignore"}
    commands = [["node", HERE / "javascript.mjs", url], [python, HERE / "python.py", url]]
    return sum(subprocess.run(command, env=environment).returncode != 0 for command in commands)


def suite(name, files, options, url, work, python, tests):
    """Runs tests of the sdist, prints their results, and returns the number of those that fail for no known reason."""
    results, output = work / f"{name}.xml", work / f"{name}.txt"
    command = [python, "-m", "pytest", *files, "-m", KINDS, "-q", "--no-header", "-p", "no:cacheprovider", "-p", "run"]
    command += ["--timeout=120", f"--junitxml={results}", "--tb=native", *options]
    environment = {**os.environ, "ACCOUNT_HOST": url, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}
    with output.open("w") as file:
        subprocess.run(command, env=environment, cwd=tests.parent, stdout=file, stderr=subprocess.STDOUT)

    counts = collections.defaultdict(collections.Counter)
    skipped, failures, n_unknown = collections.Counter(), [], 0
    for case in xml.parse(results).iter("testcase"):
        file, test = case.get("classname").split(".")[1], case.get("name")
        outcome = {child.tag: child.get("message") for child in case}
        reason = outcome.get("failure", outcome.get("error"))
        if reason is not None:
            counts[file]["failed"] += 1
            known = next((why for part, why in KNOWN.items() if part in f"{file}::{test}"), None)
            n_unknown += known is None
            failures.append(f"| `{file}::{test}` | {known or 'NEW: ' + ' '.join(reason.split())[:200]} |")
        elif "skipped" in outcome:
            counts[file]["skipped"] += 1
            skipped[outcome["skipped"]] += 1
        else:
            counts[file]["passed"] += 1
    total = sum(counts.values(), collections.Counter())
    print(f"### {name}\n\n| file | passed | failed | skipped |\n| --- | ---: | ---: | ---: |")
    for file, count in [*sorted(counts.items()), ("all", total)]:
        print(f"| {file} | {count['passed']} | {count['failed']} | {count['skipped']} |")
    print("\n| skipped | tests |\n| --- | ---: |")
    for reason, count in sorted(skipped.items()):
        print(f"| {reason} | {count} |")
    print("\n| failed | reason |\n| --- | --- |", *failures, sep="\n")
    print(f"\n{output} has the output of pytest\n", flush=True)
    return n_unknown


def main(url, work, *arguments):
    python, tests = installed(work)
    options = [argument for argument in arguments if argument.startswith("-")]
    chosen = [argument for argument in arguments if not argument.startswith("-")]
    left_out = [part for parts in FILES.values() for part in parts]
    files = [file for file in sorted(tests.glob("test_*.py")) if not any(part in file.name for part in left_out)]
    run = (options, url, work, python, tests)
    n_failed = 0
    for name in chosen or ["scripts", "sync", "async"]:
        if name == "scripts":
            n_failed += scripts(url, work, python)
        elif name in ("sync", "async"):
            of_suite = [file for file in files if file.stem.endswith("_async") == (name == "async")]
            n_failed += suite(name, of_suite, *run)
        else:
            n_failed += suite(pathlib.Path(name).stem, [tests / name], *run)
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), *sys.argv[3:]))
