/** The attributes of `<testimonials-widget>`. */
export interface TestimonialsWidgetAttributes {
  /** The project's id. */
  project: string;
  /** The address of the widget's script, such as `https://testimonials.example.com/widget/v1.js`. */
  src: string;
  /** The digest of a pinned script, as “Add to your site” gives it. */
  integrity?: string;
  /** The name of a saved widget; the project's own without. */
  widget?: string;
  /** Another shape than the whole widget, such as `badge` or `strip`. */
  shape?: string;
  /** The id of one testimonial. */
  testimonial?: string;
  /** Only testimonials with this tag. */
  tag?: string;
  /** Only texts of at least so many characters. */
  min?: number | string;
  theme?: 'auto' | 'light' | 'dark';
}

/** The `detail` of the events `testimonials:ready` and `testimonials:error`. */
export interface TestimonialsDetail {
  projectId: string;
  count: number;
  total: number;
}

export declare class TestimonialsWidget extends HTMLElement {}

declare global {
  interface HTMLElementTagNameMap {
    'testimonials-widget': TestimonialsWidget;
  }
  interface HTMLElementEventMap {
    'testimonials:ready': CustomEvent<TestimonialsDetail>;
    'testimonials:error': CustomEvent<TestimonialsDetail>;
  }
}
