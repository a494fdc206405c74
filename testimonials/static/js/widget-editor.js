// The editor works without this file: the form has a Save button. With it each
// change shows at once in the preview and saves itself.

const form = document.querySelector('[data-editor]');
const split = document.querySelector('[data-split]');
const frame = document.querySelector('[data-preview]');
const stage = document.querySelector('[data-stage]');
const count = form.querySelector('[data-count]');
const defaults = JSON.parse(form.dataset.defaults);
// What the page shows; the names in `dirty` wait to be sent, those in `sending` are on their way.
const config = JSON.parse(form.dataset.config);
let dirty = {};
let sending = null;
let controller = null;

const controls = (name) => [...form.querySelectorAll(`[name="${name}"]:not([type="hidden"])`)];
const isEmpty = (object) => !Object.keys(object).length;

/* ---------------------------------------------------------------- the form */

// Gives undefined for what is no value yet, such as a number that is being typed.
function read(name) {
  const [first] = controls(name);
  if (first.type === 'checkbox') return first.checked;
  if (first.type === 'radio') return controls(name).find((each) => each.checked)?.value;
  return first.validity.valid ? first.valueAsNumber : undefined;
}

function write(name, value) {
  for (const each of controls(name)) {
    if (each.type === 'checkbox') each.checked = value;
    else if (each.type === 'radio') each.checked = each.value === value;
    else each.value = value;
  }
}

function showForm() {
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

function apply(changes) {
  let isChanged = false;
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || config[name] === value) continue;
    config[name] = value;
    dirty[name] = value;
    isChanged = true;
  }
  showForm();
  if (!isChanged) return false;
  showPreview();
  save();
  return true;
}

