// How the pages of an owner save by themselves: one request at a time, each with all that has changed
// by then.
import { fill, post } from '../post.js';

// Send what is queued to `action`. `toBody(names)` makes what is sent of what has changed;
// `onStored(data, waiting)` gets each answer and the names that changed again since, `onFailed(failure)`
// why nothing was stored, and `say(kind, reason)` what to tell: saving, saved or failed.
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
        // Browsers finish sending when the page is left what is too small for a file.
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
    // The request under way might arrive after this one, so it is taken back.
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

// Return what says in a place of the page how it goes.
export function sayIn(place) {
  return (kind, reason) => {
    place.dataset.saveState = kind;
    const words = place.dataset[`say${kind[0].toUpperCase()}${kind.slice(1)}`];
    (place.querySelector('[data-save-text]') ?? place).textContent = fill(words, { reason });
  };
}

// What somebody changed in a form before its script had come.
export function listChanged(form) {
  return [...form.elements].filter((field) => {
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked;
    if (field.type === 'file') return field.files.length > 0;
    if (field.localName === 'select') return [...field.options].some((each) => each.selected !== each.defaultSelected);
    return field.type !== 'hidden' && field.matches('input, textarea') && field.value !== field.defaultValue;
  });
}
