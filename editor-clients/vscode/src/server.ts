// The server's process and the connection to it: start, restart, death, and typed requests.

import { homedir } from 'node:os';
import * as vscode from 'vscode';
import {
  CloseAction,
  type ConfigurationParams,
  DidChangeConfigurationNotification,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  ResponseError,
  RevealOutputChannelOn,
} from 'vscode-languageclient/node';
import { findServer } from './binary';
import { PROTOCOL_VERSION, type ClientCapability, type ClientRequests, type ServerCapability, type ServerNotifications } from './protocol.gen';
import { pick, ServerSettings, type Section } from './settings';

/** `otherVersion`: it runs, and serves this window as it does an editor without an extension. */
export type ServerStatus = 'starting' | 'ready' | 'otherVersion' | 'stopped' | 'missing' | 'noFolder';

/** What this client shows, and so what it is sent. */
const CAPABILITY: Pick<ClientCapability, 'protocolVersion' | 'fleet' | 'viewer'> = {
  protocolVersion: PROTOCOL_VERSION,
  fleet: true,
  viewer: true,
};

const OTHER_VERSION = 'The Adjutant server and this extension are of different versions. Update the older of the two.';

type Handler = (params: unknown) => void;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private current: ServerStatus = 'stopped';
  private capability: ServerCapability | undefined;
  private settings = new ServerSettings();
  /** Starts and stops wait for each other. */
  private work: Promise<void> = Promise.resolve();
  private readonly handlers: [method: string, handler: Handler][] = [];
  private readonly statusEvent = new vscode.EventEmitter<ServerStatus>();
  /** Fires with each change of the status. */
  readonly onStatus = this.statusEvent.event;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  get status(): ServerStatus {
    return this.current;
  }

  /** The connection, for what needs more than a request; absent while the server does not run. */
  get connection(): LanguageClient | undefined {
    return this.current === 'ready' ? this.client : undefined;
  }

  /** Asks the server. Fails with a message for a person where the server does not run or refuses. */
  async request<M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]['params'],
    token?: vscode.CancellationToken,
  ): Promise<ClientRequests[M]['result']> {
    const client = this.connection;
    if (!client || !this.capability) {
      throw new Error(this.current === 'otherVersion' ? OTHER_VERSION : 'The Adjutant server is not running.');
    }
    if (!this.capability.methods.includes(method)) {
      throw new Error(`This Adjutant server (${this.capability.serverVersion}) cannot do that. Update it.`);
    }
    // A third argument that is undefined would be sent as a second parameter.
    const more = token ? [token] : [];
    return client.sendRequest<ClientRequests[M]['result']>(method, params, ...more);
  }

  /** Handles a message of the server, of this one and of every one started later. Call it before the first start. */
  on<M extends keyof ServerNotifications>(method: M, handler: (params: ServerNotifications[M]) => void): void {
    this.handlers.push([method, handler as Handler]);
  }

  /** Tells the server what the settings are now. */
  async sendSettings(): Promise<void> {
    const settings = { adjutant: this.section() };
    await this.connection?.sendNotification(DidChangeConfigurationNotification.type, { settings });
  }

  start(): Promise<void> {
    return this.queue(() => this.doStart());
  }

  /** Ends the server, if one runs, and starts another. */
  restart(): Promise<void> {
    return this.queue(async () => {
      await this.doStop();
      await this.doStart();
    });
  }

  stop(): Promise<void> {
    return this.queue(() => this.doStop());
  }

  dispose(): void {
    void this.stop();
    this.statusEvent.dispose();
  }

  private queue(work: () => Promise<void>): Promise<void> {
    this.work = this.work.then(work).catch((error: unknown) => {
      this.log.error(error instanceof Error ? error : String(error));
    });
    return this.work;
  }

  private setStatus(status: ServerStatus): void {
    if (this.current === status) return;
    this.current = status;
    void vscode.commands.executeCommand('setContext', 'adjutant.status', status);
    this.statusEvent.fire(status);
  }

  private async doStart(): Promise<void> {
    if (this.client) return;
    if (!vscode.workspace.workspaceFolders?.length) {
      this.setStatus('noFolder');
      return;
    }
    this.setStatus('starting');
    const command = await this.find();
    if (command === undefined) {
      this.setStatus('missing');
      return;
    }
    const client = this.makeClient(command);
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.log.error(`The server did not start: ${String(error)}`);
      await this.doStop();
      void this.complain(`The Adjutant server at ${command} did not start.`);
      return;
    }
    this.capability = this.negotiated(client);
    this.setStatus(this.capability ? 'ready' : 'otherVersion');
  }

  private async doStop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.capability = undefined;
    this.setStatus('stopped');
    if (!client) return;
    try {
      await client.dispose(3_000);
    } catch (error) {
      // A process that is dead already cannot be asked to stop.
      this.log.debug(String(error));
    }
  }

  private async find(): Promise<string | undefined> {
    const found = await findServer({
      setting: vscode.workspace.getConfiguration('adjutant').get<string>('server.path', ''),
      extension: this.extension.fsPath,
      home: homedir(),
      path: process.env['PATH'] ?? '',
      windows: process.platform === 'win32',
    });
    if (found.type === 'found') {
      this.log.info(`Starting ${found.command} (${found.origin}).`);
      return found.command;
    }
    void this.complain(
      found.type === 'badSetting'
        ? `“${found.command}”, the setting adjutant.server.path, is no program that can be run.`
        : 'The program “adjutant” was not found. Install it, or say in the settings where it is.',
      true,
    );
    return undefined;
  }

  /** Says once what is wrong, with a way on. */
  private async complain(message: string, path = false): Promise<void> {
    const settings = 'Set the Path';
    const again = path ? 'Try Again' : 'Restart Server';
    const log = 'Show Log';
    const choice = await vscode.window.showErrorMessage(message, ...(path ? [settings, again] : [again, log]));
    if (choice === settings) await vscode.commands.executeCommand('workbench.action.openSettings', 'adjutant.server.path');
    if (choice === again) await this.restart();
    if (choice === log) this.log.show();
  }

  private makeClient(command: string): LanguageClient {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const client: LanguageClient = new LanguageClient(
      'adjutant',
      'Adjutant',
      { command, args: ['--stdio'], options: folder === undefined ? {} : { cwd: folder } },
      this.clientOptions(() => client),
    );
    client.registerFeature({
      fillClientCapabilities(capabilities) {
        capabilities.experimental = { ...(capabilities.experimental as object | undefined), adjutant: CAPABILITY };
      },
      initialize() {
        // Nothing to do: what the server offers is read from its answer.
      },
      getState: () => ({ kind: 'static' }),
      clear() {
        // Nothing is held.
      },
    });
    for (const [method, handler] of this.handlers) {
      client.onNotification(method, (params: unknown) => {
        try {
          handler(params);
        } catch (error) {
          this.log.error(`${method}: ${String(error)}`);
        }
      });
    }
    return client;
  }

  private clientOptions(client: () => LanguageClient): LanguageClientOptions {
    return {
      // The text of open documents, unsaved or not, is what the server's tools read.
      documentSelector: [{ scheme: 'file' }],
      initializationOptions: () => ({ settings: this.section(), trusted: vscode.workspace.isTrusted }),
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (_error, _message, times) => ({ action: (times ?? 0) <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown }),
        closed: () => {
          void this.died(client());
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: {
        workspace: {
          configuration: (params: ConfigurationParams) => {
            const section = this.section();
            return params.items.map((item) => pick(section, item.section ?? undefined));
          },
          // Sent by `sendSettings`, and once only.
          didChangeConfiguration: () => Promise.resolve(),
        },
      },
    };
  }

  private section(): Section {
    const set = vscode.workspace.getConfiguration().inspect('adjutant');
    return this.settings.of({
      default: set?.defaultValue,
      global: set?.globalValue,
      workspace: set?.workspaceValue,
      folder: set?.workspaceFolderValue,
    });
  }

  private async died(client: LanguageClient): Promise<void> {
    // One that is being stopped, or never came up, is spoken for.
    if (this.client !== client || this.current === 'starting') return;
    await this.queue(() => this.doStop());
    await this.complain('The Adjutant server ended unexpectedly. Agents that were running are interrupted and can be resumed.');
  }

  private negotiated(client: LanguageClient): ServerCapability | undefined {
    const experimental = client.initializeResult?.capabilities.experimental as { adjutant?: ServerCapability } | undefined;
    const capability = experimental?.adjutant;
    if (capability?.protocolVersion === PROTOCOL_VERSION && Array.isArray(capability.methods)) {
      this.log.info(`Server ${capability.serverVersion}, protocol ${capability.protocolVersion}.`);
      return capability;
    }
    void vscode.window.showWarningMessage(OTHER_VERSION);
    return undefined;
  }
}

/** What went wrong, for a person: the message, and what to do next where the server says so. */
export function explain(error: unknown): string {
  if (error instanceof ResponseError) {
    const data = error.data as { hint?: unknown } | null | undefined;
    const hint = typeof data?.hint === 'string' ? data.hint : undefined;
    return hint ? `${error.message} ${hint}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
