"""Where the frozen program begins: the same command as the installed one."""

from testimonials.cli import main

if __name__ == "__main__":
    main(prog_name="testimonials")
