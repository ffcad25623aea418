"""Which calls stand beside a change's new lines."""

from __future__ import annotations

import textwrap

from perfproof.changes.counting.change_places import beside, share_called

TEXT = textwrap.dedent(
    '''\
    class Scheduler:
        def bitmask(self, output):
            """What it
            does."""
            ids = self.asked(output)
            if not ids:
                return None
            mask = self.manager.fill(ids)
            with self.profiled():
                self.note(mask)
            if self.connector is not None:
                self.connector.tell(mask)
            else:
                self.forget()
            return mask
    '''
)


def line(text: str) -> int:
    return next(number for number, one in enumerate(TEXT.splitlines(), start=1) if text in one)


def names(*texts: str) -> list[set[str]]:
    """The names of functions beside the lines with these texts."""
    told = {"asked", "fill", "profiled", "note", "tell", "forget"}
    return [told & place for place in beside(TEXT, {line(text) for text in texts})]


def test_a_line_stands_beside_the_calls_of_its_own_block() -> None:
    """Behind an early return too, and of what a `with` holds; what lies in branches is elsewhere."""
    whole = {"asked", "fill", "profiled", "note"}
    assert names("return mask") == [whole]
    assert names("self.note(mask)") == [whole]
    assert names("if self.connector") == [whole]
    assert names("self.connector.tell") == [{"tell"}]
    assert names("self.forget", "return mask") == [whole, {"forget"}]


def test_docstrings_and_what_is_no_python_have_no_places() -> None:
    """Nothing runs there."""
    assert names("What it", "does.") == []
    assert beside("def f(:", {1}) == []


def test_the_place_that_is_reached_best_counts() -> None:
    """A feature that makes every known call beside any new line is likely to run it; where no call is known every feature is."""
    places = [{"asked", "fill", "len"}, {"tell"}]
    known = {"asked", "fill", "tell", "other"}
    assert share_called(places, {"asked", "other"}, known) == 0.5
    assert share_called(places, {"asked", "fill"}, known) == 1.0
    assert share_called(places, {"tell"}, known) == 1.0
    assert share_called(places, {"other"}, known) == 0.0
    assert share_called(places, {"other"}, {"other"}) == 1.0
    assert share_called([], set(), known) == 1.0
