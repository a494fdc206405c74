// Cards in columns that end at the same height. Each page is such a block, so that nothing above
// moves when more is shown.
export default [`masonry.css`, (widget) => {
  const { el } = widget;
  const blocks = [];
  // For the block that was just planned, and isn't laid out yet.
  let heights;
  const measure = (cards) => cards.map(({ figure }) => figure.offsetHeight + widget.gap);

  // Chooses a column for each card and by how much all must grow; returns the number of columns.
  const plan = (block, columns) => {
    const { list, cards } = block;
    for (const { node, figure } of cards) {
      node.style = figure.style = '';
    }
    const featured = +(columns > 1 && !!cards[0].featured);
    const cells = cards.length + featured;
    const packed = columns > 1 && cells >= 2 * columns;
    list.className = packed ? 'packed' : columns > 1 ? 'rows' : '';
    list.style.height = '';
    list.style.setProperty('--tm-columns', packed ? columns : Math.ceil(cells / Math.ceil(cells / columns)));
    block.columns = 0;
    widget.clamp(cards);
    if (!packed) return columns;

    heights = measure(cards);
    const ends = Array(columns).fill(0);
    const counts = [...ends];
    if (featured) ends[0] = ends[1] = heights[0];
    const chosen = [0];
    const put = (i, column, sign = 1) => {
      chosen[i] = column;
      ends[column] += sign * heights[i];
      counts[column] += sign;
    };
    let best = Infinity;
    let found;
    const search = (i, cost, last) => {
      if (cost >= best) return;
      if (i === cards.length) {
        const lowest = Math.max(...ends);
        const lead = featured && Math.floor(Math.min(24, (lowest - ends[0]) / (counts[0] + 1), (lowest - ends[1]) / (counts[1] + 1)));
        const each = ends.map((end, k) => (lowest - end - (k < 2 ? lead : 0)) / (counts[k] || .5));
        const most = Math.max(lead, ...each);
        cost += most + lowest / 100;
        if (cost < best) {
          best = cost;
          found = { columns: [...chosen], lead, each, most };
        }
        return;
      }
      for (let k = 0; k < columns; k++) {
        const top = ends[k];
        put(i, k);
        // Preferably, no card starts above an earlier one.
        search(i + 1, cost + (top < last - 4 ? Math.min(60, (last - top) * .12) : 0), Math.max(last, top));
        put(i, k, -1);
      }
    };
    // The last few cards are tried in every column, as many as that is fast for.
    const fixed = Math.max(featured, cards.length - [12, 8, 6][columns - 2]);
    for (let i = featured; i < fixed; i++) put(i, ends.indexOf(Math.min(...ends)));
    search(fixed, 0, 0);
    if (found.most > 40 && columns > 2) return plan(block, columns - 1);
    block.columns = found.columns;
    const spare = [0, 0, 0, 0];
    cards.forEach(({ node, figure }, i) => {
      const column = found.columns[i];
      // Fractions of a pixel are passed on to the next card in the column.
      const more = i < featured ? found.lead : found.each[column] + spare[column];
      spare[column] = more % 1;
      heights[i] += Math.floor(more + .01);
      figure.style.minHeight = heights[i] - widget.gap + 'px';
      node.style.insetInlineStart = `calc((100% + var(--tm-gap))/${columns}*${column})`;
    });
    return columns;
  };

  // An expanded card pushes down those below it, and no card changes its column.
  const place = ({ list, cards, columns }) => {
    if (!columns) return;
    heights ||= measure(cards);
    const ends = [0, 0, 0, 0];
    cards.forEach(({ node, featured }, i) => {
      node.style.top = ends[columns[i]] + 'px';
      ends[columns[i]] += heights[i];
      if (!i && featured) ends[1] = ends[0];
    });
    list.style.height = Math.max(...ends) - widget.gap + 'px';
  };

  return {
    page(count) {
      const list = blocks[0] ? el('ul', { role: 'list' }) : widget.list;
      // As plan() will do, so cards needn't be laid out twice.
      if (widget.columns > 1 && count >= 2 * widget.columns) list.className = 'packed';
      widget.view.append(list);
      blocks.push({ list, cards: [] });
    },
    add(card) {
      const block = blocks.at(-1);
      block.cards.push(card);
      block.list.append(card.node);
    },
    arrange() {
      let { columns } = widget;
      for (const block of blocks) {
        heights = 0;
        const from = [widget.version, columns, block.cards.length].join();
        if (block.from !== from) {
          block.from = from;
          block.used = plan(block, columns);
        }
        columns = block.used;
        place(block);
      }
    },
  };
}];
