// Plays a recording in place of its poster. Pages rendered by the server import this too.
let playing;

// Turns the link in `box` to the recording's page into a player. `hold(is)` is called when it
// starts and stops. Until then only the poster is loaded; the link stays if it can't be played
// here.
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
    // If it would be too small here, a phone plays it full screen.
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
    // Where that isn't allowed, its own button is there; `onerror` reports other failures.
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
    // A click for a new tab opens the page.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    start();
  }, stop);
};
