"""The `testimonials` command, also as `python -m testimonials`."""

import gc


def main() -> None:
    """Run the command; exits with its code."""
    # What is imported stays to the end: to look through it for garbage again and again, while it
    # grows, takes a tenth of a start.
    gc.disable()
    from testimonials.cli import main as command

    gc.freeze()
    gc.enable()
    command(prog_name="testimonials")


if __name__ == "__main__":
    main()
