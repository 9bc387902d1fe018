import { listFound } from "../../shared/found.ts";
import { appendSegment, toObject } from "../../shared/json.ts";
import { channelKind } from "../../shared/channel-names.ts";
import { toolSetOf } from "../../shared/text/text.ts";
import { isChangeCall } from "../../types.ts";
import type { MappingInput } from "../schema/generated.ts";
import type { MappingSource, ResolvedConfig } from "../resolved-config.ts";
import { checkChannel, error, type Finding, staticText, warning } from "./finding.ts";

/** A workspace has a repository at an account, and an agent that can work in it. */
export function checkWorkspace(source: MappingSource, config: ResolvedConfig): Finding[] {
  const { mapping, key } = source;
  const { workspace, grants = {} } = mapping;
  const { forges } = config;
  const changes = Object.keys(grants).filter((call) => isChangeCall(call, forges));
  if (!workspace) return changes.map((call) => warning(appendSegment(`${key}.grants`, call), WITHOUT));
  const at = `${key}.workspace`;
  const { repository, pushTo } = workspace === true ? {} : workspace;
  if (repository === undefined) return [error(at, UNNAMED)];
  const account = /^([a-z][\w-]*(?::[\w-]+)?):/.exec(repository)?.[1] ?? "";
  const kind = channelKind(account);
  const isForge = forges.includes(kind);
  const isChosen = repository.includes("{{");
  const whole = staticText(repository);
  return listFound(
    (account === "" || (whole !== undefined && !REPOSITORY.test(whole))) &&
      error(
        `${at}.repository`,
        `"${repository}" is no repository. Write an account and a place there: github:acme/app.`,
      ),
    account !== "" &&
      !isForge &&
      error(`${at}.repository`, `There are no repositories at ${kind}. Name one of ${forges.join(", ")}.`),
    isForge && checkChannel(`${at}.repository`, account, config),
    isChosen &&
      source.preset === undefined &&
      mapping.place === undefined &&
      error(
        `${at}.repository`,
        "The event chooses the repository, and nothing says which it may be. Set place, or name one.",
      ),
    changes
      .filter((call) => isForge && toolSetOf(call) !== kind)
      .map((call) =>
        warning(appendSegment(`${key}.grants`, call), `It is not used: changes of this workspace are ${kind}.change.`),
      ),
    changes
      .filter((call) => modeOf(grants, call) === "allow" && pushTo === undefined)
      .map((call) => warning(appendSegment(`${key}.grants`, call), SECRETS)),
    checkModels(at, mapping, config.agents),
  );
}

const REPOSITORY = /^[a-z][\w-]*(?::[\w-]+)?:[\w.-]+(?:\/[\w.-]+)+$/;

const UNNAMED =
  'Name the repository: { repository: "github:acme/app" }. Only github, gitlab and gitea know that of the event.';
const WITHOUT = "It is not used: it is for the changes of a workspace. Set workspace, or remove it.";
const SECRETS =
  "What an agent pushes is run by the repository's checks, with the repository's secrets, before anybody has looked at it. Grant \"ask\", or set workspace.pushTo to a fork.";

function modeOf(grants: NonNullable<MappingInput["grants"]>, call: string): string | undefined {
  const written = grants[call];
  return typeof written === "string" ? written : written?.mode;
}

/** Only a program in a sandbox has files. A model that a request chooses is looked at when its turn starts. */
function checkModels(at: string, { model, fallbackModels }: MappingInput, agents: ResolvedConfig["agents"]): Finding[] {
  const named = [staticText(model ?? agents.model), ...(fallbackModels ?? agents.fallbackModels ?? [])];
  const ids = named.map((name) => agents.models?.find(({ alias }) => alias === name)?.id ?? name);
  return [...new Set(ids)].flatMap((id) => {
    if (id === undefined) return model === undefined ? [error(at, `No model is named. ${CHOOSE}`)] : [];
    const { kind, ...block } = toObject(agents.providers[id.split("/", 1)[0] ?? ""]);
    const isProgram = kind === "acp" || kind === "command";
    if (isProgram && block["sandbox"] !== false) return [];
    const reason = isProgram ? "is in no sandbox" : "has no files to work on";
    return [error(at, `The model "${id}" ${reason}. ${CHOOSE}`)];
  });
}

const CHOOSE = "Choose a model of a provider of kind acp or command, with a sandbox.";
