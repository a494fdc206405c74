// Cards in columns.
const drawMasonry = (widget) => ({
  arrange() {
    const { cards, list, columns } = widget;
    const packed = columns > 1;
    list.classList.toggle('packed', packed);
    // Browsers cap the number of rows, so they are 2 px high.
    const spans = cards.map(({ node }) => Math.ceil(node.offsetHeight / 2) + 8);
    const heights = Array(columns).fill(0);
    cards.forEach((card, i) => {
      // Kept, so that no card moves.
      const column = card[columns] = card[columns] ?? heights.indexOf(Math.min(...heights));
      heights[column] += spans[i];
      card.node.style.gridArea = packed ? `auto / ${column + 1} / span ${spans[i]}` : '';
    });
  },
});
