"""Check that every relative link and anchor in the Markdown pages leads somewhere; must not know what the pages say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ("*.md", "docs/**/*.md", "examples/*.md", "models/*.md", "fmus/*.md", "benchmarks/*.md")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, spelt as Git hosts spell them: lower case, words joined by hyphens."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    seen: dict[str, int] = {}
    for heading in HEADING.findall(text):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, 0) + 1
    return {slug if k == 0 else f"{slug}-{k}" for slug, number in seen.items() for k in range(number)}


def broken_links(page: Path) -> Iterator[str]:
    text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):  # another site; this check needs no network
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: link to '{target}': there is no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{page.relative_to(ROOT)}: link to '{target}': the page has no such heading"


def main() -> int:
    pages = sorted({page for pattern in PATTERNS for page in ROOT.glob(pattern)})
    broken = [line for page in pages for line in broken_links(page)]
    print("\n".join([*broken, f"{len(pages)} pages, {len(broken)} broken links"]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
