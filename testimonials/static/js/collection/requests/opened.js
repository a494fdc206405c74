// Tells the owner that the link in their request was opened. A program that only fetches the page,
// as mail scanners do, doesn't run this; nothing but the link is sent.
import { send } from '../../post.js';

const link = document.querySelector('[data-opened]');
send(link.dataset.opened, new URLSearchParams({ invitation: link.value }), {
  credentials: 'omit', keepalive: true,
}).catch(() => { /* It is only a note; the form works without it. */ });
