// Saving changes automatically: one request at a time, each with all changes so far.
import { fill, post } from '../post.js';

// Send queued changes to `action`. `toBody(names)` returns the body for changed names,
// `onStored(data, waiting)` gets each response and the names changed since, `onFailed(failure)` gets
// errors, and `say(kind, reason)` shows the state: saving, saved or failed.
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
        const body = toBody(sending);
        // `keepalive` finishes small requests when the page is left.
        const options = { signal: controller.signal, keepalive: body instanceof URLSearchParams };
        const data = await post(action, body, options);
        sending = new Set();
        onStored(data, waiting);
      } catch (failure) {
        waiting = new Set([...sending, ...waiting]);
        sending = new Set();
        say('failed', failure.message);
        onFailed(failure);
        return;
      }
    }
    say('saved');
  }

  addEventListener('online', save);
  addEventListener('pagehide', () => {
    const rest = new Set([...sending, ...waiting]);
    if (!rest.size) return;
    // Otherwise the pending request might arrive after this one.
    controller?.abort();
    post(action, toBody(rest), { keepalive: true }).catch(() => {});
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

// The fields that were changed before the script was loaded.
export function listChanged(form) {
  return [...form.elements].filter((field) => {
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked;
    if (field.type === 'file') return field.files.length > 0;
    if (field.localName === 'select') return [...field.options].some((each) => each.selected !== each.defaultSelected);
    return field.type !== 'hidden' && field.matches('input, textarea') && field.value !== field.defaultValue;
  });
}
