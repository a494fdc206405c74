// One testimonial: its card is saved automatically, selected words can be highlighted, and J and K go
// through the list. Without this file all are plain forms.
import { post } from '../../post.js';
import { isField } from '../keys.js';
import { showToast } from '../toast.js';
import { readList } from './list.js';

const form = document.getElementById('edit');
const { text } = form.elements;
const shown = form.querySelector('[data-shown]');
const marker = document.querySelector('[data-mark]');

/* ------------------------------------------------------------------ card */

function showWords(words, ranges) {
  const letters = [...words];
  let at = 0;
  const parts = [];
  for (const [start, end] of ranges) {
    const mark = document.createElement('mark');
    mark.textContent = letters.slice(start, end).join('');
    parts.push(letters.slice(at, start).join(''), mark);
    at = end;
  }
  shown.replaceChildren(...parts, letters.slice(at).join(''));
}

function show(card) {
  if (card.text === undefined) return;
  if (text !== document.activeElement) text.value = card.text;
  if (card.highlights) showWords(card.text, card.highlights);
  if (card.name) document.querySelector('[data-name]').textContent = card.name;
  if (card.isEdited) document.querySelector('[data-edited]').hidden = false;
  const portrait = form.querySelector('.photo .portrait');
  if (card.photo && portrait.querySelector('img')?.src !== new URL(card.photo, location.href).href) {
    portrait.querySelector('img')?.remove();
    const image = Object.assign(new Image(), { src: card.photo, alt: '' });
    portrait.append(image);
  }
}
document.addEventListener('saved', ({ target, detail }) => {
  // The transcript may be the card's text.
  if (target === form || target.matches('[data-transcript]')) show(detail);
});

// Escape resets a field.
let before = '';
document.addEventListener('focusin', ({ target }) => { if (target.form === form) before = target.value; });
form.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !isField(event.target)) return;
  event.target.value = before;
  event.target.blur();
});

/* ------------------------------------------------------------ highlights */

const count = (words) => [...words].length;

// The selected words and their position, in the card or its open field.
function readSelection() {
  if (document.activeElement === text) {
    const { selectionStart: start, selectionEnd: end, value } = text;
    return end > start ? { words: value.slice(start, end), start: count(value.slice(0, start)), box: text.getBoundingClientRect() } : null;
  }
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!shown.contains(range.startContainer) || !shown.contains(range.endContainer)) return null;
  const lead = document.createRange();
  lead.selectNodeContents(shown);
  lead.setEnd(range.startContainer, range.startOffset);
  return { words: range.toString(), start: count(lead.toString()), box: range.getBoundingClientRect() };
}

function placeMarker() {
  const selected = readSelection();
  marker.hidden = !selected?.words.trim();
  if (marker.hidden) return;
  const stage = marker.parentElement.getBoundingClientRect();
  marker.style.insetBlockStart = `${selected.box.bottom - stage.top + 6}px`;
  marker.style.insetInlineStart = `${Math.max(8, Math.min(selected.box.left - stage.left, stage.width - 150))}px`;
}

async function highlight() {
  const selected = readSelection();
  if (!selected) return;
  const lead = selected.words.length - selected.words.trimStart().length;
  const body = new URLSearchParams({ words: selected.words.trim(), start: selected.start + lead });
  try {
    show(await post(form.dataset.markUrl, body));
  } catch (failure) {
    showToast(failure.message);
  }
  getSelection().removeAllRanges();
  marker.hidden = true;
}

if (marker) {
  document.addEventListener('selectionchange', placeMarker);
  text.addEventListener('select', placeMarker);
  // Pressing the button must not clear the selection.
  marker.addEventListener('pointerdown', (event) => event.preventDefault());
  marker.addEventListener('click', highlight);
  // A click on the text edits it, unless it selected some.
  shown.addEventListener('click', () => { if (getSelection().isCollapsed) text.focus(); });
}

/* ------------------------------------------------------------------ list */

const { url, ids = [] } = readList();
const here = location.pathname.split('/').pop();
if (url && ids.includes(here)) document.querySelector('[data-back]').href = url;
for (const arrow of document.querySelectorAll('[data-step]')) {
  const next = ids.includes(here) ? ids[ids.indexOf(here) + Number(arrow.dataset.step)] : null;
  if (next) {
    arrow.href = location.pathname.replace(here, next);
    arrow.hidden = false;
  }
}
const rows = [...document.querySelectorAll('.one-rows details')];
const named = document.getElementById(location.hash.slice(1));
if (named?.matches('details')) named.open = true;
else if (named?.matches('.field')) named.querySelector('input:not([hidden])').focus();
document.addEventListener('keydown', (event) => {
  const open = rows.find((each) => each.open);
  if (event.key !== 'Escape' || !open || document.querySelector('dialog[open]')) return;
  open.open = false;
  open.querySelector('summary').focus();
});
