// The collection page is a plain form; this file adds the counter, Clear, a draft that survives a
// closed tab, and a retry when the network fails.
import { Failure, announce, send, showProblem } from '../post.js';
import { forget, recall, remember } from '../storage.js';
import { setUpOpening } from './opening.js';
import { setUpRecord } from './record.js';

const DRAFT_DAYS = 14;
const WAIT_MS = 20000;
// A photo takes time on a slow connection: the timeout assumes this many bytes a second.
const SLOWEST = 16000;
const KEPT = ['text', 'name', 'email', 'role', 'company'];
const draftKey = (slug) => `testimonials-draft:${slug}`;

// What isn't needed to begin is loaded once the page is shown, so it doesn't delay that.
const loaded = new Promise((resolve) => {
  if (document.readyState === 'complete') resolve();
  else addEventListener('load', resolve, { once: true });
});

const sent = document.querySelector('[data-sent]');
if (sent) forget(draftKey(sent.dataset.sent));

function readDraft(key) {
  try {
    const draft = JSON.parse(recall(key));
    return Date.now() - draft?.at < DRAFT_DAYS * 864e5 ? draft.values ?? null : null;
  } catch {
    return null;
  }
}

function setUp(form) {
  const key = draftKey(form.dataset.draft);
  const find = (selector) => form.querySelector(selector);
  // The page contains the texts in the visitor's language.
  const say = form.dataset;
  const number = new Intl.NumberFormat(document.documentElement.lang, { numberingSystem: 'latn', useGrouping: 'min2' });
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? number.format(values[name]) : all));
  const rating = () => find('[name="rating"]:checked');

  // Letters are counted by code points after trimming, as the server does.
  const counters = [...form.querySelectorAll('[data-limit]')].map((field) => {
    const out = document.getElementById(`${field.id}-count`);
    const limit = Number(field.dataset.limit);
    return () => {
      const length = [...field.value.replace(/\r\n?/g, '\n').trim()].length;
      out.hidden = length < limit * 0.8;
      out.classList.toggle('over', length > limit);
      out.textContent = length > limit
        ? fill(say.sayOver, { over: length - limit, count: length, limit })
        : fill(say.sayCounter, { count: length, limit });
    };
  });
  const count = () => counters.forEach((update) => update());

  let show = () => {};
  const { open, showClear } = setUpOpening(form, { onClear: () => { save(); show(); } });

  let timer = 0;
  const save = () => {
    const values = Object.fromEntries(KEPT.map((name) => [name, form.elements[name]?.value ?? '']));
    values.rating = rating()?.value ?? '';
    // The answers to the owner's own questions.
    for (const field of form.querySelectorAll('[data-kept]')) {
      if (field.type === 'radio' || field.type === 'checkbox' ? field.checked : field.value) (values[field.name] ||= []).push(field.value);
    }
    if (Object.values(values).some(Boolean)) remember(key, JSON.stringify({ values, at: Date.now() }));
    else forget(key);
  };
  form.addEventListener('input', () => {
    count();
    clearTimeout(timer);
    timer = setTimeout(save, 300);
  });
  addEventListener('pagehide', () => { if (timer) save(); });

  // What the server sends back after rejecting the form is newer than any draft.
  const draft = 'refused' in form.dataset ? null : readDraft(key);
  if (draft) {
    let restored = false;
    for (const name of KEPT) {
      const field = form.elements[name];
      // The draft replaces what a link filled in, but not what was just typed.
      const isUntouched = field && field.value === field.defaultValue;
      if (isUntouched && draft[name] && draft[name] !== field.value) { field.value = draft[name]; restored = true; }
    }
    const star = draft.rating && find(`[name="rating"][value="${CSS.escape(draft.rating)}"]`);
    if (star && !star.checked && (!rating() || rating().defaultChecked)) { star.checked = true; restored = true; }
    for (const field of form.querySelectorAll('[data-kept]')) {
      const kept = draft[field.name] ?? [];
      const isTicked = field.type === 'radio' || field.type === 'checkbox';
      if (isTicked) field.checked ||= kept.includes(field.value);
      else if (!field.value && kept[0]) field.value = kept[0];
    }
    if (restored) open();
    const note = find('[data-draft-note]');
    note.hidden = !restored;
    find('[data-draft-clear]').addEventListener('click', () => {
      for (const name of KEPT) if (form.elements[name]) form.elements[name].value = form.elements[name].defaultValue;
      for (const each of form.querySelectorAll('[name="rating"], [data-kept]')) {
        if (each.type === 'radio' || each.type === 'checkbox') each.checked = each.defaultChecked;
        else each.value = each.defaultValue;
      }
      clearTimeout(timer);
      timer = 0;
      forget(key);
      note.hidden = true;
      count();
      showClear();
      show();
      form.elements.text.focus();
    });
  }
  count();
  showClear();

  const photoField = find('[data-photo]');
  let photo = null;
  // The form works without any of these.
  const load = (isThere, get, use) => {
    if (isThere) loaded.then(get).then(use).catch(() => { /* Plain fields stay. */ });
  };
  load(find('[data-look]'), () => import('./look.js'), (module) => { show = module.setUpLook(form); });
  load(find('[data-prompts]'), () => import('./prompts.js'), (module) => module.setUpPrompts(form));
  load(photoField, () => import('./photo.js'), (module) => { photo = module.setUpPhoto(photoField); });
  load(find('[data-error-summary]'), () => import('../mend.js'));

  // Null if the page takes no recordings.
  const record = setUpRecord(form);
  const button = find('[data-send]');
  const failure = find('[data-failure]');
  let label = button.textContent;
  form.addEventListener('kind', ({ detail: kind }) => { button.textContent = label = button.dataset[kind] ?? label; });
  let busy = false;
  // The button pressed last; Retry presses it again.
  let pressed = null;

  const rest = () => {
    busy = false;
    button.textContent = label;
    button.removeAttribute('aria-disabled');
    announce('');
  };
  const fail = (text) => {
    // The notice is an alert above the button, whose label says what it does now.
    label = say.sayAgain;
    rest();
    showProblem(failure, text);
    button.focus();
  };
  const pack = () => {
    const data = new FormData(form);
    if (pressed?.name) data.append(pressed.name, pressed.value);
    return form.enctype === 'multipart/form-data' ? data : new URLSearchParams(data);
  };

  // Show the page that the server answered with: the thank-you page, or this form with errors.
  async function take(answer) {
    const text = await answer.text();
    if (answer.ok && answer.redirected) {
      forget(key);
      await record?.forget();
      location.assign(answer.url);
      return;
    }
    await record?.end();
    const fresh = new DOMParser().parseFromString(text, 'text/html');
    const next = fresh.querySelector('[data-collection]');
    if (next && [200, 400, 404, 422, 507].includes(answer.status)) {
      document.title = fresh.title;
      const adopted = document.adoptNode(next);
      form.replaceWith(adopted);
      setUp(adopted);
      adopted.querySelector('[data-error-summary]')?.focus();
      return;
    }
    const isLargePhoto = form.elements.photo?.files?.length;
    if (answer.status === 413) fail(isLargePhoto ? photoField.dataset.sayLarge : say.sayLarge);
    else fail(answer.status === 429 ? say.sayMany : say.sayFault);
  }

  async function submit() {
    // A double click, or Enter and a click, must not send the form twice.
    if (busy) return;
    busy = true;
    failure.hidden = true;
    button.textContent = say.saySending;
    button.setAttribute('aria-disabled', 'true');
    announce(say.saySending);
    clearTimeout(timer);
    timer = 0;
    save();
    try {
      await photo?.ready();
      await record?.ready();
      const bytes = form.elements.photo?.files?.[0]?.size ?? 0;
      await take(await send(form.action, pack(), { accept: 'text/html', wait: WAIT_MS + bytes / SLOWEST * 1000 }));
    } catch (error) {
      await record?.end();
      if (error.reason === 'stopped') return rest();
      if (error.reason === 'refused') return fail(error.message || say.sayFault);
      fail(error instanceof Failure && error.reason === 'offline' ? say.sayOffline : say.sayLost);
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!busy) pressed = event.submitter;
    submit();
  });
  // A page restored from the back/forward cache must not stay busy.
  addEventListener('pageshow', (event) => { if (event.persisted) rest(); });
}

const form = document.querySelector('[data-collection]');
if (form) setUp(form);
