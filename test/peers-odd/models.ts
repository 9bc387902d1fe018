import { chat, FORMATS, look, type OddPeer, write } from "./odd-peer.ts";

/** The format, a short name and the kind of each provider. */
const KINDS = [
  ["openai-compatible", "chat"],
  ["openai", "responses"],
  ["anthropic", "messages"],
] as const;

/** Ids that do not tell the calls of an answer apart. */
const IDS: [name: string, short: string, ids: unknown[], thread?: string][] = [
  ["the same id", "same", ["call_0", "call_0"], "https://github.com/HKUDS/nanobot/issues/4473"],
  ["an empty id", "empty", ["", ""], "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/830"],
];

const IDS_OF_CALLS: OddPeer[] = KINDS.flatMap(([kind, format]) =>
  IDS.map(([name, short, [first, second], thread]) => ({
    key: `${format}-${short}`,
    name: `${kind}: two calls with ${name} are both executed, once each`,
    kind,
    thread,
    answers: [
      FORMATS[kind]({ calls: [write("one", first), write("two", second)] }),
      FORMATS[kind]({ text: "Both are written." }),
    ],
    expected: { reply: "Both are written.", written: ["one", "two"], results: [/hello/, /hello/] },
  })),
);

/** Endpoints of models. */
export const MODELS: OddPeer[] = [
  {
    key: "plain",
    name: "a model that follows its specification",
    answers: [chat({ calls: [look(), write("one")] }), chat({ text: "Done." })],
    expected: { reply: "Done.", written: ["one"], results: [/hello/, /hello/] },
  },
  ...IDS_OF_CALLS,
  {
    key: "same-id-asked",
    name: "two calls with the same id are two questions",
    grants: { "work.write": { mode: "ask", arguments: { row: "same-id-asked" }, max: 9 } },
    answers: [chat({ calls: [write("one", "call_0"), write("two", "call_0")] }), chat({ text: "Done." })],
    expected: { reply: "Done.", asked: ["one", "two"], written: ["one", "two"], results: [/hello/, /hello/] },
  },
  {
    key: "id-of-each-answer",
    name: "Kimi counts the calls of each answer from 0",
    thread: "https://github.com/fw-ai/fireconnect/issues/16",
    answers: [
      chat({ calls: [write("one", "work__write:0")] }),
      chat({ calls: [write("two", "work__write:0")] }),
      chat({ text: "Done." }),
    ],
    expected: { reply: "Done.", written: ["one", "two"], results: [/hello/, /hello/] },
  },
];
