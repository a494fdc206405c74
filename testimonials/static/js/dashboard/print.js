// A button that prints the page, which is hidden without this file.
const button = document.querySelector('[data-print]');
button.hidden = false;
button.addEventListener('click', () => window.print());
