"""Language models that are served over HTTP: OpenAI-compatible completions with log-probabilities of the prompt.

client (address, retries, rate limits, request log) ──► completions ──► contract check ──► `EndpointLm`

A server that does not answer what was asked is refused before anything is measured (`endpoint.contract`). Answers are
kept in the same store as readings, by text, so that nothing is asked twice but to compare the answers.
"""
