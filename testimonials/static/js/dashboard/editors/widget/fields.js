// The form's controls: what they hold, writing it, and what is wrong with it.
import { fill } from '../../../post.js';
import { checkLength, readColour, showFieldProblem } from '../editor.js';

const NUMBERS = ['radius', 'photoSize', 'minRating'];
const form = document.querySelector('[data-editor]');
const count = form.querySelector('[data-count]');
const address = form.querySelector('[name="ctaUrl"]');

export const controls = (name) => [...form.querySelectorAll(`[name="${name}"]:not([type="hidden"])`)];
const isAddress = ({ dataset, value }) => !dataset.pattern || new RegExp(dataset.pattern, 'u').test(value);
const isSound = (field) => checkLength(field) && isAddress(field);
export const complete = (url) => (!url || /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `https://${url}`);

// Return undefined for what is no value yet, such as a number that is being typed.
export function read(name) {
  const all = controls(name);
  const [first] = all;
  if (name === 'tags') return all.filter((each) => each.checked).map((each) => each.value);
  if (first.type === 'checkbox') return first.checked;
  if (first.type === 'radio') {
    const chosen = all.find((each) => each.checked)?.value;
    return chosen && NUMBERS.includes(name) ? Number(chosen) : chosen;
  }
  if (name === 'brandColor') return first.value.trim() ? readColour(first.value) ?? undefined : '';
  if (first.type === 'number') return first.validity.valid ? first.valueAsNumber : undefined;
  if (first.type === 'text') return isSound(first) ? first.value.trim() : undefined;
  return NUMBERS.includes(name) ? Number(first.value) : first.value;
}

export function write(name, value) {
  for (const each of controls(name)) {
    if (name === 'tags') each.checked = value.includes(each.value);
    else if (each.type === 'checkbox') each.checked = value;
    else if (each.type === 'radio') each.checked = each.value === String(value);
    else each.value = value;
    if (each.type === 'text' || each.type === 'number') showFieldProblem(each, '');
  }
}

// Say what is wrong with a number or a colour as it is typed; with an address once it was.
export function complain(field) {
  if (field.type === 'number') {
    showFieldProblem(field, field.validity.valid ? '' : fill(form.dataset.sayNumber, { least: field.min, most: field.max }));
  }
  if (field.name === 'brandColor') {
    showFieldProblem(field, read('brandColor') === undefined ? form.dataset.sayColour : '');
  }
}

export function complainLate(field) {
  if (field === address && checkLength(field)) {
    showFieldProblem(field, isAddress(field) ? '' : form.dataset.sayAddress);
  }
}

// `change(value)` is called by the two buttons beside the number of testimonials shown first.
export function startStepper(stored, change) {
  for (const button of form.querySelectorAll('[data-step]')) {
    button.hidden = false;
    button.addEventListener('click', () => {
      // From a number that is none, the way leads back to the last one that was.
      if (!count.validity.valid) count.value = stored();
      else if (button.dataset.step < 0) count.stepDown();
      else count.stepUp();
      showFieldProblem(count, '');
      change(count.valueAsNumber);
    });
  }
}

// What some controls say depends on what others hold.
export function showForm(values) {
  const target = complete(values.ctaUrl ?? '').replace(/^https?:\/\//i, '');
  const place = form.querySelector('[data-cta-target]');
  if (place) place.textContent = target || 'your collection page';
  for (const button of form.querySelectorAll('[data-step]')) {
    const end = button.dataset.step < 0 ? count.min : count.max;
    button.setAttribute('aria-disabled', String(count.value === end));
  }
}
