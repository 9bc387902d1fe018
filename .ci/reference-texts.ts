/** Texts of the reference that no schema holds. */

/** Forms of the generic schemes, by what the sender does. */
export const GENERIC = [
  ["signs the body, and sends the signature alone", '`{ scheme: "hmac", secret, header: "X-Signature" }`'],
  [
    "sends a list in one header: `timestamp=1614556800,signature=5257a8…` (Buildkite, ElevenLabs, Mux, WorkOS)",
    '`{ scheme: "hmac", secret, header: "X-Buildkite-Signature", list: { separator: ",", timestamp: "timestamp", signature: "signature" }, signed: ["timestamp", ".", "body"] }`',
  ],
  [
    "writes its secret in base64 (outgoing webhooks of Microsoft Teams, which the preset [`teams`](../presets/teams.md) takes)",
    '`{ scheme: "hmac", secret, secretEncoding: "base64", header: "Authorization", prefix: "HMAC ", encoding: "base64" }`',
  ],
  [
    "has its secret in a field of the body (Mattermost, which has a [preset](../presets/mattermost.md), Rocket.Chat, Lark)",
    '`{ scheme: "field", secret, field: "token" }`',
  ],
  ["has the time in the body", 'with `hmac`: `timestampField: "created_at", timestampUnit: "iso"`'],
  [
    "shows a JSON Web Token, and publishes its keys",
    '`{ scheme: "jwt", jwks: "https://www.googleapis.com/oauth2/v3/certs", algorithms: ["RS256"], issuer: "https://accounts.google.com", audience: "https://…/hooks/chat", claims: { email: "chat@system.gserviceaccount.com" } }`',
  ],
  [
    "shows a JSON Web Token made with a shared secret (Monday)",
    '`{ scheme: "jwt", secret, algorithms: ["HS256"], audience: "https://…/hooks/monday" }`',
  ],
  [
    "has a hash of the body in that token (LiveKit)",
    '`{ scheme: "jwt", secret, algorithms: ["HS256"], issuer: "<API key>", bodyHash: { claim: "sha256", encoding: "base64" } }`',
  ],
  ["is a bot of Microsoft Teams", '`{ scheme: "msteams", appId }`'],
  ["is an app of Google Chat", '`{ scheme: "google-chat", audience: "https://<your host>/hooks/googlechat" }`'],
  [
    "checks the hook with a request that wants a certain answer (Monday, Lark)",
    'with `hmac`, `header`, `field`, `jwt`, `basic` or `token`: `handshake: { when: { challenge: "*" }, answer: { challenge: "{{payload.challenge}}" } }`',
  ],
  [
    "checks it with a GET: WebSub",
    '`handshake: { method: "GET", when: { "query.hub.topic": "https://example.com/feed", "query.hub.challenge": "*" }, answer: "{{query.hub.challenge}}" }`',
  ],
  [
    "checks it with a GET: Okta",
    '`handshake: { method: "GET", when: { "headers.x-okta-verification-challenge": "*" }, answer: { verification: "{{headers.x-okta-verification-challenge}}" } }`',
  ],
  [
    "checks it with OPTIONS, as CloudEvents says, or with an array in the body: Azure Event Grid, which has a [preset](../presets/eventgrid.md)",
    '`handshake: [{ method: "OPTIONS", when: { "headers.webhook-request-origin": "*" }, headers: { "WebHook-Allowed-Origin": "{{headers.webhook-request-origin}}" } }, { when: { "[0].data.validationCode": "*" }, answer: { validationResponse: "{{payload.[0].data.validationCode}}" } }]`',
  ],
] as const;

/** A body by its content type, and its payload. */
export const BODIES = [
  ["JSON, `…+json`, text that holds JSON, none", "the JSON value"],
  [
    "`application/x-www-form-urlencoded`",
    "the fields; a repeated field is an array. A field `payload` that holds JSON is the payload",
  ],
  [
    "`multipart/form-data`",
    "as a form. Files are in `files`: `[{ field, name, type, size, content }]`, `content` in base64",
  ],
  [
    "XML, `…+xml`",
    '`<order id="7"><item>a</item></order>` → `{ order: { $id: "7", item: "a" } }`. Values are text, repeated tags an array, text beside attributes or tags is `$`',
  ],
  ['any `text/…`, with `body: "text"`', "`{ text }`, in the charset that it declares, else UTF-8"],
  [
    '`application/x-ndjson`, `application/jsonl`, with `body: "text"`',
    "`{ lines: [...] }`, one JSON value for each line that is not blank",
  ],
  ["`message/rfc822`", 'one mail, as the `mail` preset takes it: `{ source: "rfc822", messages: [mail] }`'],
] as const;

