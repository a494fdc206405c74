// Animations go on unless somebody points at them or has the focus in them, or a recording plays.
const isHeld = (view) => document.hidden || view.matches(':hover,:focus-within,.held');
const watchHolding = ({ view, listen }, update) => {
  listen(view, 'pointerenter pointerleave focusin focusout', update);
  listen(document, 'visibilitychange', update);
};
