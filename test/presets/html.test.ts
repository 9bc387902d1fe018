/** HTML in what a sender posts reaches the agent as the text that a reader sees, whichever preset reads it. */
import { expect, test } from "vitest";
import { findPresets, readPreset } from "../../src/core/config/presets/file.ts";
import { isObject, toObject } from "../../src/core/shared/json.ts";
import { readSamples, usePreset } from "../support/preset.ts";

const HTML = /<\/(?:div|p|em|h1)>|(?<=<div>)|(?<=<p>)/i;

/** Each hides its text in another way. */
const HIDDEN = [
  '<span style="display:none">SECRET1</span>',
  '<style>.gone { display: none }</style><span class="gone">SECRET2</span>',
  "<span hidden>SECRET3</span>",
  '<div style="background:#fff"><span style="color:#fff">SECRET4</span></div>',
  '<span style="font-size:0">SECRET5</span>',
  "<!-- SECRET6 -->",
].join("");

/** HTML that a sender may post beyond its samples. */
const OTHERS: [preset: string, sample: string, change: (payload: Record<string, unknown>) => unknown][] = [
  ["azuredevops", "work-item-created", withField("System.Description")],
  ["azuredevops", "work-item-assigned", changed("Microsoft.VSTS.Common.AcceptanceCriteria")],
  ["calendly", "booked", (event) => inside(event, "payload", "scheduled_event", { meeting_notes_html: "<p>SEEN</p>" })],
  ["intercom", "ticket-replied", (event) => inside(event, "data", "item", "ticket", ticket("<p>SEEN</p>"))],
  ["zendesk", "of-a-trigger", (event) => inside(event, "ticket", { latest_comment: "<p>SEEN</p>" })],
  ["zendesk", "of-a-trigger", (event) => inside(event, "ticket", { latest_comment_html: "<p>SEEN</p>" })],
];

const all = findPresets().flatMap((preset) => readSamples(preset).map((sample) => ({ preset, ...sample })));
const withHtml = all.filter(({ payload }) => HTML.test(JSON.stringify(payload)));

test("these senders post HTML in samples", () => {
  expect([...new Set(withHtml.map(({ preset }) => preset))]).toEqual(
    "azuredevops betterstack bitbucket intercom mailgun postmark sendgrid sns teams".split(" "),
  );
});

test.each([
  ...withHtml,
  ...OTHERS.map(([preset, sample, change]) => {
    const found = all.find((one) => one.preset === preset && one.name === sample)!;
    return { ...found, payload: change(found.payload) };
  }),
])("$preset, $name: hidden text reaches nobody", async ({ preset, payload, headers }) => {
  const { preset: known } = readPreset(preset);
  const post = await usePreset(preset, { ...(known.events && { events: ["*"] }) });
  const seen = JSON.stringify((await post(hide(payload), headers)).actions);
  expect(seen).not.toMatch(/SECRET\d|<(?:p|div|span|style)\b/);
  if (JSON.stringify(payload).includes("SEEN")) expect(seen).toContain("SEEN");
});

function hide(value: unknown): unknown {
  if (typeof value === "string" && value.startsWith('{"')) return JSON.stringify(hide(JSON.parse(value)));
  if (typeof value === "string") return value.replace(HTML, (end) => `${HIDDEN}${end}`);
  if (Array.isArray(value)) return value.map(hide);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hide(one)])) : value;
}

function inside(value: unknown, ...[key, ...rest]: (string | object)[]): object {
  if (typeof key !== "string") return { ...toObject(value), ...key };
  return { ...toObject(value), [key]: inside(toObject(value)[key], ...rest) };
}

function withField(name: string) {
  return (event: unknown) =>
    inside(event, "resource", "fields", { [name]: "<div>SEEN</div>", "Microsoft.VSTS.TCM.ReproSteps": undefined });
}

function changed(name: string) {
  return (event: unknown) =>
    inside(event, "resource", "fields", { [name]: { oldValue: "<div>before</div>", newValue: "<div>SEEN</div>" } });
}

function ticket(text: string): object {
  return { ticket_attributes: { _default_title_: "Export", _default_description_: text } };
}
