import type { FromSchema } from "json-schema-to-ts";
import { decide } from "../../core/approvals/decide.ts";
import { readQuestion, toPlace } from "../../core/approvals/question/read-question.ts";
import { HookError } from "../../core/errors.ts";
import { json } from "../../core/ingress/router.ts";
import { ofQuestions, QUESTION_WORDS, toEndWord } from "../../core/shared/words.ts";
import { DECISIONS } from "../../core/types.ts";
import { createRequireBody, type RequireBody } from "../body.ts";
import { toApprovalView } from "../views.ts";
import { answering, oneOf, PAGE, requireFound, responding, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

type ApprovalPath = `/api/approvals${string}` | "/api/tools";

/** Calls that agents may make, and questions to a person. */
export function createApprovalRoutes({ journal, tools, config }: RouteServices): RoutesOf<ApprovalPath> {
  return {
    "GET /api/tools": answering({
      about:
        "The tool sets with their calls, and what each credential can lead to: who starts a turn, what it reads and writes, whose session it continues.",
      answer: () => tools(),
    }),
    "GET /api/approvals": answering({
      about: "Questions to a person, newest first: about calls, their outcomes, and replies.",
      query: { ...PAGE, state: oneOf("Only questions in this state.", QUESTION_WORDS) },
      async answer({ query: { state, ...page } }) {
        const approvals = await journal.listApprovals({ ...page, state: state && ofQuestions(state) });
        return { approvals: approvals.map(toApprovalView) };
      },
    }),
    "GET /api/approvals/:id": answering({
      about: "One question, with everything that a person should see.",
      async answer({ params: { id = "" } }) {
        const approval = requireFound(await journal.getApproval(id), "question");
        return { ...toApprovalView(approval), question: await readQuestion(approval, journal, toPlace(config())) };
      },
    }),
    "POST /api/approvals/:id": responding({
      about: "Decides a question. The first decision counts: any later one is answered 409, with the first.",
      body: DECISION_SCHEMA,
      example: { decision: "deny", reason: "Not on a Friday." },
      async respond({ params: { id = "" }, readJson, exchange }) {
        const body = await readJson();
        requireDecision(body);
        const { reason, result } = body;
        const given = { decision: body.decision, reason: reason || undefined, result: result || undefined };
        const decided = await decide(journal, id, { ...given, by: "operator", at: Date.now() });
        if (decided.kind === "unknown") throw new HookError("not_found", { message: "There is no such question." });
        if (decided.kind === "refused") throw new HookError("decision_refused", { message: decided.message });
        const approval = toApprovalView(decided.approval);
        if (decided.kind === "decided") return json({ ok: true, approval });
        const { code, message, status } = new HookError("already_decided");
        const { decision, by } = decided.approval;
        const error =
          decision === undefined
            ? `${message} It is ${toEndWord(decided.approval)}.`
            : `${message} ${by} said ${decision}.`;
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
} as const;

const requireDecision: RequireBody<FromSchema<typeof DECISION_SCHEMA>> = createRequireBody(DECISION_SCHEMA, "decision");
