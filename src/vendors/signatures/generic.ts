import type { FromSchema } from "json-schema-to-ts";
import type { OptionProblem, SignatureDefinition } from "../../core/ports/driver.ts";
import { NON_BLANK, objectSchema } from "../../core/shared/json.ts";
import { checkHandshake, HANDSHAKE_OPTION, withFixedHandshake } from "./handshake.ts";
import {
  HEADER,
  REPLAY_OPTION,
  SECRET,
  SECRET_ITSELF,
  SHOWN,
  type SignatureRow,
  TOLERANCE,
  URL_OPTION,
} from "./row.ts";
import { createHmacKey, decode, toBasicKey } from "./signature.ts";
import { checkSecrets, createVerifier, defineSignature } from "./verifier.ts";

const hmacSchema = objectSchema(["secret", "header"], {
  secret: SECRET,
  header: { ...HEADER, description: "The header with the signature." },
  secretEncoding: {
    enum: ["utf8", "base64", "hex"],
    default: "utf8",
    description: "How the secret is written: the text itself is the key, or the bytes that it encodes.",
  },
  prefix: { type: "string", default: "", description: "Text before the signature: `sha256=`." },
  list: {
    description: "The header is a list of names and values: `t=1614556800,v1=5257a8…`.",
    ...objectSchema(["separator", "signature"], {
      separator: { type: "string", minLength: 1, description: "Between two entries: `,`." },
      assign: { type: "string", minLength: 1, default: "=", description: "Between a name and its value." },
      signature: { type: "string", minLength: 1, description: "The name of a signature: `v1`." },
      timestamp: { type: "string", minLength: 1, description: "The name of the time, if it is in the list: `t`." },
    }),
  },
  algorithm: { enum: ["sha256", "sha1", "sha512"], default: "sha256", description: "Hash of the HMAC." },
  encoding: { enum: ["hex", "base64", "base64url"], default: "hex", description: "Encoding of the signature." },
  signed: {
    type: "array",
    minItems: 1,
    maxItems: 16,
    items: { type: "string", minLength: 1 },
    contains: { const: "body" },
    default: ["body"],
    description:
      "The signed text in its parts: `body`, `id`, `timestamp`, `url`, `method`, or any other text, which means itself.",
  },
  idHeader: { ...HEADER, description: "The header with the delivery's id." },
  timestampHeader: { ...HEADER, description: "The header with the time." },
  timestampField: { ...NON_BLANK, description: "The top-level field of the JSON body with the time." },
  timestampUnit: { enum: ["s", "ms", "iso"], default: "s", description: "Unit of the time." },
  tolerance: { ...TOLERANCE, default: "5m" },
  url: URL_OPTION,
  replay: REPLAY_OPTION,
  handshake: HANDSHAKE_OPTION,
});

type HmacOptions = FromSchema<typeof hmacSchema>;

/** Any HMAC over the body. */
export const hmac: SignatureDefinition<HmacOptions> = {
  schema: hmacSchema,
  signsUrl: ({ signed }) => signed.includes("url"),
  replay: (options) => (isTimed(options) ? "timed" : options.replay === "signature" ? "unique" : "plain"),
  about: {
    header: "`header`",
    signed: "HMAC, `signed`",
    tolerance: "`tolerance`, with a time",
    replay: "*plain*, *timed* with a time",
    handshake: "`handshake`",
  },
  check: (options) => [
    ...checkSecrets(toHmacRow(options), options),
    ...checkParts(options),
    ...checkTimes(options),
    ...checkHandshake(options.handshake),
  ],
  create: (options) => withFixedHandshake(createVerifier(toHmacRow(options), options), options.handshake),
};

function toHmacRow({ handshake: _handshake, replay: _replay, ...options }: HmacOptions): SignatureRow {
  const { header, algorithm, idHeader, timestampHeader, timestampField, timestampUnit, secretEncoding, ...rest } =
    options;
  return {
    ...rest,
    header: header.toLowerCase(),
    algorithm: `hmac-${algorithm}`,
    idHeader: idHeader?.toLowerCase(),
    timestamp: isTimed(options)
      ? { header: timestampHeader?.toLowerCase(), field: timestampField, unit: timestampUnit }
      : undefined,
    toKey: (secret) => createHmacKey(toKeyBytes(secret, secretEncoding), algorithm),
  };
}

function toKeyBytes(secret: string, encoding: HmacOptions["secretEncoding"]): Buffer {
  if (encoding === "utf8") return Buffer.from(secret);
  const bytes = decode(secret, encoding);
  if (!bytes) throw new Error(`The secret must be ${encoding}, because secretEncoding says so.`);
  return bytes;
}

function isTimed({
  timestampHeader,
  timestampField,
  list,
}: Pick<HmacOptions, "timestampHeader" | "timestampField" | "list">): boolean {
  return (timestampHeader ?? timestampField ?? list?.timestamp) !== undefined;
}

