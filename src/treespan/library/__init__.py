"""What `import treespan` offers: each name is found here and imported when it is first used."""
