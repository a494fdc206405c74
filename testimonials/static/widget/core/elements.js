// Shows testimonials in every [data-testimonials-project].
(() => {
// A browser without shared style sheets keeps the link.
if (window.__testimonials || !CSSStyleSheet.prototype.replaceSync) return;
window.__testimonials = true;
const BASE = new URL('.', document.currentScript.src).href;

const { names: NAMES, palettes: PALETTES, themes: THEMES } = 'look.json';

const sheet = new CSSStyleSheet();
sheet.replaceSync(`widget.css`);

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
