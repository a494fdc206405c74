// The room next to the container, up to an element that would cut it off.
const findRoom = (host) => {
  const box = host.getBoundingClientRect();
  let left = 0;
  let right = document.documentElement.clientWidth;
  for (let node = host.parentElement; node && node !== document.body; node = node.parentElement) {
    if (getComputedStyle(node).overflowX === 'visible') continue;
    const edge = node.getBoundingClientRect();
    left = Math.max(left, edge.left);
    right = Math.min(right, edge.right);
  }
  return Math.min(box.left - left, right - box.right);
};

// Cards in a row that people scroll: the still carousel, the spotlight and the strip.
export default [`carousel.css`, (widget) => {
  const { el, cards, host, list, view, nav, root, say, button, signal } = widget;
  const strip = widget.kind === 'strip';
  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };
  set(view, { role: 'group', 'aria-roledescription': say('carousel'), 'aria-label': say('testimonials'), tabindex: 0 });
  if (widget.kind !== 'carousel') widget.look += ' carousel';
  let page = 0;
  // Negative in right-to-left pages, like scroll positions.
  const pitch = () => (list.lastChild.offsetLeft - list.firstChild.offsetLeft) / (cards.length - 1) || 1;
  const columns = () => (strip ? Math.max(1, Math.floor((widget.width + 14) / 334)) : widget.width < 640 || widget.kind === 'spotlight' ? 1 : widget.columns);
  const pages = () => Math.ceil(Math.max(widget.total, cards.length) / columns());

  const more = async () => {
    try {
      return widget.cursor && await (await widget.use('later'))[0].loadNext();
    } catch {} // The next step tries again.
  };
  const show = (wanted) => {
    page = Math.max(0, Math.min(wanted, pages() - 1));
    set(previous, { 'aria-disabled': !page });
    set(next, { 'aria-disabled': page === pages() - 1 });
    [...dots.children].forEach((dot, i) => dot.setAttribute('aria-current', i === page));
    if (pages() > 7) dots.textContent = `${page + 1} / ${pages()}`;
    // Loaded before it is needed.
    if (cards.length < (page + 1) * columns() + 2) more();
  };
  const fade = () => {
    root.classList.toggle('begun', Math.abs(view.scrollLeft) > 2);
    root.classList.toggle('further', Math.abs(view.scrollLeft) < view.scrollWidth - view.clientWidth - 2);
  };
  const showNearest = () => {
    const first = Math.round(view.scrollLeft / pitch());
    const n = columns();
    show(first + n < cards.length ? Math.round(first / n) : Math.ceil(first / n));
    fade();
  };
  const go = async (wanted) => {
    show(wanted);
    const target = page;
    while (cards.length < (target + 1) * columns()) if (!await more()) break;
    show(target);
    view.scrollTo(Math.min(page * columns(), cards.length - columns()) * pitch(), 0);
    const first = page * columns() + 1;
    const last = Math.min(first + columns() - 1, cards.length);
    widget.status.textContent = say('progress', { n: (last > first ? first + '–' : '') + last, total: widget.number(widget.total) });
  };
  const arrow = (name, by, d) => button({ class: 'arrow', 'aria-label': say(name) }, () => go(page + by), el('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': true }, el('path', { d })));
  const previous = arrow('previous', -1, 'M15 5l-7 7 7 7');
  const next = arrow('next', 1, 'M9 5l7 7-7 7');
  previous.classList.add('previous');
  const dots = el('div', { class: 'dots' });
  nav.append(previous, dots, next);

  let timer;
  let version;
  view.onscrollend = showNearest;
  view.onscroll = () => {
    clearTimeout(timer);
    // On slow devices a pause isn't the end, but older browsers report nothing else.
    if (!('onscrollend' in HTMLElement.prototype)) timer = setTimeout(showNearest, 100);
  };
  signal.addEventListener('abort', () => clearTimeout(timer));

  return {
    add({ node, figure }) {
      list.append(node);
      const stars = strip && figure.querySelector('.stars');
      if (stars) figure.querySelector('.author').append(stars);
    },
    arrange() {
      root.classList.toggle('hang', findRoom(host) >= 36);
      const n = pages();
      nav.hidden = n < 2;
      if (n > 7) dots.replaceChildren();
      else if (dots.children.length !== n) dots.replaceChildren(...[...Array(n)].map((_, i) => button({ 'aria-label': say('page', { n: i + 1, total: n }) }, () => go(i))));
      // Further cards don't move anything, and scrolling may be under way.
      if (version === widget.version) show(page);
      else showNearest();
      version = widget.version;
      fade();
    },
  };
}];
