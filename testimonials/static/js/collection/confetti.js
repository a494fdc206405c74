// 1.4 s of confetti, never again after a reload, and never for people who prefer reduced motion.
const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
const reloaded = performance.getEntriesByType('navigation')[0]?.type !== 'navigate';
if (!still && !reloaded && 'animate' in Element.prototype) {
  const box = document.createElement('div');
  box.className = 'confetti';
  box.setAttribute('aria-hidden', 'true');
  for (let i = 0; i < 48; i += 1) {
    const piece = document.createElement('span');
    piece.style.setProperty('inset-inline-start', `${Math.random() * 100}%`);
    const drift = (Math.random() - 0.5) * 160;
    const turn = (Math.random() - 0.5) * 900;
    const fall = 180 + Math.random() * Math.min(innerHeight * 0.5, 420);
    box.append(piece);
    piece.animate([
      { transform: 'translate(0, 0) rotate(0deg)', opacity: 1 },
      { opacity: 1, offset: 0.7 },
      { transform: `translate(${drift}px, ${fall}px) rotate(${turn}deg)`, opacity: 0 },
    ], { duration: 1000 + Math.random() * 250, delay: Math.random() * 150, easing: 'cubic-bezier(.15,.6,.4,1)', fill: 'forwards' });
  }
  document.body.append(box);
  setTimeout(() => box.remove(), 1450);
}
