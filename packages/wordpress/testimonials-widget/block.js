// The block in the editor: its settings, and the widget's page in a frame. PHP renders it on the page.
(({ blockEditor, blocks, components, element }) => {
  const { InspectorControls, useBlockProps } = blockEditor;
  const { Disabled, PanelBody, Placeholder, SelectControl, TextControl } = components;
  const el = element.createElement;
  const { service } = window.testimonialsWidget;
  const SHAPES = { '': 'Whole widget', badge: 'Badge', strip: 'Strip', single: 'One testimonial' };
  const THEMES = { '': 'As configured', auto: 'As the page', light: 'Light', dark: 'Dark' };
  const QUERY = ['widget', 'shape', 'id', 'tag', 'min', 'theme'];
  const TEXTS = {
    project: 'Project id, or the widget’s address',
    widget: 'Name of a saved widget',
    id: 'Id of one testimonial',
    tag: 'Only with this tag',
    min: 'Least number of characters',
  };
  const options = (choices) => Object.entries(choices).map(([value, label]) => ({ value, label }));

  function edit({ attributes, setAttributes }) {
    const control = (type, name, label, more) =>
      el(type, { key: name, label, value: attributes[name], onChange: (value) => setAttributes({ [name]: value }), ...more });
    const text = (name) => control(TextControl, name, TEXTS[name]);
    const project = /[0-9a-f]{24}/.exec(attributes.project)?.[0];
    const chosen = Object.entries(attributes).filter(([name, value]) => value && QUERY.includes(name));
    const query = new URLSearchParams(chosen);
    const preview = el(Disabled, {}, el('iframe', {
      src: `${service}/widget/${project}?${query}`, title: 'Testimonials', width: '100%', height: 480, style: { border: 0 },
    }));
    const ask = el(Placeholder, {
      icon: 'format-quote', label: 'Testimonials',
      instructions: service ? 'Paste the widget’s address from “Add to your site”.' : 'An administrator first sets the address of the service under Settings, General.',
    }, text('project'));
    return el('div', useBlockProps(), el(InspectorControls, {}, el(PanelBody, { title: 'Testimonials' },
      text('project'),
      control(SelectControl, 'shape', 'Shape', { options: options(SHAPES) }),
      control(SelectControl, 'theme', 'Theme', { options: options(THEMES) }),
      ['widget', 'id', 'tag', 'min'].map(text),
    )), service && project ? preview : ask);
  }

  blocks.registerBlockType('testimonials-widget/testimonials', { edit, save: () => null });
})(window.wp);
