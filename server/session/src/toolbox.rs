//! The tools of a session: definitions, their compiled schemas and what models are told of them, shared by all sessions
//! that offer the same.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use model::{ToolSet, ToolSpec};

use crate::tool::ToolDefinition;

/// Policies whose outcome a toolbox remembers.
const REMEMBERED: usize = 64;

/// Which tools a session may have. A denial beats a permission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// Only these; all where it is `None`.
    pub allow: Option<Vec<String>>,
    pub deny: Vec<String>,
}

impl ToolPolicy {
    pub fn permits(&self, name: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|listed| listed == name);
        self.allow.as_deref().is_none_or(listed) && !listed(&self.deny)
    }

    fn is_open(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }
}

/// A set of tools. Make one and share it: schemas are compiled and encoded once for it.
pub struct Toolbox {
    tools: Vec<Arc<Tool>>,
    specs: Arc<ToolSet>,
    narrowed: Mutex<Vec<(ToolPolicy, Arc<Toolbox>)>>,
}

impl Toolbox {
    /// Of two tools with one name the first stays.
    pub fn new(tools: Vec<ToolDefinition>) -> Arc<Self> {
        Self::of(tools.into_iter().map(Tool::new).collect())
    }

    /// No tools.
    pub fn empty() -> Arc<Self> {
        Self::of(Vec::new())
    }

    /// These tools and further ones.
    pub fn with(self: &Arc<Self>, tools: &[ToolDefinition]) -> Arc<Self> {
        if tools.is_empty() {
            return Arc::clone(self);
        }
        let further = tools.iter().cloned().map(Tool::new);
        Self::of(self.tools.iter().cloned().chain(further).collect())
    }

    /// Those of these tools that a policy permits; the same for the same policy.
    pub fn narrow(self: &Arc<Self>, policy: &ToolPolicy) -> Arc<Self> {
        if policy.is_open() {
            return Arc::clone(self);
        }
        let mut narrowed = self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, toolbox)) = narrowed.iter().find(|(known, _)| known == policy) {
            return Arc::clone(toolbox);
        }
        let permitted = self.tools.iter().filter(|tool| policy.permits(&tool.definition.name));
        let toolbox = Self::of(permitted.cloned().collect());
        if narrowed.len() == REMEMBERED {
            narrowed.remove(0);
        }
        narrowed.push((policy.clone(), Arc::clone(&toolbox)));
        toolbox
    }

    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.tools.iter().map(|tool| &tool.definition)
    }

    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.find(name).map(|tool| &tool.definition)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.definition.name == name)
    }

    pub(crate) fn specs(&self) -> Arc<ToolSet> {
        Arc::clone(&self.specs)
    }

    fn of(mut tools: Vec<Arc<Tool>>) -> Arc<Self> {
        let mut names = HashSet::new();
        tools.retain(|tool| {
            let fresh = names.insert(tool.definition.name.clone());
            if !fresh {
                tracing::warn!(tool = %tool.definition.name, "a second tool of this name is left out");
            }
            fresh
        });
        let specs = tools.iter().map(|tool| ToolSpec {
            name: tool.definition.name.to_string(),
            description: tool.definition.description.to_string(),
            parameters: tool.definition.parameters.clone(),
        });
        let specs = Arc::new(ToolSet::new(specs.collect()));
        Arc::new(Self { tools, specs, narrowed: Mutex::default() })
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.definition.name)).finish()
    }
}

/// A tool with its compiled schema.
pub(crate) struct Tool {
    pub(crate) definition: ToolDefinition,
    validator: OnceLock<Result<Validator, String>>,
}

impl Tool {
    fn new(definition: ToolDefinition) -> Arc<Self> {
        Arc::new(Self { definition, validator: OnceLock::new() })
    }

    /// Compiled at the first call; an error is the schema's, not the caller's.
    pub(crate) fn validator(&self) -> Result<&Validator, &str> {
        let compile =
            || jsonschema::validator_for(&self.definition.parameters).map_err(|error| error.to_string());
        self.validator.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}
