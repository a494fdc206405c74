// Plays a recording in the place of its poster. Pages rendered by the server import this too.
let playing;

// Makes a player of the link in `box` to the recording's page. `hold(is)` is told when it plays.
// Until then nothing is loaded but the poster; what can't be played here leaves the link.
export const makePlayable = (box, hold, signal) => {
  const link = box.querySelector('a');
  const { src, captions, failed } = box.dataset;
  let media;
  const watch = new IntersectionObserver(([entry]) => entry.isIntersecting || document.pictureInPictureElement || media.pause());
  const end = () => {
    hold(false);
    watch.disconnect();
    const hadFocus = media.matches(':focus-within');
    media.remove();
    link.hidden = false;
    if (hadFocus) link.focus();
  };
  const fail = () => {
    stop.abort();
    link.removeAttribute('role');
    link.removeAttribute('aria-label');
    link.replaceChildren(failed);
    box.classList.add('failed');
    end();
  };
  const start = () => {
    const name = link.getAttribute('aria-label');
    media = document.createElement(box.matches('.video') ? 'video' : 'audio');
    media.controls = true;
    media.tabIndex = 0;
    media.setAttribute('aria-label', name);
    // A phone plays what would be too small here on its whole screen.
    media.playsInline = box.clientWidth >= 200;
    media.onplay = () => {
      if (playing !== media) playing?.pause();
      playing = media;
      hold(true);
    };
    media.onpause = () => hold(false);
    media.onended = end;
    media.onerror = fail;
    if (captions) {
      media.crossOrigin = 'anonymous';
      const track = document.createElement('track');
      Object.assign(track, { kind: 'captions', label: 'CC', src: captions, default: true });
      media.append(track);
    }
    media.src = src;
    link.hidden = true;
    box.append(media);
    watch.observe(media);
    media.focus();
    // Where that isn't allowed, its own button is there; other failures are told by `onerror`.
    media.play().catch(() => {});
  };
  const stop = new AbortController();
  signal?.addEventListener('abort', () => watch.disconnect());
  link.setAttribute('role', 'button');
  link.addEventListener('keydown', (event) => {
    if (event.key !== ' ') return;
    event.preventDefault();
    link.click();
  }, stop);
  link.addEventListener('click', (event) => {
    // Who wants another tab gets the page.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    start();
  }, stop);
};
