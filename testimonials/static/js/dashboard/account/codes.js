// The page of recovery codes works without this file, which adds Print, and enables Done by the box.
const print = document.querySelector('[data-print]');
print.hidden = false;
print.addEventListener('click', () => window.print());

const kept = document.querySelector('[data-kept]');
const done = document.querySelector('[data-done]');
const wait = () => { done.disabled = !kept.checked; };
kept.addEventListener('change', wait);
wait();
