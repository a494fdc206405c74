// Five stars in cells of 20, and gaps of 2.
const STARS = [10, 32, 54, 76, 98].map((x) => `M${x} 1.8l2.6 5.2 5.7.8-4.2 4 1 5.7-5.1-2.7-5.1 2.7 1-5.7-4.2-4 5.7-.8z`).join('');
// The second mark is the first one again.
const QUOTE = 'M17.5 0 20 4.2c-4.4 2.4-7.4 5.8-8 10 5-1.4 9.2 2.4 9.2 8C21.2 27.8 17 32 11.4 32 4.6 32 0 27 0 19.3 0 10.8 6.2 3.6 17.5 0z';
const X = 'M3 3l14 18h4L7 3zM20.5 3l-7 8M10.5 13.5 4 21';

// Wide letters count twice.
const weigh = (words) => [...words].length + (words.match(/[\u2e80-\ud7ff]/g) || []).length;

// The cards, which every layout and shape uses.
const makeCards = (widget) => {
  const { config, design, feed, say, locale, listen } = widget;
  const segmenter = new Intl.Segmenter();
  const number = (value, digits) => new Intl.NumberFormat(locale, { minimumFractionDigits: digits }).format(value);

  const stars = (rating, size = 16) => el('svg', { class: 'stars', viewBox: '0 0 108 20', width: size * 5.4, height: size, role: 'img', 'aria-label': say('rated', { rating: number(rating) }) },
    el('path', { d: STARS }), el('svg', { width: rating * 22 - (rating % 1) * 2, height: 20 }, el('path', { d: STARS })));

  const button = (attributes, handler, ...children) => {
    const node = el('button', attributes, ...children);
    listen(node, 'click', handler);
    return node;
  };

  const face = (name, picture) => {
    let hash = 0;
    for (const letter of name) hash = (hash * 3 + letter.codePointAt()) % 8;
    const node = el('span', { class: 'avatar', 'aria-hidden': true }, initials(name, segmenter));
    node.classList.add('a' + hash % 3);
    const src = webUrl(picture);
    if (src) {
      const img = el('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
      img.onerror = () => img.remove();
      img.src = src;
      node.append(img);
    }
    return node;
  };
  const faces = (people) => el('span', { class: 'faces', 'aria-hidden': true }, ...people.map(({ name, avatar }) => face(text(name), avatar)));

  // Nothing where the reader would see the same date at half of the cards.
  let dates = (date) => {
    if (config.showDates === false || !(date > 0)) return '';
    if (design.dateStyle === 'relative') return sayAgo(date, locale);
    const day = design.dateStyle === 'month' ? undefined : 'numeric';
    return new Intl.DateTimeFormat(locale, { day, month: widget.kind === 'list' ? 'long' : 'short', year: 'numeric', timeZone: 'UTC' }).format(date);
  };
  if (design.dateStyle !== 'absolute') {
    const shown = feed.items.map((item) => dates(new Date(item.submittedAt)));
    if (shown.some((one) => shown.filter((other) => other === one).length > Math.max(1, (shown.length - 1) / 2))) dates = () => '';
  }

  const highlight = (words, ranges) => {
    const letters = [...words];
    const parts = [];
    let end = 0;
    for (const [from, to] of (design.showHighlights !== false && ranges) || []) {
      parts.push(letters.slice(end, from).join(''), el('mark', { class: 'mark' }, letters.slice(from, to).join('')));
      end = to;
    }
    return [...parts, letters.slice(end).join('')];
  };

  const author = (item, name) => {
    const role = [item.authorRole, config.showSource !== false && item.authorCompany].map(text).filter(Boolean).join(', ');
    const date = new Date(item.submittedAt);
    const when = dates(date);
    const meta = el('span', { class: 'meta' }, role && el('bdi', { class: 'role' }, role),
      item.isSample && el('span', { class: 'sample' }, say('sample')),
      when && el('time', { class: 'date', lang: locale, datetime: date.toISOString() }, el('bdi', {}, when)));
    return el('figcaption', { class: 'author' }, design.photoSize !== 0 && face(name, webUrl(item.authorAvatar) || item.twitter?.avatarUrl),
      el('bdi', { class: 'name' }, name), meta.firstChild && meta);
  };

  const card = (item, featured) => {
    const name = text(item.authorName);
    const rating = Math.min(item.rating, 5);
    const handle = config.showSource !== false && text(item.twitter?.handle).replace(/\W/g, '');
    const size = weigh(text(item.text));
    const words = el('blockquote', { class: 'text', lang: locale }, ...highlight(text(item.text), item.highlights));
    words.className += size <= 30 ? ' short tiny' : size <= 64 ? ' short' : size <= 140 ? ' medium' : '';
    const label = (open) => {
      more.textContent = say(open ? 'showLess' : 'readMore');
      set(more, { 'aria-expanded': open, 'aria-label': more.textContent + ': ' + name });
    };
    const more = button({ class: 'more', hidden: '' }, () => {
      label(figure.classList.toggle('open'));
      widget.arrange();
    });
    label(false);
    const top = el('div', { class: 'top' }, config.showStars !== false && rating >= 1 && stars(rating),
      handle && el('a', { class: 'source', href: 'https://x.com/' + handle, rel: 'noopener nofollow', target: '_blank', dir: 'ltr' }, el('span', {}, '@' + handle), icon(X)));
    // A whole card goes by its words' first strong letter.
    const figure = el('figure', { class: 'card', dir: 'auto' },
      (featured || config.cardStyle === 'quote') && !handle && icon(QUOTE, { class: 'glyph', viewBox: '0 0 44 32' }, el('path', { d: QUOTE, transform: 'translate(22.7)' })),
      top.firstChild && top, words,
      item.reply && el('div', { class: 'reply' }, el('b', {}, say('reply', { name: feed.project.name })), el('p', { lang: locale }, el('bdi', {}, text(item.reply.text)))),
      more, author(item, name));
    const node = el('li', { tabindex: -1 }, figure);
    if (featured) node.classList.add('featured', featured);
    return { item, node, figure, words, more, featured };
  };

  const header = () => {
    const { average, count, faces: people } = feed.header;
    return el('div', { class: 'head' }, el('span', { class: 'average' }, number(average, 1)),
      el('span', { class: 'summary' }, stars(average, 20), el('span', {}, say('ratings', { n: number(count) }))), faces(people));
  };

  Object.assign(widget, { stars, button, face, faces, card, header, number });
};
