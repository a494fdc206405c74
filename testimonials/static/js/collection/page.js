// The collection page is a plain form; this file adds the counter, Clear, a
// draft that survives a closed tab, and a way on when the network fails.
const draftKey = (slug) => `testimonials-draft:${slug}`;
const kept = ['text', 'name', 'email', 'role', 'company'];
const waitMs = 20000;
// A photo takes time on a slow line: so many bytes a second are waited for.
const slowest = 16000;
const draftDays = 14;

// Storage may be full or switched off; the form must not care.
const store = {
  read(key) { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
  write(key, value) { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* no draft then */ } },
  drop(key) { try { localStorage.removeItem(key); } catch { /* nothing to drop */ } },
};

// Browsers that know autofocus on any element have moved the focus by themselves.
const autofocuses = 'autofocus' in HTMLElement.prototype;

const sent = document.querySelector('[data-sent]');
if (sent) {
  store.drop(draftKey(sent.dataset.sent));
  if (!autofocuses) document.querySelector('h1')?.focus();
}

function setUp(form, isFirst = false) {
  const key = draftKey(form.dataset.slug);
  const find = (selector) => form.querySelector(selector);
  // The page brings its texts along in the visitor's language.
  const say = form.dataset;
  const number = new Intl.NumberFormat(document.documentElement.lang, { numberingSystem: 'latn', useGrouping: 'min2' });
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? number.format(values[name]) : all));
  const rating = () => find('[name="rating"]:checked');


  if (!isFirst || !autofocuses) find('[data-error-summary]')?.focus();

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

  const clear = find('[data-rating-clear]');
  const showClear = () => { if (clear) clear.hidden = !rating(); };
  clear?.addEventListener('click', () => {
    const checked = rating();
    if (checked) checked.checked = false;
    showClear();
    save();
    find('[name="rating"]').focus();
  });

  let timer = 0;
  const save = () => {
    const values = Object.fromEntries(kept.map((name) => [name, form.elements[name]?.value ?? '']));
    values.rating = rating()?.value ?? '';
    if (Object.values(values).some(Boolean)) store.write(key, { values, at: Date.now() });
    else store.drop(key);
  };
  form.addEventListener('input', () => {
    count();
    showClear();
    clearTimeout(timer);
    timer = setTimeout(save, 300);
  });
  addEventListener('pagehide', () => { if (timer) save(); });

  // What the server sent back after a refusal is newer than any draft.
  const draft = 'refused' in form.dataset ? null : store.read(key);
  if (draft?.values && Date.now() - draft.at < draftDays * 864e5) {
    let restored = false;
    for (const name of kept) {
      const field = form.elements[name];
      // What a link filled in gives way to what was written; what was just written does not.
      const isUntouched = field && field.value === field.defaultValue;
      if (isUntouched && draft.values[name] && draft.values[name] !== field.value) { field.value = draft.values[name]; restored = true; }
    }
    const star = draft.values.rating && find(`[name="rating"][value="${CSS.escape(draft.values.rating)}"]`);
    if (star && !star.checked && (!rating() || rating().defaultChecked)) { star.checked = true; restored = true; }
    const note = find('[data-draft-note]');
    note.hidden = !restored;
    find('[data-draft-clear]').addEventListener('click', () => {
      for (const name of kept) if (form.elements[name]) form.elements[name].value = form.elements[name].defaultValue;
      for (const each of form.querySelectorAll('[name="rating"]')) each.checked = each.defaultChecked;
      clearTimeout(timer);
      timer = 0;
      store.drop(key);
      note.hidden = true;
      count();
      showClear();
      form.elements.text.focus();
    });
  }
  count();
  showClear();

  // The form works without it, as the browser's own file field does.
  const photoField = find('[data-photo]');
  let photo = null;
  if (photoField) {
    import('./photo.js').then((module) => {
      photo = module.setUpPhoto(photoField, (text) => { announce.textContent = text; });
    }).catch(() => { /* the plain field stays */ });
  }
  const hasFile = () => Boolean(form.elements.photo?.files?.length);

  const send = find('[data-send]');
  const failure = find('[data-failure]');
  const announce = find('[data-announce]');
  const label = send.textContent;
  let busy = false;

  const rest = () => {
    busy = false;
    send.textContent = label;
    send.removeAttribute('aria-disabled');
    announce.textContent = '';
  };
  const fail = (text) => {
    rest();
    find('[data-failure-text]').textContent = text;
    failure.hidden = false;
    failure.focus();
  };

  // The button that was pressed last; Retry presses it again.
  let pressed = null;
  const pack = async () => {
    await photo?.ready();
    const data = new FormData(form);
    if (pressed?.name) data.append(pressed.name, pressed.value);
    return form.enctype === 'multipart/form-data' ? data : new URLSearchParams(data);
  };

  async function submit() {
    // The second of a double click, or Enter plus click, finds the form busy.
    if (busy) return;
    busy = true;
    failure.hidden = true;
    send.textContent = say.saySending;
    send.setAttribute('aria-disabled', 'true');
    announce.textContent = say.saySending;
    clearTimeout(timer);
    timer = 0;
    save();
    const stop = new AbortController();
    let limit = 0;
    try {
      const body = await pack();
      const bytes = hasFile() ? form.elements.photo.files[0].size : 0;
      limit = setTimeout(() => stop.abort(), waitMs + bytes / slowest * 1000);
      const answer = await fetch(form.action, {
        method: 'POST',
        body,
        headers: { Accept: 'text/html' },
        signal: stop.signal,
      });
      const page = await answer.text();
      if (answer.ok && answer.redirected) {
        store.drop(key);
        location.assign(answer.url);
        return;
      }
      const fresh = new DOMParser().parseFromString(page, 'text/html');
      const next = fresh.querySelector('[data-collection]');
      if (next && (answer.ok || answer.status === 400 || answer.status === 422)) {
        document.title = fresh.title;
        const adopted = document.adoptNode(next);
        form.replaceWith(adopted);
        setUp(adopted);
        return;
      }
      if (answer.status === 413) fail(hasFile() ? photoField.dataset.sayLarge : say.sayLarge);
      else if (answer.status === 429) fail(say.sayMany);
      else fail(say.sayFault);
    } catch {
      fail(navigator.onLine === false ? say.sayOffline : say.sayLost);
    } finally {
      clearTimeout(limit);
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!busy) pressed = event.submitter;
    submit();
  });
  find('[data-retry]').addEventListener('click', () => submit());
  // A page that comes back from the browser's memory must not stay busy.
  addEventListener('pageshow', (event) => { if (event.persisted) rest(); });
}

const form = document.querySelector('[data-collection]');
if (form) setUp(form, true);
