// The inbox works without this file: every button is a plain form. With it a
// decision leaves at once, keys work, and Undo brings back what was decided.

const inbox = () => document.getElementById('inbox');
const rows = () => [...inbox().querySelectorAll('[data-item]')];
const list = () => inbox().querySelector('.inbox-list');
const picks = () => [...inbox().querySelectorAll('[data-pick]')];
const toasts = document.querySelector('[data-toasts]');
const plural = (count) => `${count} ${count === 1 ? 'testimonial' : 'testimonials'}`;
const STATUS = { approve: 'Approved', reject: 'Rejected' };

/* ---------------------------------------------------------- current row */

let current = null;

// Each row keeps its number, so that a refused decision puts it back in its place.
const number = () => rows().forEach((row, index) => { row.dataset.order = index; });

function setCurrent(row, focus = true) {
  if (current !== row) {
    current?.classList.remove('is-current');
    current = row;
    row?.classList.add('is-current');
  }
  if (!row || !focus) return;
  row.focus({ preventScroll: true });
  // A row taller than the window is read from its beginning.
  row.scrollIntoView({ block: row.offsetHeight > innerHeight * 0.7 ? 'start' : 'nearest' });
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(current);
  const next = at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step));
  setCurrent(all[next]);
}

/* ------------------------------------------------------------ selection */

let anchor = null;

function showSelection() {
  const head = inbox().querySelector('[data-bulk]');
  if (!head) return;
  const boxes = picks();
  const chosen = boxes.filter((box) => box.checked).length;
  const all = head.querySelector('[data-all]');
  if (all && chosen < boxes.length) all.checked = false;
  const count = all?.checked ? Number(list().dataset.total) : chosen;
  const master = head.querySelector('[data-master]');
  master.checked = chosen > 0 && chosen === boxes.length;
  master.indeterminate = chosen > 0 && chosen < boxes.length;
  head.classList.toggle('has-selection', chosen > 0);
  head.querySelector('[data-selected]').textContent = chosen ? `${count} selected` : '';
  head.querySelector('[data-rest]').hidden = chosen > 0;
  head.querySelector('[data-rest]').textContent = plural(Number(list().dataset.total));
  for (const place of head.querySelectorAll('[data-bulk-number]')) place.textContent = count || '';
}

function pick(row, isRange) {
  const box = row.querySelector('[data-pick]');
  const all = rows();
  const from = all.indexOf(anchor);
  if (isRange && from >= 0) {
    const to = all.indexOf(row);
    for (const each of all.slice(Math.min(from, to), Math.max(from, to) + 1)) each.querySelector('[data-pick]').checked = true;
  } else {
    box.checked = !box.checked;
  }
  anchor = row;
  showSelection();
}

/* ---------------------------------------------------------------- toast */

let timer = 0;

function say(text, notice = null, item = null) {
  const toast = document.getElementById('toast-template').content.firstElementChild.cloneNode(true);
  toast.querySelector('[data-toast-text]').textContent = text;
  const form = toast.querySelector('[data-undo]');
  if (notice?.undo_url) {
    form.setAttribute('action', notice.undo_url);
    form.querySelector('[name="undo"]').value = notice.undo_token ?? '';
    if (item) toast.dataset.backTo = item;
  } else {
    form.remove();
  }
  const wait = () => { clearTimeout(timer); timer = setTimeout(close, 10000); };
  // Someone who reaches for Undo must not see it vanish.
  const close = () => { if (!toast.matches(':hover, :focus-within')) toast.remove(); };
  for (const name of ['mouseenter', 'focusin']) toast.addEventListener(name, () => clearTimeout(timer));
  for (const name of ['mouseleave', 'focusout']) toast.addEventListener(name, wait);
  toasts.replaceChildren(toast);
  wait();
}

function showCounts(counts) {
  for (const [key, value] of Object.entries(counts ?? {})) {
    for (const place of document.querySelectorAll(`[data-count="${CSS.escape(key)}"]`)) {
      place.textContent = value;
      // The tab of the spam stands there only once there is some.
      if (value) place.closest('li')?.removeAttribute('hidden');
    }
    if (key !== 'pending') continue;
    for (const place of document.querySelectorAll('[data-pending]')) {
      place.hidden = !value;
      place.querySelector('[data-pending-number]').textContent = value;
    }
  }
}

