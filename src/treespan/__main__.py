from treespan.cli import main

if __name__ == "__main__":  # not in worker processes, which import this file under another name
    main()
