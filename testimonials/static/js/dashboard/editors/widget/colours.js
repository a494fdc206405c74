// The colours that the server derives from one. Those of the palettes came with the page; another
// one is asked for, and while it is being dragged only the last counts.

const form = document.querySelector('[data-editor]');
const note = document.querySelector('[data-colour-note]');
const known = new Map(Object.entries(JSON.parse(form.dataset.colours)));
const names = form.dataset.colourNames.split(' ');
const { colourUrl } = form.dataset;
let wanted = '';
let isAsking = false;

// Return what was derived from a colour, or undefined while it isn't known.
export const find = (hex) => known.get(hex);

// Return what the widget's data has for a derivation: stars may have the brand's colour.
export function paint(found, stars) {
  return Object.fromEntries(['light', 'dark'].map((theme) => {
    const colours = found[theme].split(' ');
    if (stars === 'brand') colours[names.indexOf('star')] = found.stars[theme].slice(1);
    return [theme, colours.join(' ')];
  }));
}

// Call `then()` when the colour's derivation, which wasn't known, has come.
export async function ask(hex, then) {
  wanted = hex;
  if (isAsking || known.has(hex)) return;
  isAsking = true;
  try {
    while (!known.has(wanted)) {
      const now = wanted;
      const answer = await fetch(`${colourUrl}?${new URLSearchParams({ hex: now })}`, { headers: { Accept: 'application/json' } });
      if (!answer.ok) break;
      known.set(now, await answer.json());
    }
    if (known.has(wanted)) then();
  } catch { /* It is shown when the page is opened again; the state of saving tells what is wrong. */
  } finally {
    isAsking = false;
  }
}

// Show a colour in the small pictures, and how it reads in a theme.
export function showColour(hex, theme) {
  const found = known.get(hex);
  if (!found) return;
  for (const each of ['light', 'dark']) {
    found[each].split(' ').forEach((value, index) => form.style.setProperty(`--${each}-${names[index]}`, `#${value}`));
  }
  note.querySelector('[data-note-text]').textContent = found.notes[theme].text;
  note.querySelector('[data-note-changes]').replaceChildren(...found.notes[theme].changes.map(({ colour, reason }) => {
    const item = document.createElement('li');
    const code = document.createElement('code');
    code.textContent = colour;
    item.append(code, ` ${reason}`);
    return item;
  }));
}
