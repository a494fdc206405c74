// Move an item of a list by dragging its handle.

const EDGE = 80;

export const placeOf = (item) => [...item.parentElement.children].indexOf(item);

const middleOf = (item) => {
  const { top, height } = item.getBoundingClientRect();
  return top + height / 2;
};

// Its neighbours are moved, since the item itself would lose the focus and the pointer.
export function moveTo(item, place) {
  while (placeOf(item) < place) item.before(item.nextElementSibling);
  while (placeOf(item) > place) item.after(item.previousElementSibling);
}

// Move `item` with the pointer on its handle; `onDrop` is called if its place has changed.
export function drag(item, handle, { pointerId }, onDrop) {
  const list = item.parentElement;
  const start = placeOf(item);
  const dialog = item.closest('dialog');
  const scroller = dialog ?? window;
  const { top, bottom } = dialog?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
  const move = ({ clientY }) => {
    if (clientY < top + EDGE) scroller.scrollBy(0, -12);
    else if (clientY > bottom - EDGE) scroller.scrollBy(0, 12);
    const above = [...list.children].filter((each) => each !== item && middleOf(each) < clientY);
    moveTo(item, above.length);
  };
  const end = ({ type }) => {
    item.classList.remove('is-dragged');
    handle.removeEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) handle.removeEventListener(name, end);
    if (type === 'pointercancel') moveTo(item, start);
    if (placeOf(item) !== start) onDrop();
  };
  handle.setPointerCapture(pointerId);
  item.classList.add('is-dragged');
  handle.addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel']) handle.addEventListener(name, end);
}
