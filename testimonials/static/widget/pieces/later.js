// What isn't needed until the widget has been seen: loaded once it is drawn, or when needed.
const fitting = new CSSStyleSheet();
// Removes the height that the snippet reserved, perhaps for another layout.
fitting.replaceSync(':host{min-height:0!important}');

// The snippet may have reserved the height of another configuration. The surplus is removed when
// that can't be seen, or in response to an action: then it doesn't count as a layout shift.
const fit = ({ el, host, root, signal }) => {
  const { shadowRoot } = host;
  const height = root?.offsetHeight || 0;
  const hole = el('i', { id: 'hole' });
  const watch = new IntersectionObserver(([{ isIntersecting, boundingClientRect: { top } }]) => {
    if (!isIntersecting && (top > 0 || CSS.supports('overflow-anchor', 'auto'))) release();
  });
  const release = () => {
    watch.disconnect();
    hole.remove();
    if (!signal.aborted) shadowRoot.adoptedStyleSheets.push(fitting);
  };
  if (host.offsetHeight <= height + 1) {
    release();
    return;
  }
  hole.style.top = height + 'px';
  shadowRoot.append(hole);
  watch.observe(hole);
  for (const type of ['click', 'keydown']) addEventListener(type, release, { capture: true, once: true, signal });
};

export default [`later.css`, (widget) => {
  const { feed: { config }, host, kind, signal, url, cards, say, progress } = widget;

  // A page of masonry has enough cards to fill its columns, and leaves enough for the next page.
  const isEnough = (count) => kind !== 'masonry' || (count >= 2 * widget.columns && widget.total - cards.length - count >= 2 * widget.columns);
  let loading;
  const loadPage = async () => {
    const items = [];
    let after = widget.cursor;
    while (after && !(items[0] && isEnough(items.length))) {
      url.searchParams.set('after', after);
      const page = await widget.load(url);
      signal.throwIfAborted();
      items.push(...page.items);
      after = page.next;
    }
    widget.cursor = after;
    // What isn't on the first page may be on this one.
    if (items.some((item) => item.reply || item.twitter || item.highlights || item.extras)) await widget.use('extras');
    if (items.some((item) => item.extras?.recording)) await widget.use('player');
    await widget.fill(items);
    return items.length;
  };
  const loadNext = () => loading ||= loadPage().finally(() => { loading = 0; });

  return {
    loadNext,
    async showMore(button) {
      const label = (key) => button.replaceChildren(say(key) + ' ', progress);
      label('loading');
      try {
        const from = cards.length;
        await loadNext();
        label('showMore');
        cards[from]?.node.focus();
        widget.status.textContent = progress.textContent;
        if (!widget.cursor) button.remove();
      } catch {
        label('tryAgain');
        widget.status.textContent = say('failed');
      }
    },
    settle() {
      fit(widget);
      if (!widget.fill) return;
      watchSeen({ ...widget, url: new URL('seen', url) });
      const { arrange } = widget;
      if (!arrange) return;
      if (config.animation !== 'none') matchMedia('(prefers-reduced-motion:reduce)').addEventListener('change', () => {
        const { look, widgets } = window.__testimonials;
        widgets.get(host).key = '';
        look();
      }, { signal });
      new ResizeObserver(() => requestAnimationFrame(arrange)).observe(widget.status);
      // Another font changes the size of the text.
      document.fonts.addEventListener('loadingdone', () => {
        widget.version += 1;
        arrange();
      }, { signal });
    },
  };
}];
