import { hash, timingSafeEqual } from "node:crypto";

/** Signs a text with a key that only the nodes of one store have. */
export type Sign = (text: string) => Uint8Array;

/** The source of a mark: the delivery's name, and the proof of who wrote it. Without `sign` there is no proof. */
export interface Marked {
  idempotencyKey: string;
  sign: Sign | undefined;
}

/** In HTML and Markdown nobody sees it. It proves who wrote the text before it. */
export function toHtmlMark(marked: Marked, text: string): string {
  return `<!-- hookline:${toProof(marked, text)} -->`;
}

/** Bitbucket shows HTML comments as text, but no definition of a link that nothing refers to. */
export function toLinkMark(marked: Marked, text: string): string {
  return `[hookline:${toProof(marked, text)}]: #`;
}

const LINE_MARK = /^(?:<!-- |\[)hookline:(?<name>[\w:.-]+):(?<seal>[\da-f]{32})(?: -->|\]: #)$/;

function toProof({ idempotencyKey, sign }: Marked, text: string): string {
  // Other characters could end the mark.
  const name = idempotencyKey.replaceAll(/[^\w:.-]|--+/g, "_");
  return sign ? `${name}:${toSeal(sign, name, text)}` : name;
}

/** For services that show every visible character, in characters without width. They rewrite a text, so it proves none. */
export function toInvisibleMark({ idempotencyKey, sign }: Marked): string {
  const name = hash("sha256", idempotencyKey).slice(0, 16);
  return `\u2063\u2063${toInvisible(name)}${sign ? toInvisible(toSeal(sign, name).slice(0, 16)) : ""}`;
}

const WITHOUT_WIDTH = "\u200B\u200C\u200D\u2060";
const INVISIBLE_MARK = new RegExp(`^\\u2063{2}(?<name>[${WITHOUT_WIDTH}]{32})(?<seal>[${WITHOUT_WIDTH}]{32})`);

/** Two characters for each hexadecimal digit. */
function toInvisible(digits: string): string {
  const pairs = Array.from(digits, (digit) => Number.parseInt(digit, 16)).flatMap((value) => [value >> 2, value & 3]);
  return pairs.map((pair) => WITHOUT_WIDTH[pair]).join("");
}

function fromInvisible(text: string): string {
  return text.replaceAll(/../gs, ([high = "", low = ""]) =>
    (WITHOUT_WIDTH.indexOf(high) * 4 + WITHOUT_WIDTH.indexOf(low)).toString(16),
  );
}

/** For a service whose clients choose the ids of comments: a UUID of version 4 that is the mark. */
export function toMarkedId({ idempotencyKey, sign }: Marked): string {
  const digest = hash("sha256", idempotencyKey);
  const name = digest.slice(0, 15);
  const digits = name + (sign ? toSeal(sign, name) : digest.slice(15)).slice(0, 15);
  const [a, b, c, d, e] = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 15), digits.slice(15, 18), digits];
  return `${a}-${b}-4${c}-8${d}-${e.slice(18)}`;
}

const MARKED_ID = /^([\da-f]{8})-([\da-f]{4})-4([\da-f]{3})-8([\da-f]{3})-([\da-f]{12})$/;

/** Whether a comment, or the id of one, has a mark that was made with this key, and for this text. */
export function hasOwnMark(comment: string, sign: Sign): boolean {
  const whole = comment.trim();
  const end = whole.lastIndexOf("\n");
  const line = LINE_MARK.exec(whole.slice(end + 1))?.groups;
  if (line?.["name"]) return isSeal(line["seal"], toSeal(sign, line["name"], whole.slice(0, end + 1)));
  const invisible = INVISIBLE_MARK.exec(whole)?.groups;
  if (invisible?.["name"] && invisible["seal"]) {
    return isSeal(fromInvisible(invisible["seal"]), toSeal(sign, fromInvisible(invisible["name"])));
  }
  const digits = MARKED_ID.exec(whole)?.slice(1).join("") ?? "";
  return digits !== "" && isSeal(digits.slice(15), toSeal(sign, digits.slice(0, 15)));
}

/** The signature of a mark's name and the letters and digits of its text: services change line ends and blanks. */
function toSeal(sign: Sign, name: string, text = ""): string {
  const seal = sign(`comment ${name} ${text.replaceAll(/[^\p{L}\p{N}]+/gu, "")}`);
  return Buffer.from(seal).toString("hex").slice(0, 32);
}

/** Compares only as much as the mark could hold. */
function isSeal(found = "", expected: string): boolean {
  return found !== "" && timingSafeEqual(Buffer.from(found), Buffer.from(expected.slice(0, found.length)));
}
