// Follows the page: containers that come, change and go. One that was only moved is connected again.
const page = window.__testimonials;
const { find, scan, widgets } = page;
// The page may have another script too, which watches already, and an older one by itself.
if (scan && !page.look) {
  page.look = () => {
    for (const [host, { key, stop }] of widgets) {
      if (host.isConnected && find(host) + host.dataset.testimonialsTheme === key) continue;
      stop.abort();
      host.shadowRoot?.replaceChildren(document.createElement('slot'));
      widgets.delete(host);
    }
    scan();
  };
  const attributeFilter = ['widget', 'shape', 'id', 'tag', 'min', 'theme', 'project'].map((name) => 'data-testimonials-' + name);
  new MutationObserver(page.look).observe(document, { childList: true, subtree: true, attributeFilter });
  page.look();
}
export default [];
