// <testimonials-widget project="…" src="https://…/widget/v1.js">: the widget's container as an element.
const ATTRIBUTES = ['project', 'widget', 'shape', 'testimonial', 'tag', 'min', 'theme'];

// A server has no elements; importing this there does nothing.
const Element = globalThis.HTMLElement ?? class {};

const load = (element) => {
  const { href: src } = new URL(element.getAttribute('src'), document.baseURI);
  if ([...document.scripts].some((script) => script.src === src)) return;
  const script = document.createElement('script');
  const integrity = element.getAttribute('integrity');
  if (integrity) Object.assign(script, { integrity, crossOrigin: 'anonymous' });
  // The next element tries again.
  document.head.append(Object.assign(script, { src, async: true, onerror: () => script.remove() }));
};

export class TestimonialsWidget extends Element {
  static observedAttributes = ['src', ...ATTRIBUTES];

  connectedCallback() {
    this.style.display ||= 'block';
  }

  // The widget's script watches the container's. A framework may set `integrity` after `src`.
  attributeChangedCallback(name, _, value) {
    if (name === 'src') return value && queueMicrotask(() => load(this));
    const attribute = `data-testimonials-${name === 'testimonial' ? 'id' : name}`;
    if (value === null) this.removeAttribute(attribute);
    else this.setAttribute(attribute, value);
  }
}

globalThis.customElements?.get('testimonials-widget') ??
  globalThis.customElements?.define('testimonials-widget', TestimonialsWidget);
