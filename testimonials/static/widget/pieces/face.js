const initials = (name) => {
  const words = name.match(/[\p{L}\p{N}]\S*/gu) || ['★'];
  // Where no mark can follow, no table of the browser's is needed.
  return [words[0], ...words.slice(1).slice(-1)].map((word) => (word[1] > '~' ? [...new Intl.Segmenter().segment(word)][0].segment : word[0])).join('').toUpperCase();
};

const hash = (name) => {
  let hash = 0;
  for (const letter of name) hash = (hash * 3 + letter.codePointAt()) % 8;
  return hash;
};

// People’s photos, or their initials.
export default [`face.css`, (widget) => {
  const { el, host, put, read, design: { photoSize, radius } } = widget;
  const webUrl = (value) => (/^https?:\/\//i.test(value) ? value : '');

  if (radius >= 0) {
    put('radius', radius + 'px');
    put('round', radius > 6 ? '50%' : radius && '8px');
  }
  if (photoSize && photoSize !== 48) put('photo', photoSize + 'px');
  const heading = document.querySelector('h2') || document.querySelector('h1') || host.parentElement || document.body;
  put('heading', read(heading));
  if (getComputedStyle(heading).textAlign === 'center') widget.look += ' middle';
  widget.rtl = getComputedStyle(host).direction === 'rtl';
  if (widget.rtl) widget.look += ' rtl';

  widget.webUrl = webUrl;
  widget.face = (name, picture) => {
    const node = el('span', { class: 'avatar', 'aria-hidden': true }, initials(name));
    node.classList.add('a' + hash(name) % 3);
    const src = webUrl(picture);
    if (src) {
      const img = el('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
      img.onerror = () => img.remove();
      img.src = src;
      node.append(img);
    }
    return node;
  };
  widget.faces = (people) => el('span', { class: 'faces', 'aria-hidden': true }, ...people.map(({ name, avatar }) => widget.face(name, avatar)));
}];
