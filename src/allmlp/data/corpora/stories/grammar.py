"""From template text to nodes: one compiled grammar per topic.

The template language of templates/*.txt: `rule:` on a line of its own, then one alternative a line, indented (equally
likely; `3 * text` weighs three). Inside an alternative:

    <rule>          another rule                 [text]       text or nothing, even odds
    {kind.form}     a fresh word of a list       (x|y|z)      one of these, even odds
    {$name.form}    a variable of the story, drawn at its first use
    {@name=value}   no text; notes a value

`{kind.^}`, `{kind.A}` and `{$hero.He}` ask for a capital letter. Lists and forms are those of lexicon.py.
"""

import re
from functools import cache
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.data.corpora.stories.engine import Choice, Draw, Mark, Node
from allmlp.data.corpora.stories.lexicon import Word, load_lexicon

FOLDER = Path(__file__).parent / "templates"
VARIABLES = {  # name -> the lists that its one draw comes from, equally likely
    "hero": ("girls", "boys"),
    "friend": ("friend_girls", "friend_boys"),
    "treasure": ("treasures",),
    "place": ("places",),
    "helper": ("helpers",),
    "look": ("looks",),
    "trait": ("traits",),
}
TOKEN = re.compile(r"[^<\[({})\]|>]+|<\w+>|\{[^}]+\}|[\[\]()|]")
WEIGHT = re.compile(r"(\d+) \* ")


@cache
def rules() -> dict[str, list[str]]:
    """Rule name -> alternatives, of all template files together."""
    found: dict[str, list[str]] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        name = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            if line[0] != " ":
                name = line.removesuffix(":")
                if name == line or name in found:
                    raise UserError(
                        f"{path}:{number}: '{line}' is not a new rule: it needs a name of its own and a colon"
                    )
                found[name] = []
            elif name:
                found[name].append(line.strip())
            else:
                raise UserError(f"{path}:{number}: '{line.strip()}' stands before the first rule")
    return found


class Compiler:
    """Compiles rules for one topic; each rule and each word table once."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.compiled: dict[str, list[Node]] = {}
        self.draws: dict[str, Draw] = {}

    def rule(self, name: str) -> list[Node]:
        """The nodes of `<name>`."""
        if name not in rules():
            raise UserError(f"templates: no rule <{name}>; there are {', '.join(sorted(rules()))}")
        if name not in self.compiled:
            texts = rules()[name]
            weights = [int(m.group(1)) if (m := WEIGHT.match(text)) else 1 for text in texts]
            nodes = [self.text(WEIGHT.sub("", text, count=1)) for text in texts]
            self.compiled[name] = [choice(nodes, [w / sum(weights) for w in weights])] if len(nodes) > 1 else nodes[0]
        return self.compiled[name]

    def text(self, template: str) -> list[Node]:
        """The nodes of one template."""
        tokens = TOKEN.findall(template)
        if "".join(tokens) != template:
            raise UserError(f"templates: cannot read '{template}': a bracket is stray or not closed")
        alternatives, rest = self._alternatives(tokens)
        if rest or len(alternatives) > 1:
            raise UserError(f"templates: cannot read '{template}' at '{''.join(rest) or '|'}'")
        return alternatives[0]

    def _alternatives(self, tokens: list[str]) -> tuple[list[list[Node]], list[str]]:
        """Sequences separated by |, up to a closing bracket, and the tokens from that bracket on."""
        found: list[list[Node]] = [[]]
        while tokens and tokens[0] not in ")]":
            head, *tokens = tokens
            if head == "|":
                found.append([])
            elif head in "([":
                inner, tokens = self._alternatives(tokens)
                if not tokens:
                    raise UserError(f"templates: a '{head}' is never closed")
                tokens = tokens[1:]
                inner = [*inner, []] if head == "[" else inner
                found[-1].append(choice(inner, [1 / len(inner)] * len(inner)))
            else:
                found[-1] += self._atom(head)
        return found, tokens

    def _atom(self, token: str) -> list[Node]:
        if token[0] == "<":
            return self.rule(token[1:-1])
        if token[0] != "{":
            return [token]
        name, _, form = token[1:-1].partition(".")
        if name[0] == "@":
            variable, _, value = name[1:].partition("=")
            return [Mark(variable, Word({"": value}, variable))]
        if token not in self.draws:
            self.draws[token] = self._draw(token, name, form)
        return [self.draws[token]]

    def _draw(self, token: str, name: str, form: str) -> Draw:
        variable = name[1:] if name[0] == "$" else ""
        if variable and variable not in VARIABLES:
            raise UserError(f"templates: '{token}' is no variable; there are {', '.join(VARIABLES)}")
        kinds = VARIABLES[variable] if variable else (name,)
        entries = [(word, p / len(kinds)) for kind in kinds for word, p in load_lexicon().table(kind, self.topic)]
        if not entries:
            raise UserError(f"templates: '{token}' names no list of the lexicon")
        return Draw([word for word, _ in entries], [p for _, p in entries], form, variable)


def choice(alternatives: list[list[Node]], probabilities: list[float]) -> Choice:
    """A choice; an empty one is a mistake in a template."""
    if not alternatives:
        raise UserError("templates: a rule without alternatives")
    return Choice(alternatives, probabilities)


@cache
def compile_topic(topic: str) -> tuple[Node, ...]:
    """The nodes of `<story>` within a topic."""
    return tuple(Compiler(topic).rule("story"))
