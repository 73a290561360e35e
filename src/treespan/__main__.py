from treespan.cli import main

main()
