// Decisions: each leaves the list at once, is sent in its turn, and comes back if it was refused.
import { post, showProblem } from '../../post.js';
import { readPage } from '../pages.js';
import { showToast } from '../toast.js';
import {
  anchor, changeTotal, current, inbox, list, rows, setAnchor, setCurrent, setUp, showSelection,
} from './rows.js';

// Where a decided testimonial stays in the list.
const STAYS = { all: ['approve', 'reject', 'set-aside'], rejected: ['reject', 'set-aside'], trash: ['set-aside'] };
const STATUS = { approve: 'approved', reject: 'rejected' };

/* -------------------------------------------------------------- answers */

function tell(text, notice = null) {
  const toast = showToast(text, Boolean(notice?.undo_url));
  const form = toast.querySelector('[data-undo]');
  if (!form) return;
  form.setAttribute('action', notice.undo_url);
  form.querySelector('[name="undo"]').value = notice.undo_token ?? '';
}

function showCounts(counts) {
  for (const [key, value] of Object.entries(counts ?? {})) {
    for (const place of document.querySelectorAll(`[data-count="${CSS.escape(key)}"]`)) {
      place.textContent = value;
      // The tab of the spam stands there only once there is some.
      if (value) place.closest('li')?.removeAttribute('hidden');
    }
    if (key !== 'waiting') continue;
    for (const place of document.querySelectorAll('[data-pending]')) {
      place.hidden = !value;
      place.querySelector('[data-pending-number]').textContent = value;
    }
  }
}

/* ---------------------------------------------------------- one by one */

// Decisions go one after another, so that the counts in the last answer are right.
const jobs = [];
const stale = new Set();
let running = null;

export const isBusy = () => Boolean(running);
export const idle = async () => { while (running) await running; };

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
    const data = await post(url, body, { keepalive: true });
    showCounts(data.counts);
    document.dispatchEvent(new Event('decided'));
    document.querySelector('[data-undo-last]').hidden = false;
    if (data.notice?.text) tell(data.notice.text, data.notice);
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
    const parent = list();
    if (!parent) { tell(message); return; }
    parent.insertBefore(row, after ?? null);
    changeTotal(1);
    // Focus fell back to the heading when the list ran empty.
    if (rows().length === 1) setCurrent(row);
  }
  showProblem(row.querySelector('[data-problem]'), message);
  showSelection();
}

let lastDecision = -1000;

// The rows move up under the pointer: the second half of a double click would decide about the next.
export const hasJustDecided = () => performance.now() - lastDecision < 350;

// What needs a reason is asked for it in the row, by the form of the page with that name.
export function askWhy(row, action) {
  if (!row.querySelector(`[data-why="${action}"]`)) return;
  closeWhy(row);
  const form = document.querySelector(`[data-why-of="${action}"]`).content.firstElementChild.cloneNode(true);
  form.setAttribute('action', row.querySelector('[data-decide]').getAttribute('action'));
  row.append(form);
  setCurrent(row, false);
  form.querySelector('button').focus();
  form.scrollIntoView({ block: 'nearest' });
}

export function closeWhy(row) {
  row.querySelector('[data-reasons]')?.remove();
}

export function decide(row, action, reason = null) {
  const form = row.querySelector('[data-decide]');
  const button = reason ?? form?.querySelector(`[name="action"][value="${action}"]`);
  if (button == null || row.getAttribute('aria-busy') === 'true') return;
  const body = new URLSearchParams(new FormData(form));
  body.set('action', action);
  if (reason !== null) body.set('reason', reason);
  closeWhy(row);
  // A pin moves nothing away.
  const leaves = !/pin$/.test(action) && !STAYS[inbox().dataset.tab]?.includes(action);
  const all = rows();
  const next = all[all.indexOf(row) + 1] ?? all[all.indexOf(row) - 1] ?? null;
  let undo = () => {};
  lastDecision = performance.now();
  showProblem(row.querySelector('[data-problem]'), '');
  if (leaves) {
    row.classList.remove('is-current');
    if (anchor === row) setAnchor(next);
    row.remove();
    changeTotal(-1);
    if (next) setCurrent(next); else document.querySelector('h1').focus({ preventScroll: true });
  } else {
    row.setAttribute('aria-busy', 'true');
    const mark = row.querySelector('[data-status]');
    if (action in STATUS) {
      const before = [mark.textContent, mark.className];
      mark.textContent = action === 'approve' ? list().dataset.sayApprove : list().dataset.sayReject;
      mark.className = `mark status-${STATUS[action]}`;
      undo = () => { [mark.textContent, mark.className] = before; };
    }
    if (next && !/pin$/.test(action)) setCurrent(next);
  }
  showSelection();
  // The attribute is read because form.action is the buttons of that name.
  jobs.push({ row, url: form.getAttribute('action'), body, leaves, undo });
  run();
}

/* --------------------------------------------------------------- reload */

// Rows that stayed are exchanged one by one, so that the selection and the place are kept.
async function refresh() {
  const ids = [...stale];
  stale.clear();
  const fresh = await readPage(location.href);
  for (const id of ids) {
    const row = document.getElementById(id);
    if (!row) continue;
    row.removeAttribute('aria-busy');
    const next = fresh?.getElementById(id);
    // Set aside as spam, it is in the spam folder alone.
    if (fresh && !next) { row.remove(); changeTotal(-1); }
    if (!next) continue;
    const hadFocus = row.contains(document.activeElement);
    next.dataset.order = row.dataset.order;
    next.querySelector('[data-pick]').checked = row.querySelector('[data-pick]').checked;
    if (anchor === row) setAnchor(next);
    row.replaceWith(next);
    if (current === row) setCurrent(next, hadFocus);
  }
}

let round = 0;

async function reload(focusId = '') {
  const mine = ++round;
  const at = current ? rows().indexOf(current) : 0;
  let next;
  do {
    await idle();
    next = await readPage(location.href);
    // Undo may have begun another one meanwhile, and this page may be from before it.
    if (mine !== round) return;
    const pending = next?.querySelector('[data-pending-number]');
    if (pending) showCounts({ waiting: Number(pending.textContent) });
  } while (next && jobs.length);
  const fresh = next?.getElementById('inbox');
  if (!fresh) { location.reload(); return; }
  inbox().replaceWith(fresh);
  setUp();
  const all = rows();
  const row = (focusId && document.getElementById(focusId)) || all[Math.min(Math.max(at, 0), all.length - 1)];
  if (row) setCurrent(row); else inbox().querySelector('[data-empty]')?.focus();
}

// Undo what the form names or, without a name, one's own last change.
export async function undo(form) {
  const button = form.querySelector('button');
  if (button.disabled) return;
  button.disabled = true;
  // The answer to the decision that is to be undone may still be on its way.
  await idle();
  try {
    const data = await post(form.getAttribute('action'), new URLSearchParams(new FormData(form)), { keepalive: true });
    showCounts(data.counts);
    tell(data.notice.text, data.notice);
    await reload(data.row ? `t-${data.row}` : '');
  } catch (error) {
    tell(error.message);
  }
  button.disabled = false;
}
