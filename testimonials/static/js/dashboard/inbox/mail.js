// The inbox's keys, for deciding from the email, with the same switch to turn them off.
import { isUndo, readKey } from '../keys.js';

let isSent = false;
document.addEventListener('submit', (event) => {
  // The second half of a double click must not decide the next one.
  if (isSent) event.preventDefault();
  isSent = true;
});
addEventListener('pageshow', () => { isSent = false; });

document.addEventListener('keydown', (event) => {
  const player = event.target.closest('button, a, summary, video, audio') ? null : document.querySelector('[data-play]');
  const control = isUndo(event) ? document.querySelector('[data-key="z"]') : readKey(event) === ' ' && player;
  if (!control || event.repeat) return;
  event.preventDefault();
  control.click();
});
