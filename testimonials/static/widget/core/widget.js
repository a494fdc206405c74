// What the core draws itself. Each gets the widget and returns its layout:
//   page()      a page of cards begins
//   add(card)   puts a card in its place; by default it goes to the end of `list`
//   arrange()   is called when cards were added, opened or closed, and when the width has changed
// All may be left out. All else comes from modules (../layouts, ../shapes), each of which exports one
// such function that looks at `widget.kind`. What a card has beside words, author and reply is drawn by
// ../extras. The widget is all they get, so that they import nothing:
//   kind        what to draw: horizontal, vertical (the marquees), spotlight, or the feed's shape
//   host, feed, config, design, total, signal, locale, rtl
//   root        the element with the class `tm` in the shadow root, and in this order in it:
//   head (if there is one), stage, foot, status
//   nav, view   in the stage: controls, and what scrolls, with `list` (an `ul`) in it
//   cards       the cards so far: { item, node (an `li`), figure, words, more }
//   columns, width, gap, version   as of the latest arrange(); a new version is a new layout
//   look        the root's classes; a layout may add to it before it returns
//   el, set, icon, webUrl, stars(rating, size), face(name, picture), faces(people),
//   card(item), header(), button(attributes, handler, ...children), listen(node, types, handler),
//   say(key, values), number(value, digits)
//   clamp(cards)   shows Read more where words are cut; arrange() does so but for masonry
//   arrange()   measures and arranges anew
//   loadNext()  adds the next page; a promise of whether there was one; announce(shown)
const use = async (file, widget) => (await import(BASE + file)).default(widget);

const chooseThemes = (host, config) => {
  const themes = ['light', 'dark', 'auto'];
  const theme = oneOf(host.dataset.testimonialsTheme, oneOf(config.theme, ...themes), ...themes);
  // The page's own color-scheme decides, at each moment.
  return theme === 'auto' ? themes.slice(0, 2) : [theme];
};

const paint = (root, host, feed, config, design) => {
  const colours = chooseThemes(host, config).map((theme) => {
    const all = feed.colours[theme].split(' ');
    return theme === 'dark' ? [...all, '0000', all[7]] : [...all, all[1] + '12', all[8]];
  });
  const put = (name, value) => root.style.setProperty('--tm-' + name, value);
  COLOURS.split(' ').forEach((name, i) => {
    const [light, dark] = colours.map((each) => '#' + each[i]);
    put(name, `var(--testimonials-${name.replace(/\d/, '')},${dark ? `light-dark(${light},${dark})` : light})`);
  });
  const { font, radius, photoSize } = design;
  const around = host.parentElement || document.body;
  const heading = document.querySelector('h2') || document.querySelector('h1') || around;
  const read = (node) => ({ system: 'system-ui,sans-serif', serif: 'Georgia,serif' }[font] || getComputedStyle(node).fontFamily);
  put('font', read(around));
  put('heading', read(heading));
  if (radius >= 0) {
    put('radius', radius + 'px');
    put('round', radius > 6 ? '50%' : radius && '8px');
  }
  if (photoSize && photoSize !== 48) put('photo', photoSize + 'px');
  return getComputedStyle(heading).textAlign === 'center' && 'middle';
};

