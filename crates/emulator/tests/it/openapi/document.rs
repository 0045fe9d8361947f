//! Reading the description: its operations, its references, and whether a value has the shape of a schema.

use serde_json::Value;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

pub struct Document {
    pub json: Value,
}

/// One method of one path.
pub struct Operation<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub json: &'a Value,
    /// What all operations of the path share.
    shared: &'a Value,
}

impl Document {
    pub fn read() -> Self {
        Self { json: serde_json::from_str(include_str!("../../../src/people/openapi.json")).unwrap() }
    }

    pub fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.json["paths"].as_object().unwrap();
        let mut operations = Vec::new();
        for (path, shared) in paths {
            for (method, json) in shared.as_object().unwrap() {
                if METHODS.contains(&method.as_str()) {
                    operations.push(Operation { method, path, json, shared });
                }
            }
        }
        operations
    }

    pub fn operation(&self, method: &str, path: &str) -> Operation<'_> {
        let found = self.operations().into_iter().find(|it| it.method == method && it.path == path);
        found.unwrap_or_else(|| panic!("{method} {path} is not described"))
    }

    /// Every `$ref` in it.
    pub fn references(&self) -> Vec<&str> {
        fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(object) => {
                    found.extend(object.get("$ref").and_then(Value::as_str));
                    object.values().for_each(|value| collect(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        collect(&self.json, &mut found);
        found
    }

    /// What a reference stands for; anything else stands for itself.
    pub fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.json.pointer(&reference[1..]).unwrap_or_else(|| panic!("{reference}")),
            None => value,
        }
    }

    /// Reports where a value differs from a schema. Knows the keywords that the description uses for shapes. The
    /// emulator itself checks limits of texts and numbers.
    pub fn check(&self, path: &str, schema: &Value, value: &Value, complaints: &mut Vec<String>) {
        let schema = self.resolved(schema);
        let fits = |schema: &Value| {
            let mut complaints = Vec::new();
            self.check(path, schema, value, &mut complaints);
            complaints.is_empty()
        };
        for part in list(schema, "allOf") {
            self.check(path, part, value, complaints);
        }
        if schema.get("anyOf").is_some() && !list(schema, "anyOf").iter().any(fits) {
            complaints.push(format!("{path} is of none of the shapes: {value}"));
        }
        if schema.get("oneOf").is_some() && list(schema, "oneOf").iter().filter(|it| fits(it)).count() != 1 {
            complaints.push(format!("{path} is not of exactly one of the shapes: {value}"));
        }
        let choices = list(schema, "enum");
        if !choices.is_empty() && !choices.contains(value) || schema.get("const").is_some_and(|it| it != value) {
            complaints.push(format!("{path} is {value}, which is none of the choices"));
        }
        if !is_of_type(&schema["type"], value) {
            complaints.push(format!("{path} is not {}: {value}", schema["type"].as_str().unwrap_or("of these types")));
            return;
        }
        if let Value::Array(items) = value {
            items.iter().for_each(|item| self.check(&format!("{path}[]"), &schema["items"], item, complaints));
        }
        if let Value::Object(object) = value {
            self.check_object(path, schema, object, complaints);
        }
    }

    fn check_object(
        &self,
        path: &str,
        schema: &Value,
        object: &serde_json::Map<String, Value>,
        complaints: &mut Vec<String>,
    ) {
        let required = list(schema, "required").iter().filter_map(Value::as_str);
        let missing = required.filter(|name| !object.contains_key(*name));
        complaints.extend(missing.map(|name| format!("{path}.{name} is missing")));
        for (name, value) in object {
            match schema["properties"].get(name) {
                Some(schema) => self.check(&format!("{path}.{name}"), schema, value, complaints),
                None if schema["additionalProperties"] == false => {
                    complaints.push(format!("{path}.{name} is not described"));
                }
                None => {}
            }
        }
    }
}

impl Operation<'_> {
    pub fn parameters<'a>(&'a self, document: &'a Document) -> Vec<&'a Value> {
        let all = list(self.shared, "parameters").iter().chain(list(self.json, "parameters"));
        all.map(|parameter| document.resolved(parameter)).collect()
    }

    pub fn body<'a>(&'a self, document: &'a Document) -> &'a Value {
        document.resolved(&self.json["requestBody"])
    }

    /// The example bodies with their content types.
    pub fn examples(&self, document: &Document) -> Vec<(String, Value)> {
        let content = self.body(document)["content"].as_object();
        let of_kind = |(kind, content): (&String, &Value)| {
            let examples = content["examples"].as_object().unwrap().values();
            examples.map(|example| (kind.clone(), example["value"].clone())).collect::<Vec<_>>()
        };
        content.into_iter().flatten().flat_map(of_kind).collect()
    }

    /// What is described for a status.
    pub fn answer<'a>(&'a self, document: &'a Document, status: u16) -> Option<&'a Value> {
        self.json["responses"].get(status.to_string()).map(|answer| document.resolved(answer))
    }

    /// The URL with the examples of all parameters that have one. The id of a file is known only at run time.
    pub fn url(&self, document: &Document, base: &str, file_id: &str) -> String {
        let mut path = self.path.to_owned();
        let mut query = Vec::new();
        for parameter in self.parameters(document) {
            let name = parameter["name"].as_str().unwrap();
            let Some(example) = parameter.get("example") else {
                continue;
            };
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            let example = if name == "file" { file_id.to_owned() } else { example };
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &example),
                _ => query.push(format!("{name}={example}")),
            }
        }
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{base}{path}{mark}{}", query.join("&"))
    }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_of_type(kind: &Value, value: &Value) -> bool {
    match kind {
        Value::String(kind) => match kind.as_str() {
            "integer" => value.is_i64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            other => panic!("{other} is no type"),
        },
        Value::Array(kinds) => kinds.iter().any(|kind| is_of_type(kind, value)),
        _ => true,
    }
}
