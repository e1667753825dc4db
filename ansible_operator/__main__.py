"""``python -m ansible_operator`` is the console script."""

from ansible_operator import cli

if __name__ == "__main__":
    cli.main()
