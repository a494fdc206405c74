// Saving changes automatically: one request at a time, each with all changes so far.
import { fill, post } from '../post.js';

// Send what `toBody` returns to `action` after changes. `onStored(data, waiting)` gets each response
// and the names changed since, `onFailed(failure, waiting)` each error with them, and
// `say(kind, reason)` shows the state: saving, saved or failed.
export function startSaving(action, toBody, { onStored, onFailed = () => {}, say = () => {} }) {
  let waiting = new Set();
  let sending = new Set();
  let controller = null;
  let running = null;
  let timer = 0;

  function save() {
    clearTimeout(timer);
    if (waiting.size) running ??= send().finally(() => { running = null; });
    return running;
  }

  async function send() {
    while (waiting.size) {
      [sending, waiting] = [waiting, new Set()];
      say('saving');
      try {
        controller = new AbortController();
        const body = toBody();
        // `keepalive` finishes small requests when the page is left.
        const options = { signal: controller.signal, keepalive: body instanceof URLSearchParams };
        const data = await post(action, body, options);
        sending = new Set();
        onStored(data, waiting);
      } catch (failure) {
        const since = waiting;
        waiting = new Set([...sending, ...waiting]);
        sending = new Set();
        say('failed', failure.message);
        onFailed(failure, since);
        return;
      }
    }
    say('saved');
  }

  addEventListener('online', save);
  addEventListener('pagehide', () => {
    if (!sending.size && !waiting.size) return;
    // Otherwise the pending request might arrive after this one.
    controller?.abort();
    post(action, toBody(), { keepalive: true }).catch(() => {});
  });
  addEventListener('pageshow', (event) => { if (event.persisted) save(); });

  return {
    save,
    queue(name, delay = 0) {
      waiting.add(name);
      clearTimeout(timer);
      if (delay) timer = setTimeout(save, delay);
      else save();
    },
    drop(name) { waiting.delete(name); },
  };
}

// Return a `say` that shows the state in an element.
export function sayIn(place) {
  return (kind, reason) => {
    place.dataset.saveState = kind;
    const words = place.dataset[`say${kind[0].toUpperCase()}${kind.slice(1)}`];
    (place.querySelector('[data-save-text]') ?? place).textContent = fill(words, { reason });
  };
}

const fieldsOf = (form, name) => [...form.elements].filter((each) => each.name === name && each.matches('select, textarea, input:not([type="hidden"])'));

function write(field, value) {
  if (field.type === 'radio') field.checked = field.value === String(value);
  else if (field.type === 'checkbox') field.checked = Array.isArray(value) ? value.includes(field.value) : value;
  else if (!Array.isArray(value)) field.value = value;
}

// Show what is stored in a form that says what it has shown before, other than in the fields that are
// `waiting` or in use.
export function showStored(form, values, waiting) {
  const { before } = form.elements;
  const known = JSON.parse(before.value);
  for (const [name, value] of Object.entries(values)) {
    const fields = fieldsOf(form, name);
    const isNew = JSON.stringify(value) !== JSON.stringify(known[name]);
    if (isNew && !waiting.has(name) && fields[0] !== document.activeElement) for (const field of fields) write(field, value);
  }
  before.value = JSON.stringify({ ...known, ...values });
}

// The fields that were changed before the script was loaded.
export function listChanged(form) {
  return [...form.elements].filter((field) => {
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked;
    if (field.type === 'file') return field.files.length > 0;
    if (field.localName === 'select') return [...field.options].some((each) => each.selected !== each.defaultSelected);
    return field.type !== 'hidden' && field.matches('input, textarea') && field.value !== field.defaultValue;
  });
}
