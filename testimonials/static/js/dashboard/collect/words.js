// Edit the email in its preview, where placeholders are shown as chips.
const form = document.querySelector('[data-ask]');
const FIELD = /\{(first_name|name|company|business)\}/g;

function start() {
  const mail = form.querySelector('[data-mail]');
  const shown = mail.querySelector('[data-words]');
  const editor = mail.querySelector('[data-editor]');
  const field = form.elements.message;
  const fields = mail.querySelectorAll('[data-field]');
  const change = mail.querySelector('[data-change]');
  const label = change.querySelector('[data-change-label]');
  const rest = label.textContent;
  const see = form.querySelector('[data-see]');
  const names = {
    first_name: mail.dataset.sayFirst, name: mail.dataset.sayName, company: mail.dataset.sayCompany, business: mail.dataset.sayBusiness,
  };

  // The text, with chips instead of placeholders in braces.
  function draw(into, text) {
    into.replaceChildren();
    let end = 0;
    for (const found of text.matchAll(FIELD)) {
      const chip = document.createElement('span');
      Object.assign(chip, { className: 'mail-field', textContent: names[found[1]], contentEditable: 'false' });
      chip.dataset.name = found[1];
      into.append(text.slice(end, found.index), chip);
      end = found.index + found[0].length;
    }
    into.append(text.slice(end));
  }
  function read(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.data.replaceAll('\u00A0', ' ');
    if (node.dataset?.name) return `{${node.dataset.name}}`;
    if (node.localName === 'br') return '\n';
    const text = [...node.childNodes].map(read).join('');
    return node !== editor && node.localName === 'div' && node.previousSibling ? `\n${text.replace(/\n$/, '')}` : text;
  }

  // Until it is edited, this is the email to the first person on the list.
  let first = null;
  function show() {
    const person = first;
    const words = { first_name: person?.name.split(' ')[0], name: person?.name, business: names.business };
    const text = field.value.replace(FIELD, (whole, name) => words[name] || (person && name !== 'company' ? '' : whole));
    draw(shown, person ? text.replace(/ \{company\}/g, '').replace(/ +([,.!])/g, '$1') : text);
  }
  form.addEventListener('asked', ({ detail }) => { first = detail ?? null; show(); });

  editor.addEventListener('input', () => { field.value = read(editor); });
  editor.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    document.execCommand('insertLineBreak');
  });
  editor.addEventListener('paste', (event) => {
    event.preventDefault();
    document.execCommand('insertText', false, event.clipboardData.getData('text/plain'));
  });
  editor.addEventListener('drop', (event) => event.preventDefault());

  function edit(isOn) {
    for (const each of fields) each.hidden = !isOn;
    shown.hidden = isOn;
    mail.classList.toggle('is-edited', isOn);
    change.setAttribute('aria-expanded', String(isOn));
    label.textContent = isOn ? change.dataset.sayDone : rest;
    if (isOn) draw(editor, field.value); else show();
  }
  change.addEventListener('click', () => {
    edit(shown.hidden === false);
    if (shown.hidden) editor.focus(); else change.focus();
  });
  see.addEventListener('click', () => {
    const isOn = form.classList.toggle('shows-mail');
    see.setAttribute('aria-expanded', String(isOn));
  });
  field.hidden = true;
  editor.hidden = false;
  mail.querySelector('[data-hint]').hidden = true;
  change.hidden = false;
  see.hidden = false;
  form.classList.add('has-script');
  edit(Boolean(form.elements.subject.ariaInvalid || field.ariaInvalid));
}
if (form) start();
