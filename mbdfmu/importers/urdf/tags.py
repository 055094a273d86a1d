"""The elements of an XML file, read safely and with findings that name the line; must not know what they mean."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lxml import etree

from mbdfmu.description.values import shown
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.importers.urdf.findings import Findings

_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>\n]*\?>")
_ODD = re.compile("[\ud800-\udfff\ufffe\uffff]")  # what a model file cannot store
Known = Mapping[str, tuple[str, str]]  # tag -> its attributes and its children, as words


class Part(NamedTuple):
    """What a tag belongs to."""

    kind: str
    name: str


FILE = Part("", "the file itself")


class Tag:
    """An element; what is wrong with its attributes goes to the findings, and a number that cannot be read is nan."""

    def __init__(self, element: etree._Element, findings: Findings, part: Part = FILE) -> None:
        self.element = element
        self.findings = findings
        self.name = str(element.tag)
        line = element.sourceline
        self.line = line if isinstance(line, int) else 0
        self.part = part

    def problem(self, text: str) -> None:
        """Say what is wrong with this element."""
        where = f"{self.part.kind} '{self.part.name}': " if self.part.kind else ""
        self.findings.problem(self.line, f"{where}<{self.name}> {text}")

    def note(self, sentence: str) -> None:
        """Say what a model does not hold of the link or joint."""
        self.findings.note(sentence, self.part.name)

    def children(self, name: str = "*") -> list[Tag]:
        """The elements directly inside, or those of one name."""
        return [Tag(child, self.findings, self.part) for child in self.element.iterchildren(name)]

    def child(self, name: str) -> Tag | None:
        """The only element of that name, if there is one."""
        found = self.children(name)
        if len(found) > 1:
            found[1].problem(f"is given twice, first on line {found[0].line}; keep one")
        return found[0] if found else None

    def needed(self, name: str) -> Tag | None:
        """The only element of that name, which has to be there."""
        found = self.child(name)
        if found is None:
            self.problem(f"has no <{name}>; add it")
        return found

    def text(self, attribute: str) -> str:
        """An attribute that has to be there."""
        value = self.element.get(attribute)
        if not value or not value.strip():
            self.problem(f"has no attribute '{attribute}'; give it")
            return ""
        if _ODD.search(value):
            self.problem(f"{attribute} has a character that no model file can store, found {shown(value)}; change it")
        return value

    def option(self, attribute: str) -> str:
        """An attribute that may be left out."""
        return self.text(attribute) if self.element.get(attribute) is not None else ""

    def number(self, attribute: str, default: float | None = None) -> float:
        """An attribute that is one number; without a default it has to be there."""
        return self.numbers(attribute, 1, None if default is None else (default,))[0]

    def numbers(self, attribute: str, count: int, default: Sequence[float] | None = None) -> tuple[float, ...]:
        """An attribute that is as many numbers with blanks between them."""
        if default is not None and self.element.get(attribute) is None:
            return tuple(default)
        text = self.text(attribute)
        values = tuple(_number(word) for word in text.split())
        if len(values) == count and all(map(math.isfinite, values)):
            return values
        if text:
            wanted = "a finite number" if count == 1 else f"{count} finite numbers with blanks between them"
            hint = "; expand the file with xacro first" if "${" in text else ""
            self.problem(f"{attribute} must be {wanted}, found {shown(text)}{hint}")
        return (math.nan,) * count


def note_strays(root: Tag, known: Known) -> None:
    """Say which tags and attributes are not in the table, so that a misspelt one is no silent default."""
    for parent, (attributes, children) in _known_elements(root.element, known):
        for child in parent.iterchildren("*"):
            if child.tag not in children.split():
                name = _plain(child.tag)
                hint = did_you_mean(name, children.split())
                root.findings.note("tags that no model can hold are left out", f"<{name}> in <{parent.tag}>{hint}")
        for attribute in parent.attrib:
            if attribute not in attributes.split():
                name = _plain(attribute)
                hint = did_you_mean(name, attributes.split())
                root.findings.note("attributes that no model can hold are left out", f"{name} of <{parent.tag}>{hint}")


def _known_elements(element: etree._Element, known: Known) -> Iterator[tuple[etree._Element, tuple[str, str]]]:
    """The elements that the table leads to; its depth is that of the format, hence the recursion."""
    names = known[str(element.tag)]
    yield element, names
    for child in element.iterchildren("*"):
        if child.tag in names[1].split():
            yield from _known_elements(child, known)


def _plain(name: object) -> str:
    """A name without the address of its namespace."""
    return str(name).rpartition("}")[2]


def parse(content: bytes, findings: Findings) -> Tag:
    """The outermost element of a file. What could pull in other text is refused before anything is parsed."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ModelError(f"line {line}: not UTF-8 text at byte {error.start}; save the file as UTF-8") from None
    prolog = _PROLOG.match(content)
    if prolog is not None and content.startswith(b"<!DOCTYPE", prolog.end()):
        line = content.count(b"\n", 0, prolog.end()) + 1
        raise ModelError(f"line {line}: has a DOCTYPE, which is not read since it may pull in other text; remove it")
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    declaration = _DECLARATION.match(content)  # says nothing new of the encoding, and in many files "version 0.0"
    try:
        return Tag(etree.fromstring(content[declaration.end() if declaration else 0 :], parser), findings)
    except etree.XMLSyntaxError as error:
        raise ModelError(f"line {error.lineno}: not XML, {_lowered(error.msg)}") from None


def _number(word: str) -> float:
    try:
        return math.nan if "_" in word else float(word)
    except ValueError:
        return math.nan


def _lowered(text: str | None) -> str:
    text = text or "it cannot be parsed"
    return text[:1].lower() + text[1:]
