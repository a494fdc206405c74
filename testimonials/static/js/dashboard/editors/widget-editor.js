// The editor works without this file: the form has buttons. With it each change shows at once in the
// preview and is saved as a draft; visitors see it once it is published.
import { fill, post } from '../../post.js';
import { showToast } from '../toast.js';
import { catchUp, readColour, startPanes, startSaving, startWidths } from './editor.js';
import { ask, find, showColour } from './widget/colours.js';
import { complain, complainLate, complete, controls, read, showForm, startStepper, write } from './widget/fields.js';
import { startHistory } from './widget/history.js';
import { startPage } from './widget/page.js';
import { startPreview } from './widget/preview.js';
import { difference, isSame } from './widget/settings.js';

const form = document.querySelector('[data-editor]');
const publishing = document.querySelector('[data-publish]');
const defaults = JSON.parse(form.dataset.defaults);
const looks = JSON.parse(form.dataset.looks);
const palettes = JSON.parse(form.dataset.palettes);
// What the page shows, and what visitors see.
let values = JSON.parse(form.dataset.values);
let published = JSON.parse(form.dataset.published);
// Letters come quickly one after the other. An address that is half written leads nowhere.
const TYPING_MS = { ctaLabel: 400, ctaUrl: 1500, brandColor: 400, labelShowMore: 400, labelReadMore: 400, labelShowLess: 400 };
// What was taken back before it was saved, and so is not what the server has.
const dropped = new Set();

// What the page says, in its language.
const words = form.dataset;
const colour = () => values.brandColor || palettes[values.palette] || controls('brandColor')[0].placeholder;

/* ------------------------------------------------------------------ changes */

function show() {
  showForm(values);
  showColour(colour(), values.theme);
  if (!find(colour())) ask(colour(), show);
  picker.value = colour().toLowerCase();
  controls('brandColor')[0].placeholder = colour();
  const look = findLook();
  for (const each of controls('look')) each.checked = each.value === look;
  const count = Object.keys(difference(published, values)).length;
  document.querySelector('[data-changes]').textContent = words[`sayChanges-${count}`];
  for (const button of document.querySelectorAll('[data-publish], [data-discard] button')) button.setAttribute('aria-disabled', String(!count));
  form.dataset.theme = values.theme;
  host.show();
  preview.show();
}

const pick = (names) => Object.fromEntries(names.map((name) => [name, values[name]]));

// The look that the widget has; one may have all of another's settings, and more.
function findLook() {
  const isWorn = (look) => Object.entries(looks[look]).every(([name, value]) => isSame(values[name], value));
  const size = (look) => Object.keys(looks[look]).length;
  return Object.keys(looks).filter(isWorn).sort((one, other) => size(other) - size(one))[0];
}

// As `apply_look` of the server: without cards most looks would not be seen, and only Glow is dark.
function putOn(look) {
  const wanted = { ...looks[look] };
  if (values.layout === 'list') wanted.layout ??= 'masonry';
  if (findLook() === 'glow') wanted.theme ??= 'light';
  put(wanted);
}

// Apply changes, save them, and make them one step of the history unless they come from it.
function apply(changes, { delay = 0, isStep = true } = {}) {
  const changed = Object.fromEntries(Object.entries(changes)
    .filter(([name, value]) => value !== undefined && (!isSame(values[name], value) || dropped.has(name))));
  const names = Object.keys(changed);
  if (!names.length) return false;
  if (isStep) note(pick(names));
  for (const name of names) dropped.delete(name);
  values = { ...values, ...changed };
  saving.queue(changed, delay);
  preview.showDraft();
  show();
  return true;
}

function put(wanted, options) {
  for (const [name, value] of Object.entries(wanted)) write(name, value);
  return apply(wanted, options);
}

form.addEventListener('input', (event) => {
  const { name, value: typed } = event.target;
  complain(event.target);
  if (name === 'look') putOn(typed);
  if (!(name in values)) return;
  // A palette is a colour with a name, and takes the place of one's own.
  if (name === 'palette') write('brandColor', '');
  const value = read(name);
  if (value === undefined && name in TYPING_MS) {
    // What waits under this name is not what the field says any more.
    saving.drop(name);
    dropped.add(name);
  }
  apply(name === 'palette' ? { palette: value, brandColor: '' } : { [name]: value }, { delay: TYPING_MS[name] });
});
form.addEventListener('change', ({ target }) => {
  complainLate(target);
  saving.save();
});
form.addEventListener('focusout', ({ target }) => {
  // Left, a field shows what was made of its text.
  const made = { ctaUrl: complete(target.value?.trim() ?? ''), brandColor: readColour(target.value ?? '') }[target.name];
  if (made && made === values[target.name]) target.value = made;
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  saving.save();
});
const picker = form.querySelector('[data-picker]');
picker.hidden = false;
picker.addEventListener('input', () => put({ brandColor: picker.value.toUpperCase() }, { delay: TYPING_MS.brandColor }));
form.querySelector('[data-save]').hidden = true;
startStepper(() => values.initialCount, (count) => apply({ initialCount: count }));

/* ------------------------------------------------- saving and publishing */

// What a colleague changed meanwhile shows here too.
function take(data, waiting = {}) {
  published = data.published;
  for (const [name, text] of Object.entries(data.summaries)) form.querySelector(`[data-summary="${name}"]`).textContent = text;
  const others = Object.fromEntries(Object.entries(difference(values, data.values)).filter(([name]) => !(name in waiting) && !dropped.has(name)));
  values = { ...values, ...others };
  for (const name of Object.keys(others)) {
    // The server may have put https:// before an address that is still being typed.
    if (!(name in TYPING_MS) || controls(name)[0] !== document.activeElement) write(name, others[name]);
  }
  show();
}

const saving = startSaving(form.getAttribute('action'), take);

publishing.addEventListener('click', async (event) => {
  event.preventDefault();
  if (publishing.getAttribute('aria-disabled') === 'true') return;
  await saving.save();
  if (saving.isBehind()) return;
  try {
    take(await post(publishing.dataset.publish, new URLSearchParams()));
    preview.showPublished();
    showToast(words.sayPublished);
  } catch (error) {
    showToast(fill(words.sayNotPublished, { reason: error.message }));
  }
});

function toast(text, undo) {
  showToast(text, true).querySelector('[data-undo]').addEventListener('submit', (event) => {
    event.preventDefault();
    undo();
  });
}

for (const [name, wanted, done, none] of [
  ['discard', () => published, words.sayDiscarded, words.sayNothingDiscarded],
  ['reset', () => defaults, words.sayReset, words.sayNothingReset],
]) {
  const place = document.querySelector(`[data-${name}]`);
  place.addEventListener('submit', (event) => {
    event.preventDefault();
    const before = values;
    if (!put(wanted())) {
      showToast(none);
      return;
    }
    const undo = difference(values, before);
    toast(done, () => {
      put(undo);
      showToast(words.sayBack);
      place.querySelector('button').focus();
    });
  });
}

/* ----------------------------------------------------------------- preview */

const note = startHistory((step) => put(step, { isStep: false }), pick);
const host = startPage(() => values.theme, () => preview.show(), (hex) => put({ brandColor: hex }));
const fit = startWidths(document.querySelector('[data-stage]'));
const preview = startPreview(() => values, values, colour, host.ground, fit);
startPanes(document.querySelector('[data-split]'));

// The frame may have been quicker than this file, and then its greeting was missed.
show();
catchUp(form);
