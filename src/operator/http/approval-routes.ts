import { decide } from "../../approvals/decide.ts";
import { HookError } from "../../errors.ts";
import { json } from "../../ingress/router.ts";
import { isObject } from "../../shared/json.ts";
import { APPROVAL_STATES, type Decision, DECISIONS } from "../../types.ts";
import { toApprovalView } from "../views.ts";
import { answering, oneOf, PAGE, requireFound, responding, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

type ApprovalPath = `/api/approvals${string}` | "/api/tools";

/** What agents may call, and the questions to a person. */
export function createApprovalRoutes({ journal, tools }: RouteServices): RoutesOf<ApprovalPath> {
  return {
    "GET /api/tools": answering({
      about: "The tool sets with their calls, and after which event a model may ask for which of them.",
      answer: () => tools(),
    }),
    "GET /api/approvals": answering({
      about: "Questions to a person, newest first: about calls, their outcomes, and replies.",
      query: { ...PAGE, state: oneOf("Only questions in this state.", APPROVAL_STATES) },
      answer: async ({ query }) => ({ approvals: (await journal.listApprovals(query)).map(toApprovalView) }),
    }),
    "GET /api/approvals/:id": answering({
      about: "One question, with everything that a person should see.",
      async answer({ params: { id = "" } }) {
        return toApprovalView(requireFound(await journal.getApproval(id), "question"));
      },
    }),
    "POST /api/approvals/:id": responding({
      about: "Decides a question. The first decision counts: any later one is answered 409, with the first.",
      body: DECISION_SCHEMA,
      example: { decision: "deny", reason: "Not on a Friday." },
      async respond({ params: { id = "" }, readJson, exchange }) {
        const given = { ...toDecision(await readJson()), by: "operator", at: Date.now() };
        const decided = await decide(journal, id, given);
        if (decided.kind === "unknown") throw new HookError("not_found", { message: "There is no such question." });
        if (decided.kind === "refused") throw new HookError("decision_refused", { message: decided.message });
        const approval = toApprovalView(decided.approval);
        if (decided.kind === "decided") return json({ ok: true, approval });
        const { code, message, status } = new HookError("already_decided");
        const { state, decision, by } = decided.approval;
        const error = decision === undefined ? `${message} It is ${state}.` : `${message} ${by} said ${decision}.`;
        return json({ ok: false, error, code, requestId: exchange.id, approval }, status);
      },
    }),
  };
}

const MAX_REASON = 1000;
const MAX_RESULT = 60_000;

const DECISION_SCHEMA = {
  type: "object",
  required: ["decision"],
  additionalProperties: false,
  properties: {
    decision: {
      enum: DECISIONS,
      description: "approve or deny: a call or a reply. done, again or give-up: a call whose outcome is not known.",
    },
    reason: { type: "string", maxLength: MAX_REASON, description: "The model gets the reason of a denial." },
    result: { type: "string", maxLength: MAX_RESULT, description: "With done: what the call gave, for the model." },
  },
};

function toDecision(body: unknown): { decision: Decision; reason?: string; result?: string } {
  if (!isObject(body)) throw invalid("The body must be an object.");
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(DECISION_SCHEMA.properties, name));
  if (unknown !== undefined) throw invalid("The body can have decision, reason and result.");
  const decision = DECISIONS.find((one) => one === body["decision"]);
  if (!decision) throw invalid(`decision must be one of ${DECISIONS.join(", ")}.`);
  return {
    decision,
    ...toText("reason", body["reason"], MAX_REASON),
    ...toText("result", body["result"], MAX_RESULT),
  };
}

function toText(name: "reason" | "result", value: unknown, max: number): { reason?: string; result?: string } {
  if (value === undefined || value === "") return {};
  if (typeof value !== "string" || value.length > max)
    throw invalid(`${name} must be a text of at most ${max} characters.`);
  return { [name]: value };
}

function invalid(message: string): HookError {
  return new HookError("invalid_payload", { message });
}
