// Cards move at once, by dragging, keys and buttons, and the draft follows. Without this file the
// buttons are plain forms.
import { announce, Failure, fill, post, send } from '../../post.js';
import { showToast } from '../toast.js';
import { drag, moveTo, placeOf } from '../dragging.js';
import { parse } from '../pages.js';

const SLIDE_MS = 200;
const STEPS = { up: -1, down: 1, ArrowUp: -1, ArrowDown: 1 };
// Changes are sent one after another, so that the last order stays.
let saving = Promise.resolve();

// Animate the items that a change moves.
function slide(form, change) {
  const before = [...form.querySelectorAll('li')].map((item) => [item, item.getBoundingClientRect().top]);
  change();
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  for (const [item, top] of before) {
    const by = top - item.getBoundingClientRect().top;
    if (by && item.isConnected) item.animate({ transform: [`translateY(${by}px)`, 'none'] }, { duration: SLIDE_MS, easing: 'ease-out' });
  }
}

function start(root) {
  const form = root.querySelector('form[data-order]');
  if (!form) return;
  const words = form.dataset;
  const first = form.querySelector('[data-first]');
  const others = form.querySelector('[data-others]');
  let kept = [[...first.children], [...others.children]];

  function keep(values) {
    const wanted = [[...first.children], [...others.children]];
    const body = new URLSearchParams(values);
    saving = saving.then(() => post(form.action, body)).then((detail) => {
      kept = wanted;
      document.dispatchEvent(new CustomEvent('draft', { detail }));
    }).catch((failure) => {
      if (!(failure instanceof Failure)) throw failure;
      slide(form, () => [first, others].forEach((list, place) => list.replaceChildren(...kept[place])));
      showToast(fill(words.sayFailed, { reason: failure.message }));
    });
  }

  const tell = (item) => announce(fill(words.sayPlace, { name: item.dataset.name, place: placeOf(item) + 1, count: first.children.length }));
  const arrange = (item) => {
    tell(item);
    keep([...first.children].map(({ dataset }) => ['ids', dataset.id]));
  };

  function step(item, by) {
    const place = placeOf(item) + by;
    if (!first.children[place]) return;
    slide(form, () => moveTo(item, place));
    item.scrollIntoView({ block: 'nearest' });
    arrange(item);
  }

  function press(button, by) {
    step(button.closest('li'), by);
    // At an end of the list the button is hidden.
    if (getComputedStyle(button).visibility === 'hidden') button.parentElement.querySelector(`[name="${by < 0 ? 'down' : 'up'}"]`).focus();
  }

  function focusNext(item, list, name) {
    const next = item.nextElementSibling ?? item.previousElementSibling;
    return () => (next?.querySelector(`[name="${name}"]`) ?? form.querySelector(`#${list.getAttribute('aria-labelledby')}`)).focus();
  }

  function add(item) {
    const goOn = focusNext(item, others, 'add');
    slide(form, () => first.append(item));
    goOn();
    tell(item);
    keep({ add: item.dataset.id });
  }

  function remove(item) {
    const goOn = focusNext(item, first, 'remove');
    const { id, name, rank } = item.dataset;
    // What isn't approved is not among the others.
    slide(form, () => {
      if (rank) others.insertBefore(item, [...others.children].find((each) => each.dataset.rank < rank) ?? null);
      else item.remove();
    });
    goOn();
    announce(fill(words.sayRemoved, { name }));
    keep({ remove: id });
  }

  async function showOlder(link) {
    const answer = await send(link.href, undefined, { method: 'GET', accept: 'text/html' });
    const page = await parse(answer);
    const found = page.querySelectorAll('[data-others] > li');
    const isHere = ({ dataset }) => form.querySelector(`[data-id="${dataset.id}"]`);
    others.append(...[...found].filter((item) => !isHere(item)));
    kept[1] = [...others.children];
    const next = page.querySelector('[data-older]');
    if (next) link.href = next.href;
    else link.remove();
    form.querySelector(`[name="add"][value="${found[0]?.dataset.id}"]`)?.focus();
  }

  form.addEventListener('submit', (event) => {
    const button = event.submitter;
    const item = button?.closest('li');
    if (!item) return;
    event.preventDefault();
    if (button.name === 'add') add(item);
    else if (button.name === 'remove') remove(item);
    else press(button, STEPS[button.name]);
  });
  form.addEventListener('click', (event) => {
    const link = event.target.closest('[data-older]');
    if (!link) return;
    event.preventDefault();
    showOlder(link).catch((failure) => showToast(failure.message));
  });
  form.addEventListener('keydown', (event) => {
    const handle = event.target.closest('[data-handle]');
    if (!handle || !STEPS[event.key]) return;
    event.preventDefault();
    step(handle.closest('li'), STEPS[event.key]);
  });
  form.addEventListener('pointerdown', (event) => {
    const handle = event.target.closest('[data-handle]');
    if (!handle || event.button !== 0) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    const item = handle.closest('li');
    drag(item, handle, event, () => arrange(item));
  });
}

document.addEventListener('dialog', ({ detail }) => start(detail));
start(document);