/* ------------------------------------------------------------- requests */

// Resolves to the answer, or throws an Error whose message a person can read.
async function post(url, body) {
  let response;
  try {
    response = await fetch(url, { method: 'POST', body, headers: { Accept: 'application/json' }, keepalive: true, signal: AbortSignal.timeout?.(15000) });
  } catch (error) {
    throw new Error(error.name === 'TimeoutError'
      ? 'The server did not answer in time. Reload the page to see whether this was saved.'
      : 'The server can’t be reached, so nothing was changed. Try again when you are online.');
  }
  const isJson = response.headers.get('Content-Type')?.includes('json');
  const data = isJson ? await response.json().catch(() => ({})) : {};
  if (response.ok && data.ok) return data;
  if (response.redirected || response.status === 401) throw new Error('You are signed out, so nothing was changed. Sign in again, then decide.');
  throw new Error(data.message || 'Something went wrong on our side, and nothing was changed. Try again in a moment.');
}

// Decisions go one after another, so that the counts in the last answer are right.
const jobs = [];
const stale = new Set();
let running = null;

const idle = async () => { while (running) await running; };

function run() {
  running ??= (async () => {
    while (jobs.length) {
      jobs[0].isSent = true;
      await send(jobs[0]);
      jobs.shift();
    }
    // From here on idle() must not wait for this very promise.
    running = null;
    if (!rows().length && list()) await reload();
    else if (stale.size) await refresh();
  })();
}

async function send(job) {
  const { row, url, body, leaves, undo } = job;
  try {
    const data = await post(url, body);
    showCounts(data.counts);
    if (data.notice?.text) say(data.notice.text, data.notice, row.id);
    if (!leaves) stale.add(row.id);
  } catch (error) {
    undo();
    putBack(row, error.message);
  }
}

// What is decided but not yet sent when the page is left still goes out.
addEventListener('pagehide', () => {
  for (const job of jobs) if (!job.isSent) navigator.sendBeacon(job.url, job.body);
});

function putBack(row, message) {
  row.removeAttribute('aria-busy');
  if (!row.isConnected) {
    const after = rows().find((each) => Number(each.dataset.order) > Number(row.dataset.order));
    const parent = inbox().querySelector('.items');
    if (!parent) { say(message); return; }
    parent.insertBefore(row, after ?? null);
    changeTotal(1);
    // Focus fell back to the heading when the list ran empty.
    if (rows().length === 1) setCurrent(row);
  }
  const place = row.querySelector('[data-problem]');
  const text = document.createElement('p');
  text.setAttribute('role', 'alert');
  text.textContent = message;
  place.replaceChildren(text);
  place.hidden = false;
  showSelection();
}

function changeTotal(by) {
  if (list()) list().dataset.total = Math.max(0, Number(list().dataset.total) + by);
}

let lastDecision = -1000;

function decide(row, action) {
  const form = row.querySelector('[data-decide]');
  const button = form?.querySelector(`[name="action"][value="${action}"]`);
  if (!button || row.getAttribute('aria-busy') === 'true') return;
  const body = new URLSearchParams(new FormData(form));
  body.set('action', action);
  // In All a decided testimonial stays where it is, and a pin moves nothing away.
  const leaves = !/pin$/.test(action) && !(inbox().dataset.tab === 'all' && action in STATUS);
  const all = rows();
  const next = all[all.indexOf(row) + 1] ?? all[all.indexOf(row) - 1] ?? null;
  let undo = () => {};
  lastDecision = performance.now();
  row.querySelector('[data-problem]').hidden = true;
  if (leaves) {
    row.classList.remove('is-current');
    if (anchor === row) anchor = next;
    row.remove();
    changeTotal(-1);
    if (next) setCurrent(next); else document.querySelector('h1').focus({ preventScroll: true });
  } else {
    row.setAttribute('aria-busy', 'true');
    const mark = row.querySelector('[data-status]');
    if (action in STATUS) {
      const before = [mark.textContent, mark.className];
      mark.textContent = STATUS[action];
      mark.className = `mark status-${STATUS[action].toLowerCase()}`;
      undo = () => { [mark.textContent, mark.className] = before; };
      if (next) setCurrent(next);
    }
  }
  showSelection();
  // The attribute is read because form.action is the buttons of that name.
  jobs.push({ row, url: form.getAttribute('action'), body, leaves, undo });
  run();
}

