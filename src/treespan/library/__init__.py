"""The functions of `import treespan`, written on top of all other packages."""
