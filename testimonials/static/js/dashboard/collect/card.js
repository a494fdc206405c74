// The printable card has a button for printing.

const button = document.querySelector('[data-print]');
button.hidden = false;
button.addEventListener('click', () => window.print());
