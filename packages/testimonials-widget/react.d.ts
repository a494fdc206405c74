import type { DetailedHTMLProps, HTMLAttributes } from 'react';
import type { TestimonialsWidgetAttributes } from './index.js';

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'testimonials-widget': DetailedHTMLProps<HTMLAttributes<HTMLElement>, HTMLElement> &
        TestimonialsWidgetAttributes;
    }
  }
}
