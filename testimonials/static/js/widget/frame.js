// WordPress frames the page in a sandbox without windows of its own. It is told the page's height, and
// which link was followed; it opens those of our own host.
const secret = /^#\?secret=([0-9a-z]+)$/i.exec(location.hash)?.[1];
if (secret) {
  const say = (message, value) => parent.postMessage({ message, value, secret }, '*');
  const sayHeight = () => say('height', document.body.offsetHeight);
  // WordPress hides the frame until then, and a browser draws no hidden one.
  sayHeight();
  new ResizeObserver(sayHeight).observe(document.body);
  addEventListener('message', ({ data }) => data?.message === 'ready' && sayHeight());
  document.addEventListener('click', (event) => {
    const link = event.composedPath().find(({ href }) => href);
    if (!link) return;
    event.preventDefault();
    say('link', link.href);
  });
}
