"""What is on a desktop: windows, their elements, and a snapshot of them at one moment.

Role and state names are ARIA's where ARIA has one, so that a model reads the words it knows from web pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alongside.core.geometry import Rect

# Roles that hold no meaning of their own: not listed unless they have a name or are asked for.
LAYOUT_ROLES = frozenset(
    {"generic", "group", "none", "presentation", "paragraph", "section", "text", "panel", "unknown"}
)
# Roles one can act on or read a value of, whatever else they publish.
CONTROL_ROLES = frozenset(
    {
        "button", "checkbox", "radio", "switch", "textbox", "searchbox", "combobox", "listbox", "option", "slider",
        "spinbutton", "tab", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "treeitem", "cell", "row",
        "scrollbar", "columnheader", "rowheader", "gridcell", "colorwell", "date",
    }
)  # fmt: skip
TEXT_ROLES = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "document", "terminal"})
# Roles whose value is a number, however it is written.
NUMBER_ROLES = frozenset({"slider", "spinbutton", "progressbar", "scrollbar", "meter", "cell", "gridcell"})
# Other names that people, models and toolkits use for a role, without blanks and hyphens.
ROLE_ALIASES = {
    "pushbutton": "button", "togglebutton": "button", "check": "checkbox", "radiobutton": "radio",
    "textfield": "textbox", "textarea": "textbox", "entry": "textbox", "edit": "textbox", "field": "textbox",
    "input": "textbox", "combo": "combobox", "dropdown": "combobox", "listitem": "option", "item": "option",
    "spin": "spinbutton", "number": "spinbutton", "pagetab": "tab", "tablecell": "cell", "hyperlink": "link",
    "anchor": "link", "image": "img", "picture": "img", "icon": "img", "grid": "table", "frame": "window",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Element:
    """One accessibility node.

    ``key`` names it on its platform for as long as it lives. ``bounds`` are in the window's own frame, in pixels, None
    where it publishes none. ``value`` is what it holds (text, number, chosen option), None where it holds nothing.
    ``actions`` are read only for the raw view. ``more`` counts children that were not read (huge tables, cut walks).
    ``extra`` is the platform's own.
    """

    key: str
    role: str
    name: str = ""
    value: str | None = None
    states: frozenset[str] = frozenset()
    bounds: Rect | None = None
    actions: tuple[str, ...] = ()
    depth: int = 0
    parent: str | None = None
    description: str = ""
    more: int = 0
    source: str = "atspi"
    # States that its kind of element publishes: a state in neither is unknown, never false.
    knows: frozenset[str] = frozenset()
    extra: object = None

    def state(self, name: str) -> bool | None:
        """Whether it is in this state; None where that is not known."""
        if name in self.states:
            return True
        return False if name in self.knows else None

    @property
    def secret(self) -> bool:
        return "secret" in self.states

    @property
    def enabled(self) -> bool:
        return "disabled" not in self.states

    @property
    def editable(self) -> bool:
        """Whether one can type into it."""
        return self.role in TEXT_ROLES and not self.states & {"readonly", "disabled"}


@dataclass(frozen=True, slots=True)
class Window:
    """One top-level window; ``id`` is given once and never again (``s1.2``), ``native`` is the platform's own number.

    ``bounds`` are those of its contents in the display, in pixels; ``kind`` is normal, dialog, popup or other;
    ``owner`` is the native number of the window it belongs to.
    """

    id: str
    native: int
    title: str
    app: str
    pid: int
    wm_class: str
    bounds: Rect
    kind: str = "normal"
    states: frozenset[str] = frozenset()
    owner: int | None = None
    desktop: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The elements of one window at one moment, parents before children (``taken`` in monotonic seconds).

    ``cuts`` says, in sentences, what was not read and how to get it; empty means that the tree is whole.
    """

    window: Window
    toolkit: str
    elements: tuple[Element, ...]
    taken: float
    cuts: tuple[str, ...] = ()
    by_key: dict[str, Element] = field(default_factory=dict, compare=False)
    _inside: dict[str | None, list[Element]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        self.by_key.update((element.key, element) for element in self.elements)

    def __iter__(self) -> Iterator[Element]:
        return iter(self.elements)

    @property
    def inside(self) -> dict[str | None, list[Element]]:
        """The children of each key, in order."""
        if not self._inside:
            for one in self.elements:
                self._inside.setdefault(one.parent, []).append(one)
        return self._inside

    def ancestors(self, element: Element) -> Iterator[Element]:
        """From its parent up to the window."""
        while element.parent is not None and (above := self.by_key.get(element.parent)) is not None:
            yield above
            element = above

    def below(self, element: Element) -> Iterator[Element]:
        """All its descendants, in order."""
        stack = self.inside.get(element.key, [])[::-1]
        while stack:
            one = stack.pop()
            yield one
            stack += reversed(self.inside.get(one.key, []))

    def with_element(self, changed: Element) -> Snapshot:
        """The same moment with one element read again."""
        elements = tuple(changed if one.key == changed.key else one for one in self.elements)
        return replace(self, elements=elements, by_key={}, _inside={})

    def with_more(self, found: Element) -> Snapshot:
        """The same moment with an element that had not been read, such as a cell of a huge table."""
        return replace(self, elements=(*self.elements, found), by_key={}, _inside={})
