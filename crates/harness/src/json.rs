//! `docs/book/src/json.md`, made from the types of the lines that `--json` prints.
//!
//! A type that is a line says so in its documentation: "Line `start` (table) of `train`." What is written about its fields is
//! what they mean; a field that serde may skip is marked `?`. A flattened field stands for its own fields, and every
//! variant of an enum is one form of the line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Field, Fields, Item, ItemEnum, ItemStruct};
use tractable_cli::report::{Exit, Outcome};

const ABOUT: &str = "\
# JSON Lines

<!-- `cargo xtask json` writes this page from the types of the lines. -->

With `--json` a verb writes its results to stdout as JSON Lines: one object per line, with `type` as the first field. Everything else
goes to stderr. The fields listed here are stable; new ones may be added, so read fields by name. A value that is not finite or does
not apply is `null`. A field marked `?` is omitted where it does not apply. Standard deviations are called `std`,
never sigma. The lines of `demo`, though listed here, may change between versions.

```sh
tractable train data.csv --target y --single --test 0.2 -o run --json > train.jsonl
grep '\"type\":\"test\"' train.jsonl
```

Exit codes are the same with and without `--json`: see [the command line](commands.md#exit-codes).
";

/// The verbs, and their lines in the order in which they are printed.
const ORDER: [(&str, &[&str]); 15] = [
    ("train", &["start", "epoch", "end", "note", "left_out", "uncalibrated", "test"]),
    ("predict", &["row"]),
    ("learn", &["score", "total", "end"]),
    ("condition", &["answer"]),
    ("evaluate", &["score", "ood"]),
    ("importance", &["importance"]),
    ("inspect", &["model", "layer", "ensemble", "network", "devices"]),
    ("attack", &["attack", "transfer", "curve"]),
    ("optimize", &["best", "optimum", "ask", "tell"]),
    ("rl", &["seed", "result", "played"]),
    ("data", &["fetched"]),
    ("mujoco", &["mujoco"]),
    ("report", &["page"]),
    ("demo", &["curve", "digits", "pole", "page"]),
    ("bench", &["machine", "device", "bench"]),
];

/// One form of a line: what it is called, and its fields with their meaning.
#[derive(Clone, Default)]
struct Form {
    name: String,
    rows: Vec<(String, String)>,
}

enum Kind {
    Struct(ItemStruct),
    Enum(ItemEnum),
}

/// A type of the workspace, and the file it is in.
struct Type {
    file: PathBuf,
    name: String,
    kind: Kind,
}

/// Writes the page.
pub(crate) fn run() -> Outcome {
    let fail = |e: std::io::Error| Exit::Error(format!("json.md: {e}"));
    std::fs::write(root().join("docs/book/src/json.md"), page()).map_err(fail)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The page as it should be.
///
/// # Panics
///
/// If a line or a field is described in no way that fits on the page: the message says which.
pub fn page() -> String {
    let types = types();
    let mut lines = BTreeMap::<(String, String), Vec<Form>>::new();
    for of in &types {
        for doc in docs(of.attributes()).iter().filter(|doc| doc.starts_with("Line `")) {
            let words: Vec<&str> = doc.split('`').collect();
            let [_, line, form, verb, "."] = words[..] else { panic!("{}: `{doc}`", of.file.display()) };
            let form = form.trim().trim_end_matches("of").trim().trim_matches(['(', ')']);
            let forms = of.forms(&types).into_iter().map(|own| Form { name: joined(form, &own.name), ..own });
            lines.entry((verb.into(), line.into())).or_default().extend(forms);
        }
    }
    let mut text = String::from(ABOUT);
    for (verb, order) in ORDER {
        text += &format!("\n## {verb}\n\n| line | field | meaning |\n|---|---|---|\n");
        for line in order {
            let forms = lines.remove(&(verb.to_string(), line.to_string()));
            for form in forms.unwrap_or_else(|| panic!("no type is the line `{line}` of `{verb}`")) {
                let name = if form.name.is_empty() { String::new() } else { format!(" ({})", form.name) };
                for (i, (field, meaning)) in form.rows.iter().enumerate() {
                    let first = if i == 0 { format!("`{line}`{name} ") } else { String::new() };
                    text += &format!("| {first}| `{field}` | {meaning} |\n");
                }
            }
        }
    }
    assert!(lines.is_empty(), "not in the order of the page: {:?}", lines.keys());
    text
}

fn joined(a: &str, b: &str) -> String {
    [a, b].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Everything that serde may write, in the order of the files.
fn types() -> Vec<Type> {
    let (mut files, mut folders) = (Vec::new(), vec![root().join("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the sources").flatten() {
            let path = entry.path();
            match path.extension() {
                Some(ending) if ending == "rs" => files.push(path),
                _ if path.is_dir() && !path.ends_with("harness") => folders.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let mut types = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        if !text.contains("Serialize") {
            continue;
        }
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        types.extend(parsed.items.into_iter().filter_map(|item| {
            let (name, kind) = match item {
                Item::Struct(item) => (item.ident.to_string(), Kind::Struct(item)),
                Item::Enum(item) => (item.ident.to_string(), Kind::Enum(item)),
                _ => return None,
            };
            Some(Type { file: file.clone(), name, kind })
        }));
    }
    types
}

/// The paragraphs and lines of the documentation.
fn docs(attributes: &[Attribute]) -> Vec<String> {
    let text = |a: &Attribute| match &a.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value().trim().into()),
            _ => None,
        },
        _ => None,
    };
    attributes.iter().filter_map(text).collect()
}

/// What serde is told, as text.
fn serde(attributes: &[Attribute]) -> String {
    let told = attributes.iter().filter(|a| a.path().is_ident("serde"));
    told.filter_map(|a| a.meta.require_list().ok()).map(|list| list.tokens.to_string()).collect()
}

/// The name of a type behind references and options, and whether there was an option.
fn named(ty: &syn::Type) -> (String, bool) {
    match ty {
        syn::Type::Reference(to) => named(&to.elem),
        syn::Type::Path(path) => {
            let last = path.path.segments.last().expect("a path has a name");
            match &last.arguments {
                syn::PathArguments::AngleBracketed(of) if last.ident == "Option" => match of.args.first() {
                    Some(syn::GenericArgument::Type(inner)) => (named(inner).0, true),
                    _ => panic!("an option of nothing"),
                },
                _ => (last.ident.to_string(), false),
            }
        }
        _ => panic!("only a named type can be flattened"),
    }
}

impl Type {
    fn attributes(&self) -> &[Attribute] {
        match &self.kind {
            Kind::Struct(item) => &item.attrs,
            Kind::Enum(item) => &item.attrs,
        }
    }

    fn forms(&self, types: &[Type]) -> Vec<Form> {
        match &self.kind {
            Kind::Struct(item) => self.of_fields(Form::default(), &item.fields, types),
            Kind::Enum(item) => {
                let tagged = serde(&item.attrs).contains("tag = \"kind\"");
                let variants = item.variants.iter().flat_map(|variant| {
                    let about = docs(&variant.attrs).first().cloned().unwrap_or_default();
                    let name = about.trim_end_matches('.').to_lowercase();
                    let kind = ("kind".into(), format!("`{}`", variant.ident.to_string().to_lowercase()));
                    let rows = if tagged { vec![kind] } else { Vec::new() };
                    self.of_fields(Form { name, rows }, &variant.fields, types)
                });
                variants.collect()
            }
        }
    }

    fn of_fields(&self, start: Form, fields: &Fields, types: &[Type]) -> Vec<Form> {
        let mut forms = vec![start];
        for field in fields {
            let told = serde(&field.attrs);
            if told.contains("flatten") {
                let (name, optional) = named(&field.ty);
                let inner = self.beside(&name, types).forms(types);
                forms = forms.iter().flat_map(|form| inner.iter().map(|i| form.with(i, optional))).collect();
            } else if told != "skip" {
                let row = self.row(field, told.contains("skip_serializing_if"));
                forms.iter_mut().for_each(|form| form.rows.push(row.clone()));
            }
        }
        forms
    }

    fn row(&self, field: &Field, optional: bool) -> (String, String) {
        let name = field.ident.as_ref().expect("fields of lines have names").to_string();
        let meaning = docs(&field.attrs).join(" ");
        assert!(!meaning.is_empty(), "{}: `{}`, `{name}`: no documentation", self.file.display(), self.name);
        let mark = if optional { "?" } else { "" };
        (format!("{}{mark}", name.trim_start_matches("r#")), meaning.trim_end_matches('.').into())
    }

    /// The type of a name: in the same file, or the only one.
    fn beside<'a>(&self, name: &str, types: &'a [Type]) -> &'a Type {
        let all: Vec<&Type> = types.iter().filter(|t| t.name == name).collect();
        match (all.iter().find(|t| t.file == self.file), &all[..]) {
            (Some(own), _) => own,
            (None, [only]) => only,
            _ => panic!("{}: which `{name}` is flattened?", self.file.display()),
        }
    }
}

impl Form {
    fn with(&self, inner: &Form, optional: bool) -> Form {
        let mark = |(field, meaning): &(String, String)| match optional {
            true => (format!("{}?", field.trim_end_matches('?')), meaning.clone()),
            false => (field.clone(), meaning.clone()),
        };
        let rows = self.rows.iter().cloned().chain(inner.rows.iter().map(mark)).collect();
        Form { name: joined(&self.name, &inner.name), rows }
    }
}
