import type { MissedEvents } from "./missed.ts";
import type { ChannelDefinition, SignatureDefinition } from "./driver.ts";

/**
 * All that is known of one service that sends webhooks or takes messages; each part is optional. Its name is that of its
 * preset, which holds what is data: mappings, templates, the place of an event, and what can be read as context.
 */
export interface Vendor {
  /** The name as people write it: "GitHub". */
  service: string;
  /** The folders of its presets, absolute, which are used by their names. Absent: that of its name in the package. */
  presets?: readonly string[];
  /** Signature schemes, by `scheme` of an `auth` block. `defineSignature` makes one of a row with its handshake. */
  signatures?: Record<string, SignatureDefinition>;
  /** Channels, by name of the block in `channels`. */
  channels?: Record<string, ChannelDefinition>;
  /** Makes and checks its webhooks. Needed for a preset with `registration`. */
  webhooks?: VendorWebhooks;
  /** The steps of a person where no API can register a webhook: lines that name the address. `presets enable` shows them. */
  describeSetup?(url: string, events: readonly string[]): string[];
  /**
   * Opens what it could not deliver to the webhook that posts to `options.url`. Needed for a preset with
   * `registration.catchUp`. Rejects with a `DriverError`.
   */
  openMissed?(access: ApiAccess, options: MissedOptions): Promise<MissedEvents>;
  /**
   * The new message of a person that a verified event is, whole and as it was typed; undefined for anything else: an edit, a
   * forward, a quote, a guest, a bot, an app. With it, messages can answer questions.
   */
  readMessage?(event: VerifiedEvent): PersonMessage | undefined;
  /**
   * The press of a button below a question that a verified event is; undefined for anything else, such as buttons that are not
   * ours. With it, buttons can answer questions, if its channel has `buttons`.
   */
  readPress?(event: VerifiedEvent): ButtonPress | undefined;
  /**
   * Whether a body that shows no credential has the form of a press: the value of its button, which only the service and this
   * one know, proves it. Absent: presses are signed as all events.
   */
  provesByButton?(body: Record<string, unknown>): boolean;
}

/** By name. */
export type Vendors = Readonly<Record<string, Vendor>>;

/** How the webhooks of a vendor are made by its API. */
export interface VendorWebhooks {
  /** Who makes the secret. app: an app of the vendor has one for all its webhooks, which a person copies. */
  secretBy: "us" | "vendor" | "app";
  /** Environment variables that usually hold its token. The first is named in messages. */
  tokenVariables: readonly string[];
  /** Completes "The token needs …". */
  tokenNeeds: string;
  connect(access: ApiAccess): HookApi;
}

/** How the API of a vendor is called for one use of its preset. */
export interface ApiAccess {
  token: string;
  /** Default: the vendor's own. */
  baseUrl?: string;
  /** Where the webhooks are, as the preset's `registration.place` describes it. */
  place?: string;
  /** The block of the channel's account, whose token it may be. */
  account: Record<string, unknown>;
  signal: AbortSignal;
}

/** Which events are looked for, and what to do with one that cannot be sent again. */
export interface MissedOptions {
  /** The hook's address, as the vendor knows it. */
  url: string;
  /** The events that should arrive, by their names. */
  events: readonly string[];
  /** The ids of events that have arrived since a time, in milliseconds since the epoch. */
  readKnown(since: number): Promise<ReadonlySet<string>>;
  /** Takes an event as if the vendor had sent it, where nothing can be delivered again. */
  enter(event: Record<string, unknown>): Promise<void>;
}

/** An event whose signature was verified by the vendor's scheme. */
export interface VerifiedEvent {
  payload: Record<string, unknown>;
  /** Names in lower case. */
  headers: Record<string, string>;
}

/** A message of a person, as it was typed. */
export interface PersonMessage {
  text: string;
  /** The author's id, with the workspace where ids are unique in one only: `T0ACME/U0ANN`. Never a name. */
  person: string;
  /** The recipient that a question in this place has. */
  to: string;
  /** The message that it answers below, as the channel names it; then the question can be that message, in `of`. */
  thread?: { of: string; messageId: string };
  /** In seconds since the epoch, as services count. */
  at: number;
  /** The channel's id of the message. */
  messageId: string;
}

/** A person has pressed a button of ours. */
export interface ButtonPress extends Pick<PersonMessage, "person"> {
  /** The value of the button, as `send` of the channel was given it. */
  value: string;
  /** The channel's id of the message with the button. */
  messageId: string;
  /** The recipient that the presser can be told something at: where the message is. */
  to: string;
  /** The answer to the request. `text`: what the presser alone sees, where an answer can say it. */
  answer(text?: string): { status: number; body?: object };
}

/** A webhook as it should be at its sender. */
export interface WantedHook {
  /** The hook's address as the sender knows it. */
  url: string;
  /** Absent where the sender makes it. */
  secret?: string;
  /** The names that the preset gives events, without families and `*`. */
  events: string[];
  /** Whether it has `*`, for senders that have some events only at some places. */
  all: boolean;
}

/** A webhook that was made. */
export interface CreatedHook {
  id: string;
  /** The one that the sender has made, which it shows only now. */
  secret?: string;
  /** Settings that the sender has not taken, in a sentence each. */
  notes?: string[];
}

/** The state of a webhook at its sender. */
export interface HookHealth {
  isEnabled: boolean;
  /** The sender's remarks, in a sentence each: why it is off, its last failures. */
  notes: string[];
}

/** The webhooks of one place at a sender: a repository, an account, a bot. Calls reject with a `DriverError`. */
export interface HookApi {
  /** The ids of those that post to exactly this address. */
  find(url: string): Promise<string[]>;
  create(wanted: WantedHook): Promise<CreatedHook>;
  /** A repeated `create` gets the first answer again, with its secret, while that webhook is there. */
  isCreateRepeatable?: true;
  /** Sets the secret again too. Resolves to the settings that the sender has not taken, in a sentence each. */
  update(id: string, wanted: WantedHook): Promise<string[] | void>;
  remove(id: string): Promise<void>;
  /** `events`: those that should arrive. */
  health(id: string, events: readonly string[]): Promise<HookHealth>;
  /** Asks for a test delivery. Absent: the sender has none. */
  test?(id: string): Promise<void>;
  /** Where there can be only one: the address of another that `create` would replace. */
  findOther?(url: string): Promise<string | undefined>;
}

/** Gives an editor the types of a vendor. Returns it unchanged. */
export function defineVendor(vendor: Vendor): Vendor {
  return vendor;
}

/** The vendor of a preset. */
export function findVendor(vendors: Vendors, preset: string | undefined): Vendor | undefined {
  return preset !== undefined && Object.hasOwn(vendors, preset) ? vendors[preset] : undefined;
}

/** Whether a person's message or press there can answer a question. */
export function mayBeAnswered(vendor: Vendor | undefined): boolean {
  return vendor?.readMessage !== undefined || vendor?.readPress !== undefined;
}
