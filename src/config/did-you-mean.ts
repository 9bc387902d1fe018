import leven from "leven";

/**
 * The end of a sentence about an unknown name: `; did you mean "token"?`. If no known name is similar, `otherwise`: by
 * default a list of them all.
 */
export function didYouMean(name: string, known: readonly string[], otherwise = listKnown(known)): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: leven(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance);
  if (nearest === undefined || nearest.distance > maxDistance(nearest.candidate)) return otherwise;
  return `; did you mean "${nearest.candidate}"?`;
}

/** Two typing errors, or half of a longer name: `transforms` for `transformsDir`. */
function maxDistance(candidate: string): number {
  return Math.max(2, Math.floor(candidate.length / 2));
}

function listKnown(known: readonly string[]): string {
  return known.length === 0 ? "" : `; known here: ${known.join(", ")}`;
}
