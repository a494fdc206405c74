// The tags of a testimonial as chips. The form's field has them, separated by commas.
import { makeChips } from '../chips.js';

const field = document.getElementById('edit-tags');
const list = document.querySelector('[data-tags]');
const input = list.querySelector('input');
const split = (text) => text.split(',').map((tag) => tag.trim()).filter(Boolean);
// The stored tags, restored if a change is rejected.
let kept = field.value;

const { all, add } = makeChips(list, input, list.dataset.remove, change);

function draw(name) {
  const chip = document.createElement('li');
  chip.className = 'chip';
  chip.append(Object.assign(document.createElement('bdi'), { textContent: name }));
  add(chip, name);
}

function change() {
  field.value = all().map((chip) => chip.textContent).join(', ');
  field.dispatchEvent(new Event('change', { bubbles: true }));
}

function take() {
  const known = new Set(all().map((chip) => chip.textContent.toLowerCase()));
  const fresh = split(input.value).filter((tag) => !known.has(tag.toLowerCase()));
  input.value = '';
  fresh.forEach(draw);
  if (fresh.length) change();
}

input.addEventListener('change', take);
input.addEventListener('keydown', (event) => {
  if ((event.key !== 'Enter' && event.key !== ',') || event.isComposing) return;
  event.preventDefault();
  take();
});
field.form.addEventListener('saved', () => { kept = field.value; });
field.form.addEventListener('refused', ({ detail }) => {
  if (!detail.errors?.tags) return;
  field.value = kept;
  for (const chip of all()) chip.remove();
  split(kept).forEach(draw);
});

split(field.value).forEach(draw);
input.id = field.id;
field.removeAttribute('id');
field.hidden = true;
list.hidden = false;