export const OTHER_BODIES =
  "`wake` and `agent` take neither XML nor a mail. gzip, deflate and br are decompressed. Forms and XML may be in any charset that they declare, everything else is UTF-8. XML with a document type (DOCTYPE) is refused. A body may be empty only where the sender's scheme says so (`google-channel`); then the payload is `{}`. In a form or XML, `forEach` takes a single value as a list of one. All mappings of one path must agree on `body`.";

/** The result of each helper of templates. */
export const HELPER_TEXTS: Record<string, string> = {
  json: "The value as JSON; `null` if it is missing.",
  parse: "The value that a text contains as JSON, plain or in base64.",
  default: "The first value that is not missing, null or empty text.",
  truncate: "At most this many characters; a text that was cut ends in `…`.",
  before: 'The text in front of the first such mark: `{{before url "/rest/"}}`. All of it without one.',
  rest: "The text behind the first such mark; all of it without one.",
  join: "The items of a list, separated by `, ` or the second value.",
  brief: "A mail's text with long quotes and long addresses shortened.",
  htmlToText:
    "The text that a reader sees of HTML. What its styles, classes or attributes hide never reaches the agent.",
  words: "A technical name as words: `invoice.payment_failed` is `invoice payment failed`.",
  without:
    'An object\'s other fields that have a value: `{{#each (without payload "id type")}}{{@key}}: {{this}}{{/each}}`.',
  lower: "The text in lower case.",
  upper: "The text in upper case.",
  date: "A time as ISO 8601, or in a format of `YYYY MM DD HH mm ss`, in UTC. Anything else is unchanged.",
  money:
    "An amount in the smallest unit of its currency: 1000 and `usd` are `10.00 USD`, 1000 and `jpy` are `1000 JPY`. With `0` behind it, the amount is in whole units.",
  eq: "Whether both have the same type and value.",
  and: "The first value that `if` takes for false, else the last one.",
  or: "The first value that `if` takes for true, else the last one.",
  not: "Whether `if` takes the value for false.",
};

/** Who is a member, for `from`, by preset. */
export const MEMBERS: Record<string, string> = {
  github:
    "who is OWNER, MEMBER or COLLABORATOR by the association of the text's author; everybody in a private repository; who labels, assigns or dispatches. A member whose membership is concealed arrives as CONTRIBUTOR: list them",
  gitlab: "everybody in a private or internal project, nobody in a public one",
  gitea: "everybody in a private repository or one of a private organization, nobody in a public one",
  bitbucket: "everybody in a private repository, nobody in a public one",
  jira: "an Atlassian account. A server names no type: there everybody is one",
  linear: "everybody but external users",
  notion: "a person",
  azuredevops: "everybody",
  sentry: "everybody",
  pagerduty: "everybody",
  mattermost: "everybody",
  slack: "who is of the own workspace, unless the event says that they are guests",
  teams: "who is of the own tenant, unless the event says that they are guests",
  googlechat: "everybody, unless the space lets people from outside in",
  telegram: "who is in a chat without a public name that `place` names by its id",
};

/** Variables of the environment that the program, Node or an SDK reads. */
export const VARIABLES = [
  ["`WEBHOOKS_CONFIG`", "The file of the configuration, for every command. `--config` overrides it."],
  ["`NO_COLOR`", "No colors."],
  [
    "`NODE_COMPILE_CACHE`",
    "The folder for compiled code, which the next start uses. Default: `node_modules/.cache` of the package. Nobody else may write there, because Node runs its content.",
  ],
  ["`NODE_DISABLE_COMPILE_CACHE`", "`1`: no compiled code is stored or used."],
  [
    "`NODE_OPTIONS`",
    "Options of Node: `--import ./tracing.mjs` for [traces](../guide/operating.md#traces), `--max-semi-space-size=4` for [less memory](../guide/performance.md#memory-and-start).",
  ],
  [
    "`OTEL_EXPORTER_OTLP_ENDPOINT`",
    "The address of the collector, and the other `OTEL_` variables: the OpenTelemetry SDK that you load for traces reads them.",
  ],
] as const;
