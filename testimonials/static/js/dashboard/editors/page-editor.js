// The editor works without this file: the form has a Save button. With it each change shows at
// once in the preview and saves itself.
import {
  checkLength, readColour, showFieldProblem, startPanes, startSaving, startWidths,
} from './editor.js';
import { startLogo } from './logo.js';

const form = document.querySelector('[data-editor]');
const frame = document.querySelector('[data-preview]');
const stage = document.querySelector('[data-stage]');
const previewUrl = frame.getAttribute('src');
const config = JSON.parse(form.dataset.config);
// Letters come quickly one after the other, and need no request each.
const TYPING_MS = 400;

const controls = (name) => [...form.querySelectorAll(`[name="${name}"]:not([type="hidden"]):not(button)`)];
const isText = (name) => !['radio', 'checkbox'].includes(controls(name)[0].type);
const isColour = (name) => name === 'buttonColor' || name === 'buttonTextColor';

/* ---------------------------------------------------------------- the form */

function read(name) {
  const [first] = controls(name);
  if (first.type === 'checkbox') return first.checked;
  if (first.type === 'radio') return controls(name).find((each) => each.checked)?.value;
  return isColour(name) ? readColour(first.value) : first.value;
}

function write(name, value) {
  for (const each of controls(name)) {
    if (each.type === 'checkbox') each.checked = value;
    else if (each.type === 'radio') each.checked = each.value === value;
    else each.value = value;
    if (isColour(name)) each.parentElement.querySelector('[data-picker]').value = value.toLowerCase();
  }
}

form.addEventListener('input', (event) => {
  const { name } = event.target;
  if (!(name in config)) return;
  const value = read(name);
  if (isColour(name)) {
    showFieldProblem(event.target, value ? '' : 'Write a colour such as #4F46E5.');
    if (!value) return;
    event.target.parentElement.querySelector('[data-picker]').value = value.toLowerCase();
  } else if (isText(name) && !checkLength(event.target)) {
    // What waits under this name is not what the field says any more.
    saving.drop(name);
    return;
  }
  change({ [name]: value }, isText(name) ? TYPING_MS : 0);
});
form.addEventListener('change', (event) => {
  const { name } = event.target;
  // Left half written, the field shows what is stored.
  if (isColour(name)) {
    showFieldProblem(event.target, '');
    event.target.value = config[name];
  }
  saving.save();
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  saving.save();
});
form.querySelector('[data-save]').hidden = true;

for (const field of form.querySelectorAll('[data-colour]')) {
  const picker = field.querySelector('[data-picker]');
  const name = field.dataset.colour;
  picker.hidden = false;
  picker.addEventListener('input', () => {
    write(name, picker.value.toUpperCase());
    showFieldProblem(controls(name)[0], '');
    change({ [name]: picker.value.toUpperCase() }, TYPING_MS);
  });
}

function change(changes, delay) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || config[name] === value) continue;
    config[name] = value;
    saving.queue({ [name]: value }, delay);
  }
  patch();
}

/* ------------------------------------------------------------------ saving */

const saving = startSaving(form.getAttribute('action'), (data, waiting) => {
  // What a colleague changed meanwhile is on the page already, so it shows here too. The server may
  // also have put https:// before a website.
  for (const [name, value] of Object.entries(data.config)) {
    if (name in waiting || config[name] === value) continue;
    config[name] = value;
    if (controls(name)[0] !== document.activeElement) write(name, value);
  }
  showContrast(data.contrast);
  if (!Object.keys(waiting).length) refresh();
});

const box = form.querySelector('[data-contrast-box]');
const suggestion = form.querySelector('[data-suggestion]');

function showContrast(contrast) {
  box.hidden = contrast.is_enough;
  if (contrast.is_enough) return;
  box.querySelector('[data-ratio]').textContent = contrast.ratio;
  box.querySelector('[data-suggestion-text]').textContent = contrast.suggestion;
  suggestion.value = contrast.suggestion;
  paintSuggestion();
}

function paintSuggestion() {
  const dot = box.querySelector('[data-suggestion-dot]');
  dot.style.setProperty('background', suggestion.value);
  dot.hidden = false;
}

suggestion.addEventListener('click', (event) => {
  event.preventDefault();
  write('buttonTextColor', suggestion.value);
  change({ buttonTextColor: suggestion.value }, 0);
  controls('buttonTextColor')[0].focus();
});
paintSuggestion();

/* ----------------------------------------------------------------- preview */

const view = () => document.querySelector('[data-view]:checked').value;
const page = () => frame.contentDocument;

// What needs no new page shows before it is saved.
function patch() {
  const inside = page();
  if (!inside?.body) return;
  const root = inside.documentElement;
  root.dataset.theme = config.theme;
  root.style.setProperty('--tm-button', config.buttonColor);
  root.style.setProperty('--tm-button-text', config.buttonTextColor);
  const put = (selector, text) => {
    const place = inside.querySelector(selector);
    if (place && text.trim()) place.textContent = text.trim();
  };
  if (view() === 'form') {
    put('h1', config.headline);
    put('.lead', config.description);
  } else {
    put('.message-text', config.thankYouMessage);
  }
  put('.owner-name bdi', config.businessName);
}

let round = 0;

// Takes the page as the server makes it now, without the flash of a reload.
async function refresh() {
  const mine = ++round;
  let text;
  try {
    const response = await fetch(`${previewUrl}?view=${view()}`);
    if (!response.ok || response.redirected) return;
    text = await response.text();
  } catch {
    // The last picture stays; saving says that the server can't be reached.
    return;
  }
  const inside = page();
  if (mine !== round || !inside?.body) return;
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  inside.body.className = fresh.body.className;
  inside.querySelector('main').replaceWith(inside.importNode(fresh.querySelector('main'), true));
  patch();
}

// Nothing in the preview leads away or is sent.
function hold() {
  const inside = page();
  inside.addEventListener('click', (event) => { if (event.target.closest('a')) event.preventDefault(); });
  inside.addEventListener('submit', (event) => event.preventDefault());
  patch();
}
frame.addEventListener('load', hold);
if (page()?.readyState === 'complete' && page().body?.childElementCount) hold();

for (const button of document.querySelectorAll('[data-view]')) button.addEventListener('change', refresh);

startLogo(refresh);
startWidths(stage);
startPanes(document.querySelector('[data-split]'));
// Browsers may bring back what a form held before it was left; the page shows what is stored.
if (!document.querySelector('[data-error-summary]')) for (const [name, value] of Object.entries(config)) write(name, value);
patch();
