// What the core draws itself. Each gets the widget and returns its layout:
//   add(card)   puts a card in its place; by default it goes to the end of `list`
//   arrange()   is called when cards were added, opened or closed, and when the width has changed
// Both may be left out. All else comes from the second file (../shapes), which exports one such
// function that looks at `widget.kind`. The widget is all it gets, so that it imports nothing:
//   kind        what to draw: horizontal, vertical (the marquees), spotlight, or the feed's shape
//   host, feed, config, design, total, url, signal
//   root        the element with the class `tm` in the shadow root, and in this order in it:
//   nav, view, foot, status   controls, what scrolls (`list`, an `ul`, is in it), buttons, a live region
//   cards       the cards so far: { item, node (an `li`), words, more }
//   columns, width, rtl       as of the latest arrange()
//   layouts     { masonry, carousel, list }, for drawing one of them after all
//   look        the root's classes; a layout may add to it before it returns
//   el, set, stars, webUrl, reducedMotion, button, face, card, listen, paint
//   arrange()   measures and arranges anew; redraw() starts again from the feed
const LAYOUTS = { masonry: drawMasonry, carousel: drawCarousel, list: () => ({}) };

// Everything started here ends with the signal.
const render = async (host, feed, url, signal) => {
  let total = feed.total;
  const config = feed.config || {};
  const design = feed.design || {};
  const palette = oneOf(config.palette, ...Object.keys(PALETTES));
  const wanted = host.dataset.testimonialsTheme;
  let themes = [oneOf(wanted, oneOf(config.theme, 'light', 'dark'), 'light', 'dark')];
  // The page's own color-scheme decides, at each moment.
  if (wanted === 'auto' && CSS.supports('color', 'light-dark(red,red)')) themes = ['light', 'dark'];
  const colours = themes.map((theme) => (PALETTES[palette][theme] + ' ' + THEMES[theme]).split(' '));
  const paint = (node, names, from) => names.split(' ').forEach((name, i) => {
    const [light, dark] = colours.map((each) => '#' + each[from + i]);
    node.style.setProperty('--tm-' + name, `var(--testimonials-${name},${dark ? `light-dark(${light},${dark})` : light})`);
  });
  const layout = total > 1 ? oneOf(config.layout, 'masonry', 'carousel', 'list') : 'masonry';
  const animation = layout === 'carousel' ? oneOf(config.animation, 'none', 'horizontal', 'vertical') : 'none';
  const shape = text(feed.shape);
  let kind = layout;
  if (animation !== 'none' && !reducedMotion.matches) kind = animation;
  if (design.layout === 'spotlight') kind = 'spotlight';
  if (shape && shape !== 'strip' && shape !== 'single') kind = shape;
  const rtl = getComputedStyle(host).direction === 'rtl';
  const listen = (node, types, handler) => types.split(' ').forEach((type) => node.addEventListener(type, handler, { signal }));

  await rest(signal);
  const cards = [];
  const list = el('ul', { role: 'list' });
  const view = el('div', { class: 'view' }, list);
  const nav = el('div', { class: 'nav' });
  const foot = el('div', { class: 'foot' });
  const status = el('div', { role: 'status', lang: 'en' }); // Its width is watched.
  const root = el('div', {}, nav, view, foot, status);
  const look = ['tm', shape, layout, oneOf(config.cardStyle, 'default', 'quote', 'stripe', 'gradient', 'outlined'), rtl && 'rtl'].filter(Boolean).join(' ');
  paint(root, NAMES, 0);

  const widget = {
    kind, host, feed, config, design, total, url, signal, root, nav, view, list, foot, status, cards, rtl, look,
    layouts: LAYOUTS, el, set, stars, webUrl, reducedMotion, listen, paint,
  };
  makeCards(widget);

  let drawing;
  const arrange = () => {
    const width = status.clientWidth;
    if (!width) return;
    widget.width = width;
    widget.columns = layout === 'list' ? 1 : Math.min(1 + (width >= 560) + (width >= 900) + (width >= 1240), total);
    root.style.setProperty('--tm-columns', widget.columns);
    root.className = widget.look;
    const long = cards.map(({ words }) => words.matches('.open') || words.scrollHeight > words.clientHeight + 1);
    cards.forEach(({ more }, i) => { more.hidden = !long[i]; });
    drawing.arrange?.();
  };
  const redraw = () => restart(host);
  Object.assign(widget, { arrange, redraw });
  if (animation !== 'none') listen(reducedMotion, 'change', redraw);

  let cursor;
  const progress = el('span', { dir: 'ltr' });
  const fill = async ({ items, next: after }) => {
    for (const item of items) {
      if (cards.length % 3 === 0) {
        if (cards[0]) arrange();
        await rest(signal);
      }
      const card = widget.card(item);
      cards.push(card);
      drawing.add ? drawing.add(card) : list.append(card.node);
    }
    cursor = after;
    widget.total = total = Math.max(total, cards.length);
    host.dataset.testimonialsCount = cards.length || total;
    progress.textContent = `${cards.length} of ${total}`;
    arrange();
  };
  const loadMore = widget.button({ class: 'button' }, async () => {
    const after = cursor;
    cursor = ''; // A second click asks for nothing.
    if (!after) return;
    const say = (label) => loadMore.replaceChildren(label + ' ', progress);
    say('Loading…');
    try {
      const from = cards.length;
      url.searchParams.set('after', after);
      await fill(await load(url, signal));
      say('Load more');
      cards[from]?.node.focus();
      status.textContent = progress.textContent;
      if (!cursor) loadMore.remove();
    } catch {
      cursor = after;
      say('Try again');
      status.textContent = 'Loading failed.';
    }
  }, 'Load more ', progress);

  if (feed.next) foot.append(loadMore);
  const href = webUrl(feed.cta?.url);
  if (config.showCtaButton !== false && href) foot.append(el('a', { class: 'button cta', href, target: '_blank', rel: 'noopener' }, text(feed.cta.label)));

  const resize = new ResizeObserver(() => requestAnimationFrame(arrange));
  signal.addEventListener('abort', () => resize.disconnect());

  // What stands in the host stays until all of this is in its place.
  const slot = el('slot', {});
  root.inert = true;
  root.className = look;
  host.shadowRoot.replaceChildren(root, slot);
  const draw = LAYOUTS[kind] || (await import(BASE + 'shapes.js')).default;
  signal.throwIfAborted();
  drawing = draw(widget);
  resize.observe(status);
  await fill(feed);
  root.inert = false;
  slot.remove();
};
