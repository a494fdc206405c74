"""The `testimonials` command, also as `python -m testimonials`."""

import gc


def main() -> None:
    # Imported modules stay to the end: collecting garbage among them while they load takes a tenth
    # of the time to start.
    gc.disable()
    from testimonials.cli.main import main as command

    gc.freeze()
    gc.enable()
    command(prog_name="testimonials")


if __name__ == "__main__":
    main()
