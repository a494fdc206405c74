// Tells the owner that the link in their request was opened, and that somebody began to write. A
// program that only fetches the page, as mail scanners do, doesn't run this; nothing but the link is
// sent.
import { send } from '../../post.js';

const link = document.querySelector('[data-opened]');

function tell(url) {
  send(url, new URLSearchParams({ invitation: link.value }), {
    credentials: 'omit', keepalive: true,
  }).catch(() => { /* It is only a note; the form works without it. */ });
}

tell(link.dataset.opened);
link.form.addEventListener('input', () => tell(link.dataset.started), { once: true });
