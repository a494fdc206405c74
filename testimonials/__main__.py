"""The `testimonials` command, also as `python -m testimonials`."""

import gc


def main() -> None:
    # Garbage collection is off until the command is loaded: imported modules are never garbage, and
    # scanning them would take a sixth of the startup time.
    gc.disable()
    from testimonials.cli.main import main as command

    command(prog_name="testimonials")


if __name__ == "__main__":
    main()
