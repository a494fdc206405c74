// Keys for deciding one by one: those of the inbox, and its switch turns them off. The page works
// without this file.
import '../mended.js';
import { recall } from '../../storage.js';

const isField = (element) => element.matches?.('textarea, select, input:not([type="checkbox"], [type="radio"])');
// On a keyboard without Latin letters the key's place stands for its letter.
const letterOf = (event) => (!/^[ -~]/.test(event.key) && /^Key[A-Z]$/.test(event.code) ? event.code[3] : event.key).toLowerCase();

let isSent = false;
document.addEventListener('submit', (event) => {
  // The second half of a double click must not decide about the next one.
  if (isSent) event.preventDefault();
  isSent = true;
});
addEventListener('pageshow', () => { isSent = false; });

document.addEventListener('keydown', (event) => {
  if (isField(event.target) || event.isComposing || event.repeat || event.altKey) return;
  const key = letterOf(event);
  const isUndo = key === 'z' && !event.shiftKey && (event.ctrlKey || event.metaKey);
  if (!isUndo && (event.ctrlKey || event.metaKey || recall('testimonials-inbox-keys') === 'off')) return;
  const player = event.target.closest('button, a, summary, video, audio') ? null : document.querySelector('[data-play]');
  const control = key === ' ' ? player : document.querySelector(key === 'z' ? '[data-undo-last] button' : `[data-key="${CSS.escape(key)}"]`);
  if (!control) return;
  event.preventDefault();
  control.click();
});
