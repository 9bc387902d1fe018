import type { Approval } from "../../journal/journal.ts";
import { type QuestionWord, toQuestionWord } from "../../shared/words.ts";
import type { ApprovalKind, Decision } from "../../types.ts";
import type { ChangedLine } from "./text-diff.ts";

/** Whose words a block holds. Those of an event, an agent and a tool come from outside. */
export type WordsOf = "service" | "operator" | "event" | "agent" | "tool";

/** The part of a card that a block belongs to, in their order. */
export type CardPart = "about" | "why" | "sent" | "read" | "before" | "follows" | "who";

/** The heading of each part, where a place has headings. */
export const PART_NAMES: Readonly<Record<CardPart, string>> = {
  about: "About",
  why: "Why",
  sent: "Will be sent",
  read: "It read",
  before: "Before",
  follows: "What follows",
  who: "Technical",
};

/** Where a value stands, for a place that has room for it. */
export function describeStands(stands: readonly string[]): string {
  if (stands[0] === "nowhere") return "nowhere above or in what it read";
  return stands[0] === "fixed" ? "fixed by the mapping" : listStands(stands);
}

/** The same of texts alone: `in the event, charges.list`. */
export function listStands(stands: readonly string[]): string {
  return `in ${stands.map((name) => (name === "event" ? "the event" : name)).join(", ")}`;
}

/** A value, and where it stands. */
export interface Cell {
  text: string;
  /** For a number or an id-like word: `fixed`, `event`, names of reads, or `nowhere`. */
  stands?: string[];
}

/** Without a name, the value says what it is. */
export interface Fact {
  name?: string;
  value: string;
  /** The place of the operator's page that shows it: `events/<id>`. */
  place?: string;
}

/** Texts in it are as `toVisible` gives them: nothing in them is hidden. */
export type Block = { part: CardPart; from: WordsOf } & (
  | { kind: "facts"; rows: Fact[] }
  /**
   * `by`: who said it, or the call that gave it, with its arguments. `more`: how many characters are left out, at its end or
   * its start.
   */
  | { kind: "quote"; by: string; arguments?: string; text: string; more?: number; isPrivate?: boolean }
  | { kind: "text"; name?: string; text: string }
  /** Without `columns`, a row is a name and its value. */
  | { kind: "table"; name?: string; columns?: string[]; rows: Cell[][] }
  | { kind: "diff"; name?: string; lines: ChangedLine[] }
  | { kind: "json"; name?: string; text: string }
  | { kind: "note"; text: string }
);

export interface Answer {
  decision: Decision;
  label: string;
  /** From when on it is possible, in ISO 8601. Absent: now. */
  from?: string;
}

/** A question to a person, as every place shows it: made once, and drawn by the page, a chat, the terminal. */
export interface Question {
  id: string;
  code: string;
  kind: ApprovalKind;
  state: QuestionWord;
  title: string;
  /** The names in the title, which a model, a server or an event may have chosen. */
  names: string[];
  blocks: Block[];
  /** Empty unless it is open. */
  answers: Answer[];
  /** When it is denied unless somebody decides, in ISO 8601. */
  until?: string;
  /** The address of the operator's page that shows it. */
  link?: string;
}

/** How a question has ended, and by whom: `Approved by slack:T0ACME/U0ANN, 2026-11-28 19:40 UTC`. */
export function describeEnd({ state, decision, by, decidedAt, reason }: Ended): string {
  const word = toQuestionWord(state);
  const said = decision === undefined || decision === "approve" || decision === "deny" ? word : DECIDED[decision];
  const at = decidedAt === undefined ? "" : `, ${new Date(decidedAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const why = reason === undefined ? "" : `: ${reason}`;
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}${by === undefined ? "" : ` by ${by}`}${at}${why}`;
}

type Ended = Pick<Approval, "state" | "decision" | "by" | "decidedAt" | "reason">;

const DECIDED = { done: "done", again: "sent again", "give-up": "given up" } as const;
