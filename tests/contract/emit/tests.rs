//! The walk takes what it knows and refuses the rest; the printers say the same in two languages.

use serde_json::{Value, json};

use super::{Shape, lua, name_words, shape, typescript};

fn refusal(schema: &Value) -> String {
    shape(schema, "Thing").expect_err("it cannot be printed")
}

#[test]
fn a_keyword_without_a_type_for_it_is_refused() {
    for (schema, named) in [
        (json!({ "type": "object", "patternProperties": {} }), "patternProperties"),
        (json!({ "type": "string", "pattern": "^a" }), "pattern"),
        (json!({ "type": "array", "prefixItems": [] }), "prefixItems"),
        (json!({ "$ref": "#/$defs/A", "properties": {} }), "properties"),
        (json!({ "oneOf": [], "type": "object" }), "type"),
        (json!({ "allOf": [] }), "no type"),
        (json!({ "not": {} }), "no type"),
        (json!({ "type": "null" }), "null"),
        (json!({ "$ref": "other.json" }), "foreign"),
        (json!({ "type": "array" }), "items"),
        (json!({ "type": "string", "enum": [1] }), "no string"),
        (json!({ "type": "object", "properties": {}, "additionalProperties": true }), "map"),
        (json!(false), "not a schema"),
    ] {
        let message = refusal(&schema);
        assert!(message.starts_with("Thing") && message.contains(named), "{schema}: {message}");
    }
}

#[test]
fn a_refusal_says_where() {
    let deep =
        json!({ "type": "object", "properties": { "list": { "type": "array", "items": { "not": {} } } } });
    assert!(refusal(&deep).starts_with("Thing.list[]"));
}

#[test]
fn words_of_a_union_are_one_choice() {
    let schema = json!({ "oneOf": [
        { "type": "string", "enum": ["a", "b"] },
        { "type": "string", "const": "c", "description": "With a comment." },
    ] });
    assert_eq!(shape(&schema, "Thing"), Ok(Shape::Words(vec!["a".into(), "b".into(), "c".into()])));
}

#[test]
fn a_name_falls_into_its_words() {
    assert_eq!(name_words("adjutant/agent/stopAll"), ["agent", "stop", "all"]);
    assert_eq!(name_words("adjutant.server.delegateSelection"), ["delegate", "selection"]);
}

#[test]
fn both_printers_print_every_kind_of_type() {
    let schema = json!({ "$defs": {
        "Empty": { "type": "object" },
        "Token": { "type": ["integer", "string"], "description": "Ends a comment: */" },
        "Plain": { "type": "object", "required": ["words", "any"], "properties": {
            "any": { "description": "Open." },
            "words": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            "map": { "type": "object", "additionalProperties": { "type": "number" } },
            "other": { "$ref": "#/$defs/Union" },
        } },
        "Union": { "oneOf": [
            { "type": "object", "required": ["type"], "properties": { "type": { "type": "string", "const": "one" } } },
            { "type": "object", "required": ["type", "on"], "properties": {
                "type": { "type": "string", "const": "two" }, "on": { "type": "boolean" },
            } },
        ] },
    } });
    let ts = typescript::print(&schema, &protocol::method_index()).expect("it can be printed");
    for part in [
        "export type Empty = Record<string, never>;\n",
        "/** Ends a comment: *\\/ */\nexport type Token = number | string;\n",
        "export interface Plain {\n  words: (\"a\" | \"b\")[];\n  /** Open. */\n  any: unknown;\n  \
         map?: Record<string, number>;\n  other?: Union;\n}\n",
        "export type Union =\n  | {\n      type: \"one\";\n    }\n  | {\n      type: \"two\";\n      on: boolean;\n    };\n",
        "  agentStopAll: \"adjutant/agent/stopAll\",\n",
        "  \"adjutant/agent/event\": AgentEventParams;\n",
    ] {
        assert!(ts.contains(part), "{part}\nis not in\n{ts}");
    }
    let lua = lua::print(&schema).expect("it can be printed");
    for part in [
        "---@class adjutant.Empty\n",
        "---@alias adjutant.Token integer|string\n",
        "---@class adjutant.Plain\n---@field words (\"a\"|\"b\")[]\n---@field any any Open.\n\
         ---@field map? table<string, number>\n---@field other? adjutant.Union\n",
        "---@class adjutant.Union.two\n---@field type \"two\"\n---@field on boolean\n",
        "---@alias adjutant.Union adjutant.Union.one|adjutant.Union.two\n",
        "  agent_stop_all = \"adjutant/agent/stopAll\",\n",
    ] {
        assert!(lua.contains(part), "{part}\nis not in\n{lua}");
    }
}