// Everything started here ends with the signal.
const render = async (host, feed, url, signal) => {
  let total = feed.total;
  const { config, design, lang } = feed;
  const say = (key, values) => feed.words[key].replace(/{(\w+)}/g, (_, name) => values[name]);
  const layout = oneOf(config.layout, 'masonry', 'carousel', 'list');
  const animation = layout === 'carousel' && total > 1 ? oneOf(config.animation, 'none', 'horizontal', 'vertical') : 'none';
  let kind = total > 1 ? layout : 'single';
  if (animation !== 'none' && !reducedMotion.matches) kind = animation;
  if (design.layout === 'spotlight') kind = 'spotlight';
  if (feed.shape) kind = feed.shape;
  const rtl = getComputedStyle(host).direction === 'rtl';
  const listen = (node, types, handler) => types.split(' ').forEach((type) => node.addEventListener(type, handler, { signal }));

  await rest(signal);
  const cards = [];
  const list = el('ul', { role: 'list' });
  const view = el('div', { class: 'view' }, list);
  const nav = el('div', { class: 'nav' });
  const stage = el('div', { class: 'stage' }, nav, view);
  const foot = el('div', { class: 'foot' });
  const status = el('div', { role: 'status' }); // Its width is watched.
  const root = el('div', { lang }, stage, foot, status);
  const look = ['tm', /^s[tp]/.test(kind) && 'carousel', kind, text(config.cardStyle), text(design.density),
    paint(root, host, feed, config, design), rtl && 'rtl'].filter(Boolean).join(' ');
  let drawing;
  let filling;
  let extend;
  const measure = () => {
    const width = status.clientWidth;
    if (widget.width !== width) widget.version += 1;
    const size = width / ({ narrow: .85, wide: 1.3 }[design.cardWidth] || 1);
    widget.width = width;
    widget.columns = Math.min(1 + (size >= 560) + (size >= 900) + (size >= 1240), total);
    root.style.setProperty('--tm-columns', widget.columns);
    root.className = widget.look;
    widget.gap = parseFloat(getComputedStyle(list).columnGap) || 0;
    return width;
  };
  const clamp = (cards) => {
    // Less than a line, and more than the letters of a tall font hang out of the last one.
    const long = cards.map(({ figure, words }) => figure.matches('.open') || words.scrollHeight > words.clientHeight + 12);
    cards.forEach(({ more }, i) => { more.hidden = !long[i]; });
  };
  const arrange = () => {
    // An observer may call once more after the end.
    if (signal.aborted || filling || !measure()) return;
    if (kind !== 'masonry') clamp(cards);
    drawing.arrange?.();
  };
  const sayProgress = (n) => say('progress', { n, total: widget.number(total) });
  const announce = (shown) => { status.textContent = sayProgress(shown); };

  let cursor = feed.next;
  const progress = el('span', {});
  const fill = async (items) => {
    filling = true;
    if (items.some((item) => item.extras)) extend ||= await use('extras.js', widget);
    measure();
    drawing.page?.(items.length);
    for (const item of items) {
      if (cards.length % 3 === 0) {
        // Measured now, it is not all measured in one task later.
        root.offsetHeight;
        await rest(signal);
      }
      const card = widget.card(item, !cards[0] && kind === 'masonry' && item.pinned && design.featured.replace('off', ''));
      if (item.extras) extend(card);
      cards.push(card);
      drawing.add ? drawing.add(card) : list.append(card.node);
    }
    widget.total = total = Math.max(total, cards.length);
    progress.textContent = sayProgress(widget.number(cards.length));
    await rest(signal);
    filling = false;
    arrange();
    // Whoever waits for it may ask for the next page at once.
    host.dataset.testimonialsCount = cards.length || total;
  };
  let loading;
  // A page of masonry fills its columns, and leaves none that couldn't.
  const isEnough = (count) => kind !== 'masonry' || (count >= 2 * widget.columns && total - cards.length - count >= 2 * widget.columns);
  const loadPage = async () => {
    const items = [];
    let after = cursor;
    while (after && !(items[0] && isEnough(items.length))) {
      url.searchParams.set('after', after);
      const page = await load(url, signal);
      items.push(...page.items);
      after = page.next;
    }
    cursor = after;
    await fill(items);
    return items.length;
  };
  const loadNext = () => {
    if (!cursor) return false;
    return loading ||= loadPage().finally(() => { loading = 0; });
  };
  const widget = {
    kind, host, feed, config, design, total, signal, locale: readLocale(host), root, stage, nav, view, list, foot, status, cards, rtl, look,
    version: 0, el, set, icon, webUrl, listen, say,
    clamp, arrange, announce, loadNext,
  };
  makeCards(widget);
  if (design.showHeader && feed.header?.count && !feed.shape) root.prepend(widget.header());

  const sayMore = (key) => showMore.replaceChildren(say(key) + ' ', progress);
  const showMore = widget.button({ class: 'button' }, async () => {
    sayMore('loading');
    try {
      const from = cards.length;
      await loadNext();
      sayMore('showMore');
      cards[from]?.node.focus();
      status.textContent = progress.textContent;
      if (!cursor) showMore.remove();
    } catch {
      sayMore('tryAgain');
      status.textContent = say('failed');
    }
  });
  sayMore('showMore');

  if (feed.next && /^[ml]/.test(kind)) foot.append(showMore);
  const href = webUrl(feed.cta?.url);
  if (config.showCtaButton !== false && href) foot.append(el('a', { class: 'button cta', href, target: '_blank', rel: 'noopener' }, text(feed.cta.label)));
  if (!total) stage.replaceWith(el('p', { class: 'empty' }, say('empty')));

  // What stands in the host stays until all of this is in its place.
  const slot = el('slot', {});
  root.inert = true;
  root.className = look;
  host.shadowRoot.replaceChildren(root, slot);
  drawing = kind === 'single' ? {} : kind === 'masonry' ? drawMasonry(widget) : await use(/^[cls]/.test(kind) ? 'layouts.js' : 'shapes.js', widget);
  signal.throwIfAborted();
  new ResizeObserver(() => requestAnimationFrame(arrange)).observe(status);
  if (animation !== 'none') listen(reducedMotion, 'change', () => restart(host));
  // Other letters have another size.
  listen(document.fonts, 'loadingdone', () => {
    widget.version += 1;
    arrange();
  });
  await fill(feed.items);
  root.inert = false;
  slot.remove();
  // All is laid out by then.
  await rest(signal);
  use('seen.js', widget);
  return root;
};
