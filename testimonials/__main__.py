"""The `testimonials` command, also as `python -m testimonials`."""

import gc


def main() -> None:
    # Until the command is loaded: imported modules stay until the end, and looking for garbage
    # among them meanwhile takes a sixth of the time to start.
    gc.disable()
    from testimonials.cli.main import main as command

    command(prog_name="testimonials")


if __name__ == "__main__":
    main()
