// Rows or columns of cards that move by themselves, until they are paused.
export default [`marquee.css`, (widget) => {
  // People who prefer reduced motion move the cards themselves.
  if (matchMedia('(prefers-reduced-motion:reduce)').matches) {
    widget.look = widget.look.replace(widget.kind, widget.kind = 'carousel');
    return widget.use('carousel').then(([layout]) => layout);
  }
  const { cards, el, list, view, root, signal } = widget;
  const vertical = widget.kind === 'vertical';
  const [side, start, axis] = vertical ? ['offsetHeight', 'offsetTop', 'Y('] : ['offsetWidth', 'offsetLeft', 'X('];
  // The pace, in milliseconds per pixel.
  const lanes = [{ node: list, pace: 25 }, { node: list.cloneNode(), pace: 31.25 }];
  view.append(lanes[1].node);
  widget.look += ' moving';

  let copies = [];
  let paused;
  let away;
  // How many cards a lane has, or half a card more.
  let part;
  const update = () => lanes.forEach(({ run }) => run?.[paused || away || isHeld(view) ? 'pause' : 'play']());
  const label = () => {
    button.setAttribute('aria-label', widget.say(paused ? 'play' : 'pause'));
    button.replaceChildren(el('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': true }, el('path', { d: paused ? 'M9 6v12l9-6z' : 'M9 6v12M15 6v12' })));
  };
  const button = widget.button({ class: 'arrow' }, () => {
    paused = !paused;
    label();
    update();
  });
  label();
  widget.nav.append(button);

  const sight = new IntersectionObserver(([entry]) => {
    away = !entry.isIntersecting;
    update();
  });
  sight.observe(view);
  signal.addEventListener('abort', () => {
    sight.disconnect();
    lanes.forEach((lane) => { lane.run = lane.run?.cancel(); });
  });
  watchHolding(widget, update);
  // Focus must not scroll what the transform already moves.
  view.onscroll = () => view.scrollTo(0, 0);
  const show = (card) => {
    const lane = lanes.find(({ node }) => node.contains(card));
    if (!lane?.run) return;
    // At its end, the other copy of the lane begins again.
    const offset = Math.abs(card[start] - lane.node.firstChild[start]) || 1;
    lane.run.currentTime = lane.pace * (lane === lanes[0] ? offset : lane.size - offset);
  };
  view.addEventListener('focusin', ({ target }) => target.matches(':focus-visible') && show(target.closest('li')));
  // Clicks on the inert copies go to the originals; a recording is moved into view to play.
  view.onclick = ({ clientX: x, clientY: y }) => copies.forEach(([copy, node]) => copy.querySelectorAll('a,button').forEach((each, i) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    // A hidden lane has no size.
    if (x > left && x < right && y > top && y < bottom) {
      show(node);
      node.querySelectorAll('a,button')[i].click();
    }
  }));

  const { length } = widget.feed.items;
  const countLanes = () => (length < 6 || (vertical ? widget.width < 560 : widget.feed.design.marqueeRows === 1) ? 1 : 2);
  const deal = (count) => {
    const before = part;
    part = length / count;
    lanes.forEach((lane, k) => {
      lane.cards = cards.slice(k * part, (k + 1) * part).map(({ node }) => node);
      if (part !== before) lane.node.replaceChildren(...lane.cards);
      lane.node.hidden = k >= count;
    });
    widget.clamp(cards);
    lanes.forEach((lane) => { lane.size = lane.node[side] + widget.gap; });
  };

  return {
    add({ item, node }) {
      // Added to its lane at once, so cards needn't be laid out twice.
      part ||= length / countLanes();
      lanes[+(cards.length > part)].node.append(node);
      // Wide enough for its text to take three lines; Chinese letters count as two.
      const letters = item.text.replace(/[\u2e80-\uff00]/g, '$&$&').length;
      node.style.setProperty('--width', 48 + letters * (letters > 140 ? 3.04 : letters > 64 ? 3.45 : 4.25) + 'px');
    },
    arrange() {
      if (cards.length < length) return;
      const room = vertical ? 560 : widget.width;
      const times = lanes.map(({ run }) => run?.currentTime || 0);
      lanes.forEach((lane) => { lane.run = lane.run?.cancel(); });
      copies.forEach(([copy]) => copy.remove());
      copies = [];
      deal(countLanes());
      if (lanes.some(({ size }) => size < room)) deal(1);
      const moves = lanes[0].size > room;
      root.classList.toggle('still', !moves);
      button.hidden = !moves;
      if (moves) lanes.forEach((lane, k) => {
        for (const node of lane.cards.slice(0, room / (vertical ? 100 : 240) + 1)) {
          const copy = node.cloneNode(true);
          copy.setAttribute('aria-hidden', true);
          copy.inert = true;
          // The player stays in the original; the copy shows the poster.
          const player = copy.querySelector('video,audio');
          if (player) player.previousSibling.hidden = false;
          player?.remove();
          for (const img of copy.querySelectorAll('img')) img.onerror = () => img.remove();
          lane.node.append(copy);
          copies.push([copy, node]);
        }
        const ends = ['none', `translate${axis}${vertical || getComputedStyle(view).direction !== 'rtl' ? '-' : ''}${lane.size}px)`];
        lane.run = lane.node.animate({ transform: k ? ends.reverse() : ends }, { duration: lane.size * lane.pace, iterations: Infinity });
        lane.run.currentTime = times[k];
      });
      update();
    },
  };
}];
