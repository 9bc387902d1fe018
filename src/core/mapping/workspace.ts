import type { Workspace } from "../ports/agent.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { cutText } from "../shared/text/text.ts";
import { toChannelName } from "../shared/channel-names.ts";

import type { Diagnostics } from "./diagnostics.ts";
import { type Budget, compileField, isYes, type Template } from "./template/template.ts";

/** The `workspace` of a mapping. */
export interface CompiledWorkspace {
  /** The event chooses the repository. */
  isChosen: boolean;
  /** The repository for one event; undefined: the event lacks a value. */
  render(context: object, budget: Budget): Workspace | undefined;
  /** The parts that do not depend on the event. */
  fixed: FixedWorkspace;
}

type FixedWorkspace = Pick<Workspace, "base" | "setup" | "paths" | "protect" | "pushTo" | "author"> & {
  tries: number;
};

const TRIES = 5;

/** Undefined unless the mapping has `workspace`. */
export function compileWorkspace({ workspace }: MappingInput, diagnostics: Diagnostics): CompiledWorkspace | undefined {
  if (!workspace) return undefined;
  const { repository = "", commit, pull, base, tries = TRIES, ...others } = workspace === true ? {} : workspace;
  const compile = (name: string, text: string | undefined): Template | undefined =>
    text === undefined ? undefined : compileField(`workspace.${name}`, text, diagnostics, "line");
  const templates = {
    repository: compile("repository", repository),
    commit: compile("commit", commit),
    pull: compile("pull", pull),
    base: compile("base", base),
  };
  return {
    isChosen: templates.repository?.isStatic === false,
    fixed: { ...others, tries, ...(templates.base?.isStatic && { base }) },
    render(context, budget) {
      const read = (template: Template | undefined): string | undefined =>
        template?.render(context, budget).trim() || undefined;
      const name = templates.repository?.renderKey(context, budget);
      const place = name && !name.incomplete ? parseRepository(name.text) : undefined;
      if (!place) return undefined;
      const [wanted, branch] = [read(templates.commit), read(templates.base)];
      return {
        ...others,
        ...place,
        ...(wanted !== undefined && isCommit(wanted) && { commit: wanted }),
        ...(branch !== undefined && isBranch(branch) && { base: branch }),
        ...(templates.pull && isYes(templates.pull, context, budget) && { isForeign: true }),
      };
    },
  };
}

/** `github:eu:acme/app`: the account of a channel, and a repository there. */
function parseRepository(text: string): Pick<Workspace, "account" | "repository"> | undefined {
  const [, account = "", repository = ""] = /^([a-z][\w:-]*):([\w.-]+(?:\/[\w.-]+)+)$/.exec(text.trim()) ?? [];
  if (account === "" || repository.split("/").some((part) => /^\.+$/.test(part))) return undefined;
  return { account: toChannelName(account), repository };
}

/** A whole commit id or ref, which no option of Git begins like. */
function isCommit(text: string): boolean {
  return /^(?:[\da-f]{40}|[\da-f]{64})$/.test(text) || isBranch(text);
}

function isBranch(text: string): boolean {
  return /^[\w][\w./+@#-]{0,200}$/.test(text) && !/\.\.|\/\/|@\{|\.lock(?:\/|$)|\/$|\.$/.test(text);
}

/** Which changes of this service an event may be about. */
export interface CompiledChange {
  /** Their keys: pull requests and branches. */
  listKeys(context: object, budget: Budget): string[];
  /** The commit that a check was about. */
  findCommit(context: object, budget: Budget): string | undefined;
  isCheck: boolean;
}

const MAX_KEYS = 10;
const MAX_KEY = 500;

/** Undefined unless the mapping has `change`. */
export function compileChange({ change }: MappingInput, diagnostics: Diagnostics): CompiledChange | undefined {
  if (!change) return undefined;
  const keys = compileField("change.keys", change.keys, diagnostics);
  const commit =
    change.commit === undefined ? undefined : compileField("change.commit", change.commit, diagnostics, "line");
  return {
    isCheck: change.check === true,
    listKeys: (context, budget) =>
      (keys?.render(context, budget) ?? "")
        .split("\n")
        .map((line) => cutText(line.trim(), MAX_KEY))
        .filter((line) => /^[^#!:]+[#!:]\S+$/.test(line))
        .slice(0, MAX_KEYS),
    findCommit: (context, budget) => commit?.render(context, budget).trim() || undefined,
  };
}
