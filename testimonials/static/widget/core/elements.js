// Shows testimonials in every [data-testimonials-project].
(() => {
// A browser without shared style sheets keeps the link.
if (window.__testimonials || !CSSStyleSheet.prototype.replaceSync) return;
window.__testimonials = true;
const BASE = new URL('.', document.currentScript.src).href;

// In the order of the feed; the last two are made of the others.
const COLOURS = 'card text muted line control empty soft tint mark accent star solid on solidmark back0 fore0 back1 fore1 back2 fore2 shade glyph';
const makeSheet = (css) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
};
const sheet = makeSheet(`widget.css`);
// Takes back what a snippet reserved, which may be the height of another layout.
const fitting = makeSheet(':host{min-height:0!important}');

// What a container may choose, beside its project and theme.
const PREFIX = 'data-testimonials-';
const SELECTION = ['widget', 'shape', 'id', 'tag', 'min'];
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
const icon = (d, attributes = { class: 'icon', viewBox: '0 0 24 24' }, ...more) => el('svg', { ...attributes, 'aria-hidden': true }, el('path', { d }), ...more);
const text = (value) => (typeof value === 'string' ? value : '');
const oneOf = (value, ...allowed) => (allowed.includes(value) ? value : allowed[0]);
const webUrl = (value) => (/^https?:\/\//i.test(value) ? value : '');

const initials = (name, segmenter) => {
  const words = name.match(/[\p{L}\p{N}]\S*/gu) || ['★'];
  return [words[0], ...words.slice(1).slice(-1)].map((word) => [...segmenter.segment(word)][0].segment).join('').toUpperCase();
};

// A page may claim any language.
const readLocale = (host) => {
  try {
    return Intl.getCanonicalLocales(host.closest('[lang]')?.lang || navigator.language)[0];
  } catch {
    return 'en';
  }
};

// How long ago, in the largest unit that it fills.
const sayAgo = (date, locale) => {
  const days = Math.max(0, Math.floor((Date.now() - date) / 864e5));
  const [size, unit] = [[365, 'year'], [30, 'month'], [7, 'week'], [0, 'day']].find(([size]) => days >= size);
  return new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(-Math.floor(days / (size || 1)), unit);
};
