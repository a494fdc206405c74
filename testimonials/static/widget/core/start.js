// Finds the containers, and starts a widget in each.
// Slow devices get the work in small tasks.
const rest = (signal) => new Promise((done) => setTimeout(done)).then(() => signal.throwIfAborted());

// The snippet may have reserved the height of another configuration. What is too much goes when
// nobody sees it go, or when it answers somebody's action: then it is no layout shift.
const fit = (host, root, signal) => {
  const height = root?.offsetHeight || 0;
  const hole = el('i', { id: 'hole' });
  const watch = new IntersectionObserver(([{ isIntersecting, boundingClientRect: { top } }]) => {
    if (!isIntersecting && (top > 0 || CSS.supports('overflow-anchor', 'auto'))) release();
  });
  const release = () => {
    watch.disconnect();
    hole.remove();
    host.shadowRoot.adoptedStyleSheets.push(fitting);
  };
  if (host.offsetHeight <= height + 1) {
    release();
    return;
  }
  hole.style.top = height + 'px';
  host.shadowRoot.append(hole);
  watch.observe(hole);
  for (const type of ['click', 'keydown']) addEventListener(type, release, { capture: true, once: true, signal });
};

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
    const feed = await load(url + (url.search ? '&' : '?') + 'lang=' + readLocale(host).split('-')[0], signal);
    const name = data.testimonialsWidget;
    if (name && name !== feed.widget) console.warn('Testimonials: no widget', name);
    const active = feed.project.active !== false;
    if (active) total = feed.total;
    const visible = total || (active && feed.cta && feed.config.showCtaButton !== false);
    const shadow = host.shadowRoot || host.attachShadow({ mode: 'open' });
    shadow.adoptedStyleSheets = [sheet];
    // An empty root hides the link at once, and rendering waits for its turn first.
    if (visible) showLink();
    else shadow.replaceChildren();
    fit(host, visible && await render(host, feed, url, signal), signal);
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
