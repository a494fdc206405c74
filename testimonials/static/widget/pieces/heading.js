// The font of headings, and whether they are centered, as on the surrounding page.
export default [`heading.css`, (widget) => {
  const { feed, host, put } = widget;
  const page = host.closest('html');
  const heading = page.querySelector('h2') || page.querySelector('h1') || host.parentElement;
  put('heading', feed.font || getComputedStyle(heading).fontFamily);
  if (getComputedStyle(heading).textAlign === 'center') widget.look += ' middle';
}];
