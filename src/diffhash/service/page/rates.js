// Curves from the counts of held-out pairs at each distance.

function sums(counts) {
  let total = 0;
  return counts.map((count) => (total += count));
}

// Points (false positive rate, true positive rate), from (0, 0) to (1, 1): one for each distance.
export function rocOf(similar, dissimilar) {
  const [right, wrong] = [sums(similar), sums(dissimilar)];
  const [allRight, allWrong] = [right.at(-1), wrong.at(-1)];
  if (!allRight || !allWrong) return [];
  return [[0, 0], ...right.map((count, distance) => [wrong[distance] / allWrong, count / allRight])];
}

// The error rate where false accepts equal false rejects; between two points the rates are interpolated.
export function equalErrorRate(roc) {
  for (let place = 1; place < roc.length; place += 1) {
    const [before, after] = [roc[place - 1], roc[place]];
    const gap = ([wrong, right]) => wrong - (1 - right);
    if (gap(after) < 0) continue;
    const share = gap(after) === gap(before) ? 0 : -gap(before) / (gap(after) - gap(before));
    return before[0] + share * (after[0] - before[0]);
  }
  return null;
}
