//! `initialize` to `shutdown`: who the client is, and what it is told we can do.

use std::path::PathBuf;
use std::sync::Arc;

use project::settings::{self, Settings, SettingsLayer};
use protocol::{
    COMMANDS, ClientCapability, InitOptions, METHODS, PROTOCOL_VERSION, PingResult, ServerCapability,
};
use tower_lsp::jsonrpc;
use tower_lsp::ls_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, ConfigurationItem,
    ExecuteCommandOptions, InitializeParams, InitializeResult, MessageType, OneOf, PositionEncodingKind,
    SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};

use super::Backend;
use super::text_sync::Encoding;
use crate::failure::Failure;
use crate::outbox::Outgoing;
use crate::projection;

/// The version of the program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a client has said of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Introduction {
    pub(super) capability: ClientCapability,
    /// The client speaks another version of our contract: it is served as any editor, and told so once.
    other_version: Option<u32>,
    encoding: Encoding,
    folder: Option<PathBuf>,
    options: InitOptions,
    work_done: bool,
    configuration: bool,
}

/// The folder of a `file:` URI, if it is there.
fn local_folder(uri: &Uri) -> Option<PathBuf> {
    let path = uri.as_str().starts_with("file:").then(|| uri.to_file_path()).flatten()?;
    path.is_dir().then(|| path.into_owned())
}

impl Introduction {
    fn of(params: InitializeParams) -> Result<Self, Failure> {
        let options = match params.initialization_options {
            Some(options) if !options.is_null() => {
                protocol::parse(options).map_err(|bad| Failure::bad_param("initializationOptions", bad))?
            }
            _ => InitOptions::default(),
        };
        let declared =
            params.capabilities.experimental.as_ref().and_then(|experimental| experimental.get("adjutant"));
        let declared: ClientCapability = match declared {
            Some(declared) => protocol::parse(declared.clone())
                .map_err(|bad| Failure::bad_param("capabilities.experimental.adjutant", bad))?,
            None => ClientCapability::default(),
        };
        let known = declared.protocol_version == PROTOCOL_VERSION;
        let other_version = (!known && declared.protocol_version != 0).then_some(declared.protocol_version);
        let general = params.capabilities.general.as_ref();
        let utf8 = general
            .and_then(|general| general.position_encodings.as_ref())
            .is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8));
        let window = params.capabilities.window.as_ref();
        let workspace = params.capabilities.workspace.as_ref();
        let folder = params
            .workspace_folders
            .and_then(|folders| folders.into_iter().next())
            .and_then(|folder| local_folder(&folder.uri));
        #[expect(deprecated, reason = "older clients send nothing else")]
        let folder = folder
            .or_else(|| params.root_uri.as_ref().and_then(local_folder))
            .or_else(|| params.root_path.map(PathBuf::from));
        Ok(Self {
            capability: if known { declared } else { ClientCapability::default() },
            other_version,
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            folder,
            options,
            work_done: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            configuration: workspace.and_then(|workspace| workspace.configuration).unwrap_or(false),
        })
    }
}

impl Introduction {
    /// The settings as far as the client has said them: folders are read later.
    fn settings(&self) -> Settings {
        let section = self.options.settings.clone().map_or(serde_json::Value::Null, Into::into);
        let (none, client) = (SettingsLayer::default(), settings::from_client(&section));
        Settings::merge(&none, &none, &client, false).settings
    }
}

impl Backend {
    pub(super) fn on_initialize(&self, params: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        let parent = params.process_id.filter(|pid| *pid > 0);
        let introduction = Introduction::of(params)?;
        self.life.parent.send_replace(parent);
        let result = initialize_result(&introduction);
        let known = introduction.clone();
        self.life.introduction.send_replace(Arc::new(introduction));
        self.manager.post(move |manager| {
            manager.documents.set_encoding(known.encoding);
            let workspaces = manager.workspaces();
            workspaces.introduce(known.folder, known.options.trusted, known.options.model);
            if let Some(settings) = known.options.settings {
                workspaces.set_client_settings(&settings.into());
            }
        });
        Ok(result)
    }

