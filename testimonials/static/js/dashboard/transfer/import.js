// The import works without this file: the form is sent, and the inbox opens at the end. With it a
// bar shows how far it is, and nothing can be sent twice.
import { send, showProblem } from '../../post.js';

const form = document.querySelector('[data-import]');
const start = form.querySelector('[data-run]');
const running = form.querySelector('[data-running]');
const settled = form.querySelector('[data-settled]');
const problem = form.querySelector('[data-problem]');
const bar = form.querySelector('[data-progress]');
const told = form.querySelector('[data-progress-text]');
const number = new Intl.NumberFormat('en');
const FAILED = 'The connection was interrupted. What was imported stays; import the file again for the rest.';

function show(isRunning) {
  start.hidden = isRunning;
  running.hidden = !isRunning;
  settled.inert = isRunning;
}

function fail(message) {
  show(false);
  showProblem(problem, message);
}

// Each line of the answer is an object: how far it is, where to go on, or what went wrong.
function take(line) {
  const step = JSON.parse(line);
  if (step.url) location.assign(step.url);
  if (step.message) fail(step.message);
  if (step.total) {
    bar.max = step.total;
    bar.value = step.done;
    told.textContent = `${number.format(step.done)} of ${number.format(step.total)} imported`;
  }
  return Boolean(step.url || step.message);
}

async function run(body) {
  const answer = await send(form.action, body, { accept: 'application/x-ndjson', wait: 0 });
  if (!answer.ok || !answer.headers.get('Content-Type').startsWith('application/x-ndjson')) {
    // The server has something to say about the form itself; it says so on its page.
    form.submit();
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let isDone = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) isDone = take(line) || isDone;
  }
  if (!isDone) fail(FAILED);
}

if (start?.querySelector('button')) {
  form.addEventListener('submit', (event) => {
    if (event.submitter?.hasAttribute('data-again')) return;
    event.preventDefault();
    const body = new FormData(form);
    showProblem(problem, '');
    show(true);
    running.scrollIntoView({ block: 'nearest' });
    run(body).catch(() => fail(FAILED));
  });
  // A page that comes back with the Back button is asked as if for the first time.
  addEventListener('pageshow', (event) => { if (event.persisted) show(false); });
}
