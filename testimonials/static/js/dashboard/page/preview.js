// The page beside its settings: it shows what is changed, and frames what is being edited.
import { readPage } from '../pages.js';

const frame = document.querySelector('[data-preview]');
const address = new URL(frame.getAttribute('src'), location.href);
const ACCENT = '#4F46E5';

const page = () => frame.contentDocument;
let view = frame.dataset.view;

// Where in the page each part of the settings is.
const PLACES = {
  cover: '.cover',
  brand: '.plate',
  headline: 'h1',
  description: '.note',
  note: '.note',
  rating: '[data-rating]',
  record: '[data-ways]',
  text: '.words',
  person: '[data-details], .field:has(> #name)',
  agree: '.check[for="consent"]',
  thankYouMessage: '.message-text',
};

function find(part) {
  const [kind, id] = part.split(/-(.*)/);
  const inside = page();
  if (kind === 'questions') return inside.querySelector(`[name="q_${id}"]`)?.closest('fieldset, .field');
  if (kind === 'steps') return inside.querySelector(`[data-step="${id}"]`);
  return PLACES[part] ? inside.querySelector(PLACES[part]) : null;
}

let framed = null;
let part = '';

function show() {
  for (const name of ['outline', 'outline-offset', 'border-radius']) framed?.style.removeProperty(name);
  framed = part && page()?.body ? find(part) : null;
  if (!framed) return;
  framed.style.setProperty('outline', `2px solid ${ACCENT}`);
  // What reaches from edge to edge has no room for a line around it.
  framed.style.setProperty('outline-offset', framed.getBoundingClientRect().left < 10 ? '-3px' : '8px');
  framed.style.setProperty('border-radius', '4px');
}

// Frame the part of the page that somebody is editing, and bring it into view.
export function framePart(name) {
  if (name === part) return;
  part = name;
  show();
  if (!framed) return;
  // Only inside: scrollIntoView would move the settings too, away from under the pointer.
  const inside = page().defaultView;
  const { top, bottom, height } = framed.getBoundingClientRect();
  if (top < 0 || bottom > inside.innerHeight) inside.scrollBy(0, top - Math.max(24, (inside.innerHeight - height) / 2));
}

// What needs no new page shows before it is saved.
export function patch(config) {
  const inside = page();
  if (!inside?.body) return;
  const root = inside.documentElement;
  if (config.theme) root.dataset.theme = config.theme;
  const put = (selector, text) => {
    const place = inside.querySelector(selector);
    if (place && text?.trim()) place.textContent = text.trim();
  };
  if (view === 'thanks') {
    put('.message-text', config.thankYouMessage);
  } else {
    put('h1', config.headline);
    put('.lead', config.description);
  }
  if ('focusX' in config) inside.body.style.setProperty('--tm-focus', `${config.focusX}% ${config.focusY}%`);
  show();
}

let round = 0;

// Take the page as the server makes it now, without the flash of a reload.
export async function refresh(config) {
  const mine = ++round;
  address.searchParams.set('view', view);
  // Without one the last picture stays; saving says that the server can't be reached.
  const fresh = await readPage(address);
  const inside = page();
  if (mine !== round || !fresh || !inside?.body) return;
  inside.body.className = fresh.body.className;
  // Questions and recordings bring styles along.
  for (const link of fresh.querySelectorAll('link[rel="stylesheet"]')) {
    if (!inside.querySelector(`link[href="${link.getAttribute('href')}"]`)) inside.head.append(inside.importNode(link));
  }
  inside.querySelector('main').replaceWith(inside.importNode(fresh.querySelector('main'), true));
  patch(config);
}

// Show the first look, the opened form or the thanks.
export function showView(name, config) {
  if (!name || name === view) return;
  view = name;
  refresh(config);
}

// Nothing in the preview leads away or is sent; what is touched opens its row.
function hold(config, onTouch) {
  const inside = page();
  inside.addEventListener('click', (event) => {
    if (event.target.closest('a')) event.preventDefault();
    const parts = [...document.querySelectorAll('[data-part]')].reverse();
    const touched = parts.find((each) => find(each.dataset.part)?.contains(event.target));
    if (touched) onTouch(touched);
  });
  inside.addEventListener('submit', (event) => event.preventDefault());
  patch(config);
}

// The frame is as wide as the chosen device, and drawn smaller where there is less room.
function startWidths(stage) {
  function fit() {
    const chosen = Number(stage.dataset.width);
    stage.firstElementChild.style.setProperty('--scale', chosen ? Math.min(1, (stage.clientWidth - 38) / chosen) : 1);
  }
  for (const button of document.querySelectorAll('[data-width][type="radio"]')) {
    button.addEventListener('change', () => {
      stage.dataset.width = button.value;
      fit();
    });
  }
  new ResizeObserver(fit).observe(stage);
}

function startPanes(split) {
  const buttons = document.querySelectorAll('[data-pane-button]');
  for (const button of buttons) {
    button.addEventListener('click', () => {
      split.dataset.pane = button.dataset.paneButton;
      for (const each of buttons) each.setAttribute('aria-pressed', String(each === button));
      scrollTo(0, 0);
    });
  }
}

export function startPreview(config, onTouch) {
  startWidths(document.querySelector('[data-stage]'));
  startPanes(document.querySelector('[data-split]'));
  frame.addEventListener('load', () => hold(config, onTouch));
  if (page()?.readyState === 'complete' && page().body?.childElementCount) hold(config, onTouch);
}
