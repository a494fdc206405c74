// Finds the containers, and starts a widget in each.
const load = async (url, signal) => {
  const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(8000) });
  if (!response.ok) throw Error('HTTP ' + response.status);
  const data = await response.json();
  signal.throwIfAborted();
  return data;
};

// Slow devices get the work in small tasks.
const rest = (signal) => new Promise((done) => setTimeout(done)).then(() => signal.throwIfAborted());

const start = async (host, id, signal) => {
  const data = host.dataset;
  let event = 'ready';
  let total = 0;
  // A shadow root can't be removed, but shows the link.
  const showLink = () => host.shadowRoot?.replaceChildren(el('slot', {}));
  signal.addEventListener('abort', showLink);
  data.testimonialsState = 'loading';
  data.testimonialsCount = 0;
  try {
    const url = new URL(encodeURIComponent(id) + '/feed', BASE);
    for (const name of SELECTION) {
      const value = host.getAttribute(PREFIX + name);
      if (value) url.searchParams.set(name, value);
    }
    const feed = await load(url, signal);
    const { testimonialsWidget: name } = data;
    if (name && name !== feed.widget) console.warn('Testimonials', id, 'has no widget ' + name);
    if (feed.project.active !== false) total = feed.total;
    if (!host.shadowRoot) {
      host.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet];
      // An empty root hides the link at once, and rendering waits for its turn first.
      if (total) showLink();
    }
    if (total) await render(host, feed, url, signal);
    data.testimonialsState = total ? event : 'empty';
  } catch (error) {
    if (signal.aborted) return;
    showLink();
    console.warn('Testimonials', id, error);
    data.testimonialsState = event = 'error';
  }
  host.dispatchEvent(new CustomEvent('testimonials:' + event, { bubbles: true, detail: { projectId: id, count: +data.testimonialsCount, total } }));
};

const keyOf = (host) => WATCHED.map((name) => host.getAttribute(name)).join();

// A div that was only moved is connected again.
const widgets = new Map();
const scan = () => {
  for (const [host, { key, stop }] of widgets) {
    if (host.isConnected && keyOf(host) === key) continue;
    stop.abort();
    widgets.delete(host);
  }
  for (const host of document.querySelectorAll('[data-testimonials-project]')) {
    const id = host.dataset.testimonialsProject;
    if (!id || widgets.has(host)) continue;
    const stop = new AbortController();
    widgets.set(host, { key: keyOf(host), stop });
    start(host, id, stop.signal);
  }
};
const restart = (host) => {
  widgets.get(host).key = '';
  scan();
};
new MutationObserver(scan).observe(document, { childList: true, subtree: true, attributeFilter: WATCHED });
scan();
})();
