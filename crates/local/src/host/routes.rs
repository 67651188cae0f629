//! Route templates.

/// A parsed route template such as `api/posts/{postId}/{*rest}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter { constraints: Vec<Constraint>, optional: bool },
    CatchAll,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Constraint {
    Int,
    Long,
    Bool,
    Guid,
    Alpha,
    Length(usize, usize),
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
                (Segment::Parameter { constraints, .. }, Some(text)) => {
                    constraints.iter().all(|constraint| constraint.fits(text))
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
            Segment::Parameter { constraints, .. } if !constraints.is_empty() => 2,
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
        let mut parts = inner.split(':');
        check_name(parts.next().unwrap_or_default())?;
        let constraints = parts.map(Constraint::parse).collect::<Result<_, _>>()?;
        Ok(Self::Parameter { constraints, optional })
    }
}

impl Constraint {
    fn parse(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "has the constraint {text:?}: this stand-in knows int, long, bool, guid, alpha, \
                 length, minlength and maxlength"
            )
        };
        let call = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let (name, arguments) = call.unwrap_or((text, ""));
        let numbers: Vec<usize> = arguments
            .split(',')
            .filter(|argument| !argument.is_empty())
            .map(|argument| argument.trim().parse().map_err(|_| unknown()))
            .collect::<Result<_, _>>()?;
        match (name, numbers.as_slice()) {
            ("int", []) => Ok(Self::Int),
            ("long", []) => Ok(Self::Long),
            ("bool", []) => Ok(Self::Bool),
            ("guid", []) => Ok(Self::Guid),
            ("alpha", []) => Ok(Self::Alpha),
            ("length", [exact]) => Ok(Self::Length(*exact, *exact)),
            ("length", [low, high]) => Ok(Self::Length(*low, *high)),
            ("minlength", [low]) => Ok(Self::Length(*low, usize::MAX)),
            ("maxlength", [high]) => Ok(Self::Length(0, *high)),
            _ => Err(unknown()),
        }
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Int => text.parse::<i32>().is_ok(),
            Self::Long => text.parse::<i64>().is_ok(),
            Self::Bool => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
            Self::Guid => uuid::Uuid::try_parse(text).is_ok(),
            Self::Alpha => text.bytes().all(|byte| byte.is_ascii_alphabetic()),
            Self::Length(low, high) => (*low..=*high).contains(&text.encode_utf16().count()),
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['{', '}', '*', '?', '=', '(', ')']) {
        return Err(format!("has the parameter name {name:?}, which this stand-in cannot read"));
    }
    Ok(())
}
