import { LOCK_RULES } from "../../src/agents/tools/mcp.ts";
import { PATH_RULES } from "../../src/agents/tools/path.ts";
import { SOURCE_RULES } from "../../src/core/actions/agent-turn.ts";
import { CALL_RULES } from "../../src/core/actions/call-rules.ts";
import { EFFECT_RULES } from "../../src/core/actions/effects.ts";
import { REPLY_RULES } from "../../src/core/actions/reply.ts";
import { ANSWER_RULES } from "../../src/core/approvals/chat-answer.ts";
import { QUESTION_RULES } from "../../src/core/approvals/question/question.ts";
import { LINK_RULES } from "../../src/core/boundary/links.ts";
import { PLACE_RULES } from "../../src/core/mapping/policy/bounds.ts";
import { CASES } from "./cases.ts";

/** One rule switched off. */
interface Removal<Rule> {
  /** The replacement of the rule. */
  off: Rule;
  /** The case that fails without it, and what happens in it. */
  in: string;
  effect: RegExp;
}

/** A removal for each rule of a table: one that has none does not compile. */
type Removals<Rules> = { [Name in keyof Rules]: Removal<Rules[Name]> };

const { grant } = CALL_RULES;

const CALLS: Removals<typeof CALL_RULES> = {
  grant: {
    off: (call, grants) =>
      grant(call, grants) ?? {
        call: call.fullName,
        mode: "allow",
        free: Object.keys(Object(call.input["properties"])),
      },
    in: "context that was read",
    effect: /POST \/remove\/7/,
  },
  fixed: { off: (given) => ({ args: given }), in: "an agent without work", effect: /\/projects\/SECRET\/search/ },
  free: { off: () => undefined, in: "an agent without work", effect: /"urgent":true/ },
  refusals: { off: () => undefined, in: "a call again and again", effect: /refusals explained/ },
  max: { off: () => undefined, in: "context that was read", effect: /more updates than max/ },
  audience: { off: () => undefined, in: "results of tools", effect: /of a public set/ },
  needsPerson: { off: () => false, in: "an agent without work", effect: /"title":"pwned"/ },
  isPlaced: { off: () => true, in: "what a preset does, without an event", effect: /a label/ },
  sourcesOf: { off: () => [], in: "what a changing call answers", effect: /in public/ },
};

const EFFECTS: Removals<typeof EFFECT_RULES> = {
  isAsApproved: { off: () => true, in: "a grant that was taken back", effect: /"title":"pwned"/ },
};

const REPLIES: Removals<typeof REPLY_RULES> = {
  mustWait: { off: () => false, in: "get-env, then a public comment", effect: /in public/ },
  closeLinks: { off: async (text) => ({ text, hosts: [] }), in: "context that was read", effect: /a link/ },
  isWithinHost: {
    off: (host, pattern) => host.endsWith(pattern.replace("*.", "")),
    in: "context that was read",
    effect: /a link/,
  },
};

const LINKS: Removals<typeof LINK_RULES> = {
  closeMarkup: { off: async (text) => text, in: "links in every form", effect: /a block of code/ },
  closePlain: { off: (text) => text, in: "links in every form", effect: /a link/ },
  hasOpenLink: { off: async () => false, in: "links in every form", effect: /a link/ },
  withoutLoad: { off: (address) => address, in: "context that was read", effect: /a link/ },
  decode: { off: (text) => text, in: "links in every form", effect: /a link/ },
};

const SOURCES: Removals<typeof SOURCE_RULES> = {
  ofHistory: { off: () => [], in: "a second turn of the session", effect: /in public|public set/ },
};

const PATHS: Removals<typeof PATH_RULES> = {
  findDanger: { off: () => undefined, in: "an agent without work", effect: /GET \/files\/\.\.%2Fadmin/ },
};

const LOCKS: Removals<typeof LOCK_RULES> = {
  isSame: { off: () => true, in: "a changed tool", effect: /the changed tool/ },
};

const QUESTIONS: Removals<typeof QUESTION_RULES> = {
  show: { off: String, in: "hidden characters in arguments", effect: /hides/ },
};

const PLACES: Removals<typeof PLACE_RULES> = {
  isPlain: { off: () => true, in: "events about another place", effect: /ELSE.*: a turn about another place/ },
  isListed: { off: () => true, in: "events about another place", effect: /a turn about another place/ },
};

/** The others have a test of their own. */
const ANSWERS: Record<string, Removal<() => boolean>> = {
  isApprover: { off: () => true, in: "actors that end in [bot], and other people", effect: /without a/ },
  isNotOurs: { off: () => true, in: "a reply that contains approve <code>", effect: /without a/ },
};

/** Every rule, with its case. */
export const REMOVALS = [
  ...list("calls", CALL_RULES, CALLS),
  ...list("effects", EFFECT_RULES, EFFECTS),
  ...list("replies", REPLY_RULES, REPLIES),
  ...list("links", LINK_RULES, LINKS),
  ...list("sources", SOURCE_RULES, SOURCES),
  ...list("paths", PATH_RULES, PATHS),
  ...list("locks", LOCK_RULES, LOCKS),
  ...list("questions", QUESTION_RULES, QUESTIONS),
  ...list("places", PLACE_RULES, PLACES),
  ...list("answers", ANSWER_RULES, ANSWERS),
];

interface NamedRemoval {
  name: string;
  effect: RegExp;
  /** Runs the case without the rule, and gives what happened in it. */
  run(): Promise<string>;
}

function list(table: string, rules: object, removals: Record<string, Removal<unknown>>): NamedRemoval[] {
  return Object.entries(removals).map(([rule, { off, in: name, effect }]) => ({
    name: `${table}: ${rule}`,
    effect,
    async run() {
      const run = CASES[name];
      if (!run) throw new Error(`There is no case "${name}".`);
      const original = { ...rules };
      Object.assign(rules, { [rule]: off });
      try {
        return (await run(1)).effects.join("\n");
      } finally {
        Object.assign(rules, original);
      }
    },
  }));
}
