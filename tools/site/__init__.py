"""The documentation site: `make docs` builds it from docs/ and from the code, into build/site.

The pages of docs/ are plain Markdown with relative links, readable on any code host. `pages` copies them and sorts them
into the sections of the site by the folder they are in, so a new page needs no entry anywhere. `catalogue` and
`reference` write the pages that come from the code; Sphinx builds; `links` checks what it built; `llms` writes
llms.txt.
"""
