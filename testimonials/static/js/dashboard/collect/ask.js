// Addresses become chips, which the server checks and which show what is wrong. They fill in the
// form's field when it is sent.
import { Failure, announce, fill, post, send, showProblem } from '../../post.js';
import { makeChips } from '../chips.js';
import { count } from '../counted.js';
import { openSheet, read, show } from '../dialog.js';
import { takeFile } from '../dropping.js';

const form = document.querySelector('[data-ask]');
const HEAD = 'email,name,company,order';

function make(name, className, text = '') {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

function start() {
  const field = form.querySelector('[data-people]');
  const box = form.querySelector('[data-chips]');
  const list = box.querySelector('ul');
  const button = form.querySelector('[data-send]');
  const problem = form.querySelector('[data-problem]');
  const input = make('input', 'chips-input');
  const place = make('li', 'chips-last');
  let mayLeave = false;
  Object.assign(input, { type: 'text', inputMode: 'email', autocomplete: 'off', spellcheck: false, id: field.id });
  input.setAttribute('autocapitalize', 'none');
  input.setAttribute('aria-describedby', field.getAttribute('aria-describedby'));
  if (field.hasAttribute('aria-invalid')) input.setAttribute('aria-invalid', 'true');
  field.id = '';
  field.hidden = true;
  place.append(input);
  list.append(place);
  box.hidden = false;

  const chips = makeChips(list, input, box.dataset.remove, refresh);
  const good = () => chips.all().filter((chip) => chip.dataset.table);
  function refresh() {
    const number = good().length;
    button.textContent = number ? count(button, 'say', number) : button.dataset.sayNone;
    form.dispatchEvent(new CustomEvent('asked', { detail: good()[0]?.dataset }));
  }

  function draw(person) {
    const chip = make('li', `chip${person.is_wrong ? ' is-wrong' : person.reason ? ' is-out' : ''}`);
    if (person.email) {
      const face = make('span', `portrait who-${person.colour}`);
      face.setAttribute('aria-hidden', 'true');
      face.append(make('span', '', person.initials));
      chip.append(face);
      chip.title = person.email;
      Object.assign(chip.dataset, { email: person.email, name: person.name });
      if (!person.reason) chip.dataset.table = person.table;
    }
    const name = make('bdi', '', person.text);
    chip.append(name);
    if (person.reason) chip.append(make('span', 'chip-reason', person.reason));
    chips.add(chip, person.text);
  }

  // Let the server read what was typed or pasted, and say how many people can be asked.
  let reading = null;
  function add(text) {
    reading = check(text).finally(() => { reading = null; });
    return reading;
  }
  async function check(text) {
    if (!text.trim()) return true;
    showProblem(problem, '', input);
    box.setAttribute('aria-busy', 'true');
    try {
      const { people } = await post(box.closest('form').dataset.check, new URLSearchParams({ people: text }));
      const known = new Set(chips.all().map((chip) => chip.dataset.email).filter(Boolean));
      const fresh = people.filter(({ email }) => !known.has(email));
      fresh.forEach(draw);
      const wrong = fresh.filter(({ is_wrong }) => is_wrong).length;
      announce([count(box, 'added', fresh.length - wrong), wrong && count(box, 'wrong', wrong)].filter(Boolean).join(', '));
      refresh();
      return !wrong;
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      const words = Object.values(failure.errors ?? {}).flat().join(' ') || failure.message;
      if (!input.value) input.value = text.replace(/\s*\n\s*/g, ', ');
      showProblem(problem, words, input);
      return false;
    } finally {
      box.removeAttribute('aria-busy');
    }
  }
  const take = () => {
    const text = input.value;
    input.value = '';
    return add(text);
  };

  input.addEventListener('keydown', (event) => {
    if (event.isComposing || event.key !== 'Enter' || !input.value.trim()) return;
    event.preventDefault();
    take();
  });
  // Keyboards of phones send no names of keys.
  input.addEventListener('input', () => { if (/@.*[,;]\s*$/.test(input.value)) take(); });
  input.addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text/plain');
    if (!/[@\n]/.test(text)) return;
    event.preventDefault();
    add(input.value + text);
    input.value = '';
  });
  input.addEventListener('blur', () => { if (input.value.includes('@')) take(); });
  box.addEventListener('click', (event) => { if (event.target === box || event.target === list) input.focus(); });

  // A file opens a dialog with its people, in which its columns can be chosen.
  async function open(file) {
    const look = async (columns) => {
      const body = new FormData();
      for (const [name, value] of columns) body.append(name, value);
      body.append('file', file);
      const answer = await send(form.dataset.file, body, { wait: 0 });
      if (answer.ok && !answer.redirected) return read(answer);
      const said = await answer.json().catch(() => ({}));
      throw new Failure('refused', Object.values(said.errors ?? {}).flat().join(' ') || said.message || '');
    };
    showProblem(problem, '');
    let dialog;
    try {
      dialog = await openSheet(await look([]), input);
    } catch (failure) {
      showProblem(problem, failure.message, input);
      return;
    }
    dialog.addEventListener('change', async ({ target }) => {
      if (!target.matches('[data-column]')) return;
      try {
        await show(dialog, await look(new FormData(target.form)));
      } catch (failure) {
        announce(failure.message);
      }
      dialog.querySelector(`#${target.id}`)?.focus();
    });
    dialog.addEventListener('submit', (event) => {
      event.preventDefault();
      const { value } = dialog.querySelector('[data-table]');
      dialog.close();
      add(value);
    });
  }
  takeFile(form.querySelector('[data-file-input]'), form, open, box);

  form.addEventListener('submit', async (event) => {
    field.value = good().length ? [HEAD, ...good().map((chip) => chip.dataset.table)].join('\n') : '';
    if (mayLeave || !(reading || input.value.trim())) return;
    event.preventDefault();
    if (await (reading ?? take())) {
      mayLeave = true;
      form.requestSubmit(button);
    }
  });

  // When the emails are sent, as a sentence.
  const when = form.querySelector('[data-when]');
  const { wait, reminder } = form.elements;
  const tell = () => {
    const words = when.dataset[reminder.value === 'never' ? 'sayNever' : `say-${reminder.value}`] ?? when.getAttribute(`data-say-${reminder.value}`);
    when.textContent = fill(words, { when: wait.selectedOptions[0].text });
  };
  form.addEventListener('change', tell);
  tell();

  button.hidden = false;
  form.querySelector('[data-preview]').remove();
  const typed = field.value;
  field.value = '';
  refresh();
  if (typed.trim()) add(typed);
}
if (form) start();
