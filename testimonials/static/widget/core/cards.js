// The cards, which every layout and shape uses.
const makeCards = (widget) => {
  const { config, feed, paint, listen } = widget;
  let dates;
  for (const lang of ['en-GB', document.documentElement.lang]) {
    try {
      if (lang && lang !== 'en') dates = new Intl.DateTimeFormat(lang, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
    } catch {} // A page may claim any language.
  }
  const segmenter = Intl.Segmenter && new Intl.Segmenter();

  const button = (attributes, handler, ...children) => {
    const node = el('button', { lang: 'en', ...attributes }, ...children);
    listen(node, 'click', handler);
    return node;
  };

  const face = (item, name) => {
    let hash = 0;
    for (const letter of name) hash = (hash * 3 + letter.codePointAt()) % 8;
    const node = el('span', { class: 'avatar', 'aria-hidden': true }, initials(name, segmenter));
    paint(node, 'back fore', 14 + hash * 2);
    const src = webUrl(item.authorAvatar) || webUrl(item.twitter?.avatarUrl);
    if (src) {
      const img = el('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
      img.onerror = () => img.remove();
      img.src = src;
      node.append(img);
    }
    return node;
  };

  const card = (item) => {
    const name = text(item.authorName);
    const rating = Math.min(item.rating, 5);
    const role = [item.authorRole, config.showSource !== false && item.authorCompany].map(text).filter(Boolean).join(', ');
    const handle = text(item.twitter?.handle).replace(/\W/g, '');
    const date = new Date(item.submittedAt);
    const words = el('blockquote', { class: 'text', dir: 'auto' }, text(item.text));
    const label = (open) => {
      more.textContent = open ? 'Show less' : 'Read more';
      set(more, { 'aria-expanded': open, 'aria-label': more.textContent + ': ' + name });
    };
    const more = button({ class: 'more' }, () => {
      label(words.classList.toggle('open'));
      widget.arrange();
    });
    label(false);
    const node = el('li', { tabindex: -1 }, el('figure', { class: 'card' },
      config.showStars !== false && rating >= 1 && stars(rating), words, more,
      el('figcaption', {}, face(item, name), el('bdi', { class: 'name' }, name), role && el('bdi', { class: 'role' }, role),
        config.showSource !== false && handle && el('a', { class: 'source', href: 'https://x.com/' + handle, rel: 'noopener nofollow', target: '_blank', dir: 'ltr' }, '@' + handle),
        item.isSample && el('span', { class: 'sample', lang: 'en' }, 'Sample'),
        config.showDates !== false && date > 0 && el('time', { class: 'date', datetime: date.toISOString() }, dates.format(date)))));
    return { item, node, words, more };
  };

  Object.assign(widget, { button, face, card });
};
