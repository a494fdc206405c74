// The widget's second file: shapes that few pages use.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`shapes.css`);
export default sheet;
