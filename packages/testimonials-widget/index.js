// <testimonials-widget project="…" src="https://…/widget/v1.js">: the widget's container as an element.
const ATTRIBUTES = ['project', 'widget', 'shape', 'testimonial', 'tag', 'min', 'theme'];

// A server has no elements; importing this there does nothing.
const Element = globalThis.HTMLElement ?? class {};

const load = (src, integrity) => {
  if ([...document.scripts].some((script) => script.src === src)) return;
  const script = document.createElement('script');
  if (integrity) Object.assign(script, { integrity, crossOrigin: 'anonymous' });
  document.head.append(Object.assign(script, { src, async: true }));
};

export class TestimonialsWidget extends Element {
  static observedAttributes = ATTRIBUTES;

  connectedCallback() {
    this.style.display ||= 'block';
    const src = this.getAttribute('src');
    if (src) load(new URL(src, document.baseURI).href, this.getAttribute('integrity'));
    else console.warn('<testimonials-widget> needs src, the address of the widget’s script.');
  }

  // The script watches these.
  attributeChangedCallback(name, _, value) {
    const attribute = `data-testimonials-${name === 'testimonial' ? 'id' : name}`;
    if (value === null) this.removeAttribute(attribute);
    else this.setAttribute(attribute, value);
  }
}

globalThis.customElements?.get('testimonials-widget') ??
  globalThis.customElements?.define('testimonials-widget', TestimonialsWidget);
