// Guiding prompts: a tap marks one and moves the caret to the end of the text; after some letters
// it is ticked. Nothing is inserted.

const ENOUGH = 20;

export function setUpPrompts(form) {
  const list = form.querySelector('[data-prompts]');
  if (!list) return;
  const words = form.elements.text;
  const length = () => words.value.replace(/\s/g, '').length;
  let last = length();
  let current = null;
  const buttons = [...list.children].map((item) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'prompt';
    button.textContent = item.textContent;
    button.letters = 0;
    item.replaceChildren(button);
    return button;
  });
  const mark = (button) => {
    current?.removeAttribute('aria-current');
    current = button;
    current.setAttribute('aria-current', 'true');
  };
  for (const button of buttons) {
    button.addEventListener('click', () => {
      mark(button);
      words.focus();
      words.setSelectionRange(words.value.length, words.value.length);
    });
  }
  words.addEventListener('focus', () => { if (!current) mark(buttons[0]); });
  words.addEventListener('input', () => {
    const now = length();
    if (current) current.letters = Math.max(0, current.letters + now - last);
    last = now;
    current?.classList.toggle('is-done', current.letters >= ENOUGH);
  });
}
