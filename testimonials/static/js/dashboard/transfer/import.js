// The import works without this file: the form is sent and the inbox opens when all is done. With
// it a bar shows how far it is, and nothing can be sent twice.

const form = document.querySelector('[data-import]');
const run = form.querySelector('[data-run]');
const running = form.querySelector('[data-running]');
const settled = form.querySelector('[data-settled]');
const problem = form.querySelector('[data-problem]');
const bar = form.querySelector('[data-progress]');
const told = form.querySelector('[data-progress-text]');
const number = new Intl.NumberFormat('en');
const FAILED = 'The connection was interrupted. What was imported stays; import the file again for the rest.';

function show(isRunning) {
  run.hidden = isRunning;
  running.hidden = !isRunning;
  settled.inert = isRunning;
}

function fail(message) {
  show(false);
  form.querySelector('[data-problem-text]').textContent = message;
  problem.hidden = false;
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

async function send(body) {
  const answer = await fetch(form.action, { method: 'POST', body, headers: { Accept: 'application/x-ndjson' } });
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

if (run && run.querySelector('button')) {
  form.addEventListener('submit', (event) => {
    if (event.submitter && event.submitter.hasAttribute('data-again')) return;
    event.preventDefault();
    const body = new FormData(form);
    problem.hidden = true;
    show(true);
    running.scrollIntoView({ block: 'nearest' });
    send(body).catch(() => fail(FAILED));
  });
  // A page that comes back with the Back button is asked as if for the first time.
  addEventListener('pageshow', (event) => { if (event.persisted) show(false); });
}
