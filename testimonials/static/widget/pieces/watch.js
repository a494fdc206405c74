// Follows the page: containers that are added, changed or removed. One that was only moved is
// connected again.
const page = window.__testimonials;
const { find, scan, widgets } = page;
// The page may also have another version of the script, which already watches; an older one watches
// by itself.
if (scan && !page.look) {
  page.look = () => {
    for (const [host, { key, stop }] of widgets) {
      if (host.isConnected && find(host) + host.dataset.testimonialsTheme === key) continue;
      stop.abort();
      widgets.delete(host);
    }
    scan();
  };
  const attributeFilter = ['widget', 'shape', 'id', 'tag', 'min', 'theme', 'project'].map((name) => 'data-testimonials-' + name);
  new MutationObserver(page.look).observe(document, { childList: true, subtree: true, attributeFilter });
  page.look();
}
export default [];
