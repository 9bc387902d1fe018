import type { MappingInput } from "../../config/schema/generated.ts";
import { cutText, toOneLine } from "../../shared/text/text.ts";
import { compileGlobs } from "../pattern.ts";

/** The setting `place` of a mapping: where its events may be. */
export interface Bounds {
  /** The lines of a rendered recipient. In the text of a template of one line, a line break is part of a value. */
  toLines(text: string): string[];
  /** Whether a recipient is one of the places, or below one. */
  covers(to: string): boolean;
}

/** Undefined: the events may be anywhere. */
export function compileBounds({ place, source }: MappingInput): Bounds | undefined {
  if (place === undefined) return undefined;
  const hasLines = source?.to.trim().includes("\n");
  return {
    toLines: (text) => (hasLines ? text.split("\n") : [text]).map((line) => line.trim()),
    covers: compilePlaces([place].flat(), source?.below),
  };
}

/** Behind one of them a recipient goes on below a place: `acme/web#12` is below `acme/web`. */
const BELOW = "/#!:;";

/** Entries with `!` in front exclude; if there are no others, all that is left is in place. */
export function compilePlaces(entries: readonly string[], below = BELOW): Bounds["covers"] {
  const withBelow = (entry: string): string[] => {
    const place = toPlace(entry);
    return [place, ...Array.from(below, (mark) => `${place}${mark}*`)];
  };
  const [excluding, naming] = [true, false].map((isOut) => entries.filter((entry) => entry.startsWith("!") === isOut));
  const isExcluded = compileGlobs((excluding ?? []).flatMap((entry) => withBelow(entry.slice(1))));
  const isNamed = naming?.length === 0 ? () => true : compileGlobs((naming ?? []).flatMap(withBelow));
  return (to) => PLACE_RULES.isPlain(to) && PLACE_RULES.isListed(isNamed(to), isExcluded(to));
}

/** Whether a recipient is a place, or below it. */
export function isBelow(to: string, place: string, below = BELOW): boolean {
  const [whole, start] = [to.toLowerCase(), place.toLowerCase()];
  return start !== "" && whole.startsWith(start) && below.includes(whole.charAt(start.length));
}

/** `group:acme` is how a webhook of a GitLab group is named. */
function toPlace(entry: string): string {
  return entry.trim().replace(/^group:/, "");
}

/** Both hold for a recipient in place. The tests of injections replace them one by one. */
export const PLACE_RULES = {
  isPlain,
  isListed: (isNamed: boolean, isExcluded: boolean): boolean => isNamed && !isExcluded,
};

/** Whether no service can take the recipient for another one: as a path, as an address, as two lines. */
function isPlain(to: string): boolean {
  if (/[\\%\p{C}\p{Zl}\p{Zp}]/u.test(to)) return false;
  if (to.split(/[/#!:;]/).some((part) => part === "." || part === "..")) return false;
  const withoutNumber = to.replace(/[#!:;][^]*/, "");
  return withoutNumber.split("/").every((segment) => segment !== "");
}

/** The reason of an event that is elsewhere. */
export function describeElsewhere(to: string, below = BELOW): string {
  const marks = below.replace("/", "");
  const end = Array.from(to).findIndex((character) => marks.includes(character));
  const whole = end === -1 ? to : Array.from(to).slice(0, end).join("");
  const place = cutText(toOneLine(whole.replace(DISCUSSION, "")), MAX_SHOWN);
  return place === "" ? "it names no place, so it is not in place" : `it is about ${place}, which is not in place`;
}

const MAX_SHOWN = 100;

/** The end of a discussion's recipient at GitHub, behind its repository. */
const DISCUSSION = /\/discussions\/\d+$/;
