// Every page of the dashboard works without this file, which saves reloads and clicks.

import { send } from '../post.js';
import './autosave.js';
import './dialog.js';
import './keys.js';
import '../mend.js';
import './toast.js';

// Menus are details elements. Only one is open, and Escape closes it.
const openMenus = () => document.querySelectorAll('details[data-menu][open]');
for (const type of ['click', 'focusin']) {
  document.addEventListener(type, ({ target }) => {
    for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false;
  });
}
// Scroll to all of what was opened, but not of what a page begins with. The event doesn't bubble.
document.addEventListener('toggle', ({ target }) => {
  if (!navigator.userActivation?.hasBeenActive || !target.matches('details:is([data-menu], .fold, .by-mail)[open]')) return;
  (target.querySelector('.menu-panel') ?? target).scrollIntoView({ block: 'nearest' });
}, true);
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  for (const menu of openMenus()) {
    const hadFocus = menu.contains(document.activeElement);
    menu.open = false;
    if (hadFocus) menu.querySelector('summary').focus();
  }
});

// The theme changes at once; the server only has to remember it.
const themeForm = document.querySelector('[data-theme-form]');
themeForm?.addEventListener('submit', (event) => {
  const theme = event.submitter?.value;
  if (!theme) return;
  event.preventDefault();
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset.theme; else root.dataset.theme = theme;
  for (const button of themeForm.querySelectorAll('[name="theme"]')) {
    button.setAttribute('aria-pressed', String(button.value === theme));
  }
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) meta.content = dark ? '#0E0E10' : '#FBFBFB';
  const body = new URLSearchParams(new FormData(themeForm));
  body.set('theme', theme);
  // Following the redirect would load a page for nothing. Offline, only this page has the theme.
  send(themeForm.getAttribute('action'), body, { redirect: 'manual', keepalive: true }).catch(() => {});
});

// A second click must not send the form again.
for (const form of document.querySelectorAll('form[data-once]')) {
  let isSent = false;
  form.addEventListener('submit', (event) => { if (isSent) event.preventDefault(); isSent = true; });
  window.addEventListener('pageshow', () => { isSent = false; });
}

// The delete button is disabled until the name is typed; the server checks it too.
for (const field of document.querySelectorAll('[data-match]')) {
  const button = field.form.querySelector('[data-match-button]');
  const check = () => { button.disabled = field.value.trim().toLowerCase() !== field.dataset.match.toLowerCase(); };
  field.addEventListener('input', check);
  check();
}

// A portrait that can't be loaded uncovers the initials beneath it.
document.addEventListener('error', (event) => {
  if (event.target.matches?.('.portrait img')) event.target.remove();
}, true);
for (const image of document.querySelectorAll('.portrait img')) if (image.complete && !image.naturalWidth && image.currentSrc) image.remove();
