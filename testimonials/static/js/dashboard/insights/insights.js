// A day is selected by pointer, touch or arrow keys, and described in the line above.

const chart = document.querySelector('[data-views]');
const chooser = chart?.querySelector('[data-choose]');
const bars = [...(chart?.querySelectorAll('[data-bar]') ?? [])];

function choose(place) {
  const { name, words } = bars[place].dataset;
  chart.querySelector('[data-chosen-day]').textContent = name;
  chart.querySelector('[data-chosen-words]').textContent = words;
  bars.forEach((bar, at) => bar.classList.toggle('is-chosen', at === place));
  chooser.value = place;
  chooser.setAttribute('aria-valuetext', `${name}: ${words}`);
}

if (chooser) {
  const room = chooser.parentElement;
  chooser.hidden = false;
  chooser.addEventListener('input', () => choose(chooser.valueAsNumber));
  const point = (event) => {
    const { left, width } = room.getBoundingClientRect();
    const place = Math.min(Math.max(Math.floor(((event.clientX - left) / width) * bars.length), 0), bars.length - 1);
    choose(document.dir === 'rtl' ? bars.length - 1 - place : place);
  };
  room.addEventListener('pointermove', point);
  room.addEventListener('pointerdown', point);
}
