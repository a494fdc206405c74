// Shows testimonials in every [data-testimonials-project].
(() => {
// A browser without shared style sheets keeps the link.
if (window.__testimonials || !CSSStyleSheet.prototype.replaceSync) return;
window.__testimonials = true;
const BASE = new URL('.', document.currentScript.src).href;

// Colours by NAMES, then pairs for initials.
const NAMES = 'accent solid on soft tint ink card text muted line control star rim';
const PALETTES = {
  neutral: { light: '3f3f46 27272a ffffff f4f4f5 e4e4e7 3f3f46', dark: 'd4d4d8 e4e4e7 18181b 27272a 27272a e4e4e7' },
  indigo: { light: '4338ca 4f46e5 ffffff eef2ff e0e7ff 3730a3', dark: 'a5b4fc a5b4fc 1e1b4b 1e1f3f 2a2a5c c7d2fe' },
  emerald: { light: '047857 047857 ffffff ecfdf5 d1fae5 065f46', dark: '6ee7b7 6ee7b7 022c22 0b2b22 0f3d30 a7f3d0' },
  amber: { light: '92400e b45309 ffffff fffbeb fef3c7 78350f', dark: 'fcd34d fcd34d 451a03 2e2108 45310b fde68a' },
  rose: { light: 'be123c e11d48 ffffff fff1f2 ffe4e6 9f1239', dark: 'fda4af fda4af 4c0519 33141c 4a1926 fecdd3' },
  sky: { light: '0369a1 0369a1 ffffff f0f9ff e0f2fe 075985', dark: '7dd3fc 7dd3fc 082f49 0c2636 103a54 bae6fd' },
};
const THEMES = {
  light: ' ffffff 18181b 52525b e4e4e7 71717a f59e0b b45309 e0e7ff 3730a3 d1fae5 065f46 fef3c7 78350f ffe4e6 9f1239 e0f2fe 075985 f3e8ff 6b21a8 ccfbf1 115e59 ffedd5 9a3412',
  dark: ' 18181b f4f4f5 a1a1aa 3f3f46 8a8a94 fbbf24 fbbf24 312e81 c7d2fe 064e3b a7f3d0 78350f fde68a 881337 fecdd3 0c4a6e bae6fd 581c87 e9d5ff 134e4a 99f6e4 7c2d12 fed7aa',
};

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
:host{all:initial!important;display:block!important;min-height:var(--tm-reserve)!important}
:host([hidden]),:host([data-testimonials-state=empty]){display:none!important}
*{box-sizing:border-box;margin:0;padding:0}
.tm{position:relative;display:flex;flex-direction:column;container-type:inline-size;font:16px/26px system-ui,sans-serif;color:var(--tm-text);overflow-wrap:anywhere}
:focus-visible{outline:2px solid var(--tm-accent);outline-offset:2px;box-shadow:0 0 0 6px var(--tm-card)}
[role=status]{position:absolute;width:100%;height:1px;overflow:hidden;opacity:0}

.view{order:-1;width:100%;max-width:calc(var(--tm-columns)*576px - 16px);margin-inline:auto}
.list .view{max-width:720px}
ul{display:grid;gap:16px;grid-template-columns:repeat(var(--tm-columns),minmax(0,1fr));list-style:none}
.packed{row-gap:0;grid-auto-flow:dense;grid-auto-rows:2px;align-items:start}
li{border-radius:14px}
.carousel .view{margin-block:-8px -20px;padding-block:8px 20px;overflow-x:auto;scroll-snap-type:x mandatory;scroll-behavior:smooth;scrollbar-width:none}
.carousel ul{display:flex}
.carousel li{flex:none;width:calc((100% + 16px)/var(--tm-columns) - 16px);scroll-snap-align:start}
.moving .view{max-width:none;overflow:hidden;scroll-snap-type:none;scroll-behavior:auto;mask:linear-gradient(var(--tm-fade,90deg),#0000,#000 24px calc(100% - 24px),#0000)}
.moving ul{width:max-content}
.moving li{width:min(340px,85cqi)}
.vertical{--tm-fade:0deg}
.vertical .view{max-width:560px;height:520px;margin:0 auto;padding:0}
.vertical ul{flex-direction:column}
.vertical :is(ul,li){width:100%}

.card{position:relative;display:flex;flex-direction:column;gap:12px;height:100%;padding:20px;background:var(--tm-card);border:1px solid var(--tm-line);border-radius:14px}
.light:is(.default,.stripe) .card{box-shadow:0 1px 2px #18181b0f,0 4px 12px #18181b0f}
.quote .card{padding-top:52px;background:var(--tm-soft);border-color:#0000}
.quote .card::before{content:"“";content:"“"/"";position:absolute;top:10px;inset-inline-start:18px;font:700 64px/1 Georgia,serif;color:var(--tm-accent)}
.stripe .card{border-inline-start:4px solid var(--tm-solid);border-start-start-radius:6px;border-end-start-radius:6px}
.gradient .card{background:linear-gradient(160deg,var(--tm-card),var(--tm-tint));border-color:var(--tm-tint)}
.gradient.dark .card{background:linear-gradient(160deg,var(--tm-tint),var(--tm-card))}
.outlined .card{border:2px solid var(--tm-accent)}

.stars{flex:none;fill:none;stroke:var(--tm-control);stroke-width:1.25;stroke-linejoin:round}
.stars svg{fill:var(--tm-star);stroke:var(--tm-rim)}
.rtl .stars{transform:scaleX(-1)}
blockquote{white-space:pre-wrap}
blockquote:not(.open){display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:8;overflow:hidden}
button{font:inherit;color:inherit;background:none;border:0;cursor:pointer}
.more,.card a{color:var(--tm-accent);text-decoration:underline;text-underline-offset:3px;border-radius:6px}
.more{align-self:start;margin-top:-8px;font-size:14px;font-weight:600}
figcaption{display:grid;grid-template-columns:auto minmax(0,1fr) auto;justify-items:start;column-gap:12px;margin-top:auto;padding-top:4px;font-size:13px;line-height:18px;color:var(--tm-muted)}
figcaption>*{grid-column:2}
.face{grid-area:1/1/span 4;align-self:center;position:relative;display:grid;place-items:center;width:40px;height:40px;overflow:hidden;border-radius:50%;font-size:14px;font-weight:600;color:var(--tm-fore);background:var(--tm-back)}
.quote .face{color:var(--tm-ink);background:var(--tm-card)}
img{position:absolute;width:100%;height:100%;object-fit:cover;background:var(--tm-card)}
.name{grid-column:2/4;font-size:15px;line-height:20px;font-weight:600;color:var(--tm-text)}
.tag{padding-inline:6px;border:1px solid var(--tm-control);border-radius:6px}
time{grid-area:2/3/span 3;align-self:end}

.nav,.foot{display:flex;flex-wrap:wrap;justify-content:center;gap:12px;margin-top:20px;font-size:15px;line-height:20px}
:empty:is(.nav,.foot){display:none}
.button,.pill{display:grid;grid-auto-flow:column;place-items:center;gap:8px;min-height:44px;background:var(--tm-card);border:1px solid var(--tm-control);border-radius:8px}
.button{padding:8px 20px;font-weight:600;text-decoration:none}
.button span{font-weight:400;color:var(--tm-muted)}
.button:hover{text-decoration:underline}
.cta{background:var(--tm-solid);border-color:#0000;color:var(--tm-on)}
.pill{border-radius:23px}
.pill span{min-width:72px;text-align:center}
.pill button{width:44px;height:44px;padding-bottom:4px;border-radius:50%;font-size:28px}
.pill [aria-disabled=true]{opacity:.4}

@media (forced-colors:active){
.face,.cta,.quote .card{border:1px solid}
.stars,.stars svg{stroke:CanvasText}
.stars svg{fill:CanvasText}
}
@media (prefers-reduced-motion){.view{scroll-behavior:auto!important}}
@media print{
.nav,.foot,.more,[inert]{display:none!important}
.tm .view{height:auto;max-width:none;overflow:visible;mask:none}
.tm ul{display:block;width:auto;columns:260px;transform:none!important}
.tm li{width:auto;margin-bottom:16px;break-inside:avoid}
.tm blockquote{display:block;overflow:visible}
}`);

const reducedMotion = matchMedia('(prefers-reduced-motion:reduce)');

const set = (node, attributes) => {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
};
// Strings become text nodes, so nothing in the feed can be markup.
const el = (tag, attributes, ...children) => {
  const node = /svg|path/.test(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  set(node, attributes);
  node.append(...children.filter(Boolean));
  return node;
};
const text = (value) => (typeof value === 'string' ? value : '');
const oneOf = (value, ...allowed) => (allowed.includes(value) ? value : allowed[0]);
const webUrl = (value) => (/^https?:\/\//i.test(value) ? value : '');
const paint = (node, names, colours) => names.split(' ').forEach((name, i) => node.style.setProperty('--tm-' + name, '#' + colours[i]));

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
  const theme = oneOf(config.theme, 'light', 'dark');
  const palette = oneOf(config.palette, ...Object.keys(PALETTES));
  const layout = total > 1 ? oneOf(config.layout, 'masonry', 'carousel', 'list') : 'masonry';
  const carousel = layout === 'carousel';
  const animation = carousel ? oneOf(config.animation, 'none', 'horizontal', 'vertical') : 'none';
  const colours = (PALETTES[palette][theme] + THEMES[theme]).split(' ');
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
  const look = ['tm', theme, layout, oneOf(config.cardStyle, 'default', 'quote', 'stripe', 'gradient', 'outlined'), rtl && 'rtl'].join(' ');
  paint(root, NAMES, colours);

  const button = (attributes, handler, ...children) => {
    const node = el('button', { lang: 'en', ...attributes }, ...children);
    listen(node, 'click', handler);
    return node;
  };

  const face = (item, name) => {
    let hash = 0;
    for (const letter of name) hash = (hash * 3 + letter.codePointAt()) % 8;
    const node = el('span', { class: 'face', 'aria-hidden': true }, initials(name, segmenter));
    paint(node, 'back fore', colours.slice(13 + hash * 2));
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
    const role = [item.authorRole, item.authorCompany].map(text).filter(Boolean).join(', ');
    const handle = text(item.twitter?.handle).replace(/\W/g, '');
    const date = new Date(item.submittedAt);
    const words = el('blockquote', { dir: 'auto' }, text(item.text));
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
      el('figcaption', {}, face(item, name), el('bdi', { class: 'name' }, name), role && el('bdi', {}, role),
        config.showSource !== false && handle && el('a', { href: 'https://x.com/' + handle, rel: 'noopener nofollow', target: '_blank', dir: 'ltr' }, '@' + handle),
        item.isSample && el('span', { class: 'tag', lang: 'en' }, 'Sample'),
        config.showDates !== false && date > 0 && el('time', { datetime: date.toISOString() }, dates.format(date)))));
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
    host.dataset.testimonialsCount = cards.length;
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
      await fill(await load(url + '?after=' + encodeURIComponent(after), signal));
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
  resize.observe(status);
  let timer;
  listen(view, 'scroll', () => {
    // Focus must not scroll what the transform moves.
    if (run) view.scrollTo(0, 0);
    clearTimeout(timer);
    timer = setTimeout(showNearest, 100);
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

  root.style.visibility = 'hidden';
  host.shadowRoot.replaceChildren(root);
  await fill(feed);
  root.style.visibility = '';
};

const start = async (host, id, signal) => {
  const data = host.dataset;
  let event = 'ready';
  let total = 0;
  // A shadow root can't be removed, but shows the link.
  const showLink = () => host.shadowRoot?.replaceChildren(el('slot'));
  signal.addEventListener('abort', showLink);
  data.testimonialsState = 'loading';
  data.testimonialsCount = 0;
  try {
    const url = BASE + encodeURIComponent(id) + '/feed';
    const feed = await load(url, signal);
    if (feed.project.active !== false && feed.items.length) total = feed.total;
    if (!host.shadowRoot) host.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet];
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

// A div that was only moved is connected again.
const widgets = new Map();
const scan = () => {
  for (const [host, { id, stop }] of widgets) {
    if (host.isConnected && host.dataset.testimonialsProject === id) continue;
    stop.abort();
    widgets.delete(host);
  }
  for (const host of document.querySelectorAll('[data-testimonials-project]')) {
    const id = host.dataset.testimonialsProject;
    if (!id || widgets.has(host)) continue;
    const stop = new AbortController();
    widgets.set(host, { id, stop });
    start(host, id, stop.signal);
  }
};
new MutationObserver(scan).observe(document, { childList: true, subtree: true, attributeFilter: ['data-testimonials-project'] });
scan();
})();
