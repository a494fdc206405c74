// The inbox's keys for deciding from the mail, with the same switch to turn them off.
import { areKeysOn, isField, letterOf } from '../keys.js';

let isSent = false;
document.addEventListener('submit', (event) => {
  // The second half of a double click must not decide the next one.
  if (isSent) event.preventDefault();
  isSent = true;
});
addEventListener('pageshow', () => { isSent = false; });

document.addEventListener('keydown', (event) => {
  if (isField(event.target) || event.isComposing || event.repeat || event.altKey) return;
  const key = letterOf(event);
  const isUndo = key === 'z' && !event.shiftKey && (event.ctrlKey || event.metaKey);
  if (!isUndo && (event.ctrlKey || event.metaKey || !areKeysOn())) return;
  const player = event.target.closest('button, a, summary, video, audio') ? null : document.querySelector('[data-play]');
  const control = key === ' ' ? player : document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!control) return;
  event.preventDefault();
  control.click();
});
