// Tells the service once, when the page is left, which testimonials were seen and read, and clicks on
// the button. No cookie, nothing about the visitor, and nothing at all if they ask not to be tracked.
// later.js hands over the widget; the wall its cards (../wall.js).
export const watchSeen = ({ cards = [], root, signal, surface = 'widget', url }) => {
  if (navigator.globalPrivacyControl || navigator.doNotTrack === '1' || navigator.webdriver) return;
  const ids = new Map();
  const timers = new Map();
  const seen = new Set();
  const read = new Set();
  const told = [new Set(), new Set()];
  let clicks = 0;
  let view = true;

  const observer = new IntersectionObserver((entries) => entries.forEach(({ target, intersectionRatio }) => {
    clearTimeout(timers.get(target));
    if (intersectionRatio < .5) return;
    const id = ids.get(target);
    seen.add(id);
    timers.set(target, setTimeout(() => read.add(id), 5000));
  }), { threshold: .5 });
  const watch = () => cards.forEach(({ figure, item }) => {
    if (ids.has(figure)) return;
    ids.set(figure, item.id);
    observer.observe(figure);
    // Opened or played before this code was loaded.
    if (figure.querySelector('[aria-expanded=true],video,audio')) read.add(item.id);
  });
  const growth = new MutationObserver(watch);
  growth.observe(root, { childList: true, subtree: true });
  watch();

  root.addEventListener('click', ({ target }) => {
    if (target.closest('.cta, .action')) clicks += 1;
    const id = target.closest('.more, .play') && ids.get(target.closest('.card'));
    if (id) read.add(id);
  }, { signal });

  const takeNew = (all, before) => [...all].filter((id) => !before.has(id) && before.add(id)).slice(0, 200);
  const tell = () => {
    const body = { surface, view, clicks, seen: takeNew(seen, told[0]), read: takeNew(read, told[1]) };
    if (!view && !clicks && !body.seen.length && !body.read.length) return;
    navigator.sendBeacon(url, JSON.stringify(body));
    view = false;
    clicks = 0;
  };
  addEventListener('visibilitychange', () => {
    if (document.hidden) {
      timers.forEach((timer) => clearTimeout(timer));
      tell();
    }
  }, { signal });
  addEventListener('pagehide', tell, { signal });
  signal.addEventListener('abort', () => {
    observer.disconnect();
    growth.disconnect();
    timers.forEach((timer) => clearTimeout(timer));
  });
};
