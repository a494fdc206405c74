// Without this file, Collect has a field for addresses, a preview and buttons.
import '../../copy.js';
import { count } from '../counted.js';
import './ask.js';
import './words.js';

// Count down the seconds in which an email can be cancelled, without announcing each.
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
// A page from the back/forward cache may be out of date.
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
