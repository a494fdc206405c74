// What the page editor does beside its rows: saving, the width of the preview, and one pane on phones.
import { fill, post, showProblem } from '../../post.js';

const isEmpty = (object) => !Object.keys(object).length;

// Tell whether a field holds no more than it may, as the server counts: by code points, after trimming.
export function checkLength(field) {
  const limit = Number(field.dataset.limit);
  const isLong = Boolean(limit) && [...field.value.trim()].length > limit;
  showFieldProblem(field, isLong ? fill(field.form.dataset.sayLong, { limit }) : '');
  return !isLong;
}

// Say what is wrong with a field in a line below it, which comes and goes with its text.
export function showFieldProblem(field, text) {
  const id = `${field.id}-problem`;
  const ids = new Set((field.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean));
  let place = document.getElementById(id);
  if (!place) {
    place = document.createElement('p');
    place.id = id;
    place.className = 'field-error';
    field.after(place);
  }
  showProblem(place, text, field);
  if (text) {
    ids.add(id);
  } else {
    place.remove();
    ids.delete(id);
  }
  if (ids.size) field.setAttribute('aria-describedby', [...ids].join(' '));
  else field.removeAttribute('aria-describedby');
}

// Send what is queued to `action`, one request at a time, each with what changed meanwhile and
// nothing else, so that a colleague's other settings stay as they are. `onStored(data, waiting)`
// gets each answer and the names that changed again since, `onRefused(errors)` what is wrong by field;
// `toBody(changes)` makes what is sent. Return how to save.
export function startSaving(action, onStored, { toBody, onRefused }) {
  const state = document.querySelector('[data-save-state]');
  const retry = state.querySelector('[data-save-retry]');
  // The names in `dirty` wait to be sent, those in `sending` are on their way.
  let dirty = {};
  let sending = null;
  let controller = null;
  let running = null;
  let timer = 0;

  function say(kind, text) {
    state.dataset.saveState = kind;
    retry.hidden = kind !== 'failed';
    state.querySelector('[data-save-text]').textContent = text;
  }

  function save() {
    clearTimeout(timer);
    running ??= send().finally(() => { running = null; });
    return running;
  }

  async function send() {
    while (!isEmpty(dirty)) {
      sending = dirty;
      dirty = {};
      say('saving', state.dataset.saySaving);
      try {
        controller = new AbortController();
        const options = { signal: controller.signal, keepalive: true };
        const data = await post(action, toBody(sending), options);
        sending = null;
        onStored(data, dirty);
      } catch (error) {
        dirty = { ...sending, ...dirty };
        sending = null;
        say('failed', fill(state.dataset.sayFailed, { reason: error.message }));
        if (error.errors) onRefused?.(error.errors);
        return;
      }
    }
    say('saved', state.dataset.saySaved);
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
    post(action, toBody(rest), { keepalive: true }).catch(() => {});
  });
  addEventListener('pageshow', (event) => { if (event.persisted) save(); });
  addEventListener('beforeunload', (event) => {
    // Only what could not be saved is worth a question.
    if (state.dataset.saveState === 'failed') event.preventDefault();
  });
  say('saved', state.dataset.saySaved);

  return {
    save,
    queue(changes, delay = 0) {
      Object.assign(dirty, changes);
      clearTimeout(timer);
      if (delay) timer = setTimeout(save, delay);
      else save();
    },
    drop(name) { delete dirty[name]; },
  };
}

// Hand over what somebody changed in a form before its script had come, as if they did so now.
export function catchUp(form) {
  const isChanged = (field) => (field.type === 'radio' ? field.checked && !field.defaultChecked
    : field.localName === 'select' ? [...field.options].some((each) => each.selected !== each.defaultSelected)
      : field.value !== field.defaultValue || field.checked !== field.defaultChecked);
  for (const field of [...form.elements].filter((each) => each.matches('input, textarea, select') && isChanged(each))) {
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

// The frame is as wide as the chosen device, and drawn smaller where there is less room.
export function startWidths(stage) {
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

export function startPanes(split) {
  const buttons = document.querySelectorAll('[data-pane-button]');
  for (const button of buttons) {
    button.addEventListener('click', () => {
      split.dataset.pane = button.dataset.paneButton;
      for (const each of buttons) each.setAttribute('aria-pressed', String(each === button));
      scrollTo(0, 0);
    });
  }
}
