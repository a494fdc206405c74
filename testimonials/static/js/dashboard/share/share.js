// The Share page works without this file: tabs are links, the message has a Save button.
import '../../copy.js';
import { send } from '../../post.js';
import './embed.js';
import './message.js';
import './tabs.js';

// That the link went out, or that the widget was looked at, is a step of the checklist.
const page = document.querySelector('[data-checklist]');
const noted = new Set();
function note(step) {
  if (noted.has(step)) return;
  noted.add(step);
  send(page.dataset.checklist, new URLSearchParams({ do: step }), { keepalive: true })
    .catch(() => noted.delete(step));
}
page.addEventListener('copied', (event) => { if (event.target.closest('[data-shares]')) note('share'); });
page.addEventListener('click', (event) => {
  if (event.target.closest('a[data-shares]')) note('share');
  if (event.target.closest('[data-looked]')) note('look');
});
