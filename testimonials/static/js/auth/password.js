// Password fields work without this file; it adds Show, and counts the letters of a new one.
import { announce } from '../post.js';

for (const button of document.querySelectorAll('[data-reveal]')) {
  const field = document.getElementById(button.getAttribute('aria-controls'));
  const label = button.querySelector('[data-reveal-label]');
  const show = (isVisible) => {
    field.type = isVisible ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(isVisible));
    label.textContent = isVisible ? 'Hide' : 'Show';
  };
  button.hidden = false;
  button.addEventListener('click', () => show(field.type === 'password'));
  // Left readable, it could be stored by the browser as plain form history.
  field.form.addEventListener('submit', () => show(false));
}

for (const field of document.querySelectorAll('[data-password]')) {
  const hint = document.getElementById(`${field.id}-hint`);
  const tick = field.closest('.field').querySelector('[data-tick]');
  const rest = hint.textContent;
  let wasEnough = false;
  const check = () => {
    const length = [...field.value].length;
    const isEnough = length >= field.minLength;
    hint.classList.toggle('ok', isEnough);
    if (isEnough) hint.replaceChildren(tick.content.cloneNode(true), `${length} characters, long enough`);
    else hint.textContent = length ? `${length} of at least ${field.minLength} characters` : rest;
    // Only the change is spoken; a count after each key would drown everything else.
    if (isEnough !== wasEnough) announce(isEnough ? 'Long enough' : '');
    wasEnough = isEnough;
  };
  field.addEventListener('input', check);
  if (field.value) check();
}
