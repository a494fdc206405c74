// WordPress frames the page in a sandbox that can't open windows. The page reports its height and
// the links that are followed; WordPress opens those to our own host.
const secret = /^#\?secret=([0-9a-z]+)$/i.exec(location.hash)?.[1];
if (secret) {
  const say = (message, value) => parent.postMessage({ message, value, secret }, '*');
  const sayHeight = () => say('height', document.body.offsetHeight);
  // WordPress hides the frame until then, and browsers don't draw hidden frames.
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