    /// The client takes notifications from now on.
    pub(super) async fn on_initialized(&self) {
        let introduction = Arc::clone(&self.life.introduction.borrow());
        let (capability, work_done) = (introduction.capability, introduction.work_done);
        self.manager.post(move |manager| {
            manager.set_client(capability, work_done);
            manager.start_watching();
            manager.tell_warnings();
        });
        if let Some(version) = introduction.other_version {
            let text = format!(
                "Adjutant {VERSION} speaks version {PROTOCOL_VERSION} of its contract and this client version {version}. \
                 Update the older of the two; until then only the editor's own features are used."
            );
            self.outbox.send(Outgoing::Message(MessageType::WARNING, text));
        }
        self.pull_settings().await;
    }

    /// Reads the client's `adjutant` section, where it can be asked for it.
    pub(super) async fn pull_settings(&self) {
        if !self.life.introduction.borrow().configuration {
            return;
        }
        let item = ConfigurationItem { scope_uri: None, section: Some("adjutant".to_owned()) };
        self.outbox.giving();
        match self.client.configuration(vec![item]).await {
            Ok(mut sections) if !sections.is_empty() => self.settings_changed(sections.swap_remove(0)),
            Ok(_) => {}
            Err(error) => tracing::info!(%error, "the client gave no settings"),
        }
    }

    pub(super) fn settings_changed(&self, section: serde_json::Value) {
        if section.is_null() {
            return;
        }
        self.manager.post(move |manager| {
            manager.workspaces().set_client_settings(&section);
            manager.reconfigure();
            manager.tell_warnings();
        });
    }

    /// Answered once the files are written; what runs is ended meanwhile and is not waited for.
    pub(super) async fn on_shutdown(&self) -> jsonrpc::Result<()> {
        self.life.shut_down.send_replace(true);
        let flushed = self.manager.call(crate::manager::Manager::interrupt_all).await;
        if let Ok(flushed) = flushed {
            let _ = tokio::time::timeout(std::time::Duration::from_millis(150), flushed).await;
        }
        Ok(())
    }

    pub(super) async fn ping(&self) -> Result<PingResult, Failure> {
        let uptime_ms = self.clock.uptime_ms();
        self.manager
            .call(move |manager| PingResult {
                protocol_version: PROTOCOL_VERSION,
                server_version: VERSION.to_owned(),
                uptime_ms,
                sessions: manager.session_count(),
                agents: manager.counts(),
            })
            .await
    }
}

fn initialize_result(introduction: &Introduction) -> InitializeResult {
    let save = TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) });
    let capability = ServerCapability {
        protocol_version: PROTOCOL_VERSION,
        server_version: VERSION.to_owned(),
        methods: METHODS.iter().map(|row| row.name.to_owned()).collect(),
        limits: projection::limits(&introduction.settings()),
    };
    let experimental =
        serde_json::to_value(capability).ok().map(|ours| serde_json::json!({ "adjutant": ours }));
    InitializeResult {
        server_info: Some(ServerInfo { name: "adjutant".to_owned(), version: Some(VERSION.to_owned()) }),
        capabilities: ServerCapabilities {
            position_encoding: Some(match introduction.encoding {
                Encoding::Utf8 => PositionEncodingKind::UTF8,
                Encoding::Utf16 => PositionEncodingKind::UTF16,
            }),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(save),
                ..TextDocumentSyncOptions::default()
            })),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: COMMANDS.iter().map(|row| row.name.to_owned()).collect(),
                ..ExecuteCommandOptions::default()
            }),
            code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::REFACTOR]),
                ..CodeActionOptions::default()
            })),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                ..WorkspaceServerCapabilities::default()
            }),
            experimental,
            ..ServerCapabilities::default()
        },
        ..InitializeResult::default()
    }
}
