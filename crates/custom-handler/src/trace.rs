//! W3C Trace Context: the trace of a request or an invocation.

use axum::http::HeaderMap;

/// The host's trace, from the header `traceparent` (<https://www.w3.org/TR/trace-context/>). A trigger's handler
/// takes an `Option<TraceContext>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: String,
    parent_id: String,
    flags: u8,
    state: Option<String>,
}

impl TraceContext {
    /// Returns the trace in these headers; `None` when they have none, or none that is well formed.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut context = Self::parse(headers.get("traceparent")?.to_str().ok()?)?;
        let states = headers.get_all("tracestate").iter().filter_map(|value| value.to_str().ok());
        let state = states.collect::<Vec<_>>().join(",");
        context.state = (!state.is_empty()).then_some(state);
        Some(context)
    }

    /// Returns the id of the trace: 32 hexadecimal digits. Application Insights calls it `operation_Id`.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Returns the id of the host's span: 16 hexadecimal digits.
    pub fn parent_id(&self) -> &str {
        &self.parent_id
    }

    /// Returns the trace flags. Bit 0 is set when the host has recorded its span.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns the content of the header `tracestate`.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// A version after 00 may have more parts at the end, and `ff` is no version (section 3.2.2).
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut hex = |length: usize| {
            let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            parts.next().filter(|part| part.len() == length && part.bytes().all(digit))
        };
        let version = hex(2).filter(|version| *version != "ff")?;
        let trace_id = hex(32)?;
        let parent_id = hex(16)?;
        let flags = hex(2)?;
        let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
        if is_zero(trace_id) || is_zero(parent_id) || version == "00" && parts.next().is_some() {
            return None;
        }
        Some(Self {
            trace_id: trace_id.to_owned(),
            parent_id: parent_id.to_owned(),
            flags: u8::from_str_radix(flags, 16).ok()?,
            state: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_traceparent_is_a_trace() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let good = format!("00-{trace}-b7ad6b7169203331-01");
        let context = TraceContext::parse(&good).unwrap();
        assert_eq!((context.trace_id(), context.parent_id()), (trace, "b7ad6b7169203331"));
        assert_eq!(context.flags(), 1);
        assert!(TraceContext::parse(&format!("cc-{trace}-b7ad6b7169203331-00-more")).is_some());
        for bad in [
            "",
            "00",
            &good[..54],
            &format!("{good}-more"),
            &format!("{good}0"),
            &good.to_uppercase(),
            &good.replace("00-0a", "ff-0a"),
            &good.replace('7', "g"),
            &format!("00-{trace}-0000000000000000-01"),
            &format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            &format!("00-{trace}-b7ad6b7169203331-é"),
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad}");
        }
    }
}
