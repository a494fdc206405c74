// Shows testimonials in every [data-testimonials-project].
//
// Here is what all of them need; the rest comes in pieces (../pieces). Each exports its styles, and
// mostly a function that gets the widget and adds to it. The data says which ones it takes. The
// server puts those that it foresees behind this code; others are imported. The widget is all they
// get, so that they import nothing:
//   kind        what to draw: masonry, carousel, list, horizontal, vertical (the marquees),
//               spotlight, single, or the feed's shape
//   host, feed, config, design, total, locale, url (of the feed), signal (everything ends with it)
//   root        the element with the class `tm` in the shadow root
//   look        its classes; pieces may add to it before the cards come
//   el, load, rest, stars(rating, size), number(value, digits), say(key, values), put(name, value),
//   use(...names), restart()
//   later()     a promise of what later.js returns
//   fill(items) draws
// By face.js:
//   face(face, picture), webUrl(value)
// By dates.js:
//   writeDate(date)
// By head.js:
//   faces(people)
// By cards.js:
//   head (if there is one), stage, foot, status: in the root, in this order
//   nav, view   in the stage: controls, and what scrolls, with `list` (an `ul`) in it
//   cards       the cards so far: { item, node (an `li`), figure, words, top, more, record,
//               featured }
//   columns, width, gap, version   as of the latest arrange(); a new version is a new layout
//   button(attributes, handler, ...children)
//   clamp(cards)   shows Read more where words are cut; arrange() does so but for masonry
//   arrange()   measures and arranges anew
//   progress, cursor
//   extensions  functions that each new card is handed to
//   layout      what a layout returns, all of which may be left out:
//     page(n)     a page of n cards begins
//     add(card)   puts a card in its place; by default it goes to the end of `list`
//     arrange()   is called when cards were added, opened or closed, and when the width has changed
(() => {
if (window.__testimonials) return;
// By the names of their files.
const pieces = window.__testimonials = { VERSIONcore: [`core.css`] };
// A browser without shared style sheets keeps the link.
if (!CSSStyleSheet.prototype.replaceSync) return;
const BASE = new URL('.', document.currentScript.src).href;

// Five stars in cells of 20, and gaps of 2.
const STARS = [10, 32, 54, 76, 98].map((x) => `M${x} 1.8l2.6 5.2 5.7.8-4.2 4 1 5.7-5.1-2.7-5.1 2.7 1-5.7-4.2-4 5.7-.8z`).join('');
// In the order of the feed.
const COLOURS = 'card text muted line control empty soft tint mark accent star solid on solidmark back0 fore0 back1 fore1 back2 fore2 shade glyph';
// What a container may choose; all but the last two are asked of the server.
const WATCHED = ['widget', 'shape', 'id', 'tag', 'min', 'theme', 'project'].map((name) => 'data-testimonials-' + name);

// Strings become text nodes, so nothing in the feed can be markup.
const el = (tag, attributes, ...children) => {
  const node = /svg|path/.test(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (attributes?.class) node.part = attributes.class;
  node.append(...children.filter(Boolean));
  return node;
};

// How the widget gets its data.
const load = async (url, signal) => {
  const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(8000) });
  if (!response.ok) throw Error('HTTP ' + response.status);
  const data = await response.json();
  signal.throwIfAborted();
  return data;
};

// Fetches pieces together, and puts those to work, in this order, that the widget doesn't have yet.
// One that can't be had, as of a version to come, only leaves out what it draws.
const sheets = {};
const use = async (widget, ...names) => {
  const found = await Promise.all(names.map((name) => pieces['VERSION' + name] ||= import(BASE + 'v1-VERSION' + name + '.js').then((file) => file.default, () => [''])));
  widget.signal.throwIfAborted();
  const worn = widget.host.shadowRoot.adoptedStyleSheets;
  return found.map(([css, draw]) => {
    if (!sheets[css]) (sheets[css] = new CSSStyleSheet()).replaceSync(css);
    return worn.includes(sheets[css]) || !worn.push(sheets[css]) || draw?.(widget);
  });
};

const start = async (host, id, signal) => {
  const data = host.dataset;
  let event = 'ready';
  let total = 0;
  let later;
  // A shadow root can't be removed, but shows the link.
  const showLink = () => host.shadowRoot?.replaceChildren(el('slot'));
  const widget = {
    host, signal, el, load,
    use: (...names) => use(widget, ...names),
    later: () => later ||= widget.use('later').then(([made]) => made),
    restart() {
      widgets.get(host).key = '';
      scan();
    },
  };
  signal.onabort = showLink;
  data.testimonialsState = 'loading';
  data.testimonialsCount = 0;
  try {
    let locale = 'en';
    // A page may claim any language.
    try {
      [locale] = Intl.getCanonicalLocales(host.closest('[lang]')?.lang || navigator.language);
    } catch {}
    const url = new URL(encodeURIComponent(id) + '/feed', BASE);
    for (const name of WATCHED.slice(0, 5)) {
      const value = host.getAttribute(name);
      if (value) url.searchParams.set(name.slice(18), value);
    }
    const feed = await load(url + (url.search ? '&' : '?') + 'lang=' + locale.split('-')[0], signal);
    const [kind, ...names] = feed.draw.split(' ');
    const shadow = host.shadowRoot || host.attachShadow({ mode: 'open' });
    shadow.adoptedStyleSheets = [];
    if (kind) {
      showLink();
      total = feed.total;
      const { colours, config, design } = feed;
      const root = el('div', { lang: feed.lang });
      const say = (key, values) => feed.words[key].replace(/{(\w+)}/g, (_, name) => values[name]);
      // As the words' language has it: browsers need a twentieth of a second to know their own.
      const [decimal, thousands] = feed.signs || '.,';
      const number = (value, digits) => (digits ? value.toFixed(digits) : `${value}`).replace('.', decimal).replace(/\B(?=(\d{3})+$)/g, thousands);
      const put = (name, value) => root.style.setProperty('--tm-' + name, value);
      // With both, the page's own color-scheme decides, at each moment.
      const theme = [data.testimonialsTheme, config.theme, 'light'].find((theme) => theme === 'auto' || colours[theme]);
      const palettes = (theme === 'auto' ? ['light', 'dark'] : [theme]).map((theme) => colours[theme].split(' '));
      COLOURS.split(' ').forEach((name, i) => {
        const [light, dark] = palettes.map((each) => '#' + each[i]);
        put(name, `var(--testimonials-${name.replace(/\d/, '')},${dark ? `light-dark(${light},${dark})` : light})`);
      });
      const read = (node) => ({ system: 'system-ui,sans-serif', serif: 'Georgia,serif' }[design.font] || getComputedStyle(node).fontFamily);
      put('font', read(host.parentElement || document.body));
      Object.assign(widget, {
        kind, feed, config, design, total, locale, url, root, say, number, put, read,
        look: ['tm', kind, config.cardStyle, design.density].join(' '),
        stars: (rating, size = 16) => el('svg', { class: 'stars', viewBox: '0 0 108 20', width: size * 5.4, height: size, role: 'img', 'aria-label': say('rated', { rating: number(rating) }) },
          el('path', { d: STARS }), el('svg', { width: rating * 22 - (rating % 1) * 2, height: 20 }, el('path', { d: STARS }))),
      });
      // What stands in the host stays until all of this is in its place.
      root.inert = true;
      root.className = widget.look;
      shadow.prepend(root);
      widget.layout = await (await widget.use('core', ...names)).find(Boolean);
      await widget.fill(feed.items);
      root.inert = false;
      shadow.replaceChildren(root);
    } else {
      shadow.replaceChildren();
      await widget.use('core');
    }
    data.testimonialsState = total ? event : 'empty';
  } catch (error) {
    if (signal.aborted) return;
    showLink();
    console.warn('Testimonials', id, error);
    data.testimonialsState = event = 'error';
  }
  host.dispatchEvent(new CustomEvent('testimonials:' + event, { bubbles: true, detail: { projectId: id, count: +data.testimonialsCount, total } }));
  if (event === 'ready') widget.later().then((made) => made.settle()).catch(() => {});
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
