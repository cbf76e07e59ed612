"""What a check found, and what the author decided."""

import difflib
from dataclasses import dataclass

from allmlp import recipes, rules
from allmlp.errors import UserError


@dataclass(frozen=True)
class Found:
    """One thing that is out of line in a file, or was. `names`: the entries that it is true of."""

    file: str
    what: str
    names: tuple[str, ...] = ()
    open: bool = True

    def text(self) -> str:
        """As printed: a few names on the line itself, many on lines of their own."""
        if not self.names:
            return f"{self.file}: {self.what}"
        joined = f" {', '.join(self.names)}"
        if len(joined) > 80:
            joined = "".join(f"\n  {name}" for name in self.names)
        return f"{self.file}: {self.what}:{joined}"


@dataclass(frozen=True)
class Decisions:
    """`same_behaviour`: modules (or "all") and claims whose changed sources alter nothing. `new_rule`: claims."""

    same_behaviour: frozenset[str] = frozenset()
    new_rule: frozenset[str] = frozenset()

    def refuse_unknown(self) -> None:
        """UserError for a name that is no module with a RECIPE and no claim."""
        claims = [*rules.current(), *rules.read_lock()]
        for names, known in ((self.same_behaviour, ["all", *recipes.modules(), *claims]), (self.new_rule, claims)):
            for name in sorted(names - set(known)):
                near = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise UserError(f"{name!r} is no claim{' and no module with a RECIPE' * ('all' in known)}.{hint}")
