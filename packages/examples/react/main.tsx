import { StrictMode, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import 'testimonials-widget';
import type {} from 'testimonials-widget/react';

const SERVICE: string = import.meta.env.VITE_SERVICE;
const PROJECT: string = import.meta.env.VITE_PROJECT;

function App() {
  const place = useRef<HTMLElement>(null);
  const [shape, setShape] = useState<string>();
  const [count, setCount] = useState<number>();

  useEffect(() => {
    const element = place.current;
    const note = (event: HTMLElementEventMap['testimonials:ready']) => setCount(event.detail.count);
    element?.addEventListener('testimonials:ready', note);
    return () => element?.removeEventListener('testimonials:ready', note);
  }, []);

  return (
    <>
      <h1>What our customers say</h1>
      <button onClick={() => setShape(shape ? undefined : 'strip')}>Change the shape</button>
      <p>{count === undefined ? 'Loading' : `${count} shown`}</p>
      <testimonials-widget ref={place} project={PROJECT} src={`${SERVICE}/widget/v1.js`} shape={shape}>
        <a href={`${SERVICE}/widget/${PROJECT}`}>Read our testimonials</a>
      </testimonials-widget>
    </>
  );
}

createRoot(document.getElementById('app')!).render(<StrictMode><App /></StrictMode>);
