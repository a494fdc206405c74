// Sending requests, and reporting the result. Every script sends, reports errors and announces
// through this file.

const wordsOf = (reason) => document.body.dataset[`say${reason[0].toUpperCase()}${reason.slice(1)}`] ?? '';

// Put values into the {places} of a text, such as "{count} of {limit}".
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// Why a request failed. `reason` is one of those for which the page has texts (`script_words` in
// _macros.html), or "refused", with the server's message and, for a form, the errors by field.
export class Failure extends Error {
  constructor(reason, words = wordsOf(reason), errors = null) {
    super(words);
    this.reason = reason;
    this.errors = errors;
  }
}

// Resolve to the answer, whatever its status. Throw a Failure if none comes within `wait`
// milliseconds; 0 waits for as long as it takes.
export async function send(url, body, { wait = 15000, accept = 'application/json', signal, ...options } = {}) {
  const late = wait ? AbortSignal.timeout(wait) : null;
  try {
    return await fetch(url, {
      method: 'POST', body, headers: { Accept: accept }, signal: AbortSignal.any([late, signal].filter(Boolean)), ...options,
    });
  } catch {
    if (navigator.onLine === false) throw new Failure('offline');
    throw new Failure(late?.aborted ? 'late' : 'lost');
  }
}

// Resolve to the JSON of a successful answer; throw a Failure for any other.
export async function post(url, body, options) {
  const answer = await send(url, body, options);
  const data = await answer.json().catch(() => ({}));
  if (answer.ok && data.ok) return data;
  if (answer.redirected || answer.status === 401) throw new Failure('signedOut');
  throw data.message ? new Failure('refused', data.message, data.errors) : new Failure('fault');
}

// Show an error in its hidden element, and mark the field; an empty text undoes both.
export function showProblem(place, text, field = null) {
  (place.querySelector('[data-problem-text]') ?? place).textContent = text;
  place.hidden = !text;
  if (text) field?.setAttribute('aria-invalid', 'true');
  else field?.removeAttribute('aria-invalid');
}

const region = document.createElement('p');
region.className = 'visually-hidden';
region.setAttribute('role', 'status');
document.body.append(region);

// Announce to screen readers what others can see.
export function announce(text) {
  region.textContent = text;
}
