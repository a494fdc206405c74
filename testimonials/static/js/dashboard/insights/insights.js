// A day is chosen by pointer, touch or arrow keys, and the legend reads it out. The table needs none of this.

const chart = document.querySelector('[data-views]');
const chooser = chart?.querySelector('[data-choose]');
const bars = [...(chart?.querySelectorAll('[data-bar]') ?? [])];

function choose(place) {
  const { left, name, widget, wall } = bars[place].dataset;
  chart.querySelector('[data-chosen-day]').textContent = name;
  chart.querySelector('[data-chosen-widget]').textContent = widget;
  chart.querySelector('[data-chosen-wall]').textContent = wall;
  const frame = chart.querySelector('[data-chosen]');
  frame.setAttribute('x', `${left}%`);
  frame.setAttribute('visibility', 'visible');
  chooser.value = place;
  chooser.setAttribute('aria-valuetext', chooser.dataset.sayChosen
    .replace('#day', name).replace('#widget', widget).replace('#wall', wall));
}

if (bars.length) {
  const room = chooser.parentElement;
  chooser.hidden = false;
  chooser.setAttribute('aria-valuetext', chooser.dataset.sayStart);
  chooser.addEventListener('input', () => choose(chooser.valueAsNumber));
  chooser.addEventListener('focus', () => choose(chooser.valueAsNumber));
  const point = (event) => {
    const { left, width } = room.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * bars.length);
    choose(Math.min(Math.max(place, 0), bars.length - 1));
  };
  room.addEventListener('pointermove', point);
  room.addEventListener('pointerdown', point);
}
