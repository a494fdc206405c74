// The customer's own page behind the preview: its colour, its font, and a picture of it. All of it
// stays in this browser.
import { forget, recall, remember } from '../../../storage.js';
import { showProblem } from '../../../post.js';
import { readColour } from '../editor.js';

const panel = document.querySelector('[data-page]');
const picker = document.querySelector('[data-page-picker]');
const colourText = document.querySelector('[data-page-colour]');
const font = panel.querySelector('[data-page-font]');
const file = panel.querySelector('[data-page-file]');
const place = panel.querySelector('[data-page-place]');
const problem = panel.querySelector('[data-page-problem]');
const suggestion = panel.querySelector('[data-page-suggestion]');
const STORE = `testimonials-host-page-${panel.dataset.page}`;
const GROUNDS = { light: '#FAFAFA', dark: '#0B0B0D' };
// A picture is kept no larger than this; what lies further down is left out.
const WIDTH = 1280;
const HEIGHT = 3200;

const stored = () => { try { return JSON.parse(recall(STORE)) ?? {}; } catch { return {}; } };
// `colour` is empty as long as it follows the theme.
export const page = { colour: '', font: '', picture: '', place: 40, brand: '', ...stored() };

function draw(picture, width, height) {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  // Colours are read, so none may be mixed.
  pen.imageSmoothingEnabled = width > 200;
  const scale = width / picture.width;
  pen.drawImage(picture, 0, 0, width, picture.height * scale);
  return { canvas, pen };
}

// Return the colour that most of a picture has, and the strongest of its lively ones, if any.
export function readColours(picture) {
  const width = 160;
  const height = Math.max(1, Math.round(Math.min(HEIGHT / WIDTH, picture.height / picture.width) * width));
  const { data } = draw(picture, width, height).pen.getImageData(0, 0, width, height);
  const counts = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const key = (data[i] << 16) + (data[i + 1] << 8) + data[i + 2];
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const hex = (key) => `#${key.toString(16).padStart(6, '0').toUpperCase()}`;
  const [[ground]] = [...counts].sort((one, other) => other[1] - one[1]);
  let brand = '';
  let best = width * height * 0.001;
  for (const [key, count] of counts) {
    const parts = [key >> 16, (key >> 8) & 255, key & 255];
    const life = (Math.max(...parts) - Math.min(...parts)) / 255;
    // Photos have many lively colours, each of few points.
    if (key !== ground && life > 0.3 && count * life > best) {
      best = count * life;
      brand = hex(key);
    }
  }
  return { ground: hex(ground), brand };
}

async function take(chosen, change) {
  showProblem(problem, '');
  if (!chosen) return;
  try {
    const picture = await createImageBitmap(chosen);
    const { ground, brand } = readColours(picture);
    const width = Math.min(WIDTH, picture.width);
    const height = Math.min(HEIGHT, Math.round((picture.height * width) / picture.width));
    Object.assign(page, { colour: ground, brand, picture: draw(picture, width, height).canvas.toDataURL('image/jpeg', 0.8) });
    change();
  } catch {
    showProblem(problem, document.querySelector('[data-editor]').dataset.sayNoPicture);
  }
}

// `theme()` is the widget's; `change()` is called when the page has changed, and `suggest(hex)` when
// somebody wants the colour of the picture for the widget. Return `show()`.
export function startPage(theme, change, suggest) {
  const ground = () => page.colour || GROUNDS[theme()];

  function show() {
    picker.value = ground().toLowerCase();
    if (colourText !== document.activeElement) colourText.value = ground();
    if (font !== document.activeElement) font.value = page.font;
    place.value = page.place;
    for (const part of panel.querySelectorAll('[data-with-picture]')) part.hidden = !page.picture;
    suggestion.hidden = !page.brand;
    suggestion.querySelector('[data-suggested]').textContent = page.brand;
    suggestion.querySelector('[data-dot]').style.setProperty('--dot', page.brand);
  }

  function changed() {
    if (page.colour || page.font || page.picture) remember(STORE, JSON.stringify(page));
    else forget(STORE);
    show();
    change();
  }

  picker.addEventListener('input', () => { page.colour = picker.value.toUpperCase(); changed(); });
  colourText.addEventListener('input', () => {
    const value = readColour(colourText.value);
    const isRight = Boolean(value) || !colourText.value.trim();
    if (isRight) colourText.removeAttribute('aria-invalid');
    else colourText.setAttribute('aria-invalid', 'true');
    if (!isRight) return;
    page.colour = value ?? '';
    changed();
  });
  // Left empty or half written, the field shows what is there.
  colourText.addEventListener('change', () => {
    colourText.removeAttribute('aria-invalid');
    colourText.value = ground();
  });
  font.addEventListener('input', () => { page.font = font.value.trim(); changed(); });
  place.addEventListener('input', () => { page.place = place.valueAsNumber; changed(); });
  file.addEventListener('change', () => { take(file.files[0], changed); file.value = ''; });
  panel.querySelector('[data-page-remove]').addEventListener('click', () => {
    Object.assign(page, { picture: '', brand: '', colour: '' });
    file.focus();
    changed();
  });
  suggestion.addEventListener('click', () => suggest(page.brand));

  // Anywhere on the preview's side a picture may be dropped.
  const target = document.querySelector('[data-page-drop]');
  for (const name of ['dragenter', 'dragover']) {
    target.addEventListener(name, (event) => {
      event.preventDefault();
      target.classList.add('is-over');
    });
  }
  target.addEventListener('dragleave', (event) => { if (!target.contains(event.relatedTarget)) target.classList.remove('is-over'); });
  target.addEventListener('drop', (event) => {
    event.preventDefault();
    target.classList.remove('is-over');
    take(event.dataTransfer.files[0], changed);
  });
  return { show, ground };
}
