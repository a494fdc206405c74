// The preview beside the settings: it shows changes, and frames the part being edited.
import { readPage } from '../pages.js';

const { elements } = document.querySelector('[data-editor]');
const frame = document.querySelector('[data-preview]');
const address = new URL(frame.getAttribute('src'), location.href);
const ACCENT = '#4F46E5';

const page = () => frame.contentDocument;
let view = frame.dataset.view;

// The elements of the page for each part of the settings.
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
  // An element from edge to edge has no room for an outline around it.
  framed.style.setProperty('outline-offset', framed.getBoundingClientRect().left < 10 ? '-3px' : '8px');
  framed.style.setProperty('border-radius', '4px');
}

// Frame a part of the page, and scroll to it.
export function framePart(name) {
  if (name === part) return;
  part = name;
  show();
  if (!framed) return;
  // scrollIntoView would scroll the settings too, away from the pointer.
  const inside = page().defaultView;
  const { top, bottom, height } = framed.getBoundingClientRect();
  if (top < 0 || bottom > inside.innerHeight) inside.scrollBy(0, top - Math.max(24, (inside.innerHeight - height) / 2));
}

// Show simple changes before they are saved.
export function patch() {
  const inside = page();
  if (!inside?.body) return;
  const { theme, thankYouMessage, headline, description, focusX, focusY } = elements;
  if (theme) inside.documentElement.dataset.theme = theme.value;
  const put = (selector, field) => {
    const [place, text] = [inside.querySelector(selector), field?.value.trim()];
    if (place && text) place.textContent = text;
  };
  if (view === 'thanks') {
    put('.message-text', thankYouMessage);
  } else {
    put('h1', headline);
    put('.lead', description);
  }
  if (focusX) inside.body.style.setProperty('--tm-focus', `${focusX.value}% ${focusY.value}%`);
  show();
}

let round = 0;

// Load the page from the server, without the flash of a reload.
export async function refresh() {
  const mine = ++round;
  address.searchParams.set('view', view);
  // If it fails, the preview stays; saving reports the error.
  const fresh = await readPage(address);
  const inside = page();
  if (mine !== round || !fresh) return;
  const main = inside?.querySelector('main');
  if (!main) {
    // The frame shows its first page once it has loaded, which may be older than what was read.
    frame.addEventListener('load', refresh, { once: true });
    return;
  }
  inside.body.className = fresh.body.className;
  // Questions and recordings have their own style sheets.
  for (const link of fresh.querySelectorAll('link[rel="stylesheet"]')) {
    if (!inside.querySelector(`link[href="${link.getAttribute('href')}"]`)) inside.head.append(inside.importNode(link));
  }
  main.replaceWith(inside.importNode(fresh.querySelector('main'), true));
  patch();
}

// Show the page as first seen, the open form or the thank-you page.
export function showView(name) {
  if (!name || name === view) return;
  view = name;
  refresh();
}

// Links and forms of the preview do nothing; a tap on a part opens its row.
function hold(onTouch) {
  const inside = page();
  inside.addEventListener('click', (event) => {
    if (event.target.closest('a')) event.preventDefault();
    const parts = [...document.querySelectorAll('[data-part]')].reverse();
    const touched = parts.find((each) => find(each.dataset.part)?.contains(event.target));
    if (touched) onTouch(touched);
  });
  inside.addEventListener('submit', (event) => event.preventDefault());
  patch();
}

// The frame has the width of the chosen device, scaled down if there is less room.
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

export function startPreview(onTouch) {
  startWidths(document.querySelector('[data-stage]'));
  startPanes(document.querySelector('[data-split]'));
  frame.addEventListener('load', () => hold(onTouch));
  if (page()?.readyState === 'complete' && page().body?.childElementCount) hold(onTouch);
}
