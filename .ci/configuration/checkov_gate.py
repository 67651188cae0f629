"""Checkov on the Bicep files of a folder, with a gate that also fails on what was not looked at.

The command exits with 0 when it cannot parse a file, and its output does not say which files it
parsed. So the runner behind the command is asked for both.
"""

import sys
from pathlib import Path

import checkov.main  # noqa: F401  (registers the rules)
from checkov.bicep.runner import Runner
from checkov.runner_filter import RunnerFilter

# What Checkov puts in the place of a reason.
NO_REASON = "No comment provided"


def main(folder: Path) -> int:
    runner = Runner()
    filter = RunnerFilter(framework=["bicep"], show_progress_bar=False)
    report = runner.run(root_folder=str(folder), runner_filter=filter)
    summary = report.get_summary()

    complaints = [f"{path}: not parsed" for path in report.parsing_errors]
    seen = {Path(path).resolve() for path in runner.definitions}
    complaints += [f"{path}: not looked at" for path in folder.rglob("*.bicep") if path.resolve() not in seen]
    for check in report.failed_checks:
        line = check.file_line_range[0]
        complaints.append(f"{folder}{check.file_path}:{line}: {check.check_name} [{check.check_id}]")
    for check in report.skipped_checks:
        if check.check_result["suppress_comment"] == NO_REASON:
            complaints.append(f"{folder}{check.file_path}: {check.check_id} is skipped without a reason")
    if summary["resource_count"] == 0 or summary["passed"] == 0:
        complaints.append("no resource was checked")

    for complaint in sorted(set(complaints)):
        print(complaint)
    print("checkov:", ", ".join(f"{name} {summary[name]}" for name in ("passed", "failed", "skipped", "parsing_errors")))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