form.addEventListener('input', (event) => {
  const { name } = event.target;
  if (name in config) apply({ [name]: read(name) });
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  save();
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

const state = document.querySelector('[data-save-state]');
const retry = document.querySelector('[data-retry]');

function say(kind, text) {
  state.dataset.saveState = kind;
  retry.hidden = kind !== 'failed';
  const place = document.querySelector('[data-save-text]');
  place.textContent = text;
  if (kind === 'saved') place.prepend(state.querySelector('[data-tick]').content.cloneNode(true));
}

const request = (changes, options) => fetch(form.getAttribute('action'), {
  method: 'POST',
  body: new URLSearchParams(changes),
  headers: { Accept: 'application/json' },
  // Outlives the page, should it be left now.
  keepalive: true,
  ...options,
});

// Resolves to the settings as stored, or throws an Error whose message a person can read.
async function send(changes) {
  controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 15000);
  let response;
  try {
    response = await request(changes, { signal: controller.signal });
  } catch {
    throw new Error('Not saved: the server can’t be reached.');
  } finally {
    clearTimeout(timer);
  }
  const isJson = response.headers.get('Content-Type')?.includes('json');
  const data = isJson ? await response.json().catch(() => ({})) : {};
  if (response.ok && data.ok) return data.config;
  if (response.redirected) throw new Error('Not saved: you are signed out. Sign in in another tab, then come back here.');
  throw new Error(`Not saved: ${data.message || 'something went wrong on our side.'}`);
}

// One request at a time, each with what changed meanwhile and nothing else, so that a colleague's
// other settings stay as they are.
async function save() {
  if (sending || isEmpty(dirty)) return;
  while (!isEmpty(dirty)) {
    sending = dirty;
    dirty = {};
    say('saving', 'Saving…');
    try {
      const stored = await send(sending);
      sending = null;
      takeOver(stored);
    } catch (error) {
      dirty = { ...sending, ...dirty };
      sending = null;
      say('failed', error.message);
      return;
    }
  }
  say('saved', 'Saved');
}

// What a colleague changed meanwhile is on the site already, so it shows here too.
function takeOver(stored) {
  let isOther = false;
  for (const [name, value] of Object.entries(stored)) {
    if (!(name in config) || name in dirty || config[name] === value) continue;
    config[name] = value;
    write(name, value);
    isOther = true;
  }
  if (!isOther) return;
  showForm();
  showPreview();
}

retry.addEventListener('click', () => {
  // The button is about to go, and focus must not go with it.
  document.querySelector('h1').focus({ preventScroll: true });
  save();
});
addEventListener('online', save);

addEventListener('pagehide', () => {
  const rest = { ...sending, ...dirty };
  if (isEmpty(rest)) return;
  // The request under way might arrive after this one, so it is taken back.
  controller?.abort();
  request(rest).catch(() => {});
});
addEventListener('pageshow', (event) => { if (event.persisted) save(); });
addEventListener('beforeunload', (event) => {
  // Only what could not be saved is worth a question.
  if (!isEmpty(dirty) && !sending) event.preventDefault();
});

/* ------------------------------------------------------------------- reset */

const toasts = document.querySelector('[data-toasts]');
let toastTimer = 0;

function toast(text, undo) {
  clearTimeout(toastTimer);
  const node = document.getElementById('toast-template').content.firstElementChild.cloneNode(true);
  node.querySelector('[data-toast-text]').textContent = text;
  const undoForm = node.querySelector('[data-undo]');
  if (undo) {
    undoForm.addEventListener('submit', (event) => {
      event.preventDefault();
      undo();
    });
  } else {
    undoForm.remove();
  }
  // Someone who reaches for Undo must not see it vanish.
  const close = () => { if (!node.matches(':hover, :focus-within')) node.remove(); };
  const wait = () => { clearTimeout(toastTimer); toastTimer = setTimeout(close, 10000); };
  for (const name of ['mouseenter', 'focusin']) node.addEventListener(name, () => clearTimeout(toastTimer));
  for (const name of ['mouseleave', 'focusout']) node.addEventListener(name, wait);
  toasts.replaceChildren(node);
  wait();
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
let colour = '';
// Storage may be forbidden; then the colour holds for this page.
try { colour = localStorage.getItem(STORE) ?? ''; } catch { /* see above */ }

const ground = () => colour || GROUNDS[config.theme];

function showPreview() {
  picker.value = ground().toLowerCase();
  if (colourText !== document.activeElement) colourText.value = ground();
  frame.contentWindow.postMessage({ config: { ...config }, data: sets.value, colour: ground() }, location.origin);
}

// Gives "#RRGGBB" for three or six digits, with or without the sign; null for anything else.
function readColour(text) {
  const found = /^#?([\da-f]{3}|[\da-f]{6})$/i.exec(text.trim());
  if (!found) return null;
  const digits = found[1].length === 3 ? found[1].replace(/./g, '$&$&') : found[1];
  return `#${digits.toUpperCase()}`;
}

function setColour(value) {
  colour = value;
  colourText.removeAttribute('aria-invalid');
  try {
    if (value) localStorage.setItem(STORE, value); else localStorage.removeItem(STORE);
  } catch { /* see above */ }
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
  if (data !== 'real') return 'With nothing to show, the widget takes no room on your page.';
  if (frame.dataset.active !== 'true') return 'This project is paused, so the widget on your site shows nothing. Choose other testimonials to see how it looks.';
  return 'Nothing is approved yet, so the widget takes no room on your page. Choose other testimonials to see how it will look.';
}

addEventListener('message', (event) => {
  if (event.source !== frame.contentWindow || event.origin !== location.origin) return;
  if (event.data.type === 'hello') showPreview();
  if (event.data.type === 'shown') {
    note.textContent = explain(event.data.total, event.data.data);
    note.hidden = !note.textContent;
  }
});

function fit() {
  const chosen = Number(stage.dataset.width);
  const room = stage.clientWidth - 26;
  stage.querySelector('[data-box]').style.setProperty('--scale', chosen && room > 0 ? Math.min(1, room / chosen) : 1);
}
for (const button of document.querySelectorAll('[data-width][type="radio"]')) {
  button.addEventListener('change', () => {
    stage.dataset.width = button.value;
    fit();
  });
}
new ResizeObserver(fit).observe(stage);

/* ------------------------------------------------------- one pane on phones */

for (const button of document.querySelectorAll('[data-pane-button]')) {
  button.addEventListener('click', () => {
    split.dataset.pane = button.dataset.paneButton;
    for (const each of document.querySelectorAll('[data-pane-button]')) each.setAttribute('aria-pressed', String(each === button));
    scrollTo(0, 0);
  });
}

// Browsers may bring back what a form held before it was left; the page shows what is stored.
for (const [name, value] of Object.entries(config)) write(name, value);
say('saved', 'Saved');
showForm();
// The frame may have been quicker than this file, and then its greeting was missed.
showPreview();