/**
 * A part and its option mean nothing without each other: a time that is not signed can be replaced. Only the address has a default,
 * the one behind `gateway.publicUrl`.
 */
function checkParts(options: HmacOptions): OptionProblem[] {
  const { idHeader, timestampHeader, list, url } = options;
  const parts = [
    ["id", "idHeader", idHeader],
    [
      "timestamp",
      list?.timestamp === undefined ? "timestampHeader" : "list.timestamp",
      list?.timestamp ?? timestampHeader,
    ],
    ["url", "url", url],
  ] as const;
  return parts.flatMap(([part, key, value]) => {
    const isSigned = options.signed.includes(part);
    const isSet = value !== undefined;
    if (isSigned && !isSet && part !== "url")
      return [{ key, message: `This setting is required, because signed contains "${part}".` }];
    if (!isSigned && isSet) {
      const message = `This setting has no effect, because signed does not contain "${part}". Add it there, or remove the setting.`;
      return [{ key, message }];
    }
    return [];
  });
}

/** Only one of several times could be the one that counts. */
function checkTimes({ timestampHeader, timestampField, list }: HmacOptions): OptionProblem[] {
  const times = [timestampHeader, timestampField, list?.timestamp].filter((time) => time !== undefined);
  if (times.length < 2) return [];
  const key = timestampField === undefined ? "timestampHeader" : "timestampField";
  return [
    { key, message: "Only one time can be signed. Set one of timestampHeader, timestampField and list.timestamp." },
  ];
}

const headerSchema = objectSchema(["secret", "name"], {
  secret: SECRET,
  name: { ...HEADER, description: "The header with the secret." },
  handshake: HANDSHAKE_OPTION,
});

/** A secret in any header. */
export const header: SignatureDefinition<FromSchema<typeof headerSchema>> = {
  schema: headerSchema,
  replay: () => "plain",
  about: { header: "`name`", signed: SECRET_ITSELF, handshake: "`handshake`" },
  check: ({ handshake }) => checkHandshake(handshake),
  create({ name, secret, handshake }) {
    return withFixedHandshake(createVerifier({ ...SHOWN, header: name.toLowerCase() }, { secret }), handshake);
  },
};

const shownSchema = objectSchema(["secret"], { secret: SECRET, handshake: HANDSHAKE_OPTION });

export const basic = defineShown(
  {
    ...SHOWN,
    header: "authorization",
    prefix: "Basic ",
    encoding: "base64",
    toKey: toBasicKey,
  },
  "the secret itself, which is `user:password`",
);
export const token = defineShown({ ...SHOWN, header: "authorization", prefix: "Bearer " });

/** A secret in `Authorization`. */
function defineShown(row: SignatureRow, signed = SECRET_ITSELF): SignatureDefinition<FromSchema<typeof shownSchema>> {
  const { replay, about } = defineSignature(row);
  return {
    schema: shownSchema,
    replay,
    about: about && { ...about, signed, handshake: "`handshake`" },
    check: ({ handshake, ...options }) => [...checkSecrets(row, options), ...checkHandshake(handshake)],
    create: ({ handshake, ...options }) => withFixedHandshake(createVerifier(row, options), handshake),
  };
}

const grafanaSchema = objectSchema(["secret"], {
  secret: SECRET,
  header: {
    ...HEADER,
    default: "X-Grafana-Alerting-Signature",
    description: "The header with the signature, as in the contact point.",
  },
  timestampHeader: { ...HEADER, description: "The header with the time, if the contact point names one." },
  tolerance: { ...TOLERANCE, default: "5m" },
});

type GrafanaOptions = FromSchema<typeof grafanaSchema>;

export const grafana: SignatureDefinition<GrafanaOptions> = {
  schema: grafanaSchema,
  docs: "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
  deliveryId: "{{payload.groupKey}}:{{payload.status}}",
  replay: ({ timestampHeader }) => (timestampHeader === undefined ? "unique" : "timed"),
  about: {
    header: "`x-grafana-alerting-signature`",
    signed: "HMAC-SHA256, hex: body, or `timestamp` `:` body",
    tolerance: "5m, with `timestampHeader`",
    replay: "*unique*, *timed* with `timestampHeader`",
  },
  create: (options) => createVerifier(toGrafanaRow(options), options),
};

function toGrafanaRow({ header: name, timestampHeader }: GrafanaOptions): SignatureRow {
  const row = { header: name.toLowerCase() };
  if (timestampHeader === undefined) return { ...row, replay: "unique" };
  const timestamp = { header: timestampHeader.toLowerCase(), unit: "s" } as const;
  return { ...row, timestamp, signed: ["timestamp", ":", "body"] };
}
