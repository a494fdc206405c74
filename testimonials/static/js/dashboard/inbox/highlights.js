// Selecting the words to highlight. Without this file they are typed.

const text = document.querySelector('[data-marking]');
const form = document.querySelector('[data-mark-form]');

// The part of the selection that lies in the text: its words, and its start in code points.
function readSelection() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!text.contains(range.startContainer) || !text.contains(range.endContainer)) return null;
  const before = document.createRange();
  before.selectNodeContents(text);
  before.setEnd(range.startContainer, range.startOffset);
  const selected = range.toString();
  const words = selected.trimStart();
  if (!words) return null;
  const skipped = selected.slice(0, selected.length - words.length);
  return { words: words.trimEnd(), start: [...before.toString() + skipped].length };
}

if (form) {
  const { words, start } = form.elements;
  for (const node of document.querySelectorAll('[data-with-script]')) node.hidden = false;
  for (const node of document.querySelectorAll('[data-without-script]')) node.hidden = true;

  // With a cursor in it, the keys that select elsewhere select here; no key changes anything.
  for (const [name, value] of Object.entries({
    contenteditable: 'true', role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true',
    'aria-label': text.dataset.sayLabel, inputmode: 'none', spellcheck: 'false',
  })) text.setAttribute(name, value);
  for (const type of ['beforeinput', 'cut', 'paste', 'drop', 'dragstart']) text.addEventListener(type, (event) => event.preventDefault());
  const take = () => {
    const selected = readSelection();
    if (!selected) return;
    words.value = selected.words.replace(/\s+/g, ' ');
    start.value = selected.start;
  };
  document.addEventListener('selectionchange', take);
  text.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    // The event of the last selection may still be on its way.
    take();
    if (start.value) form.requestSubmit();
  });
  words.addEventListener('input', () => { start.value = ''; });
}
