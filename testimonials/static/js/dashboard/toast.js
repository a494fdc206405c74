// Messages at the end of the page, with a button to undo if possible.

const strip = document.querySelector('[data-toasts]');
const template = document.getElementById('toast-template');
let timer = 0;

document.addEventListener('click', (event) => {
  event.target.closest?.('[data-toast-close]')?.closest('[data-toast]').remove();
});

// Show a message for ten seconds, replacing the last one, and return it; with a form to undo if
// `hasUndo`.
export function showToast(text, hasUndo = false) {
  const toast = template.content.firstElementChild.cloneNode(true);
  toast.querySelector('[data-toast-text]').textContent = text;
  if (!hasUndo) toast.querySelector('[data-undo]').remove();
  // Undo must not vanish under the pointer.
  const close = () => { if (!toast.matches(':hover, :focus-within')) toast.remove(); };
  const wait = () => { clearTimeout(timer); timer = setTimeout(close, 10000); };
  for (const name of ['mouseenter', 'focusin']) toast.addEventListener(name, () => clearTimeout(timer));
  for (const name of ['mouseleave', 'focusout']) toast.addEventListener(name, wait);
  strip.replaceChildren(toast);
  wait();
  return toast;
}
