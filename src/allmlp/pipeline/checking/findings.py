"""The findings of a check, and the author's decisions."""

import difflib
from dataclasses import dataclass

from allmlp.common import recipes
from allmlp.common.errors import UserError
from allmlp.judging import rule_digests

FROM_GIT = "`git checkout {}` brings back the committed one."


@dataclass(frozen=True)
class Discrepancy:
    """One kind of entry that is, or was, out of line in a file. `names`: the entries."""

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
    """`same_behaviour`: modules (or "all") and claims with changed sources but the same results. `new_rule`: claims."""

    same_behaviour: frozenset[str] = frozenset()
    new_rule: frozenset[str] = frozenset()

    def refuse_unknown(self) -> None:
        """UserError for a name that is neither a module with a RECIPE nor a claim."""
        claims = [*rule_digests.current_rules(), *rule_digests.read_lock()]
        for names, known in ((self.same_behaviour, ["all", *recipes.modules(), *claims]), (self.new_rule, claims)):
            for name in sorted(names - set(known)):
                near = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise UserError(f"{name!r} is no claim{' and no module with a RECIPE' * ('all' in known)}.{hint}")
