// Tells the service that a form was opened or begun: without cookies, and not for visitors who ask
// not to be tracked.
const place = document.querySelector('[data-seen]');
const { seen, form } = place.dataset;
const isAllowed = !navigator.globalPrivacyControl && navigator.doNotTrack !== '1' && !navigator.webdriver;

function tell(what) {
  const visit = place.elements.token.value;
  if (isAllowed) navigator.sendBeacon(seen, JSON.stringify({ surface: 'form', form, visit, ...what }));
}

// A form that comes back with errors was opened before.
if (!('refused' in place.dataset)) tell({ opened: true });
place.addEventListener('input', () => tell({ started: true }), { once: true });
