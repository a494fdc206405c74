// Copy buttons stay hidden without script, because they could do nothing.
for (const button of document.querySelectorAll('[data-copy]')) {
  // Looked up anew with each click: tabs change what a button copies.
  const find = () => document.getElementById(button.dataset.copy);
  const read = (source) => ('value' in source ? source.value : source.textContent);
  const label = button.querySelector('[data-copy-label]');
  if (!find() || !label) continue;
  const rest = label.textContent;
  const status = document.createElement('p');
  status.className = 'visually-hidden';
  status.setAttribute('role', 'status');
  document.body.append(status);
  let timer = 0;
  const say = (short, long) => {
    label.textContent = short;
    status.textContent = long;
    clearTimeout(timer);
    timer = setTimeout(() => { label.textContent = rest; status.textContent = ''; }, 4000);
  };
  const select = (source) => {
    if ('value' in source) {
      source.focus();
      source.select();
      return;
    }
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = find();
    button.dispatchEvent(new CustomEvent('copied', { bubbles: true }));
    try {
      await navigator.clipboard.writeText(read(source));
      say('Copied', 'Copied to the clipboard.');
    } catch {
      // Pages without HTTPS have no clipboard; the selection makes it one key stroke.
      select(source);
      say('Press Ctrl+C', 'Selected. Press Ctrl+C or Command+C to copy it.');
    }
  });
}
