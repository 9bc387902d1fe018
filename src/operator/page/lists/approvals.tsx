import type { JSX } from "preact";
import { QUESTION_WORDS } from "../../../core/shared/words.ts";
import { State, Time } from "../parts/controls.tsx";
import { toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { StateFilter, Table } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";

const MAX_SHOWN = 200;

/** Questions of agents to a person: about calls, their outcomes, and replies. */
export function Approvals(): JSX.Element {
  const { state = "open" } = route.value.query;
  const query = { state: state === "all" ? undefined : state, limit: MAX_SHOWN };
  return (
    <Page
      title="Approvals"
      intro={<StateFilter states={QUESTION_WORDS} usual="open" />}
      from={useCall("GET /api/approvals", query)}
    >
      {({ approvals }) => (
        <Table
          label="Questions"
          items={approvals}
          keyOf={({ id }) => id}
          empty={state === "open" ? "Nobody is asked for anything." : "No question matches this filter."}
          columns={[
            {
              name: "Question",
              kind: "wide",
              show: ({ id, kind, call }) => (
                <a data-row={id} href={hrefTo(["inbox", id])}>
                  {kind === "outcome" ? "Outcome of " : ""}
                  {toLine(call ?? "Reply", 80)}
                </a>
              ),
            },
            { name: "Code", show: ({ code }) => <code>{code}</code> },
            { name: "Mapping", show: ({ mapping, hook }) => toLine(mapping || (hook ?? ""), 60) },
            { name: "Asked", show: ({ askedAt }) => <Time at={askedAt} /> },
            { name: "Until", show: ({ expiresAt }) => <Time at={expiresAt} /> },
            { name: "State", show: ({ state: word }) => <State state={word} /> },
          ]}
        />
      )}
    </Page>
  );
}
