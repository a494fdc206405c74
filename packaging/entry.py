"""Where the frozen program begins: the same command as the installed one."""

from testimonials.__main__ import main

if __name__ == "__main__":
    main()
