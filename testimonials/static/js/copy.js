// Copy buttons stay hidden without a script, since they couldn't do anything.
import { announce } from './post.js';

const read = (source) => ('value' in source ? source.value : source.textContent);

function select(source) {
  if ('value' in source) {
    source.focus();
    source.select();
  } else {
    getSelection().selectAllChildren(source);
  }
}

function offer(button) {
  // Looked up with each click, since tabs change what a button copies.
  const find = () => document.getElementById(button.dataset.copy);
  if (!find()) return;
  const label = button.querySelector('[data-copy-label]') ?? button;
  const rest = label.textContent;
  let timer = 0;
  const say = (short, long) => {
    label.textContent = short;
    announce(long);
    clearTimeout(timer);
    timer = setTimeout(() => { label.textContent = rest; announce(''); }, 4000);
  };
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = find();
    const words = button.dataset.sayCopied ? button.dataset : document.body.dataset;
    button.dispatchEvent(new CustomEvent('copied', { bubbles: true }));
    try {
      await navigator.clipboard.writeText(read(source));
      say(words.sayCopied, words.sayCopiedFully ?? words.sayCopied);
    } catch {
      // Pages without HTTPS have no clipboard access; with the text selected, it takes one keystroke.
      select(source);
      say(words.sayPress, words.sayPressFully ?? words.sayPress);
    }
  });
}

export function offerCopies(root) {
  for (const button of root.querySelectorAll('[data-copy]')) offer(button);
}
offerCopies(document);
