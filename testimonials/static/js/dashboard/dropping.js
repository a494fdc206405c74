// Call `take` with files dropped on `place`; `shown` is highlighted while one is over it.
export function takeDropped(place, take, shown = place) {
  const show = (isOver) => shown.classList.toggle('is-over', isOver);
  for (const type of ['dragenter', 'dragover']) {
    place.addEventListener(type, (event) => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      show(true);
    });
  }
  place.addEventListener('dragleave', (event) => { if (!place.contains(event.relatedTarget)) show(false); });
  place.addEventListener('drop', (event) => {
    show(false);
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

// The same for a file chosen in a field, which is then emptied so that it can be chosen again.
export function takeFile(field, place, take, shown) {
  field.addEventListener('change', () => {
    const [file] = field.files;
    field.value = '';
    if (file) take(file);
  });
  takeDropped(place, ([file]) => take(file), shown);
}
