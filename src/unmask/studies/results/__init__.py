"""The tables, figures and claims of the papers, from the outputs of the steps: one module a paper."""
