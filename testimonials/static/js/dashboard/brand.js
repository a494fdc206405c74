// The preview of the brand page follows the form: the name, the trade's texts, and the colors and fonts
// derived by the server.
import { follow } from './address.js';
import { readPage } from './pages.js';

const form = document.querySelector('[data-brand]');
const { elements } = form;
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets.push(sheet);
// The person's choices; the rest follows what they type.
const touched = new Set();

const chosen = () => (elements.color.value === 'another' ? elements.another.value : elements.color.value);
const bare = (address) => address.replace(/^https?:\/\//, '');

function showNames() {
  const name = elements.businessName.value.trim() || form.dataset.unnamed;
  for (const each of document.querySelectorAll('[data-brand-name]')) each.textContent = name;
}

function showLogo(url) {
  for (const place of document.querySelectorAll('.owner-name')) {
    const image = place.querySelector('img') ?? document.createElement('img');
    image.alt = '';
    image.src = url;
    place.prepend(image);
  }
}

// Only the response to the last request is shown.
let latest = 0;
async function showColors() {
  const number = latest += 1;
  const font = elements.font.value === 'site' ? form.dataset.typeface : elements.font.value;
  const query = new URLSearchParams({ color: chosen(), font });
  const answer = await fetch(`${form.dataset.brand}?${query}`).catch(() => null);
  const styles = answer?.ok ? await answer.text() : '';
  if (styles && number === latest) sheet.replaceSync(styles);
}

// Until a color is chosen, it is the trade's, which replaces that of the previous trade.
function showTrade() {
  const cards = document.querySelector(`template[data-trade="${elements.trade.value}"]`).content;
  document.querySelector('.stage-cards').replaceChildren(cards.cloneNode(true));
  showNames();
  const radio = form.querySelector('[name="color"]:checked');
  const trades = [...elements.trade.options].map((option) => option.dataset.color);
  if (touched.has('color') || form.querySelector('[data-kept]') || !trades.includes(radio.value)) return;
  const color = elements.trade.selectedOptions[0].dataset.color;
  const other = form.querySelector(`[name="color"][value="${color}"]`);
  if (other) {
    other.checked = true;
  } else {
    radio.value = color;
    radio.parentElement.title = color;
    radio.nextElementSibling.textContent = color;
    radio.parentElement.querySelector('circle').setAttribute('fill', color);
  }
  showColors();
}

// The trade that the server guesses from a name, along with the address.
form.addEventListener('named', ({ detail: { trade } }) => {
  if (!trade || touched.has('trade') || trade === elements.trade.value) return;
  elements.trade.value = trade;
  showTrade();
});

form.addEventListener('input', ({ target }) => {
  touched.add(target.name === 'another' ? 'color' : target.name);
  if (target.name === 'businessName') {
    showNames();
  } else if (target.name === 'website') {
    document.querySelector('[data-brand-site]').textContent = bare(target.value);
  } else if (target.name === 'trade') {
    showTrade();
  } else if (target.name === 'picture') {
    showLogo(target.nextElementSibling.src);
  } else if (target.type === 'file' && target.files[0]) {
    const reader = new FileReader();
    reader.addEventListener('load', () => showLogo(reader.result));
    reader.readAsDataURL(target.files[0]);
  } else if (['color', 'another', 'font'].includes(target.name)) {
    showColors();
  }
});
showNames();

// For a few seconds, values read from the website fill in untouched fields.
const isFree = (name) => !touched.has(name) && document.activeElement?.name !== name;
function fill(page) {
  const now = page.querySelector('[data-brand]').elements;
  document.querySelector('[data-lead]').replaceWith(page.querySelector('[data-lead]'));
  // The old styles stay until the new ones are loaded.
  document.querySelector('[data-tried]').after(page.querySelector('[data-tried]'));
  form.dataset.typeface = now.businessName.form.dataset.typeface;
  if (isFree('businessName')) elements.businessName.value = now.businessName.value;
  for (const [part, ...names] of [['logo', 'picture', 'logo'], ['color', 'color'], ['trade', 'trade']]) {
    if (names.every(isFree)) form.querySelector(`[data-part="${part}"]`).replaceWith(page.querySelector(`[data-part="${part}"]`));
  }
  const logo = form.querySelector('[name="picture"]:checked');
  if (logo) showLogo(logo.nextElementSibling.src);
  showTrade();
  showColors();
  follow(form, elements.businessName);
}
async function wait(left) {
  const page = await readPage(window.location.href);
  if (page?.querySelector('[data-brand]:not([data-reading])')) fill(page);
  else if (left) setTimeout(wait, 600, left - 1);
}
if ('reading' in form.dataset) setTimeout(wait, 600, 9);

// A new logo reloads the page.
document.addEventListener('saved', ({ target }) => {
  if (target.matches('[data-reload]')) window.location.reload();
});
