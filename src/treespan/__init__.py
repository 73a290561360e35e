"""treespan: Monte-Carlo tree search that spans machines."""
