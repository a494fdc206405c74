// The form works without this file; with it the chosen picture is seen at once, one that is
// too large is told before it is sent, and tags are offered after the first one too.
import { showProblem } from '../../post.js';

const field = document.querySelector('[data-photo]');
const input = field.querySelector('input[type="file"]');
const remove = field.querySelector('[name="remove_avatar"]');
const problem = field.querySelector('[data-photo-problem]');
const portrait = field.querySelector('.portrait');
const before = [...portrait.childNodes];
let chosen = null;

function show(file) {
  chosen = file;
  portrait.replaceChildren(...before);
  if (!file) return;
  const reader = new FileReader();
  reader.addEventListener('load', () => {
    if (chosen !== file) return;
    const image = new Image(64, 64);
    image.alt = '';
    // What this browser can't show the server may still be able to read; it decides.
    image.addEventListener('error', () => image.remove());
    image.src = reader.result;
    portrait.append(image);
  });
  reader.readAsDataURL(file);
}

function check() {
  const [file] = input.files;
  const isLarge = file && file.size > Number(field.dataset.maxBytes);
  showProblem(problem, isLarge
    ? field.dataset.sayTooLarge.replace('#', (file.size / 1048576).toLocaleString(document.documentElement.lang, { minimumFractionDigits: 1, maximumFractionDigits: 1 }))
    : '', input);
  return !isLarge;
}

input.addEventListener('change', () => {
  const isFine = check();
  if (remove && input.files.length) remove.checked = false;
  show(isFine ? input.files[0] : null);
});
remove?.addEventListener('change', () => {
  if (!remove.checked) return;
  input.value = '';
  check();
  show(null);
});
input.form.addEventListener('submit', (event) => {
  if (check()) return;
  event.preventDefault();
  input.focus();
});

const tags = document.getElementById('edit-tags');
const names = [...tags.list.options].map((option) => option.value);
tags.addEventListener('input', () => {
  // A browser offers what begins with the whole line, so the offers begin with what stands before.
  const written = tags.value.slice(0, tags.value.lastIndexOf(',') + 1);
  const used = written.split(',').map((name) => name.trim().toLowerCase());
  const offers = names.filter((name) => !used.includes(name.toLowerCase()));
  tags.list.replaceChildren(...offers.map((name) => new Option('', written ? `${written} ${name}` : name)));
});
