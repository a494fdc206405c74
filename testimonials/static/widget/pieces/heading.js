// The font of headings, and whether they are centered, as on the surrounding page.
export default [`heading.css`, (widget) => {
  const { feed, host, put } = widget;
  const heading = document.querySelector('h2') || document.querySelector('h1') || host.parentElement || document.body;
  put('heading', feed.font || getComputedStyle(heading).fontFamily);
  if (getComputedStyle(heading).textAlign === 'center') widget.look += ' middle';
}];