/* --------------------------------------------------------------- reload */

async function page() {
  const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
  if (!response.ok || response.redirected) throw new Error(String(response.status));
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

// Rows that stayed are exchanged one by one, so that the selection and the place are kept.
async function refresh() {
  const ids = [...stale];
  stale.clear();
  const fresh = await page().catch(() => null);
  for (const id of ids) {
    const row = document.getElementById(id);
    if (!row) continue;
    row.removeAttribute('aria-busy');
    const next = fresh?.getElementById(id);
    if (!next) continue;
    const hadFocus = row.contains(document.activeElement);
    next.dataset.order = row.dataset.order;
    next.querySelector('[data-pick]').checked = row.querySelector('[data-pick]').checked;
    if (anchor === row) anchor = next;
    row.replaceWith(next);
    if (current === row) setCurrent(next, hadFocus);
  }
}

let round = 0;

async function reload(focusId = '') {
  const mine = ++round;
  const at = current ? rows().indexOf(current) : 0;
  let fresh;
  try {
    do {
      await idle();
      const next = await page();
      // Undo may have begun another one meanwhile, and this page may be from before it.
      if (mine !== round) return;
      fresh = next.getElementById('inbox');
      const pending = next.querySelector('[data-pending-number]');
      if (pending) showCounts({ pending: Number(pending.textContent) });
    } while (jobs.length);
  } catch { /* The whole page is the way out below. */ }
  if (mine !== round) return;
  if (!fresh) { location.reload(); return; }
  inbox().replaceWith(fresh);
  current = null;
  anchor = null;
  setUp();
  const all = rows();
  const row = (focusId && document.getElementById(focusId)) || all[Math.min(Math.max(at, 0), all.length - 1)];
  if (row) setCurrent(row); else inbox().querySelector('[data-empty]')?.focus();
}

async function undoLast(form) {
  const item = form.closest('[data-toast]').dataset.backTo;
  const body = new URLSearchParams(new FormData(form));
  form.querySelector('button').disabled = true;
  clearTimeout(timer);
  try {
    const data = await post(form.getAttribute('action'), body);
    showCounts(data.counts);
    say(data.notice?.text || 'Undone', data.notice?.undo_url ? data.notice : null);
    await reload(item);
  } catch (error) {
    say(error.message);
  }
}

/* ----------------------------------------------------------------- keys */

const STORE = 'testimonials-inbox-keys';
const dialog = document.getElementById('keys');
const keySwitch = document.querySelector('[data-keys-switch]');
let areKeysOn = true;
// Storage may be forbidden; then the switch holds for this page.
try { areKeysOn = localStorage.getItem(STORE) !== 'off'; } catch { /* see above */ }

function showKeys() {
  document.documentElement.dataset.keys = areKeysOn ? 'on' : 'off';
  keySwitch.checked = areKeysOn;
  keySwitch.closest('label').querySelector('strong').textContent = areKeysOn ? 'Keys are on' : 'Keys are off';
}
keySwitch.addEventListener('change', () => {
  areKeysOn = keySwitch.checked;
  try { localStorage.setItem(STORE, areKeysOn ? 'on' : 'off'); } catch { /* see above */ }
  showKeys();
});
document.querySelector('[data-keys-open]').addEventListener('click', () => dialog.showModal());
// A click beside the dialog lands on the dialog itself.
dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });

const isField = (element) => element.isContentEditable
  || element.matches?.('textarea, select, input:not([type="checkbox"], [type="radio"])');

