//! The errors of the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $kind:literal;)*) => {
        /// Why a request was not answered with a result.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// Every code, the standard's first.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The number in the response.
            pub const fn code(self) -> i64 {
                match self { $(Self::$name => $code,)* }
            }

            /// The word in `data.kind`.
            pub const fn kind(self) -> &'static str {
                match self { $(Self::$name => $kind,)* }
            }

            /// The code with this number.
            pub fn from_code(code: i64) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.code() == code)
            }
        }
    };
}

error_codes! {
    /// The frame was not JSON.
    ParseError = -32700, "parseError";
    /// It was JSON, but no request.
    InvalidRequest = -32600, "invalidRequest";
    UnknownMethod = -32601, "unknownMethod";
    /// The message names the field.
    BadParams = -32602, "badParams";
    /// A fault of the server itself.
    Internal = -32603, "internal";
    /// `initialize` has not been answered.
    NotInitialized = -32002, "notInitialized";
    /// The client took the request back.
    Cancelled = -32800, "cancelled";
    /// What the request was based on has changed; ask again.
    ContentModified = -32801, "contentModified";
    /// It was understood and tried, and did not work.
    Failed = -32803, "failed";
    UnknownAgent = -32010, "unknownAgent";
    /// The agent has ended, or the session is idle.
    NotRunning = -32011, "notRunning";
    UnknownType = -32012, "unknownType";
    ModelUnavailable = -32013, "modelUnavailable";
    NoCredentials = -32014, "noCredentials";
    WorktreeUnavailable = -32015, "worktreeUnavailable";
    /// Something else has hold of it.
    Conflict = -32016, "conflict";
    LimitReached = -32017, "limitReached";
    UnknownSession = -32018, "unknownSession";
    /// The folder is not trusted.
    Untrusted = -32019, "untrusted";
    /// Another answer came first.
    AlreadyClosed = -32020, "alreadyClosed";
}

/// `data` of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    pub kind: ErrorCode,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
