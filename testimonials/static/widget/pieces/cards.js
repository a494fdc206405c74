// The cards, which every shape but badges has. Wide letters count twice.
const weigh = (words) => [...words].length + (words.match(/[\u2e80-\ud7ff]/g) || []).length;

// Returns the function that writes dates; none if half of the cards would have the same one.
const makeDates = ({ feed, writeDate }) => {
  const { config, design } = feed;
  const none = () => '';
  if (!config.showDates) return none;
  const write = (date) => {
    if (!(date > 0)) return '';
    if (writeDate) return writeDate(date);
    const days = Math.max(0, (Date.now() - date) / 864e5);
    const count = (size) => Math.floor(days / size);
    const ago = count(365) ? 22 + count(365) : count(30) ? 10 + count(30) : count(7) ? 6 + count(7) : count(1);
    return feed.dates[design.dateStyle === 'month' ? date.getUTCMonth() : ago]?.replace('{year}', date.getUTCFullYear());
  };
  if (design.dateStyle === 'absolute') return write;
  const shown = feed.items.map((item) => write(new Date(item.submittedAt)));
  return shown.some((one) => shown.filter((other) => other === one).length > Math.max(1, (shown.length - 1) / 2)) ? none : write;
};

export default [`cards.css`, (widget) => {
  const { feed, kind, host, root, signal, el, webUrl, say, number, stars } = widget;
  const { config, design, proof } = feed;
  let locale = 'en';
  // A page may claim any language.
  try {
    [locale] = Intl.getCanonicalLocales(widget.locale);
  } catch {}
  // Slow devices get the work in small tasks.
  const rest = () => new Promise((done) => setTimeout(done)).then(() => signal.throwIfAborted());
  const extensions = [];
  const cards = [];
  const list = el('ul', { role: 'list' });
  const view = el('div', { class: 'view' }, list);
  const nav = el('div', { class: 'nav' });
  const stage = el('div', { class: 'stage' }, nav, view);
  const foot = el('div', { class: 'foot' });
  const status = el('div', { role: 'status' }); // Its width is observed.
  const progress = el('span');

  const button = (attributes, handler, ...children) => {
    const node = el('button', attributes, ...children);
    node.onclick = handler;
    return node;
  };

  const link = (name, href, text) => el('a', { class: name, href, target: '_blank' }, text);
  const author = (item, name, record) => {
    const role = [item.authorRole, config.showSource && item.authorCompany].filter(Boolean).join(', ');
    const date = new Date(item.submittedAt);
    const when = dates(date);
    const meta = el('span', { class: 'meta' }, role && el('bdi', { class: 'role' }, role),
      item.isSample && el('span', { class: 'sample' }, say('sample')),
      when && el('time', { class: 'date', lang: locale, datetime: date.toISOString() }, el('bdi', 0, when)),
      record && link('check', record, say('check')));
    return el('figcaption', { class: 'author' }, design.photoSize !== 0 && widget.face(item.face, webUrl(item.authorAvatar) || item.twitter?.avatarUrl),
      el('bdi', { class: 'name' }, name), meta.firstChild && meta);
  };

  const makeCard = (item, featured) => {
    const name = item.authorName;
    const rating = Math.min(item.rating, 5);
    const size = weigh(item.text || '');
    const words = el('blockquote', { class: 'text', lang: locale }, item.text);
    words.className += size <= 30 ? ' short tiny' : size <= 64 ? ' short' : size <= 140 ? ' medium' : '';
    const label = (open) => {
      more.textContent = say(open ? 'showLess' : 'readMore');
      more.setAttribute('aria-expanded', open);
      more.setAttribute('aria-label', more.textContent + ': ' + name);
    };
    const more = button({ class: 'more', hidden: '' }, () => {
      label(figure.classList.toggle('open'));
      arrange();
    });
    label(false);
    const top = el('div', { class: 'top' }, config.showStars && rating >= 1 && stars(rating));
    // The direction of a whole card follows the first strong letter of its text.
    const record = !item.isSample && proof.record.replace('{id}', item.id);
    const figure = el('figure', { class: 'card', dir: 'auto' }, top, words, more, author(item, name, record));
    const node = el('li', { tabindex: -1 }, figure);
    if (featured) node.classList.add('featured', featured);
    const card = { item, node, figure, words, top, more, record, featured };
    for (const extend of extensions) extend(card);
    return card;
  };

  let filling;
  let dates;
  const measure = () => {
    const width = status.clientWidth;
    if (widget.width !== width) widget.version += 1;
    const size = width / ({ narrow: .85, wide: 1.3 }[design.cardWidth] || 1);
    widget.width = width;
    widget.columns = Math.min(1 + (size >= 560) + (size >= 900) + (size >= 1240), widget.total);
    widget.put('columns', widget.columns);
    root.className = widget.look;
    widget.gap = parseFloat(getComputedStyle(list).columnGap);
    return width;
  };
  const clamp = (cards) => {
    // Less than a line, but more than the letters of a tall font extend below the last one.
    const long = cards.map(({ figure, words }) => figure.matches('.open') || words.scrollHeight > words.clientHeight + 12);
    cards.forEach(({ more }, i) => { more.hidden = !long[i]; });
  };
  const arrange = () => {
    // An observer may fire once more after it was disconnected.
    if (signal.aborted || filling || !measure()) return;
    if (kind !== 'masonry') clamp(cards);
    widget.layout?.arrange?.();
  };

  const fill = async (items, layouts) => {
    if (layouts) widget.layout = await layouts.find(Boolean);
    const { layout } = widget;
    filling = true;
    // The service provides them in its own languages, since browsers are slow to load theirs.
    if (!dates && config.showDates && !(feed.dates && locale.startsWith(feed.lang))) await widget.use('dates');
    dates ||= makeDates(widget);
    await rest();
    measure();
    layout?.page?.(items.length);
    for (const item of items) {
      const card = makeCard(item, !cards[0] && kind === 'masonry' && item.pinned && design.featured.replace('off', ''));
      cards.push(card);
      layout?.add ? layout.add(card) : list.append(card.node);
      if (cards.length % 2 === 0) {
        // Measured now, so that not everything is measured in one task later.
        root.offsetHeight;
        await rest();
      }
    }
    widget.total = Math.max(widget.total, cards.length);
    progress.textContent = say('progress', { n: number(cards.length), total: number(widget.total) });
    await rest();
    filling = false;
    arrange();
    root.inert = false;
    // Code that waits for it may request the next page at once.
    host.dataset.testimonialsCount = cards.length;
  };

  Object.assign(widget, {
    stage, nav, view, list, foot, status, cards, progress, extensions, button, clamp, arrange, fill, locale, total: feed.total, version: 0, cursor: feed.next,
  });
  widget.paint('    control  soft tint mark   solid on solidmark        glyph');
  widget.look += ` ${config.cardStyle} ${design.density}`;
  // It is measured before it is shown.
  root.inert = true;
  root.className = widget.look;
  host.shadowRoot.prepend(root);
  root.append(stage, foot, status);
  // The front page's samples have none.
  if (proof) root.append(el('p', { class: 'proof' }, proof.text && proof.text + ' · ', link('', proof.url, proof.label)));

  if (feed.next && /^[ml]/.test(kind)) {
    const showMore = button({ class: 'button' }, () => widget.use('later').then(([later]) => {
      if (later) later.showMore(showMore);
      else showMore.textContent = say('tryAgain');
    }), say('showMore') + ' ', progress);
    foot.append(showMore);
  }
  const href = webUrl(feed.cta?.url);
  if (config.showCtaButton && href) foot.append(link('button cta', href, feed.cta.label));
  if (!feed.total) stage.replaceWith(el('p', { class: 'empty' }, say('empty')));
}];
