/** A text that the agent had, by the name under which a person knows it: `event`, `charges.list`. */
export interface KnownText {
  name: string;
  text: string;
}

/** Names of the texts in which a value stands; undefined: it is no number and no id-like word, so nobody looks for it. */
export type FindPlaces = (value: unknown) => string[] | undefined;

const MAX_WORD = 200;

/** One word with a digit, `@` or `_`, or of capital letters alone: an id, an address, a currency. */
const ID_LIKE = /^(?:(?=.*[\d@_])\S+|\p{Lu}{2,})$/u;

/** A number as people and programs write it: `69.00`, `1,204.50`, `49,00`. */
const NUMBER = /(?<![\p{L}\p{N}._])-?\d+(?:[.,]\d+)*(?![\p{L}\p{N}_])/gu;

/** Says of each number and id-like word where the agent can have it from. `nowhere`: it made it up, or computed it. */
export function findPlacesIn(known: readonly KnownText[]): FindPlaces {
  const texts = known.map(({ name, text }) => ({ name, text, numbers: readNumbers(text) }));
  return (value) => {
    const holds = toTest(value);
    if (!holds) return undefined;
    const found = new Set(texts.filter(holds).map(({ name }) => name));
    return found.size === 0 ? ["nowhere"] : [...found];
  };
}

type Searched = KnownText & { numbers: ReadonlySet<number> };

function toTest(value: unknown): ((known: Searched) => boolean) | undefined {
  if (typeof value === "number") return ({ numbers }) => numbers.has(value);
  if (typeof value !== "string" || value.length > MAX_WORD || !ID_LIKE.test(value)) return undefined;
  const number = /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined;
  return ({ text, numbers }) => hasWord(text, value) || (number !== undefined && numbers.has(number));
}

/** A comma may separate thousands, or be that of a decimal number. */
function readNumbers(text: string): Set<number> {
  const numbers = new Set<number>();
  for (const [found] of text.matchAll(NUMBER)) {
    for (const written of [found.replaceAll(",", ""), found.replaceAll(".", "").replace(",", ".")]) {
      const number = Number(written);
      if (Number.isFinite(number)) numbers.add(number);
    }
  }
  return numbers;
}

/** Finds whole words: `INV-2` does not stand in `INV-209`. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const [before = "", after = ""] = [text[at - 1], text[at + word.length]];
    if (!/[\p{L}\p{N}_]/u.test(before) && !/[\p{L}\p{N}_]/u.test(after)) return true;
  }
  return false;
}
