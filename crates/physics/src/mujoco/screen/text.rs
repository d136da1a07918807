//! The text of a model without its comments, in which MuJoCo accepts what XML does not, and with few enough of
//! everything that reading it is cheap.

/// Elements, with their ends.
const MOST_TAGS: usize = 400_000;
/// Attributes of an element, which are compared pair by pair, and of a file; declarations of namespaces, which every
/// element inherits.
const MOST_OF_ONE: usize = 1000;
const MOST_ATTRIBUTES: usize = 500_000;
const MOST_NAMESPACES: usize = 16;

/// Where in the text we are.
enum At {
    Outside,
    Tag,
    Value(char),
}

/// The text without comments; an error where something is too many, or where two readers may see two different things.
pub(super) fn plain(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let (mut tags, mut attributes, mut of_one) = (0, 0, 0);
    let mut at = At::Outside;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let At::Outside = at
            && let Some(comment) = rest.strip_prefix("<!--")
        {
            let Some((_, after)) = comment.split_once("-->") else {
                return Err("a comment without an end".into());
            };
            (rest, of_one) = (after, 0);
            continue;
        }
        match (&at, c) {
            (At::Outside, '<') if rest.starts_with("<!") => return Err("a document type, or raw text".into()),
            (At::Outside, '<') => (at, tags, of_one) = (At::Tag, tags + 1, 0),
            (At::Tag, '>') => at = At::Outside,
            (At::Tag, '"' | '\'') => at = At::Value(c),
            (At::Tag, '=') => (attributes, of_one) = (attributes + 1, of_one + 1),
            (At::Tag | At::Value(_), '<') => return Err("a `<` inside of an element's own brackets".into()),
            (At::Value(quote), _) if c == *quote => at = At::Tag,
            _ => {}
        }
        if tags > MOST_TAGS || attributes > MOST_ATTRIBUTES || of_one > MOST_OF_ONE {
            return Err(format!(
                "more than {MOST_TAGS} elements, {MOST_ATTRIBUTES} attributes, or {MOST_OF_ONE} of one element"
            ));
        }
        plain.push(c);
        rest = &rest[c.len_utf8()..];
    }
    match plain.matches("xmlns").count() > MOST_NAMESPACES {
        true => Err(format!("more than {MOST_NAMESPACES} namespaces")),
        false => Ok(plain),
    }
}
