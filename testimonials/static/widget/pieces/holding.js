// Animations run unless the pointer or the focus is in them, or a recording plays.
const isHeld = (view) => document.hidden || view.matches(':hover,:focus-within,.held');
const watchHolding = ({ view, signal }, update) => {
  for (const type of ['pointerenter', 'pointerleave', 'focusin', 'focusout']) view.addEventListener(type, update);
  addEventListener('visibilitychange', update, { signal });
};
