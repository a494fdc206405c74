// One card at a time in a corner of the window. A page has one popup, once.
let popup;

export default [`popup.css`, (widget) => {
  const { el, host, root, view, cards, feed, signal } = widget;
  root.hidden = popup;
  if (popup) return {};
  popup = host;
  let at = -1;
  let timer;
  let before;
  const update = () => {
    const away = !root.clientWidth || [...host.closest('html').querySelectorAll('dialog[open],[aria-modal=true],[role$=dialog]')].some((node) => node.clientWidth && getComputedStyle(node).visibility === 'visible');
    root.classList.toggle('away', at < 0 || away);
    if (timer && timer.playState !== 'finished') timer[away || isHeld(view) ? 'pause' : 'play']();
  };
  // Unlike a timeout, an animation can be paused.
  const wait = (time, then) => {
    timer = root.animate(null, time);
    timer.onfinish = then;
    update();
  };
  const stop = () => {
    watch.disconnect();
    timer = timer?.cancel();
  };
  const end = () => {
    stop();
    if (view.matches(':focus-within')) before?.focus();
    root.hidden = true;
  };
  const next = () => {
    at += 1;
    if (!cards[at]) return end();
    cards.forEach(({ node }, i) => { node.hidden = i !== at; });
    widget.arrange();
    wait(8000, next);
  };
  const watch = new MutationObserver(update);
  watch.observe(document, { subtree: true, childList: true, attributes: true });
  view.append(root.querySelector('.proof') || '', widget.button({ class: 'arrow close', 'aria-label': widget.say('close') }, end, el('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': true }, el('path', { d: 'M6 6l12 12M18 6 6 18' }))));
  view.setAttribute('role', 'region');
  view.setAttribute('aria-label', widget.say('testimonials'));
  watchHolding(widget, update);
  addEventListener('transitionend', update, { signal });
  view.addEventListener('focusin', ({ relatedTarget }) => { if (!view.contains(relatedTarget)) before = relatedTarget; });
  signal.addEventListener('abort', () => {
    // When it is redrawn, for example after a change in the editor, it starts over unless it was closed.
    if (!root.hidden) popup = undefined;
    stop();
  });
  return {
    arrange() {
      if (at < 0 && !timer && cards.length >= feed.items.length) wait(6000, next);
      else update();
    },
  };
}];
