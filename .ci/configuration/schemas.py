"""The files of the Functions host against their published JSON schemas (see schemas/README.md)."""

import json
import sys
from pathlib import Path

from jsonschema import Draft7Validator

SCHEMAS = Path(__file__).parent / "schemas"
# What the host takes and the published schema does not know: see schemas/README.md.
NOT_IN_SCHEMA = {"host.json": [("extensions", "cosmosDB", "serializerSettings")]}
FILES = {
    "function.json": sorted(Path("functions").glob("*/function.json")),
    "host.json": [Path("host.json")],
    "local.settings.json": [Path("local.settings.json.example")],
}


def without(document: dict, path: tuple[str, ...]) -> dict:
    """The document without what is at the path."""
    name, *rest = path
    if name not in document:
        return document
    others = {key: value for key, value in document.items() if key != name}
    return others | {name: without(document[name], tuple(rest))} if rest else others


def main() -> int:
    n_files = n_errors = 0
    for name, files in FILES.items():
        # Draft 7 whatever the schema says of itself: schemas/README.md tells why.
        validator = Draft7Validator(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))
        if not files:
            print(f"{name}: no file to check")
            n_errors += 1
        for file in files:
            n_files += 1
            document = json.loads(file.read_text(encoding="utf-8"))
            for path in NOT_IN_SCHEMA.get(name, []):
                document = without(document, path)
            for error in validator.iter_errors(document):
                print(f"{file}: {error.json_path}: {error.message}")
                n_errors += 1
    print(f"schemas: {n_files} files, {n_errors} errors")
    return 1 if n_errors else 0


if __name__ == "__main__":
    sys.exit(main())
