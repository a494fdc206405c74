// Passkeys: forms with [data-passkey] appear if the browser supports passkeys, and send its answer.
import { post, showProblem } from '../post.js';

// Challenges are valid for ten minutes.
const RENEW_AFTER = 9 * 60 * 1000;

const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
const toText = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const toIds = (list) => list.map((each) => ({ ...each, id: toBytes(each.id) }));

function describe({ rawId, response }) {
  const said = { id: toText(rawId) };
  for (const part of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    if (response[part]) said[part] = toText(response[part]);
  }
  return JSON.stringify(said);
}

async function ask(form, extra) {
  const { options, token } = await post(form.dataset.begin, new FormData());
  const publicKey = { ...options, challenge: toBytes(options.challenge) };
  let credential;
  if (form.dataset.passkey === 'add') {
    publicKey.user = { ...options.user, id: toBytes(options.user.id) };
    publicKey.excludeCredentials = toIds(options.excludeCredentials);
    credential = await navigator.credentials.create({ publicKey, ...extra });
  } else {
    publicKey.allowCredentials = toIds(options.allowCredentials);
    credential = await navigator.credentials.get({ publicKey, ...extra });
  }
  form.querySelector('[data-passkey-answer]').value = describe(credential);
  form.querySelector('[data-passkey-token]').value = token;
  form.submit();
}

// Only one request at a time: a click replaces the one pending in the address field.
let waiting = null;

// A form that can also be sent without a passkey has its own button for it.
function offer(form) {
  const own = form.querySelector('[data-passkey-button]');
  const problem = form.querySelector('[data-passkey-problem]');
  const button = own ?? form.querySelector('[type="submit"]');
  // By the names of the browser's errors, such as data-say-not-allowed-error.
  const words = problem.dataset;
  (own ?? form).hidden = false;
  (own ?? form).addEventListener(own ? 'click' : 'submit', async (event) => {
    event.preventDefault();
    waiting?.abort();
    showProblem(problem, '');
    button.setAttribute('aria-disabled', 'true');
    try {
      await ask(form, {});
    } catch (error) {
      showProblem(problem, error.reason ? error.message : words[`say${error.name}`] ?? words.sayOtherwise);
      button.removeAttribute('aria-disabled');
    }
  });
}

// The browser lists passkeys below the address field, and answers once one is chosen.
async function autofill(form) {
  if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
  waiting = new AbortController();
  const { signal } = waiting;
  const timer = setTimeout(() => { waiting.abort(); autofill(form); }, RENEW_AFTER);
  signal.addEventListener('abort', () => clearTimeout(timer));
  // People who don't choose one sign in another way, so there is nothing to report.
  ask(form, { mediation: 'conditional', signal }).catch(() => {});
}

if (window.PublicKeyCredential && navigator.credentials) {
  for (const form of document.querySelectorAll('[data-passkey]')) offer(form);
  for (const each of document.querySelectorAll('[data-with-passkey]')) each.hidden = false;
  const form = document.querySelector('[data-passkey][data-autofill]');
  if (form) autofill(form);
}
