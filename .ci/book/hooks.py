"""Makes a book of pages that GitHub shows as they are: the first page is the README, and links to files
outside of docs/ lead to the repository.

BOOK_SOURCE is the address of the repository's files, such as https://github.com/OWNER/NAME/blob/main. Without
it, links to files are left out, and their texts stay.
"""

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = "Decisions"
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
IMAGE = re.compile(r"(!\[[^\]]*\]\()docs/([^()\s]+\))")


def on_config(config):
    """Adds the decisions to the contents, by their numbers."""
    for entry in config.nav:
        if DECISIONS in entry:
            for page in sorted((ROOT / "docs/adr").glob("[0-9]*.md")):
                title = page.read_text().splitlines()[0].removeprefix("# ")
                entry[DECISIONS].append({title: f"adr/{page.name}"})
    return config


def on_files(files, config):
    """Makes the README the first page."""
    text = IMAGE.sub(r"\1\2", (ROOT / "README.md").read_text())
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turns the links of a page into those of the book, outside of blocks of code."""
    is_first = page.file.src_uri == "index.md"
    folder = PurePosixPath() if is_first else PurePosixPath("docs", page.file.src_uri).parent

    def replaced(match):
        text, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, _, heading = target.partition("#")
        file = os.path.normpath(folder / path)
        here = "docs" if is_first else folder
        if file.startswith("docs/") and file.endswith(".md"):
            to = os.path.relpath(file, here)
        elif file == "README.md":
            to = os.path.relpath("docs/index.md", here)
        else:
            source = os.environ.get("BOOK_SOURCE")
            return f"[{text}]({source}/{file})" if source else text
        return f"[{text}]({to}#{heading})" if heading else f"[{text}]({to})"

    blocks = re.split(r"(^```.*?^```)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(block if block.startswith("```") else LINK.sub(replaced, block) for block in blocks)
