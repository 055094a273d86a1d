"""The XML of SSP: its names, and elements that are read safely and tell their place; must not know what they mean."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from mbdfmu.description.messages import listed
from mbdfmu.description.values import shown
from mbdfmu.errors import ModelError

FAMILY = "http://ssp-standard.org/SSP"  # the namespaces of all versions begin with it
NAMESPACES = {
    "ssc": f"{FAMILY}1/SystemStructureCommon",
    "ssd": f"{FAMILY}1/SystemStructureDescription",
    "ssv": f"{FAMILY}1/SystemStructureParameterValues",
}
OURS = "org.mbdfmu.cosim"  # the type of our annotations
OUR_NAMESPACE = "urn:mbdfmu:cosim"
DEEPEST = 50  # systems within systems
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")  # how UTF-16 begins


class Findings:
    """What is wrong with a file, and what is worth to know of it."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._notes: dict[str, dict[str, None]] = {}

    def note(self, sentence: str, name: str) -> None:
        """The names of one sentence become one note."""
        self._notes.setdefault(sentence, {})[name] = None

    def forget(self, sentence: str) -> None:
        """Take a note back."""
        self._notes.pop(sentence, None)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"{sentence}: {listed(names)}" for sentence, names in self._notes.items())


class Tag:
    """An element; what is wrong with it goes to the findings."""

    def __init__(self, element: Any, file: str, findings: Findings) -> None:
        self.element, self.file, self.findings = element, file, findings
        self.name = etree.QName(element).localname

    def problem(self, text: str) -> None:
        """Say what is wrong with this element."""
        line = self.element.sourceline
        self.findings.problems.append(f"{self.file}: line {line}: <{self.name}> {text}")

    def get(self, attribute: str) -> str:
        """An attribute, '' where it is not there."""
        return str(self.element.get(attribute, ""))

    def needed(self, attribute: str) -> str:
        """An attribute that has to be there."""
        value = self.get(attribute)
        if not value:
            self.problem(f"has no attribute '{attribute}'; give it")
        return value

    def number(self, attribute: str, default: float = 0.0) -> float:
        """An attribute that is a finite number."""
        text = self.get(attribute)
        if not text.strip():
            return default
        try:
            value = math.nan if "_" in text else float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.problem(f"{attribute} must be a finite number, found {shown(text)}")
            return default
        return value

    def flag(self, attribute: str) -> bool:
        """An attribute that is true or false; false where it is not there."""
        text = self.get(attribute).strip()
        if text not in ("", "true", "false", "1", "0"):
            self.problem(f"{attribute} must be true or false, found {shown(text)}")
        return text in ("true", "1")

    def children(self, *path: str) -> Iterator[Tag]:
        """The elements of SSP directly inside, or at the end of a path of names."""
        for child in self.element.iterchildren("*"):
            name = etree.QName(child)
            if not (name.namespace or "").startswith(FAMILY) or (path and name.localname != path[0]):
                continue
            tag = Tag(child, self.file, self.findings)
            if len(path) > 1:
                yield from tag.children(*path[1:])
            else:
                yield tag

    def child(self, *path: str) -> Tag | None:
        """The first of them."""
        return next(self.children(*path), None)


def parse(content: bytes, file: str, findings: Findings) -> Tag:
    """The outermost element. What could pull in other text, or grow, is refused before anything is parsed."""
    if content.startswith(_WIDE):
        raise ModelError(f"{file}: is UTF-16; save it as UTF-8")
    declared = re.search(rb"<!DOCTYPE", content, re.IGNORECASE)
    if declared:
        line = content.count(b"\n", 0, declared.start()) + 1
        raise ModelError(f"{file}: line {line}: has a DOCTYPE, which may pull in other text; remove it")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
                             remove_comments=True, remove_pis=True)  # fmt: skip
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        message = error.msg or "it cannot be parsed"
        raise ModelError(f"{file}: not XML, {message[:1].lower()}{message[1:]}; export or mend it") from None
    return Tag(root, file, findings)


def checked(tag: Tag, name: str) -> Tag:
    """The root, which must be this element in a version that is known."""
    namespace = etree.QName(tag.element).namespace or ""
    if tag.name != name or not namespace.startswith(FAMILY):
        found = f"{{{namespace}}}{tag.name}" if namespace else tag.name
        raise ModelError(f"{tag.file}: must be a <{name}> of SSP, found {shown(found)}; name another file")
    version = tag.get("version")
    if not re.match(r"[12]\.[0-9]", version):
        raise ModelError(f"{tag.file}: is of version {shown(version)}, known are 1.0 and 2.0; export it anew")
    return tag


def made(parent: Any, tag: str, /, **attributes: Any) -> Any:
    """A new element below another, such as `ssd:Component`; attributes that are None or '' are left out."""
    element = etree.SubElement(parent, tagged(tag))
    for attribute, value in attributes.items():
        if value not in (None, ""):
            element.set(attribute, written(value))
    return element


def tagged(name: str) -> str:
    """`ssd:Component` as lxml has it."""
    prefix, _, local = name.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


def written(value: Any) -> str:
    """As XML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)  # repr: all digits that make a difference
