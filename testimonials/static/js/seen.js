// Tells the service that a page was seen, a form begun or the button followed: no cookie is made, and
// nothing is told by who asks not to be tracked.
const place = document.querySelector('[data-seen]');
const { seen, surface, form } = place.dataset;
const isAllowed = !navigator.globalPrivacyControl && navigator.doNotTrack !== '1' && !navigator.webdriver;

function tell(what) {
  if (isAllowed) navigator.sendBeacon(seen, JSON.stringify({ surface, form, ...what }));
}

// A form that comes back with errors was opened before.
if (!('refused' in place.dataset)) tell(surface === 'form' ? { opened: true } : { view: true });
place.addEventListener('input', () => tell({ started: true }), { once: true });
document.addEventListener('click', ({ target }) => {
  if (surface === 'wall' && target.closest('.action')) tell({ clicks: 1 });
});
