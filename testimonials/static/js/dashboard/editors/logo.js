// The logo in the page editor: chosen or dropped, sent at once, shown, and removed.
import { post, showProblem } from '../../post.js';

const logo = document.querySelector('[data-logo]');
const upload = logo.querySelector('[data-logo-form]');
const file = upload.querySelector('input[type="file"]');
const choose = logo.querySelector('[data-logo-choose]');
const remove = logo.querySelector('[data-logo-remove]');
const problem = logo.querySelector('[data-logo-problem]');
const MAX_BYTES = 2 * 1024 * 1024;
let onChange = () => {};

function refuse(text) {
  showProblem(problem, text);
  if (text) choose.setAttribute('aria-describedby', 'logo-problem');
  else choose.removeAttribute('aria-describedby');
}

function showLogo(url) {
  const place = logo.querySelector('[data-logo-now]');
  const letter = document.createElement('span');
  letter.className = 'tile-letter';
  letter.textContent = document.querySelector('.switcher-name').textContent.slice(0, 1).toUpperCase();
  const picture = document.createElement('img');
  picture.alt = 'Your logo now';
  if (url) picture.src = url;
  place.replaceChildren(url ? picture : letter);
  choose.querySelector('[data-logo-choose-words]').textContent = url ? 'Replace' : 'Choose a logo';
  remove.hidden = !url;
  onChange();
}

async function sendLogo(action, body) {
  refuse('');
  logo.setAttribute('aria-busy', 'true');
  try {
    showLogo((await post(action, body)).logo_url);
  } catch (error) {
    refuse(error.message);
  } finally {
    logo.removeAttribute('aria-busy');
    file.value = '';
  }
}

function take(picture) {
  if (!picture) return;
  if (picture.size > MAX_BYTES) {
    refuse(`The picture is too large: it has ${(picture.size / 1024 / 1024).toFixed(1)} MB, and the limit is 2 MB.`);
    return;
  }
  const body = new FormData();
  body.append('logo', picture);
  sendLogo(upload.getAttribute('action'), body);
}

// Make the logo's field work; `refresh` is called after each change.
export function startLogo(refresh) {
  onChange = refresh;
  problem.id = 'logo-problem';
  file.hidden = true;
  upload.querySelector('[data-logo-send]').hidden = true;
  choose.hidden = false;
  logo.querySelector('[data-drop-words]').hidden = false;
  choose.addEventListener('click', () => file.click());
  file.addEventListener('change', () => take(file.files[0]));
  remove.addEventListener('submit', (event) => {
    event.preventDefault();
    choose.focus();
    sendLogo(remove.getAttribute('action'), new FormData());
  });

  const drop = logo.querySelector('[data-drop]');
  for (const name of ['dragenter', 'dragover']) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add('is-over');
    });
  }
  drop.addEventListener('dragleave', (event) => { if (!drop.contains(event.relatedTarget)) drop.classList.remove('is-over'); });
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('is-over');
    take(event.dataTransfer.files[0]);
  });
}
