// The editor works without this file: the form has a Save button. With it each
// change shows at once in the preview and saves itself.
import { forget, recall, remember } from '../../storage.js';
import { showToast } from '../toast.js';
import {
  checkLength, readColour, showFieldProblem, startPanes, startSaving, startWidths,
} from './editor.js';

const form = document.querySelector('[data-editor]');
const frame = document.querySelector('[data-preview]');
const stage = document.querySelector('[data-stage]');
const count = form.querySelector('[data-count]');
const defaults = JSON.parse(form.dataset.defaults);
// What the page shows.
const config = JSON.parse(form.dataset.config);

const cta = form.querySelector('[data-cta]');
// Letters come quickly one after the other. An address that is half written leads nowhere, so it
// waits longer before visitors get it.
const TYPING_MS = { ctaLabel: 400, ctaUrl: 1500 };

// What was taken back before it was saved, and so is not what visitors get.
const dropped = new Set();

const controls = (name) => [...form.querySelectorAll(`[name="${name}"]:not([type="hidden"])`)];

/* ---------------------------------------------------------------- the form */

// Return undefined for what is no value yet, such as a number that is being typed.
function read(name) {
  const [first] = controls(name);
  if (first.type === 'checkbox') return first.checked;
  if (first.type === 'radio') return controls(name).find((each) => each.checked)?.value;
  if (first.type === 'text') return isSound(first) ? first.value.trim() : undefined;
  return first.validity.valid ? first.valueAsNumber : undefined;
}

const isAddress = ({ dataset, value }) => !dataset.pattern || new RegExp(dataset.pattern, 'u').test(value);
const isSound = (field) => checkLength(field) && isAddress(field);
const complete = (address) => (!address || /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `https://${address}`);

function write(name, value) {
  for (const each of controls(name)) {
    if (each.type === 'checkbox') each.checked = value;
    else if (each.type === 'radio') each.checked = each.value === value;
    else each.value = value;
    if (each.type === 'text') showFieldProblem(each, '');
  }
}

function showForm() {
  const target = complete(config.ctaUrl).replace(/^https?:\/\//i, '');
  cta.querySelector('[data-cta-target]').textContent = target || 'your collection page';
  form.querySelector('[data-animation]').disabled = config.layout !== 'carousel';
  const isWrong = !count.validity.valid;
  form.querySelector('[data-count-problem]').hidden = !isWrong;
  if (isWrong) {
    count.setAttribute('aria-invalid', 'true');
    count.setAttribute('aria-describedby', 'editor-initialCount-hint count-problem');
  } else {
    count.removeAttribute('aria-invalid');
    count.setAttribute('aria-describedby', 'editor-initialCount-hint');
  }
  for (const button of form.querySelectorAll('[data-step]')) {
    const end = button.dataset.step < 0 ? count.min : count.max;
    button.setAttribute('aria-disabled', String(count.value === end));
  }
}

function apply(changes, delay = 0) {
  const changed = Object.entries(changes)
    .filter(([name, value]) => value !== undefined && (config[name] !== value || dropped.has(name)));
  for (const [name] of changed) dropped.delete(name);
  Object.assign(config, Object.fromEntries(changed));
  showForm();
  if (!changed.length) return false;
  showPreview();
  saving.queue(Object.fromEntries(changed), delay);
  return true;
}

form.addEventListener('input', (event) => {
  const { name } = event.target;
  if (!(name in config)) return;
  const value = read(name);
  if (value === undefined && name in TYPING_MS) {
    // What waits under this name is not what the field says any more.
    saving.drop(name);
    dropped.add(name);
  }
  apply({ [name]: value }, TYPING_MS[name]);
});
form.addEventListener('change', ({ target }) => {
  // While it is being typed, an address is none for a moment.
  if (target.dataset.pattern && checkLength(target)) showFieldProblem(target, isAddress(target) ? '' : 'Write an address such as https://example.com/book.');
  saving.save();
});
form.addEventListener('focusout', ({ target }) => {
  // Saved while it was typed, the field shows how the server has put it.
  if (target.name === 'ctaUrl' && complete(target.value.trim()) === config.ctaUrl) target.value = config.ctaUrl;
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  saving.save();
});

for (const button of form.querySelectorAll('[data-step]')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    // From a number that is none, the way leads back to the last one that was.
    if (!count.validity.valid) count.value = config.initialCount;
    else if (button.dataset.step < 0) count.stepDown();
    else count.stepUp();
    apply({ initialCount: read('initialCount') });
  });
}
form.querySelector('[data-save]').hidden = true;

