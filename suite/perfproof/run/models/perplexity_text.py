"""The text whose perplexity is measured unless a scenario names another: written for this project, plain English of several kinds."""

from __future__ import annotations

PARAGRAPHS = (
    """The ferry left the harbour a little after six, when the lamps along the quay were still lit and the gulls had not yet begun to
quarrel over the nets. There were nine passengers on board that morning: two teachers on their way back to the school, a man with
a crate of apples, a family of four who had never seen the island, the doctor, and a girl who sat by herself at the stern and read
a letter again and again. Nobody asked her what it said. The sea was calm, the sky was the colour of milk, and when the captain
sounded the horn it seemed to take a long time before the sound came back from the cliffs.""",
    """To make bread you need flour, water, salt and yeast. Mix the yeast with a cup of warm water and wait for ten minutes until it
foams. Put the flour into a large bowl, add the salt, and pour the water in slowly while you stir. Knead the dough on a table for
about ten minutes; it should be smooth, and it should spring back when you press it with a finger. Cover the bowl with a cloth and
leave it in a warm place for an hour. Then shape the loaf, let it rest for another half hour, and bake it in a hot oven until the
crust is brown and the loaf sounds hollow when you knock on the bottom of it.""",
    """Water boils at one hundred degrees Celsius at the level of the sea, but on a high mountain it boils at a lower temperature,
because the pressure of the air is lower there. This is why it takes longer to cook potatoes in the mountains: the water is
boiling, but it is not as hot. A pressure cooker does the opposite. Its lid holds the steam in, the pressure rises, and the water
can become much hotter than one hundred degrees before it boils, so that the food is done in less time.""",
    """The town has two bridges. The old one is made of stone and was built by monks eight hundred years ago; it is so narrow that two
carts can't pass each other on it, and there are small bays in its walls where people stood aside. The new one is made of steel.
It was opened on the first of May, with a band and a speech by the mayor, and since then the lorries no longer shake the windows
of the houses in the market square. The children still prefer the old bridge, because from the middle of it one can see trout in
the shade of the third arch.""",
    """A program that is correct but slow can often be made faster without making it any less correct. The first step is to measure where
the time goes, for it is seldom where one thinks. The second step is to ask whether the work has to be done at all: many programs
compute the same thing again and again, or copy data that nobody will read. Only then is it worth while to do the same work in a
cleverer way. After each change one has to measure again, because a change that should have helped may not have helped, and a
change that helped on one machine may do harm on another.""",
    """One, two, three, four, five, six, seven, eight, nine, ten. Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday.
January, February, March, April, May, June, July, August, September, October, November, December. Spring, summer, autumn, winter.
North, east, south, west. The opposite of hot is cold, the opposite of big is small, the opposite of old is new, and the opposite
of early is late.""",
    """Dear Mr Fisher, thank you for your letter of the twelfth of March. We are sorry to hear that the kettle which you bought from us
does not work. Please send it back in its original box, together with the receipt, and we will repair it or give you a new one, as
you prefer. You do not have to pay for the postage. If you have any further questions, please do not hesitate to call us between
nine in the morning and five in the afternoon. With kind regards, the customer service team.""",
)


def paragraphs(text: str) -> list[str]:
    """A text's paragraphs, each on one line."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


PASSAGE = "\n\n".join(PARAGRAPHS)
