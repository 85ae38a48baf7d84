// One entry of the status bar: how many agents are at work, or that the server is not.

import * as vscode from 'vscode';
import { sentence } from './commands';
import type { FleetStore } from './fleet';
import type { Server, ServerStatus } from './server';
import { countsOf } from './state';

const DOWN: Partial<Record<ServerStatus, [text: string, tooltip: string]>> = {
  starting: ['$(loading~spin) Adjutant', 'The Adjutant server is starting.'],
  stopped: ['$(debug-disconnect) Adjutant', 'The Adjutant server is not running. Click to start it.'],
  missing: ['$(warning) Adjutant', 'The Adjutant server was not found. Click to look again.'],
  otherVersion: ['$(warning) Adjutant', 'The Adjutant server is of another version. Click to start it again.'],
};

export class StatusEntry implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('adjutant.status', vscode.StatusBarAlignment.Left, 10);

  constructor(
    private readonly server: Server,
    private readonly fleet: FleetStore,
  ) {
    this.item.name = 'Adjutant';
    server.onStatus(() => {
      this.draw();
    });
    fleet.onChange(() => {
      this.draw();
    });
    this.draw();
  }

  dispose(): void {
    this.item.dispose();
  }

  private draw(): void {
    const down = DOWN[this.server.status];
    if (this.server.status === 'noFolder') {
      this.item.hide();
      return;
    }
    if (down) {
      const [text, tooltip] = down;
      this.set(text, tooltip, this.server.status === 'starting' ? 'adjutant.showLog' : 'adjutant.restartServer', false);
      return;
    }
    const { running, queued, attention } = countsOf(this.fleet.now);
    const busy = [running > 0 ? `${running} running` : '', queued > 0 ? `${queued} queued` : ''].filter((part) => part !== '').join(', ');
    const text = attention > 0 ? `$(bell-dot) ${attention} for you` : `$(organization) ${busy || 'Adjutant'}`;
    this.set(text, sentence(this.fleet), 'adjutant.showAgents', attention > 0);
  }

  private set(text: string, tooltip: string, command: string, warn: boolean): void {
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.command = command;
    this.item.backgroundColor = warn ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.item.accessibilityInformation = { label: `Adjutant. ${tooltip}`, role: 'button' };
    this.item.show();
  }
}
