"""The paper's six prompts (Appendix A), and the last word of each (000-17).

>>> split_prompt("The cat sat. A bat")
('The cat sat. A', 'A', ' bat')
"""

PROMPTS = (
    "The capital of France is Paris. The capital of Italy is Rome. The capital of Germany is Berlin. "
    "The capital of Spain is",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of",
    "The baseball player stepped up to the plate, ready to hit a home run. The pitcher threw the ball, and the bat",
    "These nocturnal creatures are adept hunters, using echolocation to locate prey and navigate in the darkness. "
    "A bat",
    "The robber pointed his gun at the cashier and demanded money. It was a bank",
    "The river flowed gently through the forest, its waters sparkling in the sunlight. Along the river bank",
)
PROBING = PROMPTS[2:]  # "meant to probe the model's ability to use the context beyond the immediate last word"


def split_prompt(prompt: str) -> tuple[str, str, str]:
    """(all before the last word, the word before it alone, the last word with its space)."""
    before, last = prompt.rsplit(" ", 1)
    return before, before.rsplit(" ", 1)[-1], f" {last}"
