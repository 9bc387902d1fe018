/** What proves a driver: the suites that the service's own drivers pass, for the tests of a plugin's. */
export { describeAgent } from "./describe-agent.ts";
export type { AgentUnderTest } from "./describe-agent.ts";
export { describeRemoteAgent } from "./describe-remote-agent.ts";
export type { RemoteAgentUnderTest } from "./describe-remote-agent.ts";
export { describeChannel } from "./describe-channel.ts";
export type { ChannelUnderTest } from "./describe-channel.ts";
export { describeRemoteChannel } from "./describe-remote-channel.ts";
export type { RemoteChannelUnderTest } from "./describe-remote-channel.ts";
export { describeMailSource } from "./describe-mail-source.ts";
export type { MailSourceUnderTest } from "./describe-mail-source.ts";
export { startFaultProxy } from "./fault-proxy.ts";
export type { Fault, FaultProxy } from "./fault-proxy.ts";
export { turnOf } from "./turn-of.ts";
export type { TestRunner } from "./describe-contract.ts";
