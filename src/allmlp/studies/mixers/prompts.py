"""The article's two prompts, and what its own models wrote after them (001-29)."""

PROMPTS = (
    "Once upon a time, there was a little boy named Tim. Tim had a big, orange ball. He loved his ball very much. "
    "One day, Tim met a girl named Sue. Sue had a pretty doll. Tim liked Sue's doll, and Sue liked Tim's orange ball. "
    "Tim and Sue thought about a trade. They would trade the ball for the doll. Tim was not sure. He loved his orange "
    'ball. Sue said, "I promise to take care of your ball. You can play with it when you',
    "One day, a little boy named Tim went to play with his friend, Sam. They wanted to play a game with a ball. The "
    "game was to see who could get the best score. Tim threw the ball and Sam tried to catch it. Sam missed the ball "
    'and it went far away. Sam was angry. He said, "I don\'t like this game. I want to lie down and rest." Tim said, '
    '"Okay, let\'s lie down and rest. Then we can try again to get a good score." They lay down under a big tree and '
    "looked at the sky. They saw birds flying and clouds moving. After a while, they got up and",
)
PRINTED = {  # model -> its printed completion of each prompt, without the article's sign for a line end
    "expanded mixer, width 256 (paper)": (
        'come back." Tim thought about it and agreed. Sue gave the ball back to Tim. They played together, and Tim was '
        "very happy. Sue was happy too. They learned that sharing can make everyone happy. And that is how the orange "
        "ball can bring happiness to everyone.",
        "played a game of tag. Tim was fast, but Sam was faster. They ran and ran until they reached the finish line. "
        'Tim was tired but happy. Sam said, "Good job, Sam!" Sam smiled and said, "Good job, Tim!" They both smiled '
        "and hugged each other.",
    ),
    "flat mixer, width 1024 (paper)": (
        None,
        "played a game of catch. Tim threw the ball to Sam, and Sam caught it. They laughed and played until the sun "
        "went down. At the end of the day, Tim and Sam were tired but happy. They went home and took a nap. They "
        "dreamed of playing catch again tomorrow. And they did.",
    ),
    "Llama, width 128 (paper)": (
        '\'ll find your ball." Tim was happy. He said, "Thank you, Sue. You are a good friend. You are a good friend." '
        "Sue gave Tim a new ball. Tim gave Sue a new ball. Sush was blue and shiny. Sush, Spot, and Spot. They played "
        "with their ball",
        "went home. They sat down on the grass and closed their eyes. They closed their eyes and fell asleep. Tim "
        "dreamed of the snow he found his way home. He felt safe and happy in his new score. He knew that he could "
        "always count on his score again. And he lived happily ever after.",
    ),
}
