// Decisions: a row leaves the list at once, and returns if the server rejects the decision.
import { post, showProblem } from '../../post.js';
import { readPage } from '../pages.js';
import { showToast } from '../toast.js';
import {
  anchor, changeTotal, current, inbox, list, rows, setAnchor, setCurrent, setUp, showSelection,
} from './rows.js';

// The tabs in which a decided testimonial stays.
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
      place.hidden = !value;
      // The tab for spam is hidden without any.
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

// Decisions are sent one after another, so that the counts in the last response are right.
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
    // idle() must not wait for this promise itself.
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

// Send waiting decisions when the page is left.
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
    // The focus moved to the heading when the list became empty.
    if (rows().length === 1) setCurrent(row);
  }
  showProblem(row.querySelector('[data-problem]'), message);
  showSelection();
}

let lastDecision = -1000;

// Rows move up under the pointer, so the second half of a double click would decide the next.
export const hasJustDecided = () => performance.now() - lastDecision < 350;

// Ask for a reason in the row, with a copy of the page's form.
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
  // Pinning doesn't remove the row.
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
  // form.action would be the buttons of that name.
  jobs.push({ row, url: form.getAttribute('action'), body, leaves, undo });
  run();
}

/* --------------------------------------------------------------- reload */

// Rows that stay are replaced one by one, to keep the selection and the scroll position.
async function refresh() {
  const ids = [...stale];
  stale.clear();
  const fresh = await readPage(location.href);
  for (const id of ids) {
    const row = document.getElementById(id);
    if (!row) continue;
    row.removeAttribute('aria-busy');
    const next = fresh?.getElementById(id);
    // What is set aside as spam is only in the spam folder.
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
    // Another undo may have begun, and this page may be older.
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

// Undo the form's batch, or the person's last change.
export async function undo(form) {
  const button = form.querySelector('button');
  if (button.disabled) return;
  button.disabled = true;
  // The decision to undo may still be pending.
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
