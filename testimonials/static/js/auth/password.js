// Password fields work without this file; it adds Show, and counts the characters of a new one.
import { announce } from '../post.js';

for (const button of document.querySelectorAll('[data-reveal]')) {
  const field = document.getElementById(button.getAttribute('aria-controls'));
  const label = button.querySelector('[data-reveal-label]');
  const rest = label.textContent;
  const show = (isVisible) => {
    field.type = isVisible ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(isVisible));
    label.textContent = isVisible ? label.dataset.sayHide : rest;
  };
  button.hidden = false;
  button.addEventListener('click', () => show(field.type === 'password'));
  // If it stays visible, the browser could store it in its form history.
  field.form.addEventListener('submit', () => show(false));
}

for (const field of document.querySelectorAll('[data-password]')) {
  const hint = document.getElementById(`${field.id}-hint`);
  const tick = field.closest('.field').querySelector('[data-tick]');
  const rest = hint.textContent;
  const { sayLeft, sayEnough } = field.dataset;
  let wasEnough = false;
  const check = () => {
    const length = [...field.value].length;
    const isEnough = length >= field.minLength;
    hint.hidden = false;
    hint.classList.toggle('ok', isEnough);
    if (isEnough) hint.replaceChildren(tick.content.cloneNode(true), sayEnough);
    else hint.textContent = length ? sayLeft.replace('{count}', length).replace('{least}', field.minLength) : rest;
    // Only the change is announced: a count after each key would drown out everything else.
    if (isEnough !== wasEnough) announce(isEnough ? sayEnough : '');
    wasEnough = isEnough;
  };
  field.addEventListener('input', check);
  if (field.value) check();
}
