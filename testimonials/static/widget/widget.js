// Shows testimonials in every [data-testimonials-project].
(() => {
// A browser without shared style sheets keeps the link.
if (window.__testimonials || !CSSStyleSheet.prototype.replaceSync) return;
window.__testimonials = true;
const BASE = new URL('.', document.currentScript.src).href;

const { names: NAMES, palettes: PALETTES, themes: THEMES } = 'look.json';

const sheet = new CSSStyleSheet();
sheet.replaceSync(`widget.css`);

// Shapes that few pages use come with a second file.
const importShapes = () => import(BASE + 'shapes.js');

// What a container may choose, beside its project and theme.
const PREFIX = 'data-testimonials-';
const SELECTION = ['shape', 'id', 'tag', 'min'];
const WATCHED = ['project', 'theme', ...SELECTION].map((name) => PREFIX + name);

const reducedMotion = matchMedia('(prefers-reduced-motion:reduce)');

const set = (node, attributes) => {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
};
// Strings become text nodes, so nothing in the feed can be markup.
const el = (tag, attributes, ...children) => {
  const node = /svg|path/.test(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  set(node, attributes);
  if (attributes.class) node.part = attributes.class;
  node.append(...children.filter(Boolean));
  return node;
};
const text = (value) => (typeof value === 'string' ? value : '');
const oneOf = (value, ...allowed) => (allowed.includes(value) ? value : allowed[0]);
const webUrl = (value) => (/^https?:\/\//i.test(value) ? value : '');


const initials = (name, segmenter) => {
  const words = name.match(/[\p{L}\p{N}]\S*/gu) || ['★'];
  return [words[0], ...words.slice(1).slice(-1)].map((word) => (segmenter ? [...segmenter.segment(word)][0].segment : word[0])).join('').toUpperCase();
};

const stars = (rating) => {
  const d = [9, 29, 49, 69, 89].map((x) => `M${x} 1.5l2.3 4.7 5.2.8-3.8 3.6.9 5.2-4.6-2.5-4.6 2.5.9-5.2-3.8-3.6 5.2-.8z`).join('');
  return el('svg', { class: 'stars', width: 98, height: 18, role: 'img', lang: 'en', 'aria-label': `Rated ${rating} out of 5` },
    el('path', { d }), el('svg', { width: rating * 20 - (rating % 1) * 2, height: 18 }, el('path', { d })));
};

const load = async (url, signal) => {
  const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(8000) });
  if (!response.ok) throw Error('HTTP ' + response.status);
  const data = await response.json();
  signal.throwIfAborted();
  return data;
};

// Slow devices get the work in small tasks.
const rest = (signal) => new Promise((done) => setTimeout(done)).then(() => signal.throwIfAborted());

// Everything started here ends with the signal.
const render = async (host, feed, url, signal) => {
  let total = feed.total;
  const config = feed.config || {};
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
  const carousel = layout === 'carousel';
  const animation = carousel ? oneOf(config.animation, 'none', 'horizontal', 'vertical') : 'none';
  const vertical = animation === 'vertical';
  const rtl = getComputedStyle(host).direction === 'rtl';
  const listen = (node, types, handler) => types.split(' ').forEach((type) => node.addEventListener(type, handler, { signal }));

  await rest(signal);
  let dates;
  for (const lang of ['en-GB', document.documentElement.lang]) {
    try {
      if (lang && lang !== 'en') dates = new Intl.DateTimeFormat(lang, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
    } catch {} // A page may claim any language.
  }

  const segmenter = Intl.Segmenter && new Intl.Segmenter();
  const cards = [];
  const list = el('ul', { role: 'list' });
  const view = el('div', { class: 'view', ...(carousel && { role: 'group', 'aria-roledescription': 'carousel', 'aria-label': 'Testimonials', tabindex: 0 }) }, list);
  const nav = el('div', { class: 'nav' });
  const foot = el('div', { class: 'foot' });
  const status = el('div', { role: 'status', lang: 'en' }); // Its width is watched.
  const root = el('div', {}, nav, view, foot, status);
  const look = ['tm', feed.shape, layout, oneOf(config.cardStyle, 'default', 'quote', 'stripe', 'gradient', 'outlined'), rtl && 'rtl'].join(' ');
  paint(root, NAMES, 0);

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

  const addCard = (item) => {
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
      arrange();
    });
    label(false);
    const node = el('li', { tabindex: -1 }, el('figure', { class: 'card' },
      config.showStars !== false && rating >= 1 && stars(rating), words, more,
      el('figcaption', {}, face(item, name), el('bdi', { class: 'name' }, name), role && el('bdi', { class: 'role' }, role),
        config.showSource !== false && handle && el('a', { class: 'source', href: 'https://x.com/' + handle, rel: 'noopener nofollow', target: '_blank', dir: 'ltr' }, '@' + handle),
        item.isSample && el('span', { class: 'sample', lang: 'en' }, 'Sample'),
        config.showDates !== false && date > 0 && el('time', { class: 'date', datetime: date.toISOString() }, dates.format(date)))));
    cards.push({ node, words, more });
    list.append(node);
  };

  let columns;
  let index = 0;
  // Negative where writing runs to the left, as scrolling is.
  const pitch = () => (list.lastChild.offsetLeft - list.firstChild.offsetLeft) / (cards.length - 1) || 1;
  const count = el('span', { dir: 'ltr', lang: 'en', 'aria-live': 'polite' });
  const show = (wanted) => {
    index = Math.max(0, Math.min(wanted, cards.length - columns));
    const last = Math.min(index + columns, cards.length);
    count.textContent = `${columns > 1 ? index + 1 + '–' : ''}${last} of ${cards.length}`;
    set(previous, { 'aria-disabled': !index });
    set(next, { 'aria-disabled': last === cards.length });
  };
  const showNearest = () => show(Math.round(view.scrollLeft / pitch()));
  const step = (label, by, sign) => button({ 'aria-label': label }, () => {
    show(index + by * columns);
    view.scrollTo(index * pitch(), 0);
  }, sign);
  const previous = step('Previous', -1, '‹');
  const next = step('Next', 1, '›');
  const pill = el('div', { class: 'pill' }, previous, count, next);

  let run;
  let paused;
  let away;
  const update = () => run?.[paused || away || document.hidden || view.matches(':hover,:focus-within') ? 'pause' : 'play']();
  const pause = button({ class: 'button' }, () => {
    paused = !paused;
    pause.textContent = paused ? 'Play' : 'Pause';
    update();
  }, 'Pause');

  const arrange = () => {
    const width = status.clientWidth;
    if (!width || !cards[0]) return;
    columns = layout === 'list' ? 1 : Math.min(1 + (width >= 560) + (width >= 900) + (width >= 1240), total);
    root.style.setProperty('--tm-columns', columns);

    const time = run?.currentTime;
    run?.cancel();
    list.querySelectorAll('[inert]').forEach((copy) => copy.remove());
    run = undefined;
    let moving = animation !== 'none' && !reducedMotion.matches;
    const move = () => { root.className = look + (moving ? ' moving ' + animation : ''); };
    move();

    const long = cards.map(({ words }) => words.matches('.open') || words.scrollHeight > words.clientHeight + 1);
    cards.forEach(({ more }, i) => { more.hidden = !long[i]; });

    const size = 16 + (vertical ? list.offsetHeight : list.offsetWidth);
    moving = moving && size > (vertical ? 536 : width);
    move();
    if (moving) {
      for (const { node } of cards.slice(0, width / 300 + 6)) {
        list.append(node.cloneNode(true));
        set(list.lastChild, { 'aria-hidden': true, inert: '' });
      }
      const way = vertical ? 'Y(-' : rtl ? 'X(' : 'X(-';
      run = list.animate({ transform: ['none', `translate${way}${size}px)`] }, { duration: size * 25, iterations: Infinity });
      run.currentTime = time || 0;
      update();
    }
    if (carousel) {
      const control = moving ? pause : cards.length > columns ? pill : '';
      if (nav.firstChild !== control) nav.replaceChildren(control);
      showNearest();
    }
    if (layout === 'masonry') {
      const packed = columns > 1;
      list.classList.toggle('packed', packed);
      // Browsers cap the number of rows, so they are 2 px high.
      const spans = cards.map(({ node }) => Math.ceil(node.offsetHeight / 2) + 8);
      const heights = Array(columns).fill(0);
      cards.forEach((card, i) => {
        // Kept, so that no card moves.
        const column = card[columns] = card[columns] ?? heights.indexOf(Math.min(...heights));
        heights[column] += spans[i];
        card.node.style.gridArea = packed ? `auto / ${column + 1} / span ${spans[i]}` : '';
      });
    }
  };

  let cursor;
  const progress = el('span', { dir: 'ltr' });
  const fill = async ({ items, next: after }) => {
    for (const item of items) {
      if (cards.length % 3 === 0) {
        run || arrange();
        await rest(signal);
      }
      addCard(item);
    }
    cursor = after;
    total = Math.max(total, cards.length);
    host.dataset.testimonialsCount = cards.length || total;
    progress.textContent = `${cards.length} of ${total}`;
    arrange();
  };
  const loadMore = button({ class: 'button' }, async () => {
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

  const badge = feed.badge;
  if (badge) {
    root.className = look;
    root.append(el('a', { class: 'button badge', href: webUrl(badge.url), target: '_blank', rel: 'noopener', lang: 'en' },
      stars(badge.average), el('b', {}, badge.average), el('span', {}, badge.label)));
  }
  if (feed.next) foot.append(loadMore);
  const href = webUrl(feed.cta?.url);
  if (config.showCtaButton !== false && href) foot.append(el('a', { class: 'button cta', href, target: '_blank', rel: 'noopener' }, text(feed.cta.label)));

  const resize = new ResizeObserver(() => requestAnimationFrame(arrange));
  resize.observe(status);
  let timer;
  listen(view, 'scroll scrollend', ({ type }) => {
    // Focus must not scroll what the transform moves.
    if (run) view.scrollTo(0, 0);
    clearTimeout(timer);
    // A pause is no end on slow devices, but all that older browsers tell.
    if (type !== 'scroll') showNearest();
    else if (!('onscrollend' in view)) timer = setTimeout(showNearest, 100);
  });
  const sight = new IntersectionObserver(([entry]) => {
    away = !entry.isIntersecting;
    update();
  });
  sight.observe(view);
  signal.addEventListener('abort', () => {
    resize.disconnect();
    sight.disconnect();
    clearTimeout(timer);
    run?.cancel();
  });
  listen(reducedMotion, 'change', arrange);
  listen(document, 'visibilitychange', update);
  listen(view, 'pointerenter pointerleave focusin focusout', update);
  listen(view, 'focusin', ({ target }) => {
    const node = target.closest('li');
    const side = vertical ? 'offsetTop' : 'offsetLeft';
    if (run && node && target.matches(':focus-visible')) run.currentTime = 25 * Math.abs(node[side] - list.firstChild[side]);
  });
  // Clicks on the inert copies go to the originals.
  listen(view, 'click', ({ clientX: x, clientY: y }) => {
    const at = [...list.querySelectorAll('[inert] :is(a,button)')].findIndex((node) => {
      const box = node.getBoundingClientRect();
      return x > box.left && x < box.right && y > box.top && y < box.bottom;
    });
    list.querySelectorAll('a,button')[at]?.click();
  });

  // What stands in the host stays until all of this is in its place.
  const slot = el('slot', {});
  root.inert = true;
  host.shadowRoot.replaceChildren(root, slot);
  await fill(feed);
  root.inert = false;
  slot.remove();
};

const start = async (host, id, signal) => {
  const data = host.dataset;
  let event = 'ready';
  let total = 0;
  // A shadow root can't be removed, but shows the link.
  const showLink = () => host.shadowRoot?.replaceChildren(el('slot', {}));
  signal.addEventListener('abort', showLink);
  data.testimonialsState = 'loading';
  data.testimonialsCount = 0;
  try {
    const url = new URL(encodeURIComponent(id) + '/feed', BASE);
    for (const name of SELECTION) {
      const value = host.getAttribute(PREFIX + name);
      if (value) url.searchParams.set(name, value);
    }
    const feed = await load(url, signal);
    if (feed.project.active !== false) total = feed.total;
    if (!host.shadowRoot) {
      host.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet];
      // An empty root hides the link at once, and rendering waits for its turn first.
      if (total) showLink();
    }
    if (total) await render(host, feed, url, signal);
    data.testimonialsState = total ? event : 'empty';
  } catch (error) {
    if (signal.aborted) return;
    showLink();
    console.warn('Testimonials', id, error);
    data.testimonialsState = event = 'error';
  }
  host.dispatchEvent(new CustomEvent('testimonials:' + event, { bubbles: true, detail: { projectId: id, count: +data.testimonialsCount, total } }));
};

const keyOf = (host) => WATCHED.map((name) => host.getAttribute(name)).join();

// A div that was only moved is connected again.
const widgets = new Map();
const scan = () => {
  for (const [host, { key, stop }] of widgets) {
    if (host.isConnected && keyOf(host) === key) continue;
    stop.abort();
    widgets.delete(host);
  }
  for (const host of document.querySelectorAll('[data-testimonials-project]')) {
    const id = host.dataset.testimonialsProject;
    if (!id || widgets.has(host)) continue;
    const stop = new AbortController();
    widgets.set(host, { key: keyOf(host), stop });
    start(host, id, stop.signal);
  }
};
new MutationObserver(scan).observe(document, { childList: true, subtree: true, attributeFilter: WATCHED });
scan();
})();
