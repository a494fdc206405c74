// A link with data-dialog opens the [data-sheet] of its page in a dialog. Without this file it opens
// the page. Forms in the dialog are sent by the script: errors are shown in the dialog, and success
// redirects as the server says.
import { offerCopies } from '../copy.js';
import { Failure, announce, send } from '../post.js';
import { parse } from './pages.js';
import { showToast } from './toast.js';

const accept = 'text/html';
let asked = null;

export async function read(answer) {
  const page = await parse(answer);
  return { page, sheet: page.querySelector('[data-sheet]') };
}

// Load the styles that the sheet's page has and this one hasn't; return its scripts.
async function load(page) {
  const has = (kind, name, url) => [...document.querySelectorAll(kind)].some((each) => each[name] === url);
  const sheets = [...page.querySelectorAll('link[rel="stylesheet"]')].filter(({ href }) => !has('link', 'href', href));
  await Promise.all(sheets.map((link) => new Promise((done) => {
    const copy = document.createElement('link');
    Object.assign(copy, { rel: 'stylesheet', href: link.href, onload: done, onerror: done });
    document.head.append(copy);
  })));
  return [...page.querySelectorAll('script[type="module"][src]')].map(({ src }) => src).filter((src) => !has('script', 'src', src));
}

export async function show(dialog, { page, sheet }) {
  const scripts = await load(page);
  dialog.replaceChildren(document.importNode(sheet, true));
  dialog.classList.toggle('wide', dialog.firstElementChild.classList.contains('wide'));
  const title = dialog.querySelector('h1, h2');
  title.id ||= 'dialog-title';
  dialog.setAttribute('aria-labelledby', title.id);
  offerCopies(dialog);
  document.dispatchEvent(new CustomEvent('dialog', { detail: dialog }));
  // Before it opens, so that no key press is lost; without its script a sheet is a plain form.
  await Promise.all(scripts.map((src) => import(src).catch(() => {})));
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector('[aria-invalid="true"], [autofocus]') ?? title).focus();
}

export async function openDialog(url, opener = document.activeElement) {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  let found;
  try {
    const answer = await send(url, undefined, { method: 'GET', accept, signal });
    found = answer.ok ? await read(answer) : {};
  } catch (failure) {
    if (!signal.aborted && failure instanceof Failure) showToast(failure.message);
    return;
  }
  if (signal.aborted) return;
  if (found.sheet) await openSheet(found, opener);
  else location.assign(url);
}

// Open a sheet that was read, and return the dialog.
export async function openSheet(found, opener) {
  const dialog = document.createElement('dialog');
  dialog.className = 'over';
  dialog.addEventListener('close', () => {
    dialog.remove();
    opener?.focus?.();
  });
  // A click on the backdrop targets the dialog itself.
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  await show(dialog, found);
  return dialog;
}

async function submit(dialog, form, submitter) {
  const body = new FormData(form, submitter);
  const isFile = form.enctype === 'multipart/form-data';
  const button = submitter ?? form.querySelector('[type="submit"]');
  if (button) button.disabled = true;
  try {
    const answer = await send(submitter?.getAttribute('formaction') ?? form.getAttribute('action'),
      isFile ? body : new URLSearchParams(body), { accept, wait: isFile ? 0 : 15000 });
    if (answer.redirected) { location.assign(answer.url); return; }
    const found = await read(answer);
    if (found.sheet) await show(dialog, found);
    else throw new Failure('fault');
  } catch (failure) {
    announce(failure.message);
    showToast(failure.message);
  }
  if (button) button.disabled = false;
}

document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const dialog = event.target.closest('dialog.over');
  if (dialog && event.target.closest('[data-dialog-close]')) {
    event.preventDefault();
    dialog.close();
    return;
  }
  const link = event.target.closest('a[data-dialog]');
  if (!link) return;
  event.preventDefault();
  const menu = link.closest('details[data-menu]');
  if (menu) menu.open = false;
  openDialog(link.href, menu?.querySelector('summary') ?? link);
});
document.addEventListener('submit', (event) => {
  const form = event.target;
  const dialog = form.closest('dialog.over');
  const isOther = event.submitter?.formTarget || form.target || form.matches('[data-native], [data-autosave], [method="dialog"]');
  if (!dialog || event.defaultPrevented || form.method !== 'post' || isOther) return;
  event.preventDefault();
  submit(dialog, form, event.submitter);
});
