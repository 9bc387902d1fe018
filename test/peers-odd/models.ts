import { chat, FORMATS, grantsOf, look, type ModelCall, type OddPeer, SPARE_REPLY, write } from "./odd-peer.ts";

const DONE = chat({ text: "Done." });
const HELLO = "hello";

/** A row in which the model asks for calls in an odd way, and they are executed as they were meant. */
function executed(
  row: Pick<OddPeer, "key" | "name" | "thread"> & { answer: OddPeer["answers"][number]; written: string[] },
): OddPeer {
  const { answer, written, ...named } = row;
  return {
    ...named,
    answers: [answer, DONE],
    expected: { reply: "Done.", written, results: written.map(() => HELLO) },
  };
}

/** A row in which the model fails with status 200, and the other model replies. */
function passedOn(row: Pick<OddPeer, "key" | "name" | "thread" | "kind"> & { body: unknown; says: RegExp }): OddPeer {
  const { body, says, ...named } = row;
  return { ...named, hasSpare: true, answers: [{ body }], expected: { reply: SPARE_REPLY, warnings: [says] } };
}

/** Ids that do not tell the calls of an answer apart, in each format. */
const IDS: OddPeer[] = (
  [
    ["openai-compatible", "chat"],
    ["openai", "responses"],
    ["anthropic", "messages"],
  ] as const
).flatMap(([kind, format]) =>
  [
    { short: "same", ids: ["call_0", "call_0"], thread: "https://github.com/HKUDS/nanobot/issues/4473" },
    { short: "empty", ids: ["", ""], thread: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/830" },
    { short: "null", ids: [null, null], thread: "https://github.com/ollama/ollama/issues/6708" },
    { short: "numeric", ids: [1, 2], thread: "https://github.com/BerriAI/litellm/pull/24095" },
  ].map(({ short, ids: [first, second], thread }) => ({
    key: `${format}-${short}`,
    name: `${kind}: two calls with ${short} ids are both executed, once each`,
    kind,
    thread,
    answers: [
      FORMATS[kind]({ calls: [write("one", first), write("two", second)] }),
      FORMATS[kind]({ text: "Both are written." }),
    ],
    expected: { reply: "Both are written.", written: ["one", "two"], results: [HELLO, HELLO] },
  })),
);

const CALLS: OddPeer[] = [
  {
    key: "same-id-asked",
    name: "two calls with the same id are two questions",
    grants: { "work.write": { mode: "ask", arguments: { row: "same-id-asked" }, max: 9 } },
    answers: [chat({ calls: [write("one", "call_0"), write("two", "call_0")] }), DONE],
    expected: { reply: "Done.", asked: ["one", "two"], written: ["one", "two"], results: [HELLO, HELLO] },
  },
  {
    key: "id-of-each-answer",
    name: "Kimi counts the calls of each answer from 0",
    thread: "https://github.com/fw-ai/fireconnect/issues/16",
    answers: [chat({ calls: [write("one", "work__write:0")] }), chat({ calls: [write("two", "work__write:0")] }), DONE],
    expected: { reply: "Done.", written: ["one", "two"], results: [HELLO, HELLO] },
  },
  executed({
    key: "arguments-object",
    name: "llama.cpp sends arguments as an object",
    thread: "https://github.com/ggml-org/llama.cpp/issues/20198",
    answer: chat(
      {},
      { message: { tool_calls: [{ id: "a", function: { name: "work__write", arguments: { text: "one" } } }] } },
    ),
    written: ["one"],
  }),
  executed({
    key: "arguments-twice",
    name: "Qwen encodes arguments twice",
    thread: "https://github.com/sgl-project/sglang/pull/7863",
    answer: chat({ calls: [{ name: "work__write", arguments: JSON.stringify(JSON.stringify({ text: "one" })) }] }),
    written: ["one"],
  }),
  {
    key: "arguments-empty",
    name: "vLLM sends an empty text for a call without arguments",
    thread: "https://github.com/vllm-project/vllm/issues/19419",
    answers: [chat({ calls: [{ name: "work__look", arguments: "" }] }), DONE],
    expected: { reply: "Done.", results: [HELLO] },
  },
  {
    key: "arguments-broken",
    name: "arguments that are no JSON are refused, and the model is told",
    answers: [chat({ calls: [{ name: "work__write", arguments: '{"text": "on' }] }), DONE],
    expected: { reply: "Done.", results: [/^Not sent: /] },
  },
  executed({
    key: "name-with-token",
    name: "gpt-oss leaks a token of its format into the name",
    thread: "https://github.com/vllm-project/vllm/issues/32587",
    answer: chat({ calls: [{ name: "work__write<|channel|>commentary", arguments: { text: "one" } }] }),
    written: ["one"],
  }),
  executed({
    key: "legacy-call",
    name: "a server answers with function_call",
    thread: "https://github.com/run-llama/llama_index/issues/18313",
    answer: chat(
      {},
      {
        message: { function_call: { name: "work__write", arguments: '{"text":"one"}' } },
        choice: { finish_reason: "function_call" },
      },
    ),
    written: ["one"],
  }),
  executed({
    key: "both-calls",
    name: "llama-cpp-python sends a call as function_call and as one of tool_calls, and it is executed once",
    thread: "https://github.com/MeetKai/functionary/issues/156",
    answer: chat(
      { calls: [write("one")] },
      { message: { function_call: { name: "work__write", arguments: '{"text":"one"}' } } },
    ),
    written: ["one"],
  }),
  executed({
    key: "stop-with-calls",
    name: "OpenVINO ends with stop beside calls",
    thread: "https://github.com/openvinotoolkit/model_server/issues/3927",
    answer: chat({ calls: [write("one")] }, { choice: { finish_reason: "stop" } }),
    written: ["one"],
  }),
  {
    key: "call-without-name",
    name: "LM Studio sends a call without a function",
    thread: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/830",
    answers: [chat({}, { message: { tool_calls: [{ id: "", type: "function" }] } }), DONE],
    expected: { reply: "Done.", results: [/there is no such call/] },
  },
  {
    key: "calls-missing",
    name: "vLLM ends with tool_calls and has none",
    thread: "https://github.com/vllm-project/vllm/issues/53255",
    answers: [chat({ text: "Nothing to do.", calls: [] })],
    expected: { reply: "Nothing to do.", warnings: [/may be incomplete: it ended with "tool-calls"/] },
  },
  {
    key: "written-call",
    name: "LM Studio leaves a call in the text, which is not posted: the turn is tried again",
    thread: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2115",
    answers: [chat({ text: "Let me look.\n<tool_call>\n<function=work__look>\n</function>\n</tool_call>" }), DONE],
    expected: { reply: "Done." },
  },
  {
    key: "written-call-bare",
    name: "a turn without calls posts the text before a call that is written into it",
    thread: "https://github.com/jundot/omlx/issues/3153",
    grants: {},
    answers: [chat({ text: 'All is well.\n<tool_call>{"name":"x"}' })],
    expected: { reply: "All is well.", warnings: [/wrote into its text was left out/] },
  },
  {
    key: "tool-use-failed",
    name: "Groq could not parse a call: the turn is tried again",
    thread: "https://github.com/groq/groq-typescript/issues/28",
    answers: [
      {
        status: 400,
        body: { error: { message: "Failed to call a function.", code: "tool_use_failed", failed_generation: "" } },
      },
      DONE,
    ],
    expected: { reply: "Done." },
  },
];

const ANSWERS: OddPeer[] = [
  {
    key: "plain",
    name: "a model that follows its specification",
    answers: [chat({ calls: [look(), write("one")] }), DONE],
    expected: { reply: "Done.", written: ["one"], results: [HELLO, HELLO] },
  },
  ...(
    [
      [
        "calls-empty-list",
        "LM Studio always has tool_calls",
        { message: { tool_calls: [] } },
        "lmstudio-ai/lmstudio-bug-tracker/issues/1318",
      ],
      ["no-finish-reason", "no finish_reason", { choice: { finish_reason: null } }, "langchain-ai/langchain/pull/7296"],
      ["empty-role", "an empty role", { message: { role: "" } }, "langchain-ai/langchainjs/pull/11470"],
      ["no-usage", "no usage", { body: { usage: null } }, "zai-org/ChatGLM2-6B/pull/479"],
      [
        "usage-as-text",
        "usage as text, and an id as a number",
        { body: { id: 7, usage: { prompt_tokens: "9", completion_tokens: null } } },
        "razzant/claudexor/issues/173",
      ],
      [
        "parts",
        "Mistral's content in parts",
        { message: { content: [{ type: "text", text: "Done." }] } },
        "vercel/ai/issues/11060",
      ],
      [
        "null-error",
        "an error that is null",
        { body: { error: null }, choice: { error: {} } },
        "UKGovernmentBEIS/inspect_ai/pull/1536",
      ],
    ] as const
  ).map(([key, name, changes, thread]) => ({
    key,
    name,
    thread: `https://github.com/${thread}`,
    answers: [chat({ text: "Done." }, changes)],
    expected: { reply: "Done." },
  })),
  {
    key: "done-mark",
    name: "9router ends the answer as if it were a stream",
    thread: "https://github.com/decolua/9router/issues/3492",
    answers: [
      { body: `${JSON.stringify(DONE.body)}\n\ndata: [DONE]\n\n`, headers: { "content-type": "text/event-stream" } },
    ],
    expected: { reply: "Done." },
  },
  {
    key: "only-reasoning",
    name: "LM Studio puts all of the answer into reasoning_content",
    thread: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1698",
    answers: [chat({ text: "" }, { message: { reasoning_content: "Done." } })],
    expected: { error: /was empty/ },
  },
  {
    key: "no-annotations",
    name: "LM Studio's responses have no annotations",
    thread: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1089",
    kind: "openai",
    answers: [{ body: { output: [{ type: "message", content: [{ type: "output_text", text: "Done." }] }] } }],
    expected: { reply: "Done." },
  },
  {
    key: "no-signature",
    name: "an endpoint in the format of Anthropic does not sign its thoughts, nor count its tokens",
    thread: "https://github.com/anomalyco/opencode/pull/44713",
    kind: "anthropic",
    answers: [
      {
        body: {
          content: [
            { type: "thinking", thinking: "So." },
            { type: "tool_use", id: 1, name: "work__write", input: '{"text":"one"}' },
          ],
          stop_reason: "tool_use",
        },
      },
      FORMATS.anthropic({ text: "Done." }),
    ],
    expected: { reply: "Done.", written: ["one"], results: [HELLO] },
  },
];

const FAILURES: OddPeer[] = [
  passedOn({
    key: "error-429",
    name: "OpenRouter sends a rate limit with status 200",
    thread: "https://github.com/Aider-AI/aider/issues/3550",
    body: { error: { message: "Rate limit exceeded: free-models-per-day", code: 429 }, user_id: "u" },
    says: /answered 200 with the error 429: Rate limit exceeded/,
  }),
  {
    key: "error-then-answer",
    name: "OpenRouter sends a rate limit beside empty fields, and the turn waits for it",
    thread: "https://github.com/UKGovernmentBEIS/inspect_ai/issues/1534",
    answers: [{ body: { id: null, choices: null, error: { message: "Provider returned error", code: 429 } } }, DONE],
    expected: { reply: "Done." },
  },
  passedOn({
    key: "choices-null",
    name: "9router answers without choices",
    thread: "https://github.com/decolua/9router/issues/2727",
    body: { choices: null },
    says: /answered 200 with an error/,
  }),
  passedOn({ key: "choices-empty", name: "an empty list of choices", body: { choices: [] }, says: /with no answer/ }),
  passedOn({
    key: "half-a-text",
    name: "OpenRouter's half text with finish_reason error is not the reply",
    thread: "https://github.com/razzant/claudexor/issues/144",
    body: chat(
      { text: "The first thing" },
      { choice: { finish_reason: "error", error: { code: 502, message: "Upstream died" } } },
    ).body,
    says: /the error 502: Upstream died/,
  }),
  passedOn({
    key: "network-error",
    name: "Z.AI's half text with network_error is not the reply",
    thread: "https://github.com/gethouston/houston/pull/1211",
    body: chat({ text: "The first thing" }, { choice: { finish_reason: "network_error" } }).body,
    says: /ended with "network_error"/,
  }),
  passedOn({
    key: "half-of-responses",
    name: "the half text of a failed response is not the reply",
    kind: "openai",
    body: {
      ...Object(FORMATS.openai({ text: "The first thing" }).body),
      status: "failed",
      error: { code: "server_error", message: "Oh" },
    },
    says: /the error server_error: Oh/,
  }),
  passedOn({
    key: "web-page",
    name: "a proxy answers with a web page",
    thread: "https://github.com/sipeed/picoclaw/pull/1075",
    body: "<!DOCTYPE html><h1>Welcome</h1>",
    says: /a web page \(check agents\.providers\.web-page\.baseUrl\)/,
  }),
  {
    key: "half-of-a-body",
    name: "an answer that ends early, and a whole one later",
    answers: [{ body: JSON.stringify(DONE.body).slice(0, 90) }, DONE],
    expected: { reply: "Done." },
  },
];

/** Models that need more than one attempt at a call. */
const ATTEMPTS: OddPeer[] = (["ask", "allow"] as const).flatMap((mode) => {
  const asked = mode === "ask" ? ["two"] : [];
  const row = (key: string, first: ModelCall, results: RegExp): OddPeer => ({
    key,
    name: `${mode}: a call that was refused does not count for max, and the right one follows`,
    grants: { "work.write": { ...Object(grantsOf(key)["work.write"]), mode, max: 1 } },
    answers: [chat({ calls: [first] }), chat({ calls: [write("two")] }), chat({ calls: [write("three")] }), DONE],
    expected: { reply: "Done.", asked, written: ["two"], results: [results, HELLO, /can be made once in a run/] },
  });
  return [
    row(`missing-${mode}`, { name: "work__write", arguments: {} }, /^Not sent: .*text/),
    row(`wrong-${mode}`, write("wrong!"), /^Not sent: text must match/),
    row(`chosen-${mode}`, { name: "work__write", arguments: { text: "one", row: "other" } }, /row is fixed/),
  ];
});

/** Endpoints of models. */
export const MODELS: OddPeer[] = [...ANSWERS, ...IDS, ...CALLS, ...ATTEMPTS, ...FAILURES];
