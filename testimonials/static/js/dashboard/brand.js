// The stage of the Brand screen follows the form: names as they are typed, colours and fonts as the
// server derives them.
const form = document.querySelector('[data-brand]');
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets.push(sheet);

const chosen = () => {
  const { value } = form.elements.color;
  return value === 'another' ? form.elements.another.value : value;
};

// The last answer that was asked for is the one that shows.
let latest = 0;
async function show() {
  const number = latest += 1;
  const query = new URLSearchParams({ color: chosen(), font: form.elements.font.value });
  const answer = await fetch(`${form.dataset.brand}?${query}`).catch(() => null);
  const styles = answer?.ok ? await answer.text() : '';
  if (styles && number === latest) sheet.replaceSync(styles);
}

form.addEventListener('input', ({ target }) => {
  if (target.name === 'businessName') {
    for (const each of document.querySelectorAll('[data-brand-name]')) each.textContent = target.value;
  } else if (target.name === 'website') {
    document.querySelector('[data-brand-site]').textContent = target.value.replace(/^https?:\/\//, '');
  } else {
    show();
  }
});
// Other words and another logo come with the page.
document.addEventListener('saved', ({ target }) => {
  if (target.matches('[data-reload]') || target.elements?.trade?.value !== trade) window.location.reload();
});
const trade = form.elements.trade.value;