// On a keyboard without Latin letters the key's place stands for its letter.
const letterOf = (event) => (!/^[ -~]/.test(event.key) && /^Key[A-Z]$/.test(event.code) ? event.code[3] : event.key).toLowerCase();

document.addEventListener('keydown', async (event) => {
  if (!areKeysOn || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (dialog.open || isField(event.target)) return;
  const key = letterOf(event);
  const row = current?.isConnected ? current : null;
  const link = row?.querySelector('[data-edit]');
  const todo = {
    j: () => move(1),
    k: () => move(-1),
    a: () => row && decide(row, 'approve'),
    r: () => row && decide(row, 'reject'),
    p: () => row && decide(row, row.querySelector('[data-pin]')?.value ?? 'pin'),
    s: () => row && decide(row, row.querySelector('[data-spam]')?.value ?? 'spam'),
    e: () => link && location.assign(link.href),
    x: () => row && pick(row, event.shiftKey),
    z: async () => {
      // The answer that brings Undo may still be on its way.
      await idle();
      toasts.querySelector('[data-undo] button:enabled')?.click();
    },
    '/': () => {
      inbox().querySelector('[data-filters]').open = true;
      inbox().querySelector('[data-search]').focus();
    },
    '?': () => dialog.showModal(),
  }[key];
  if (!todo) return;
  event.preventDefault();
  // A key held down must not decide about a whole list; moving may repeat.
  if (event.repeat && key !== 'j' && key !== 'k') return;
  todo();
});

/* --------------------------------------------------------------- events */

let byPointer = false;
document.addEventListener('pointerdown', () => { byPointer = true; }, true);
document.addEventListener('keydown', () => { byPointer = false; }, true);

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.matches('[data-decide]') && event.submitter?.name === 'action') {
    event.preventDefault();
    form.querySelector('details[open]')?.removeAttribute('open');
    decide(form.closest('[data-item]'), event.submitter.value);
  } else if (form.matches('[data-undo]')) {
    event.preventDefault();
    undoLast(form);
  } else if (form.matches('[data-bulk]') && running) {
    // The page that comes next must already know the decisions before it.
    event.preventDefault();
    const { submitter } = event;
    idle().then(() => form.requestSubmit(submitter));
  }
});

document.addEventListener('click', (event) => {
  // The rows move up under the pointer: the second half of a double click
  // would decide about the next one.
  if (event.detail && performance.now() - lastDecision < 350 && event.target.closest('[data-decide] [name="action"]')) event.preventDefault();
  if (event.target.closest('[data-none]')) {
    for (const box of picks()) box.checked = false;
    showSelection();
    inbox().querySelector('[data-master]').focus();
  }
  const box = event.target.closest('[data-pick]');
  if (box) {
    const row = box.closest('[data-item]');
    if (event.shiftKey && anchor && box.checked) pick(row, true);
    anchor = row;
  }
});

document.addEventListener('change', (event) => {
  const { target } = event;
  if (target.matches('[data-master]')) for (const box of picks()) box.checked = target.checked;
  if (target.matches('[data-all]')) for (const box of picks()) box.checked = target.checked;
  if (target.matches('[data-pick], [data-master], [data-all]')) showSelection();
  if (target.matches('[data-filter-form] select')) {
    // Arrow keys change a closed list step by step, so only a pointer's choice is final.
    if (byPointer) target.form.requestSubmit();
    else target.form.classList.add('has-changes');
  }
});

document.addEventListener('focusin', (event) => {
  const row = event.target.closest?.('[data-item]');
  if (row) setCurrent(row, false);
});

function setUp() {
  number();
  const label = inbox().querySelector('[data-master-label]');
  if (label) {
    label.hidden = false;
    inbox().querySelector('[data-none]').hidden = false;
  }
  showSelection();
  // The row's own Approve key works from the first moment.
  if (!current && rows().length) setCurrent(rows()[0], false);
  const tab = inbox().querySelector('.tabs [aria-current]');
  const strip = tab?.closest('ul');
  if (strip && strip.scrollWidth > strip.clientWidth) strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - 16;
}

showKeys();
setUp();
