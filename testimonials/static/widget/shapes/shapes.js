// The second file: shapes that few pages use. The core (../core/widget.js) imports it when it needs
// one, calls what it exports with the widget, and says there what the widget is.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`shapes.css`);

export default (widget) => {
  const { kind, host, signal } = widget;
  const root = host.shadowRoot;
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  signal.addEventListener('abort', () => { root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== sheet); });
  return ({ popup: drawPopup, horizontal: drawMarquee, vertical: drawMarquee }[kind] || drawBadge)(widget);
};

// Animations go on unless somebody points at them or has the focus in them, or a recording plays.
const isHeld = (view) => document.hidden || view.matches(':hover,:focus-within,.held');
const watchHolding = ({ view, listen }, update) => {
  listen(view, 'pointerenter pointerleave focusin focusout', update);
  listen(document, 'visibilitychange', update);
};
