// The finished card, updated with each keystroke.

const FACES = 3;
const segmenter = new Intl.Segmenter();

// The size is chosen as in widget/render.py: wide letters count twice.
const weigh = (words) => [...words].length + (words.match(/[\u2e80-\ud7ff]/g) ?? []).length;
const sizeOf = (words) => {
  const size = weigh(words);
  return size <= 30 ? 'text short tiny' : size <= 64 ? 'text short' : size <= 140 ? 'text medium' : 'text';
};

function initialsOf(name) {
  const words = name.match(/\p{L}[\p{L}\p{M}\p{N}]*/gu) ?? ['★'];
  const [first, last] = [words[0], words.length > 1 ? words.at(-1) : ''];
  return [first, last].map((word) => [...segmenter.segment(word)][0]?.segment ?? '').join('').toUpperCase();
}

export function setUpLook(form) {
  const look = form.querySelector('[data-look]');
  // If the stars come first, the card's styles have so far only applied without a script.
  look.querySelector('link').media = 'all';
  const find = (selector) => look.querySelector(selector);
  const say = look.dataset;
  const avatar = find('.avatar');
  const value = (name) => form.elements[name]?.value.trim() ?? '';

  const meta = () => {
    if (!find('.meta')) {
      const node = document.createElement('span');
      node.className = 'meta';
      find('.author').append(node);
    }
    return find('.meta');
  };
  const writeRole = (role) => {
    const old = find('.role');
    if (role && !old) {
      const node = document.createElement('bdi');
      node.className = 'role';
      meta().prepend(node);
    }
    if (role) find('.role').textContent = role;
    else old?.remove();
    if (!find('.meta')?.children.length) find('.meta')?.remove();
  };

  // The public answers, as widget/selection.py writes them.
  const writeAnswers = () => {
    find('.answers')?.remove();
    const list = document.createElement('dl');
    list.className = 'answers';
    for (const question of form.querySelectorAll('[data-shown]')) {
      const given = [...question.querySelectorAll('textarea, :checked')].map((field) => field.value.trim()).filter(Boolean).join(', ');
      if (!given) continue;
      const [row, term, answer, words] = ['div', 'dt', 'dd', 'bdi'].map((name) => document.createElement(name));
      term.textContent = question.dataset.shown || question.querySelector('[dir="auto"]:not(textarea)').textContent;
      words.textContent = question.dataset.shownAs?.replace('{}', given) ?? given;
      answer.append(words);
      row.append(term, answer);
      list.append(row);
    }
    if (list.firstChild) find('.text').after(list);
  };

  const show = () => {
    const text = value('text');
    const name = value('name');
    look.classList.toggle('is-empty', !text);
    find('.text').className = sizeOf(text || say.sayWords);
    find('.text').textContent = text || say.sayWords;
    find('.name').textContent = name || say.sayName;
    writeRole([value('role'), say.company === 'off' ? '' : value('company')].filter(Boolean).join(', '));
    const rating = Number(form.querySelector('[name="rating"]:checked')?.value ?? 0);
    look.classList.toggle('is-unrated', !rating);
    writeAnswers();
    find('.top svg svg')?.setAttribute('width', rating * 22);
    if (avatar && !avatar.querySelector('img, canvas')) {
      avatar.textContent = initialsOf(name || say.sayName);
      let hash = 0;
      for (const letter of name) hash = (hash * 3 + letter.codePointAt()) % 8;
      avatar.className = `avatar a${hash % FACES}`;
    }
  };
  form.addEventListener('input', show);
  // photo.js reports which picture it has, if any.
  form.addEventListener('photo', (event) => {
    const face = form.querySelector('[data-details-face]');
    const picture = event.detail;
    for (const place of [avatar, face].filter(Boolean)) {
      place.rest ??= [...place.childNodes].filter((node) => !['IMG', 'CANVAS'].includes(node.nodeName));
      const copy = picture && document.createElement('canvas');
      if (copy) {
        copy.width = picture.width;
        copy.height = picture.height;
        copy.getContext('2d').drawImage(picture, 0, 0);
      }
      place.replaceChildren(...(copy ? [copy] : place.rest));
    }
    show();
  });
  show();
  return show;
}
