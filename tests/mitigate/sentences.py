"""Sentences and their counterfactuals, written by hand. `back`: swapping again gives the sentence back."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """A sentence, its counterfactual, and whether the way back leads to it."""

    text: str
    swapped: str
    back: bool = True


EXAMPLES = (
    Example("He lost his keys.", "She lost her keys."),
    Example("She lost her keys.", "He lost his keys."),
    Example("The bus hit him.", "The bus hit her."),
    Example("The bus hit her.", "The bus hit him."),
    Example("The red coat is hers.", "The red coat is his."),
    Example("The red coat is his.", "The red coat is hers."),
    Example("He did it himself.", "She did it herself."),
    Example(
        "She painted the fence herself, and nobody helped her.", "He painted the fence himself, and nobody helped him."
    ),
    Example("Her dog bit him.", "His dog bit her."),
    Example("We told her that the shop was closed.", "We told him that the shop was closed."),
    Example("I saw her at the market.", "I saw him at the market."),
    Example("The idea was his, not hers.", "The idea was hers, not his."),
    Example("He wanted a room of his own.", "She wanted a room of her own."),
    Example("She runs her own bakery.", "He runs his own bakery."),
    Example("A friend of his called.", "A friend of hers called."),
    Example("His was the louder voice.", "Hers was the louder voice."),
    Example("They asked her to sit down.", "They asked him to sit down."),
    Example("Nobody believed her until the end.", "Nobody believed him until the end."),
    Example("Give it to her, please.", "Give it to him, please."),
    Example('"Is it his?" asked the clerk.', '"Is it hers?" asked the clerk.'),
    Example("He's late, but he'll come if he'd promised.", "She's late, but she'll come if she'd promised."),
    Example("She’s here and she’d like tea.", "He’s here and he’d like tea."),
    Example("HE WON.", "SHE WON."),
    Example("Men and women voted.", "Women and men voted."),
    Example("The man's hat blew away.", "The woman's hat blew away."),
    Example("The ladies' coats hung in the hall.", "The gentlemen's coats hung in the hall."),
    Example("The boys' team beat the girls' team.", "The girls' team beat the boys' team."),
    Example("Mr. Brown met Ms. Green.", "Ms. Brown met Mr. Green."),
    Example("Mrs. Brown waved.", "Mr. Brown waved.", back=False),
    Example("Miss Lane is late again.", "Mr. Lane is late again.", back=False),
    Example("Do not miss the train.", "Do not miss the train."),
    Example("Sir Walter was knighted twice.", "Dame Walter was knighted twice."),
    Example("Yes, sir, at once.", "Yes, ma'am, at once."),
    Example("My mother-in-law is an actress.", "My father-in-law is an actor."),
    Example("My ex-husband and his stepson moved away.", "My ex-wife and her stepdaughter moved away."),
    Example("The king gave the queen a horse.", "The queen gave the king a horse."),
    Example("The chairwoman thanked the congressman.", "The chairman thanked the congresswoman."),
    Example("A waiter brought soup to the prince.", "A waitress brought soup to the princess."),
    Example("The bride kissed her grandmother.", "The groom kissed his grandfather."),
    Example("She is an Englishwoman and he is a Frenchman.", "He is an Englishman and she is a Frenchwoman."),
    Example("Father, mother, and three sons", "Mother, father, and three daughters"),
    Example("The policeman questioned the widow.", "The policewoman questioned the widower."),
    Example("Uncle Joe raises hens.", "Aunt Julia raises roosters."),
    Example("James said that he was tired.", "Mary said that she was tired."),
    Example("Linda's brother knows Patricia.", "Robert's sister knows Michael."),
    Example("Henry James wrote it.", "Ruth James wrote it."),
    Example("Mark the page before you close the book.", "Mark the page before you close the book."),
    Example("Then Elizabeth hired David, and she paid him well.", "Then David hired Elizabeth, and he paid her well."),
    Example("The box was man-made.", "The box was man-made."),
    Example("It hung in the queen-size bedroom.", "It hung in the queen-size bedroom."),
    Example("The rain fell on the roof all night.", "The rain fell on the roof all night."),
    Example(
        "This theme is in the manual and the shepherd's hymn.",
        "This theme is in the manual and the shepherdess's hymn.",
    ),
    Example("His 1990 album made his sister proud.", "Her 1990 album made her brother proud."),
    Example("We saw him and his wife; she waved.", "We saw her and her husband; he waved."),
    Example("Without her, the choir sounds thin.", "Without him, the choir sounds thin."),
    Example("The prize went to her for the third time.", "The prize went to him for the third time."),
    Example("He (the younger brother) left.", "She (the younger sister) left."),
    Example("her cat, her hat, and her", "his cat, his hat, and him"),
    Example("Every boy loves his dad.", "Every girl loves her mom."),
    Example("The all-male board met its first businesswoman.", "The all-female board met its first businessman."),
    Example("An actor, an uncle and a hero walk in.", "An actress, an aunt and a heroine walk in."),
    Example("The girl who lent her pen to him is my niece.", "The boy who lent his pen to her is my nephew."),
    Example("Her elderly aunt keeps bees.", "His elderly uncle keeps bees."),
    Example("They watched her quickly leave the stage.", "They watched him quickly leave the stage."),
)