/* ------------------------------------------------------------------ saving */

// What a colleague changed meanwhile is on the site already, so it shows here too.
const saving = startSaving(form.getAttribute('action'), (data, waiting) => {
  let isOther = false;
  for (const [name, value] of Object.entries(data.config)) {
    if (!(name in config) || name in waiting || config[name] === value) continue;
    config[name] = value;
    // The server may have put https:// before an address that is still being typed.
    if (!(name in TYPING_MS) || controls(name)[0] !== document.activeElement) write(name, value);
    isOther = true;
  }
  if (!isOther) return;
  showForm();
  showPreview();
});

/* ------------------------------------------------------------------- reset */

function toast(text, undo = null) {
  const form = showToast(text, Boolean(undo)).querySelector('[data-undo]');
  form?.addEventListener('submit', (event) => {
    event.preventDefault();
    undo();
  });
}

function put(values) {
  for (const [name, value] of Object.entries(values)) write(name, value);
  return apply(values);
}

document.querySelector('[data-reset]').addEventListener('submit', (event) => {
  event.preventDefault();
  const before = { ...config };
  if (!put(defaults)) {
    toast('These are the defaults already');
    return;
  }
  toast('Back to the defaults', () => {
    put(before);
    toast('Your settings are back');
    document.querySelector('[data-reset] button').focus();
  });
});

/* ----------------------------------------------------------------- preview */

const sets = document.querySelector('[data-set]');
const picker = document.querySelector('[data-colour]');
const colourText = document.querySelector('[data-colour-text]');
const note = document.querySelector('[data-note]');
const STORE = `testimonials-page-colour-${form.getAttribute('action')}`;
const GROUNDS = { light: '#FAFAFA', dark: '#0B0B0D' };
// The colour that was chosen; empty as long as it follows the theme.
let colour = recall(STORE) ?? '';

const ground = () => colour || GROUNDS[config.theme];

function showPreview() {
  picker.value = ground().toLowerCase();
  if (colourText !== document.activeElement) colourText.value = ground();
  const link = { label: config.ctaLabel || cta.dataset.label, url: complete(config.ctaUrl) || cta.dataset.url };
  frame.contentWindow.postMessage({ config: { ...config }, cta: link, data: sets.value, colour: ground() }, location.origin);
}

function setColour(value) {
  colour = value;
  colourText.removeAttribute('aria-invalid');
  if (value) remember(STORE, value); else forget(STORE);
  showPreview();
}

picker.addEventListener('input', () => setColour(picker.value.toUpperCase()));
colourText.addEventListener('input', () => {
  const value = readColour(colourText.value);
  if (value || !colourText.value.trim()) setColour(value ?? '');
  else colourText.setAttribute('aria-invalid', 'true');
});
// Left empty or half written, the field shows what is there.
colourText.addEventListener('change', () => {
  colourText.removeAttribute('aria-invalid');
  colourText.value = ground();
});
sets.addEventListener('change', showPreview);

function explain(total, data) {
  if (total) return '';
  if (data !== 'real') return 'With nothing to show, the widget shows nothing on your page.';
  if (frame.dataset.active !== 'true') return 'This project is paused, so the widget on your site shows nothing. Choose other testimonials to see how it looks.';
  return 'Nothing is approved yet, so the widget shows nothing on your page. Choose other testimonials to see how it will look.';
}

addEventListener('message', (event) => {
  if (event.source !== frame.contentWindow || event.origin !== location.origin) return;
  if (event.data.type === 'hello') showPreview();
  if (event.data.type === 'shown') {
    note.textContent = explain(event.data.total, event.data.data);
    note.hidden = !note.textContent;
  }
});

startWidths(stage);
startPanes(document.querySelector('[data-split]'));

// Browsers may bring back what a form held before it was left; the page shows what is stored.
for (const [name, value] of Object.entries(config)) write(name, value);
showForm();
// The frame may have been quicker than this file, and then its greeting was missed.
showPreview();
