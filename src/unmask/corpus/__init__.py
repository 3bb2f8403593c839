"""Count the words of two groups in a corpus, and measure its effect on a model."""
