// The second file: shapes that few pages use. The core (../core/widget.js) imports it when it needs
// one, calls what it exports with the widget, and says there what the widget is.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`shapes.css`);

export default async (widget) => {
  widget.host.shadowRoot.adoptedStyleSheets.push(sheet);
  return widget.kind === 'badge' ? drawBadge(widget) : drawMarquee(widget, (await widget.findLayout('carousel'))(widget));
};
