// Keeps the fleet in step with the server: lists it, follows its changes, and lists again when something is missing.

import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError } from 'vscode-languageclient/node';
import { Methods, type AgentSummary, type FleetListResult } from './protocol.gen';
import type { Server } from './server';
import { EMPTY_FLEET, reduce, serverTime, treeOf, type Fleet, type FleetInput, type Tree } from './state';

/** Pages of one list; more than the largest fleet has. */
const MAX_PAGES = 1_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

export interface FleetUpdate {
  readonly before: Fleet;
  readonly after: Fleet;
}

export class FleetStore implements vscode.Disposable {
  private fleet = EMPTY_FLEET;
  private shape: Tree | undefined;
  private listing = false;
  private retryMs = FIRST_RETRY_MS;
  private retry: NodeJS.Timeout | undefined;
  private readonly event = new vscode.EventEmitter<FleetUpdate>();
  /** Fires with each change of the fleet. */
  readonly onChange = this.event.event;

  constructor(
    private readonly server: Server,
    private readonly log: vscode.LogOutputChannel,
  ) {
    server.on(Methods.fleetChanged, (change) => {
      this.take({ type: 'changed', change, now: Date.now() });
    });
    server.onStatus((status) => {
      clearTimeout(this.retry);
      this.retryMs = FIRST_RETRY_MS;
      this.take({ type: 'lost' });
      if (status === 'ready') void this.list();
    });
  }

  get now(): Fleet {
    return this.fleet;
  }

  /** The fleet as a tree. */
  get tree(): Tree {
    return (this.shape ??= treeOf(this.fleet.agents.values()));
  }

  /** The server's clock, as well as it is known. */
  get serverNow(): number {
    return serverTime(this.fleet, Date.now());
  }

  get(agentId: string): AgentSummary | undefined {
    return this.fleet.agents.get(agentId);
  }

  dispose(): void {
    clearTimeout(this.retry);
    this.event.dispose();
  }

  private take(input: FleetInput): void {
    const before = this.fleet;
    const after = reduce(before, input);
    if (after === before) return;
    this.fleet = after;
    if (after.agents !== before.agents) this.shape = undefined;
    if (after.agents !== before.agents || after.synced !== before.synced) this.event.fire({ before, after });
    if (!after.synced && input.type !== 'lost' && !this.listing) void this.list();
  }

  /** Asks for the whole fleet. One list runs at a time; changes that arrive meanwhile are kept by the reducer. */
  private async list(): Promise<void> {
    clearTimeout(this.retry);
    if (this.listing || this.server.status !== 'ready') return;
    this.listing = true;
    const connection = this.server.connection;
    let failed = false;
    try {
      const list = await this.pages();
      // An answer of a server that is gone must not be shown as the state of the next.
      if (connection === this.server.connection) this.take({ type: 'snapshot', list, now: Date.now() });
    } catch (error) {
      failed = true;
      if (!(error instanceof ResponseError && error.code === LSPErrorCodes.ContentModified)) {
        this.log.warn(`The list of agents could not be read: ${String(error)}`);
      }
    } finally {
      this.listing = false;
    }
    if (this.server.status !== 'ready' || this.fleet.synced) {
      if (!failed) this.retryMs = FIRST_RETRY_MS;
      return;
    }
    this.retry = setTimeout(() => void this.list(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
  }

  private async pages(): Promise<FleetListResult> {
    const first = await this.server.request(Methods.fleetList, { limit: 500 });
    const agents = [...first.agents];
    let cursor = first.nextCursor;
    for (let page = 1; cursor !== undefined && page < MAX_PAGES; page += 1) {
      const next = await this.server.request(Methods.fleetList, { cursor, limit: 500 });
      agents.push(...next.agents);
      cursor = next.nextCursor;
    }
    return { ...first, agents };
  }
}
