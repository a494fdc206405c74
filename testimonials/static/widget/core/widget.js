// Shows testimonials in every [data-testimonials-project].
//
// Here is what all of them need; the rest comes in pieces (../pieces). Each exports its styles, and
// mostly a function that gets the widget and adds to it. The data says which ones it takes. The
// server puts those that it foresees behind this code; others are imported. The widget is all they
// get, so that they import nothing:
//   kind        what to draw: masonry, carousel, list, horizontal, vertical (the marquees),
//               spotlight, single, or the feed's shape
//   host, feed, locale (as the page claims it), url (of the feed), signal (everything ends with it)
//   root        the element with the class `tm` in the shadow root
//   look        its classes; pieces may add to it before the cards come
//   el, load, stars(rating, size), number(value), say(key, values), put(name, value), paint(names)
//   use(...names)   fetches pieces together, and puts those to work, in this order, that the widget
//                   doesn't have yet; returns what each has returned
//   fill(items, layouts)   draws
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
//   progress, cursor, total, locale
//   extensions  functions that each new card is handed to
//   layout      what a layout returns, all of which may be left out:
//     page(n)     a page of n cards begins
//     add(card)   puts a card in its place; by default it goes to the end of `list`
//     arrange()   is called when cards were added, opened or closed, and when the width has changed
(() => {
// Only the window's own property: an element with this id would also be found by the name.
if (Object.hasOwn(window, '__testimonials')) return;
// An element named querySelectorAll or currentScript is the document's property of that name, in
// place of its own. MooTools has another `Document`.
const page = HTMLDocument.prototype;
// By the names of their files, and what watch.js needs.
const widgets = new Map();
const pieces = window.__testimonials = { VERSIONcore: [`core.css`], widgets };
const BASE = new URL('.', Reflect.get(page, 'currentScript', document).src);

// Five stars in cells of 20, and gaps of 2.
const STARS = 'M-12 1.8' + 'm22 0l2.6 5.2 5.7.8-4.2 4 1 5.7-5.1-2.7-5.1 2.7 1-5.7-4.2-4 5.7-.8z'.repeat(5);

// Strings become text nodes, so nothing in the feed can be markup.
const el = (tag, attributes = 0, ...children) => {
  const node = page.createElementNS.call(document, 'http://www.w3.org/' + (/svg|path/.test(tag) ? '2000/svg' : '1999/xhtml'), tag);
  // Only its own: another script on the page may have added an `onload` to all objects.
  for (const each of Object.entries(attributes)) node.setAttribute(...each);
  if (attributes.class) node.part = attributes.class;
  node.append(...children.filter(Boolean));
  return node;
};

// How the widget gets its data.
const load = async (url) => {
  const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(8000) });
  return response.ok ? response.json() : Promise.reject(response.status);
};

// If a piece can't be loaded, such as one of a later version, only what it draws is missing, until
// it is needed again.
const get = (name) => pieces['VERSION' + name] ||= import(BASE + 'v1-VERSION' + name + '.js').then((file) => file.default, () => [pieces['VERSION' + name] = '']);

// Everything that a container chooses is requested from the server, except its theme.
const find = pieces.find = (host) => {
  const url = new URL(encodeURIComponent(host.dataset.testimonialsProject) + '/feed', BASE);
  for (const name of ['widget', 'shape', 'id', 'tag', 'min']) {
    const value = host.getAttribute('data-testimonials-' + name);
    if (value) url.searchParams.set(name, value);
  }
  return url;
};

const start = async (host) => {
  const stop = new AbortController();
  const signal = stop.signal;
  const data = host.dataset;
  const url = find(host);
  let event = 'ready';
  let total = 0;
  let widget;
  let shadow;
  // A shadow root can't be removed, but shows the link.
  const showLink = signal.onabort = () => shadow?.replaceChildren(el('slot'));
  widgets.set(host, { key: url + data.testimonialsTheme, stop });
  data.testimonialsState = 'loading';
  data.testimonialsCount = 0;
  try {
    const locale = host.closest('[lang]')?.lang || navigator.language;
    url.searchParams.set('lang', locale.split('-')[0]);
    shadow = host.shadowRoot || host.attachShadow({ mode: 'open' });
    // The host's content stays until all of this is in place.
    showLink();
    shadow.adoptedStyleSheets = [];
    const feed = await load(url);
    signal.throwIfAborted();
    const { light, dark } = feed.colours;
    const [kind, ...names] = feed.draw.split(' ');
    const root = el('div', { lang: feed.lang });
    const made = {};
    const use = async (...names) => {
      const found = await Promise.all(names.map(get));
      signal.throwIfAborted();
      return names.map((name, i) => {
        if (name in made) return made[name];
        const [css, draw] = found[i];
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(css);
        shadow.adoptedStyleSheets.push(sheet);
        return draw && (made[name] = draw(widget));
      });
    };
    const put = (name, value) => root.style.setProperty('--tm-' + name, value);
    // With both, the page's own color-scheme decides, at each moment.
    const themes = { light: [light], dark: [dark], auto: [light, dark] };
    const palettes = themes[data.testimonialsTheme] || themes[feed.config.theme] || [light];
    // Sets colours by their names in the order of the feed.
    const paint = (names) => names.split(' ').forEach((name, i) => {
      const both = palettes.map((each) => '#' + each.split(' ')[i]);
      if (name) put(name, `var(--testimonials-${name},${both[1] ? `light-dark(${both})` : both})`);
    });
    paint('card text muted line  empty    accent star          shade');
    put('font', feed.font || getComputedStyle(host).fontFamily);
    // Formatted for the words' language: the browser's own formatting takes a twentieth of a second to load.
    const [decimal, thousands] = feed.signs;
    const number = (value) => `${value}`.replace('.', decimal).replace(/\B(?=(\d{3})+$)/g, thousands);
    const say = (key, values) => feed.words[key].replace(/{(\w+)}/g, (_, name) => values[name]);
    widget = {
      host, kind, feed, locale, root, signal, url, el, load, use, say, number, paint, put,
      look: 'tm ' + kind,
      stars: (rating, size = 16) => el('svg', { class: 'stars', viewBox: '0 0 108 20', height: size, role: 'img', 'aria-label': say('rated', { rating: number(rating) }) },
        el('path', { d: STARS }), el('svg', { width: rating * 22 - (rating % 1) * 2, height: 20 }, el('path', { d: STARS }))),
    };
    const layouts = await use('core', ...names);
    await widget.fill?.(feed.items, layouts);
    shadow.replaceChildren(root);
    total = kind ? feed.total : 0;
    data.testimonialsState = total ? event : 'empty';
    use('later').then((made) => made[0].settle()).catch(() => {});
  } catch (error) {
    if (signal.aborted) return;
    showLink();
    console.warn('Testimonials', data.testimonialsProject, error);
    data.testimonialsState = event = 'error';
  }
  host.dispatchEvent(new CustomEvent('testimonials:' + event, { bubbles: true, detail: { projectId: data.testimonialsProject, count: +data.testimonialsCount, total } }));
};

const scan = pieces.scan = () => {
  for (const host of page.querySelectorAll.call(document, '[data-testimonials-project]')) {
    if (host.dataset.testimonialsProject && !widgets.has(host)) start(host);
  }
};
scan();
// It may be appended to this code.
Promise.resolve('watch').then(get);
})();
