// Cards in a row that people scroll.
const drawCarousel = (widget) => {
  const { cards, list, view, nav, button, listen, signal } = widget;
  set(view, { role: 'group', 'aria-roledescription': 'carousel', 'aria-label': 'Testimonials', tabindex: 0 });
  let index = 0;
  // Negative where writing runs to the left, as scrolling is.
  const pitch = () => (list.lastChild.offsetLeft - list.firstChild.offsetLeft) / (cards.length - 1) || 1;
  const count = el('span', { dir: 'ltr', lang: 'en', 'aria-live': 'polite' });
  const show = (wanted) => {
    const { columns } = widget;
    index = Math.max(0, Math.min(wanted, cards.length - columns));
    const last = Math.min(index + columns, cards.length);
    count.textContent = `${columns > 1 ? index + 1 + '–' : ''}${last} of ${cards.length}`;
    set(previous, { 'aria-disabled': !index });
    set(next, { 'aria-disabled': last === cards.length });
  };
  const showNearest = () => show(Math.round(view.scrollLeft / pitch()));
  const step = (label, by, sign) => button({ 'aria-label': label }, () => {
    show(index + by * widget.columns);
    view.scrollTo(index * pitch(), 0);
  }, sign);
  const previous = step('Previous', -1, '‹');
  const next = step('Next', 1, '›');
  const pill = el('div', { class: 'pill' }, previous, count, next);
  let timer;
  listen(view, 'scroll scrollend', ({ type }) => {
    clearTimeout(timer);
    // A pause is no end on slow devices, but all that older browsers tell.
    if (type !== 'scroll') showNearest();
    else if (!('onscrollend' in view)) timer = setTimeout(showNearest, 100);
  });
  signal.addEventListener('abort', () => clearTimeout(timer));
  return {
    arrange() {
      const control = cards.length > widget.columns ? pill : '';
      if (nav.firstChild !== control) nav.replaceChildren(control);
      showNearest();
    },
  };
};
