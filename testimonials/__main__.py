"""`python -m testimonials` is the `testimonials` command."""

from testimonials.cli import main

if __name__ == "__main__":
    main(prog_name="testimonials")
