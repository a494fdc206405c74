// A list of chips that ends with a field: Backspace in the empty field focuses the last chip, and
// removes it the second time; arrow keys move between chips. Each has a button to remove it.
import { fill } from '../post.js';

// `say` is the label of the button, "Remove {name}"; `removed` is called after each removal.
export function makeChips(list, input, say, removed) {
  const place = input.closest('li');
  const all = () => [...list.querySelectorAll('.chip')];

  function remove(chip) {
    const next = chip.nextElementSibling;
    chip.remove();
    (next === place ? input : next).focus();
    removed();
  }

  function add(chip, name) {
    const cross = document.createElement('button');
    cross.type = 'button';
    cross.className = 'chip-remove';
    cross.setAttribute('aria-label', fill(say, { name }));
    cross.append(document.createElementNS('http://www.w3.org/2000/svg', 'svg'));
    cross.firstChild.setAttribute('class', 'icon');
    cross.firstChild.innerHTML = '<use href="#i-cross"/>';
    cross.addEventListener('click', () => remove(chip));
    chip.tabIndex = -1;
    chip.append(cross);
    list.insertBefore(chip, place);
  }

  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Backspace' || event.isComposing || input.value || !all().length) return;
    event.preventDefault();
    all().at(-1).focus();
  });
  list.addEventListener('keydown', (event) => {
    const chip = event.target;
    if (!chip.matches('.chip')) return;
    const near = { ArrowLeft: chip.previousElementSibling, ArrowRight: chip.nextElementSibling }[event.key];
    if (event.key === 'Backspace' || event.key === 'Delete') remove(chip);
    else if (near) (near === place ? input : near).focus();
    else return;
    event.preventDefault();
  });
  return { all, add };
}
