"""What steps do, one file a kind: each writes its output into the folder it is given."""
