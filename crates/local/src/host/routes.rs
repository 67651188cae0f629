//! Route templates.

/// A parsed route template such as `api/posts/{postId}/{*rest}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter { max_length: Option<usize>, optional: bool },
    CatchAll,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The fault, as the end of a sentence that begins with the field's name.
    pub fn parse(template: &str) -> Result<Self, String> {
        if template.starts_with('/') || template.starts_with('~') {
            return Err(format!("is {template:?}: a route must not begin with / or ~"));
        }
        let texts = template.split('/').filter(|text| !text.is_empty());
        let segments = texts.map(Segment::parse).collect::<Result<Vec<_>, _>>()?;
        if segments.iter().rev().skip(1).any(|segment| *segment == Segment::CatchAll) {
            return Err(format!(
                "is {template:?}: a catch-all can stand only at the end of a route"
            ));
        }
        Ok(Self { segments })
    }

    /// Returns true if a decoded path matches the template; literals match in either case.
    pub fn matches(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.split('/').any(str::is_empty) && !path.is_empty() {
            return false;
        }
        let mut texts = path.split('/').filter(|text| !text.is_empty());
        for segment in &self.segments {
            let fits = match (segment, texts.next()) {
                (Segment::CatchAll, _) => return true,
                (Segment::Parameter { optional, .. }, None) => *optional,
                (Segment::Literal(_), None) => false,
                (Segment::Literal(literal), Some(text)) => text.eq_ignore_ascii_case(literal),
                (Segment::Parameter { max_length, .. }, Some(text)) => {
                    max_length.is_none_or(|most| text.encode_utf16().count() <= most)
                }
            };
            if !fits {
                return false;
            }
        }
        texts.next().is_none()
    }

    /// Returns one digit for each segment; the lowest template is the best match.
    pub(super) fn precedence(&self) -> Vec<u8> {
        let digit = |segment: &Segment| match segment {
            Segment::Literal(_) => 1,
            Segment::Parameter { max_length: Some(_), .. } => 2,
            Segment::Parameter { .. } => 3,
            Segment::CatchAll => 5,
        };
        self.segments.iter().map(digit).collect()
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, String> {
        let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
            if text.contains(['{', '}']) {
                return Err(format!(
                    "has the segment {text:?}: this stand-in knows whole segments only, either \
                     text or {{parameter}}"
                ));
            }
            return Ok(Self::Literal(text.to_owned()));
        };
        if let Some(name) = inner.strip_prefix("**").or_else(|| inner.strip_prefix('*')) {
            check_name(name)?;
            return Ok(Self::CatchAll);
        }
        let optional = inner.ends_with('?');
        let inner = inner.strip_suffix('?').unwrap_or(inner);
        let (name, constraint) = inner.split_once(':').unzip();
        check_name(name.unwrap_or(inner))?;
        let read = |text: &str| {
            let number = text.strip_prefix("maxlength(")?.strip_suffix(')')?;
            number.parse::<usize>().ok()
        };
        let max_length = constraint.map(|text| {
            read(text).ok_or_else(|| {
                format!("has the constraint {text:?}: this stand-in knows maxlength alone")
            })
        });
        Ok(Self::Parameter { max_length: max_length.transpose()?, optional })
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['{', '}', '*', '?', '=', '(', ')']) {
        return Err(format!("has the parameter name {name:?}, which this stand-in cannot read"));
    }
    Ok(())
}
