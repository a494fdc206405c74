// The claim form works without this file; it adds Show and a live length check.
// Browsers that know autofocus on any element focus the summary by themselves.
if (!('autofocus' in HTMLElement.prototype)) document.querySelector('[data-error-summary]')?.focus();

const password = document.querySelector('[data-password]');
if (password) {
  const least = password.minLength;
  const hint = document.querySelector('[data-hint]');
  const rest = hint.textContent;
  const tick = document.querySelector('[data-tick]');
  const announce = document.querySelector('[data-announce]');
  const show = document.querySelector('[data-show]');
  let enough = false;

  show.hidden = false;
  show.addEventListener('click', () => {
    const visible = password.type === 'password';
    password.type = visible ? 'text' : 'password';
    show.setAttribute('aria-pressed', String(visible));
    show.querySelector('[data-show-label]').textContent = visible ? 'Hide' : 'Show';
  });
  // A password that is left readable could be stored by the browser as plain form history.
  password.form.addEventListener('submit', () => { password.type = 'password'; });

  const check = () => {
    const length = [...password.value].length;
    const isEnough = length >= least;
    hint.classList.toggle('ok', isEnough);
    hint.textContent = !length ? rest : isEnough
      ? `${length} characters, long enough`
      : `${length} of at least ${least} characters`;
    if (isEnough) hint.prepend(tick.content.cloneNode(true));
    // Only the change is spoken; a count after each key would drown everything else.
    if (isEnough !== enough) announce.textContent = isEnough ? 'Long enough' : '';
    enough = isEnough;
  };
  password.addEventListener('input', check);
  if (password.value) check();
}
