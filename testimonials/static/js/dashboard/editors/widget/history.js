// Undo and redo: what the controls of each change held before it, and nothing else, so that a
// colleague's changes stay.

const LIMIT = 100;
// Letters of one word, and colours under one movement of the hand, are one step.
const PAUSE_MS = 1000;

// `put(step)` writes a step's values into the form, `read(names)` returns those that it holds now.
// `note(step)` is called before each change.
export function startHistory(put, read) {
  const buttons = {
    undo: document.querySelector('[data-history="undo"]'),
    redo: document.querySelector('[data-history="redo"]'),
  };
  const past = [];
  let future = [];
  let last = { names: '', time: 0 };

  function show() {
    for (const [name, steps] of [['undo', past], ['redo', future]]) {
      // Focus must not go with the button.
      buttons[name].setAttribute('aria-disabled', String(!steps.length));
    }
  }

  function go(from, to) {
    if (!from.length) return;
    const step = from.pop();
    to.push(read(Object.keys(step)));
    last = { names: '', time: 0 };
    put(step);
    show();
  }

  const undo = () => go(past, future);
  const redo = () => go(future, past);
  buttons.undo.addEventListener('click', undo);
  buttons.redo.addEventListener('click', redo);
  addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !['z', 'y'].includes(event.key.toLowerCase())) return;
    // In a text, the keys undo letters, as everywhere.
    if (event.target.matches('input:not([type="radio"], [type="checkbox"], [type="color"], [type="range"]), textarea')) return;
    event.preventDefault();
    if (event.shiftKey || event.key.toLowerCase() === 'y') redo();
    else undo();
  });
  show();

  return function note(step) {
    const names = Object.keys(step).join();
    const now = performance.now();
    const isSameStep = names === last.names && now - last.time < PAUSE_MS;
    last = { names, time: now };
    if (!isSameStep) past.push(step);
    if (past.length > LIMIT) past.shift();
    future = [];
    show();
  };
}
