import { SCREEN_WIDTH, toPixels } from "./css-values.ts";

/** The rules in an at-rule or a style sheet that count. */
export type Reach = "everything" | "what hides" | "nothing";

const MAX_LENGTH = 1000;

/** Reads media queries as a browser with a wide screen would. */
export function reachOfMedia(queries: string): Reach {
  // The expressions below take quadratic time.
  if (queries.length > MAX_LENGTH) return "what hides";
  const text = queries
    .toLowerCase()
    .replaceAll(/\/\*.*?\*\//gs, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([:<>=,]) ?|(?<=\() | (?=\))/g, "$1")
    .trim();
  if (text === "") return "everything";
  const reaches = text.split(",").map(reachOfQuery);
  return (["everything", "what hides"] as const).find((reach) => reaches.includes(reach)) ?? "nothing";
}

const OTHER_MEDIA = "print|speech|tty|tv|projection|handheld|braille|aural";
const FEATURE = String.raw`\((?:(?:(?:min|max)-(?:device-)?width:|width[<>]=?)(?:0|[\d.]+(?:px|em|rem|pt))|prefers-color-scheme:(?:dark|light))\)`;
const FEATURES = `${FEATURE}(?: and ${FEATURE})*`;
const KNOWN_QUERY = new RegExp(
  `^(?:(?:(?:not|only) )?(?:all|screen|${OTHER_MEDIA})(?: and ${FEATURES})?|not ${FEATURE}|${FEATURES})$`,
);
const OTHER_MEDIUM = new RegExp(`\\b(?:${OTHER_MEDIA})\\b|scheme:dark`);

/** A query that a computer with a wide screen may or may not meet counts for what hides. */
function reachOfQuery(query: string): Reach {
  if (/ or |\([^)]*\(/.test(query)) return "what hides";
  const isKnown = KNOWN_QUERY.test(query);
  const holds = mayHold(query);
  if (query.startsWith("not ") ? isKnown && holds : !holds) return "nothing";
  return isKnown ? "everything" : "what hides";
}

/** Whether a media query can hold on a computer, apart from a `not` before it. Features that are not known here are there. */
function mayHold(query: string): boolean {
  const features = Array.from(query.matchAll(/(?:(min|max)-(?:device-)?width:|width([<>])=?)([^)]*)/g));
  const fits = features.every(([, prefix, sign, width = ""]) => {
    const pixels = toPixels(width, 16)[0] ?? 0;
    return prefix === "min" || sign === ">" ? pixels <= SCREEN_WIDTH : pixels >= SCREEN_WIDTH;
  });
  return fits && !OTHER_MEDIUM.test(query);
}
