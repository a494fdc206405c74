// Whoever asked sees that their link was opened. A program that only fetches
// the page, as mail scanners do, doesn't run this; nothing but the link is sent.
const link = document.querySelector('[data-opened]');
if (link) {
  fetch(link.dataset.opened, {
    method: 'POST',
    body: new URLSearchParams({ invitation: link.value }),
    credentials: 'omit',
    keepalive: true,
  }).catch(() => { /* It is only a note; the form works without it. */ });
}
