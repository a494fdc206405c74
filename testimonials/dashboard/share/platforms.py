"""The ways to build websites that the Share page knows: what to do there, and what to know."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """One way to build websites."""

    key: str
    name: str
    steps: tuple[str, ...]
    hint: str = ""


PLATFORMS = (
    Platform(
        "html",
        "Plain HTML",
        (
            "Open the page’s file or template.",
            "Paste the snippet where the testimonials should appear, and save.",
        ),
        "For several on one page, the line with the script is needed once.",
    ),
    Platform(
        "wordpress",
        "WordPress",
        (
            "Edit the page, press + and choose the block “Custom HTML”.",
            "Paste the snippet into the block.",
            "Press Save or Publish.",
        ),
        "WordPress.com keeps scripts only on plans that allow plugins. On a site of your own, an "
        "administrator or editor has to paste it.",
    ),
    Platform(
        "shopify",
        "Shopify",
        (
            "Go to Online Store, Themes, and press Customize.",
            "Open the page, press Add section and choose “Custom Liquid”.",
            "Paste the snippet into the Liquid code field and press Save.",
        ),
    ),
    Platform(
        "wix",
        "Wix",
        (
            "In the editor, choose Add elements, Embed code, then “Embed HTML”.",
            "Choose Code, paste the snippet and press Update or Apply.",
            "Drag the box as wide and as tall as the testimonials need, then publish.",
        ),
        "Wix shows it in a frame of its own, so it is seen under an address of Wix. Your site "
        "needs a domain of its own or a paid plan.",
    ),
    Platform(
        "squarespace",
        "Squarespace",
        (
            "Edit the page, press Add block and choose Code.",
            "Keep the type HTML, leave “Display source” off, and paste the snippet.",
            "Save, and look at the page outside the editor: inside it, scripts don’t run.",
        ),
        "Scripts in code blocks are part of Squarespace’s larger plans.",
    ),
    Platform(
        "webflow",
        "Webflow",
        (
            "In the Designer, press + and drag a “Code Embed” element to its place.",
            "Paste the snippet, then press Save & Close.",
            "Publish the site: the canvas itself runs no scripts.",
        ),
        "Code Embed is part of Webflow’s paid plans.",
    ),
    Platform(
        "framer",
        "Framer",
        (
            "Press Insert, search for “Embed” and drag it to its place.",
            "Set its type to HTML and paste the snippet.",
            "Make the box as wide and as tall as the testimonials need, then publish.",
        ),
        "Framer shows it in a frame of its own. With the type URL, the address under “Notion, "
        "frames” does the same.",
    ),
    Platform(
        "frame",
        "Notion, frames",
        (
            "In Notion, type /embed, paste this address and press “Embed link”.",
            "Elsewhere, put it wherever a page takes the address of something to embed, or use "
            "the element below.",
            "Make the frame as tall as the testimonials need.",
        ),
        "The address has to be one that the internet can reach. A frame doesn’t grow by itself; "
        "what doesn’t fit scrolls inside it.",
    ),
    Platform(
        "react",
        "React",
        (
            "Put this component into a file such as Testimonials.jsx.",
            "Place <Testimonials /> where the testimonials should appear.",
        ),
        "In TypeScript, write “as React.CSSProperties” behind the object in style.",
    ),
    Platform(
        "next",
        "Next.js",
        (
            "Put this component into a file such as components/Testimonials.jsx.",
            "Place <Testimonials /> where the testimonials should appear. It works as a server "
            "component.",
        ),
        "In TypeScript, write “as React.CSSProperties” behind the object in style.",
    ),
    Platform(
        "vue",
        "Vue",
        (
            "Put this component into a file such as Testimonials.vue. It works in Nuxt too.",
            "Place <Testimonials /> where the testimonials should appear.",
        ),
    ),
    Platform(
        "astro",
        "Astro",
        (
            "Put this into a file such as src/components/Testimonials.astro.",
            "Place <Testimonials /> where the testimonials should appear, and build.",
        ),
        "The testimonials become part of the page when the site is built: no script and no request "
        "later. Build again to show newer ones. To have them live, use the snippet under “Plain "
        "HTML”.",
    ),
    Platform(
        "hugo",
        "Hugo",
        (
            "Put this into a file such as layouts/partials/testimonials.html.",
            'Write {{ partial "testimonials.html" . }} where they should appear, and build.',
        ),
        "For Hugo 0.141 or newer. The testimonials become part of the page when the site is "
        "built: no script and no request later. Hugo keeps what it has fetched, so build with "
        "--ignoreCache to show newer ones. To have them live, use the snippet under “Plain HTML”.",
    ),
)
