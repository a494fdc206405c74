// The Share page works without this file: tabs are links, the message has a Save button.

/* ---------------------------------------------------------------- tabs */

const nav = document.querySelector('[data-platforms]');
const tabs = nav ? [...nav.querySelectorAll('[data-platform]')] : [];
const copyCode = document.querySelector('[data-copy-code]');
const select = document.querySelector('[data-platform-select]');

function choose(tab, focus = false) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute('aria-selected', String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(`panel-${each.dataset.platform}`).hidden = !isChosen;
  }
  copyCode.dataset.copy = `code-${tab.dataset.platform}`;
  tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  if (focus) tab.focus();
  select.value = tab.dataset.platform;
  const here = new URL(location.href);
  here.searchParams.set('platform', tab.dataset.platform);
  here.hash = '';
  history.replaceState(null, '', here);
}

if (nav) {
  const list = nav.querySelector('ul');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', nav.getAttribute('aria-label'));
  // A list of tabs is no navigation any more.
  nav.setAttribute('role', 'presentation');
  nav.removeAttribute('aria-label');
  const first = tabs.find((tab) => tab.hasAttribute('aria-current'));
  for (const tab of tabs) {
    tab.parentElement.setAttribute('role', 'presentation');
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-selected', String(tab === first));
    tab.setAttribute('aria-controls', `panel-${tab.dataset.platform}`);
    tab.removeAttribute('aria-current');
    tab.tabIndex = tab === first ? 0 : -1;
    const panel = document.getElementById(`panel-${tab.dataset.platform}`);
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    panel.tabIndex = 0;
    tab.addEventListener('click', (event) => {
      // With a modifier it stays a link that opens elsewhere.
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      choose(tab);
    });
  }
  // On a phone the same names are a list.
  select.addEventListener('change', () => choose(tabs.find((tab) => tab.dataset.platform === select.value)));
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(document.activeElement);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const forward = getComputedStyle(list).direction === 'rtl' ? -1 : 1;
    const to = {
      ArrowRight: at + forward, ArrowLeft: at - forward, Home: 0, End: tabs.length - 1,
    }[event.key];
    if (event.key === ' ') {
      event.preventDefault();
      choose(tabs[at]);
    } else if (to !== undefined) {
      event.preventDefault();
      choose(tabs[(to + tabs.length) % tabs.length], true);
    }
  });
}

/* ----------------------------------------------------------- checklist */

// That the link went out, or that the widget was looked at, is a step of the checklist.
const page = document.querySelector('[data-checklist]');
const noted = new Set();
function note(step) {
  if (noted.has(step)) return;
  noted.add(step);
  fetch(page.dataset.checklist, { method: 'POST', body: new URLSearchParams({ do: step }), headers: { Accept: 'application/json' }, keepalive: true }).catch(() => noted.delete(step));
}
page?.addEventListener('copied', (event) => { if (event.target.closest('[data-shares]')) note('share'); });
page?.addEventListener('click', (event) => {
  if (event.target.closest('a[data-shares]')) note('share');
  if (event.target.closest('[data-looked]')) note('look');
});

/* -------------------------------------------------------------- message */

const form = document.querySelector('[data-message]');
if (form) {
  const field = form.elements.message;
  const state = form.querySelector('[data-state]');
  const save = form.querySelector('[data-save]');
  const reset = form.querySelector('[data-reset]');
  const mail = form.querySelector('[data-mail]');
  const limit = Number(form.dataset.limit);
  const letters = () => [...field.value.trim()].length;
  // What the server refused is in the field, but not stored.
  let saved = field.hasAttribute('aria-invalid') ? null : field.value;
  let timer = 0;
  let busy = false;

  const say = (text, isWrong = false) => {
    state.textContent = text;
    state.classList.toggle('wrong', isWrong);
    // Saving by hand is offered where it didn't go by itself.
    save.classList.toggle('is-wanted', isWrong);
  };
  const address = () => {
    const body = field.value.replace(/\r?\n/g, '\r\n');
    mail.href = `mailto:?subject=${encodeURIComponent(form.dataset.subject)}&body=${encodeURIComponent(body)}`;
  };

  async function send(options = {}) {
    clearTimeout(timer);
    timer = 0;
    if (busy || field.value === saved) return;
    const count = letters();
    if (count > limit) {
      say(`Not saved: ${count - limit} too many (${count} of ${limit}).`, true);
      return;
    }
    busy = true;
    const text = field.value;
    try {
      const answer = await fetch(form.action, { method: 'POST', body: new URLSearchParams({ message: text }), headers: { Accept: 'application/json' }, ...options });
      if (answer.status === 401) {
        say('Not saved: you are signed out. Sign in in another tab; your words stay here.', true);
      } else if (!answer.ok) {
        const problem = await answer.json().catch(() => ({}));
        say(answer.status === 422 && problem.message ? `Not saved: ${problem.message}` : 'Not saved. Try again in a moment.', true);
      } else {
        saved = text;
        reset.hidden = !(await answer.json()).is_own;
        if (field.value === text) {
          say('Saved');
          field.removeAttribute('aria-invalid');
          document.getElementById('share-message-error')?.remove();
        }
      }
    } catch {
      say(navigator.onLine === false ? 'Not saved: you seem to be offline. Your words stay here.' : 'Not saved. Try again in a moment.', true);
    } finally {
      busy = false;
    }
    // What was typed meanwhile goes next.
    if (field.value !== text) later();
  }
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(send, 600);
  };
  field.addEventListener('input', () => {
    say('');
    address();
    later();
  });
  form.addEventListener('submit', (event) => {
    if (event.submitter === reset) return;
    event.preventDefault();
    send();
  });
  // Leaving within the moment before it saves loses nothing.
  addEventListener('pagehide', () => { if (field.value !== saved && letters() <= limit) send({ keepalive: true }); });
  address();
}

/* ---------------------------------------------------------------- print */

const print = document.querySelector('[data-print]');
if (print) {
  print.hidden = false;
  print.addEventListener('click', () => window.print());
}
