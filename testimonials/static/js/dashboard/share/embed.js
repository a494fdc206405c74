// What the snippet is for. Without this file the form is sent by its button; with it a choice shows
// at once: the server writes the same page, and what differs is taken from it.

const form = document.querySelector('[data-choose]');

if (form) {
  const state = form.querySelector('[data-choose-state]');
  const update = form.querySelector('.embed-update');
  let round = 0;

  // Empty values and options of other shapes would only make the address long.
  const isMeant = (name, value) => {
    const field = form.elements[name];
    return value && (field instanceof RadioNodeList || field.id === 'embed-platform' || field.offsetParent);
  };
  const address = () => {
    const url = new URL(form.getAttribute('action'), location);
    url.hash = '';
    for (const [name, value] of new FormData(form)) if (isMeant(name, value)) url.searchParams.set(name, value);
    return url;
  };

  // As high as what it shows, up to the limit of the style sheet.
  function fit(frame) {
    const inside = frame.contentDocument;
    if (!inside?.body || inside.URL === 'about:blank') return;
    const measure = () => frame.style.setProperty('--height', `${inside.body.scrollHeight}px`);
    new ResizeObserver(measure).observe(inside.body);
  }
  function watch() {
    const frame = form.parentElement.querySelector('[data-preview]');
    if (!frame || frame.dataset.preview === 'fixed') return;
    frame.addEventListener('load', () => fit(frame));
    fit(frame);
  }

  function take(fresh) {
    const old = [...document.querySelectorAll('[data-part], [data-panel] code, [data-platforms] a, #share-curl')];
    for (const part of old) {
      const other = part.id ? fresh.getElementById(part.id) : fresh.querySelector(`[data-part="${part.dataset.part}"]`);
      if (!other) continue;
      if (part.matches('a')) part.href = other.getAttribute('href');
      else if (part.matches('input')) part.value = other.value;
      else if (part.innerHTML !== other.innerHTML) part.replaceChildren(...[...other.childNodes].map((node) => document.importNode(node, true)));
    }
    watch();
  }

  async function choose() {
    const mine = ++round;
    const url = address();
    try {
      const response = await fetch(url, { headers: { Accept: 'text/html' } });
      if (!response.ok || response.redirected) throw new Error(`HTTP ${response.status}`);
      const text = await response.text();
      if (mine !== round) return;
      take(new DOMParser().parseFromString(text, 'text/html'));
      history.replaceState(null, '', url);
      state.textContent = state.dataset.sayDone;
      state.classList.add('visually-hidden');
      update.classList.remove('is-wanted');
    } catch {
      if (mine !== round) return;
      state.textContent = state.dataset.sayFailed;
      state.classList.remove('visually-hidden');
      update.classList.add('is-wanted');
    }
  }

  // The list of platforms lies outside the form's element: all of them are in the page already.
  form.addEventListener('change', choose);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    choose();
  });
  // Browsers may bring back what a form held before it was left.
  addEventListener('pageshow', (event) => { if (event.persisted) choose(); });
  watch();
}
