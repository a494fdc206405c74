// Questions, steps and the lists within them: adding, ordering, deleting, and the heads of cards.
import { announce, fill } from '../../post.js';
import { showToast } from '../toast.js';
import { startHandle, step } from './movable.js';

// Texts of the heads, in the page's language.
const words = document.querySelector('[data-editor]')?.dataset ?? {};
const GLYPHS = { link: 'external', code: 'gift' };

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => (byte % 36).toString(36)).join('');

// A copy of an empty card, with a new id.
function copy(card) {
  const made = card.cloneNode(true);
  const { item } = card.dataset;
  const id = newId();
  for (const each of [made, ...made.querySelectorAll('*')]) {
    for (const { name, value } of [...each.attributes]) if (value.includes(item)) each.setAttribute(name, value.replace(item, id));
  }
  return made;
}

/* ------------------------------------------------------------ one card */

const field = (item, name) => item.querySelector(`[name="${item.dataset.item}-${name}"]:not([type="hidden"])`);
const kindOf = (item) => item.querySelector('[data-kind]:checked').value;
const text = (item, name) => field(item, name)?.value.trim() ?? '';
const isOn = (item, name) => Boolean(field(item, name)?.checked);

// Whether a card has what it needs to be stored.
export function isComplete(item) {
  const kind = kindOf(item);
  if (kind === 'link' || kind === 'code') return Boolean(text(item, 'title') && text(item, kind === 'link' ? 'url' : 'code'));
  const choices = [...item.querySelectorAll('[name$="-choices"]')].map((each) => each.value.trim()).filter(Boolean);
  return Boolean(text(item, 'text')) && (kind !== 'choice' || new Set(choices).size > 1);
}

function describe(item) {
  const kind = kindOf(item);
  if (kind === 'link') return isOn(item, 'copies') ? words.sayLinkCopies : words.sayLink;
  if (kind === 'code') {
    const until = field(item, 'until').valueAsDate;
    if (!until) return fill(words.sayCode, { code: text(item, 'code') });
    const language = document.documentElement.lang;
    // In the server's format.
    const day = until.toLocaleDateString(language === 'en' ? 'en-GB' : language, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
    return fill(words.sayCodeUntil, { code: text(item, 'code'), day });
  }
  const under = { text: words.sayText, choice: words.sayChoice, scale: words.sayScale, consent: words.sayConsent };
  return `${under[kind]} · ${isOn(item, 'isPublic') && kind !== 'consent' ? words.sayOnCard : words.sayOnlyYou}`;
}

function showHead(item) {
  const isStep = Boolean(field(item, 'title'));
  const title = text(item, isStep ? 'title' : 'text') || (isStep ? words.sayNewStep : words.sayNewQuestion);
  for (const place of item.querySelectorAll('[data-title]')) place.textContent = title;
  item.querySelector('[data-under]').textContent = describe(item);
  const kind = kindOf(item);
  item.querySelector('.item-icon use').setAttribute('href', `#i-${GLYPHS[kind] ?? kind}`);
}

/* ------------------------------------------- short lists of single lines */

function startOption(option, onChange) {
  const list = option.parentElement;
  const out = option.querySelector('[data-option-out]');
  out.hidden = false;
  if (option.querySelector('[data-handle]')) startHandle(option, () => { number(list); onChange(); });
  out.addEventListener('click', () => {
    const next = option.nextElementSibling ?? option.previousElementSibling;
    option.remove();
    (next?.querySelector('input') ?? addButton(list)).focus();
    showAdd(list);
    onChange();
  });
}

const addButton = (list) => list.parentElement.querySelector('[data-option-add]');

function showAdd(list) {
  addButton(list).hidden = list.children.length >= Number(list.dataset.most);
  number(list);
}

/* Names and labels contain the number of the line. */
function number(list) {
  const name = list.dataset.options;
  for (const [at, option] of [...list.children].entries()) {
    Object.assign(option.querySelector('input'), { name, id: `editor-${name}-${at + 1}` });
    for (const place of option.querySelectorAll('[data-number]')) place.textContent = at + 1;
  }
}

function startOptions(root, onChange) {
  for (const list of root.querySelectorAll('[data-options]')) {
    // Empty lines are for pages without a script; a new card keeps two.
    const isNew = ![...list.querySelectorAll('input')].some((each) => each.value);
    for (const option of [...list.children]) {
      if (!isNew && !option.querySelector('input').value) option.remove();
      else startOption(option, onChange);
    }
    if (isNew && !list.closest('[data-item]')) list.replaceChildren();
    showAdd(list);
    addButton(list).addEventListener('click', () => {
      const option = list.parentElement.querySelector('template[data-option]').content.firstElementChild.cloneNode(true);
      list.append(option);
      startOption(option, onChange);
      option.querySelector('input').focus();
      showAdd(list);
    });
  }
}

/* ----------------------------------------------------------- all of them */

// Start the cards and short lists of a form; `onChange` is called after each change other than typing.
export function startItems(form, onChange) {
  form.addEventListener('input', (event) => {
    const item = event.target.closest('[data-item]');
    if (item) showHead(item);
  });
  const hints = form.querySelector('[data-part="text"]');
  if (hints) startOptions(hints, onChange);
  for (const list of form.querySelectorAll('[data-items]')) startList(list, onChange);
}

function startList(list, onChange) {
  const add = list.parentElement.querySelector('[data-add]');
  const empty = list.querySelector('[data-new]');
  empty.remove();
  delete empty.dataset.new;

  function refresh() {
    const items = [...list.children];
    add.hidden = items.length >= Number(list.dataset.most);
    items.forEach((item, place) => {
      for (const button of item.querySelectorAll('[data-move]')) {
        button.setAttribute('aria-disabled', String(!items[place + Number(button.dataset.move)]));
      }
    });
  }
  const moved = () => { refresh(); onChange(); };

  function startItem(item) {
    startHandle(item, moved);
    startOptions(item, onChange);
    for (const button of item.querySelectorAll('[data-move]')) {
      button.addEventListener('click', (event) => {
        event.preventDefault();
        if (step(item, Number(button.dataset.move))) moved();
        button.focus();
      });
    }
    item.querySelector('[data-delete]').addEventListener('click', (event) => {
      event.preventDefault();
      remove(item);
    });
  }

  function remove(item) {
    const after = item.nextElementSibling;
    const title = item.querySelector('[data-title]').textContent;
    const kept = item.querySelector('[data-kept]')?.textContent;
    const nearest = after ?? item.previousElementSibling;
    item.remove();
    moved();
    (nearest?.querySelector('summary') ?? add).focus();
    const toast = showToast(`${fill(words.sayDeleted, { title })}${kept ? ` ${kept[0].toUpperCase()}${kept.slice(1)}.` : ''}`, true);
    toast.querySelector('[data-undo]').addEventListener('submit', (event) => {
      event.preventDefault();
      event.stopPropagation();
      list.insertBefore(item, after?.isConnected ? after : null);
      toast.remove();
      moved();
      item.querySelector('summary').focus();
      announce(words.sayBackAgain);
    });
  }

  add.addEventListener('click', () => {
    const item = copy(empty);
    list.append(item);
    startItem(item);
    refresh();
    item.querySelector('details').open = true;
    item.querySelector('.item-body input:not([type="radio"])').focus();
  });
  for (const item of list.children) startItem(item);
  refresh();
}
