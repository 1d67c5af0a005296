"""Who keeps which number: a ref names one element of one desktop for as long as it lives, and nothing else ever."""

from __future__ import annotations

from alongside.core.errors import NotFound, Stale


class RefBook:
    """The refs of one desktop.

    ``first`` is one above the highest number that was given before (also by a driver that died), so that no number
    ever comes back with another meaning.
    """

    def __init__(self, first: int = 1) -> None:
        self.next = first
        self._keys: dict[int, str] = {}
        self._refs: dict[str, int] = {}
        self._windows: dict[int, str] = {}

    def give(self, key: str, window: str) -> int:
        """The ref of an element, new if it has none yet."""
        ref = self._refs.get(key)
        if ref is None:
            ref = self._refs[key] = self.next
            self._keys[ref] = key
            self.next += 1
        self._windows[ref] = window
        return ref

    def retire(self, key: str) -> None:
        """Forget an element that is gone; its number is not given again."""
        ref = self._refs.pop(key, None)
        if ref is not None:
            del self._keys[ref], self._windows[ref]

    def keys_of(self, window: str) -> set[str]:
        return {self._keys[ref] for ref, owner in self._windows.items() if owner == window}

    def element(self, ref: int, window: str) -> str:
        """The key that ``ref`` stands for; refused when it is stale, was never given, or is of another window."""
        key = self._keys.get(ref)
        if key is None:
            look = f'look("{window}") and take the ref it shows now'
            if 0 < ref < self.next:
                raise Stale(f"[{ref}] named an element that is gone.", next=look)
            raise NotFound(f"[{ref}] was never given on this desktop.", next=look)
        if self._windows[ref] != window:
            owner = self._windows[ref]
            raise NotFound(f"[{ref}] is an element of {owner}, not of {window}.", next=f'act("{owner}", ...)')
        return key
