import type { Command } from "commander";
import { ConfigError } from "../../core/errors.ts";
import { readPages } from "../../operator/stored-events.ts";
import type { ApprovalDetail, ApprovalView } from "../../operator/views.ts";
import { isId } from "../../core/shared/id.ts";
import { toText } from "../../core/shared/json.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { QUESTION_WORDS, toEndWord } from "../../core/shared/words.ts";
import type { Decision } from "../../core/types.ts";
import {
  addListOptions,
  addServiceOptions,
  type ListFlags,
  type ServiceFlags,
  toOneOf,
  UsageError,
} from "../command.ts";
import { formatDuration, formatTable, toSeconds } from "../format.ts";
import type { CliIo } from "../io.ts";
import { addAnswer, type OperatorClient, showAnswer } from "../operator-client.ts";
import { type LinesOptions, toQuestionLines } from "./question-lines.ts";

interface DecisionBody {
  decision: Decision;
  reason?: string;
  result?: string;
}

export function addApprovals(program: Command, io: CliIo): void {
  const approvals = program
    .command("approvals")
    .description("Show and answer the questions of agents: about calls, their outcomes, and replies.");
  const list = approvals.command("list").description("List the newest questions, the latest last.");
  addAnswer(
    addListOptions(list).option("--state <state>", "only questions in this state", toOneOf(QUESTION_WORDS), "open"),
    io,
    async (client, { state, limit }: ListFlags & { state: string }) =>
      (await client.call("GET /api/approvals", { state, limit })).approvals,
    formatApprovals,
  );
  const add = (name: string, description: string): Command =>
    addServiceOptions(approvals.command(name).description(description)).argument("<code>", "its code or its id");
  addAnswer(
    add("show", "Show everything about a question.").option("--texts", "also the texts that the agent has read", false),
    io,
    async (client, _, code) => client.call("GET /api/approvals/:id", { id: (await findApproval(client, code)).id }),
    (approval: ApprovalDetail, { texts }: ServiceFlags & { texts: boolean }) =>
      formatApproval(approval, { width: io.stdout.columns ?? 80, texts }),
  );
  add("approve", "Let a call be sent, or a reply be delivered.").action((code: string, flags: ServiceFlags) =>
    decide(code, { decision: "approve" }, flags, io),
  );
  add("deny", "Refuse a call or a reply.")
    .option("--reason <text>", "why, for the model")
    .action((code: string, flags: ServiceFlags & { reason?: string }) =>
      decide(code, { decision: "deny", reason: flags.reason }, flags, io),
    );
  add("settle", "Say what became of a call whose outcome is not known.")
    .option("--done [result]", "it was executed, and gave this")
    .option("--again", "repeat it, with the same call id", false)
    .option("--give-up", "nobody can find it out", false)
    .action((code: string, flags: SettleFlags) => decide(code, toSettlement(flags), flags, io));
}

interface SettleFlags extends ServiceFlags {
  done?: string | true;
  again: boolean;
  giveUp: boolean;
}

function toSettlement({ done, again, giveUp }: SettleFlags): DecisionBody {
  if ([done !== undefined, again, giveUp].filter(Boolean).length !== 1) {
    throw new UsageError("Say one of --done, --again and --give-up.");
  }
  if (done === undefined) return { decision: again ? "again" : "give-up" };
  return { decision: "done", ...(done !== true && { result: done }) };
}

async function decide(code: string, body: DecisionBody, flags: ServiceFlags, io: CliIo): Promise<void> {
  await showAnswer(
    flags,
    io,
    async (client) => {
      const { id } = await findApproval(client, code);
      return (await client.call("POST /api/approvals/:id", { id }, body)).approval;
    },
    (approval) => [`${approval.code}  ${approval.call ?? "reply"}  ${describeEnd(approval)}`],
  );
}

/** The newest with this code. */
async function findApproval(client: OperatorClient, code: string): Promise<ApprovalView> {
  if (isId(code)) return client.call("GET /api/approvals/:id", { id: code });
  const all = readPages(async (page) => (await client.call("GET /api/approvals", page)).approvals);
  for await (const approval of all) if (approval.code === code.toLowerCase()) return approval;
  throw new ConfigError([{ message: `No question has the code ${code}. \`npx hookline approvals list\` shows them.` }]);
}

function formatApprovals(approvals: ApprovalView[], _: ListFlags, width?: number): string[] {
  const rows = approvals.toReversed().map(({ code, mapping, hook, askedAt, expiresAt, state, ...asked }) => ({
    code,
    what: toWhat(asked),
    mapping: mapping || hook,
    asked: toSeconds(askedAt),
    left: expiresAt === undefined || state !== "open" ? "–" : formatDuration(Date.parse(expiresAt) - Date.now()),
    state,
  }));
  return formatTable(rows, "No questions.", width);
}

/** The call with its first argument: `refunds.create 69`. */
function toWhat({ kind, call = "", arguments: args = {} }: Pick<ApprovalView, "kind" | "call" | "arguments">): string {
  if (kind === "reply") return "reply";
  return kind === "outcome" ? `outcome ${call}` : `${call} ${toText(Object.values(args)[0])}`;
}

function formatApproval(approval: ApprovalDetail, options: LinesOptions): string[] {
  const end = approval.state === "open" ? [] : ["", describeEnd(approval)];
  return [...toQuestionLines(approval.question, options), ...end];
}

function describeEnd(approval: ApprovalView): string {
  const { by, reason } = approval;
  const person = by === undefined ? "" : ` by ${by}`;
  return toPrintable(`${toEndWord(approval)}${person}${reason === undefined ? "" : `: ${reason}`}`);
}
