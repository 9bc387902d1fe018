import type { MappingInput } from "../../config/schema/generated.ts";
import { marksBelow } from "../../shared/channel-names.ts";
import { cutText, toOneLine } from "../../shared/text/text.ts";
import { compileGlobs } from "../pattern.ts";

/** The setting `place` of a mapping: where its events may be. */
export interface Bounds {
  /** The lines of a rendered recipient. In the text of a template of one line, a line break is part of a value. */
  toLines(text: string): string[];
  /** Whether a recipient on a channel is one of the places, or below one. */
  covers(to: string, channel: string): boolean;
}

/** Undefined: the events may be anywhere. */
export function compileBounds({ place, source }: MappingInput): Bounds | undefined {
  if (place === undefined) return undefined;
  const covers = compilePlaces([place].flat());
  const hasLines = source?.to.trim().includes("\n");
  return { toLines: (text) => (hasLines ? text.split("\n") : [text]).map((line) => line.trim()), covers };
}

/** Entries with `!` in front exclude; if there are no others, all that is left is in place. */
export function compilePlaces(entries: readonly string[]): Bounds["covers"] {
  const excluded = entries.filter((entry) => entry.startsWith("!")).map((entry) => toPlace(entry.slice(1)));
  const named = entries.filter((entry) => !entry.startsWith("!")).map(toPlace);
  const tests = new Map<string, { isNamed(to: string): boolean; isExcluded(to: string): boolean }>();
  return (to, channel) => {
    const marks = marksBelow(channel);
    const test = tests.get(marks) ?? {
      isNamed: named.length > 0 ? compileGlobs(withBelow(named, marks)) : () => true,
      isExcluded: compileGlobs(withBelow(excluded, marks)),
    };
    tests.set(marks, test);
    return PLACE_RULES.isPlain(to) && test.isNamed(to) && !test.isExcluded(to);
  };
}

/** Whether a recipient is a place, or below it. */
export function isBelow(to: string, place: string, channel: string): boolean {
  const [whole, start] = [to.toLowerCase(), place.toLowerCase()];
  return start !== "" && whole.startsWith(start) && marksBelow(channel).includes(whole.charAt(start.length));
}

/** `group:acme` is how a webhook of a GitLab group is named. */
function toPlace(entry: string): string {
  return entry.trim().replace(/^group:/, "");
}

function withBelow(places: readonly string[], marks: string): string[] {
  return places.flatMap((place) => [place, ...Array.from(marks, (mark) => `${place}${mark}*`)]);
}

/** The tests of hostile recipients replace it. */
export const PLACE_RULES = { isPlain };

/** Whether no service can take the recipient for another one: as a path, as an address, as two lines. */
function isPlain(to: string): boolean {
  if (/[\\%\p{C}\p{Zl}\p{Zp}]/u.test(to)) return false;
  if (to.split(/[/#!:;]/).some((part) => part === "." || part === "..")) return false;
  return withoutNumber(to)
    .split("/")
    .every((segment) => segment !== "");
}

function withoutNumber(to: string): string {
  return to.replace(/[#!:;][^]*/, "");
}

/** The reason of an event that is elsewhere. */
export function describeElsewhere(to: string, channel: string): string {
  const marks = marksBelow(channel).replace("/", "");
  const end = Array.from(to).findIndex((character) => marks.includes(character));
  const place = cutText(toOneLine(end === -1 ? to : Array.from(to).slice(0, end).join("")), MAX_SHOWN);
  return place === "" ? "it names no place, so it is not in place" : `it is about ${place}, which is not in place`;
}

const MAX_SHOWN = 100;
