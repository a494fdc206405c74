// Cards that move by themselves, until they are paused.
const drawMarquee = (widget, still) => {
  const { cards, list, view, nav, status, root, rtl, listen, signal, set } = widget;
  const vertical = widget.kind === 'vertical';
  let run;
  let paused;
  let away;
  const update = () => run?.[paused || away || document.hidden || view.matches(':hover,:focus-within') ? 'pause' : 'play']();
  const pause = widget.button({ class: 'button' }, () => {
    paused = !paused;
    pause.textContent = paused ? 'Play' : 'Pause';
    update();
  }, 'Pause');
  const move = (moving) => { root.className = widget.look + (moving ? ' moving ' + widget.kind : ''); };

  const sight = new IntersectionObserver(([entry]) => {
    away = !entry.isIntersecting;
    update();
  });
  sight.observe(view);
  signal.addEventListener('abort', () => {
    sight.disconnect();
    run?.cancel();
  });
  listen(document, 'visibilitychange', update);
  listen(view, 'pointerenter pointerleave focusin focusout', update);
  // Focus must not scroll what the transform moves.
  listen(view, 'scroll', () => run && view.scrollTo(0, 0));
  listen(view, 'focusin', ({ target }) => {
    const node = target.closest('li');
    const side = vertical ? 'offsetTop' : 'offsetLeft';
    if (run && node && target.matches(':focus-visible')) run.currentTime = 25 * Math.abs(node[side] - list.firstChild[side]);
  });
  // Clicks on the inert copies go to the originals.
  listen(view, 'click', ({ clientX: x, clientY: y }) => {
    const at = [...list.querySelectorAll('[inert] :is(a,button)')].findIndex((node) => {
      const box = node.getBoundingClientRect();
      return x > box.left && x < box.right && y > box.top && y < box.bottom;
    });
    list.querySelectorAll('a,button')[at]?.click();
  });

  return {
    arrange() {
      const width = status.clientWidth;
      const time = run?.currentTime;
      run?.cancel();
      run = undefined;
      list.querySelectorAll('[inert]').forEach((copy) => copy.remove());
      move(true);
      const size = 16 + (vertical ? list.offsetHeight : list.offsetWidth);
      // What fits is the still carousel.
      if (size <= (vertical ? 536 : width)) {
        move(false);
        still.arrange();
        return;
      }
      for (const { node } of cards.slice(0, width / 300 + 6)) {
        list.append(node.cloneNode(true));
        set(list.lastChild, { 'aria-hidden': true, inert: '' });
      }
      const way = vertical ? 'Y(-' : rtl ? 'X(' : 'X(-';
      run = list.animate({ transform: ['none', `translate${way}${size}px)`] }, { duration: size * 25, iterations: Infinity });
      run.currentTime = time || 0;
      update();
      if (nav.firstChild !== pause) nav.replaceChildren(pause);
    },
  };
};
