// Collect without this file: a field for addresses, a preview, and buttons.
import '../../copy.js';
import './ask.js';
import './words.js';
import { count } from './counted.js';

// The seconds until a mail goes out, which are not read out; then nothing can be taken back.
const rows = [...document.querySelectorAll('[data-seconds]')].map((row) => [row, Number(row.dataset.seconds)]);
const since = performance.now();
const toast = document.querySelector('[data-toast]:has([data-undo])');
if (rows.length) {
  const timer = setInterval(() => {
    const past = Math.round((performance.now() - since) / 1000);
    for (const [row, seconds] of rows) {
      const left = seconds - past;
      row.textContent = left > 0 ? count(row, 'say', left) : row.dataset.sayGone;
      if (left <= 0) row.closest('li').querySelector('[data-until-gone]')?.remove();
    }
    if (rows.every(([, seconds]) => seconds <= past)) {
      clearInterval(timer);
      if (!toast?.matches(':hover, :focus-within')) toast?.remove();
    }
  }, 1000);
}
// A page from the browser's memory may show what was sent long ago.
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
