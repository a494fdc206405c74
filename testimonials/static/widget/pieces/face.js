// People’s photos, or their initials.
export default [`face.css`, (widget) => {
  const { el, paint, put, feed: { design: { photoSize, radius } } } = widget;
  paint('              back0 fore0 back1 fore1 back2 fore2');
  if (radius >= 0) {
    put('radius', radius + 'px');
    put('round', radius > 6 ? '50%' : radius && '8px');
  }
  if (photoSize && photoSize !== 48) put('photo', photoSize + 'px');

  widget.webUrl = (value) => (/^https?:\/\//i.test(value) ? value : '');
  widget.face = ([initials, colour] = ['★', 0], picture) => {
    const src = widget.webUrl(picture);
    const img = src && el('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
    if (src) {
      img.onerror = () => img.remove();
      img.src = src;
    }
    const node = el('span', { class: 'avatar', 'aria-hidden': true }, initials, img);
    node.classList.add('a' + colour);
    return node;
  };
}];
