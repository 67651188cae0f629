//! Removes the code of a guard.

use std::ops::Range;

use anyhow::{Context, ensure};
use syn::{
    Arm, BinOp, Expr, Field, FieldValue, ImplItem, Item, Pat, Stmt,
    spanned::Spanned,
    visit::{self, Visit},
};

/// Code that begins below a label.
struct GuardedCode {
    /// All of it, with the comma of an element.
    all: Range<usize>,
    /// The part that a replacement takes: the condition of an `if`, the operand of a `match`, the value
    /// of a `let`, a constant, a field or an arm, the type of a field's declaration; otherwise all.
    value: Range<usize>,
    /// The condition of an arm with its `if`, which a replacement takes that begins with `if`.
    condition: Option<Range<usize>>,
}

/// Returns a Rust source without the code below a label, or with other code in its place.
pub(super) fn without_code(
    source: &str,
    label_end: usize,
    replacement: Option<&str>,
) -> anyhow::Result<String> {
    let mut search = CodeSearch { source, label_end, found: None };
    search.visit_file(&syn::parse_file(source)?);
    let is_below = |code: &GuardedCode| is_of_comments(&source[label_end..code.all.start]);
    let code = search.found.filter(is_below).context(
        "nothing that can be removed begins below the label: no statement, arm, field, element, \
         operand of && or ||, or call of a chain",
    )?;
    let range = match replacement {
        None => code.all,
        Some(text) if text.starts_with("if ") => code.condition.unwrap_or(code.value),
        Some(_) => code.value,
    };
    let changed = replaced(source, range, replacement);
    syn::parse_file(&changed).context("the file is no Rust without the guard")?;
    Ok(changed)
}

/// Returns a text without the line below a label, or with another in its place.
pub(super) fn without_line(
    source: &str,
    label_end: usize,
    replacement: Option<&str>,
) -> anyhow::Result<String> {
    let length = source[label_end..].find('\n').context("there is no line below the label")?;
    Ok(replaced(source, label_end..label_end + length, replacement))
}

/// Returns a JSON text without a setting.
pub(super) fn without_setting(source: &str, object: &str, key: &str) -> anyhow::Result<String> {
    let mut settings: serde_json::Value = serde_json::from_str(source)?;
    let object = settings.pointer_mut(object).and_then(serde_json::Value::as_object_mut);
    ensure!(object.is_some_and(|object| object.remove(key).is_some()), "there is no setting {key}");
    Ok(settings.to_string())
}

fn replaced(source: &str, range: Range<usize>, replacement: Option<&str>) -> String {
    let mut changed = source.to_owned();
    changed.replace_range(range, replacement.unwrap_or_default());
    changed
}

/// Returns true for comments and space.
fn is_of_comments(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with("//"))
}

/// Finds the first code behind a label, the outermost if several pieces begin there.
struct CodeSearch<'a> {
    source: &'a str,
    label_end: usize,
    found: Option<GuardedCode>,
}

impl CodeSearch<'_> {
    fn offer(&mut self, code: GuardedCode) {
        let start = code.all.start;
        // Syntax trees are walked from the outside.
        if start >= self.label_end
            && self.found.as_ref().is_none_or(|found| start < found.all.start)
        {
            self.found = Some(code);
        }
    }

    fn offer_element(&mut self, code: &impl Spanned, value: Range<usize>) {
        let mut all = range(code);
        all.end += usize::from(self.source[all.end..].starts_with(','));
        self.offer(GuardedCode { all, value, condition: None });
    }
}

fn range(code: &impl Spanned) -> Range<usize> {
    code.span().byte_range()
}

fn value(code: &Expr) -> Range<usize> {
    match code {
        Expr::If(code) => range(&code.cond),
        Expr::Match(code) => range(&code.expr),
        _ => range(code),
    }
}

impl<'ast> Visit<'ast> for CodeSearch<'_> {
    fn visit_stmt(&mut self, code: &'ast Stmt) {
        let value = match code {
            Stmt::Local(local) => local.init.as_ref().map(|init| value(&init.expr)),
            Stmt::Expr(code, _) => Some(value(code)),
            Stmt::Macro(_) => None,
            Stmt::Item(item) => return self.visit_item(item),
        };
        let all = range(code);
        let value = value.unwrap_or_else(|| all.clone());
        self.offer(GuardedCode { all, value, condition: None });
        visit::visit_stmt(self, code);
    }

    fn visit_item(&mut self, code: &'ast Item) {
        let all = range(code);
        let value = if let Item::Const(code) = code { value(&code.expr) } else { all.clone() };
        self.offer(GuardedCode { all, value, condition: None });
        visit::visit_item(self, code);
    }

    fn visit_impl_item(&mut self, code: &'ast ImplItem) {
        let all = range(code);
        let value = if let ImplItem::Const(code) = code { value(&code.expr) } else { all.clone() };
        self.offer(GuardedCode { all, value, condition: None });
        visit::visit_impl_item(self, code);
    }

    fn visit_arm(&mut self, code: &'ast Arm) {
        let condition = match &code.pat {
            Pat::Guard(guarded) => Some(range(&guarded.if_token).start..range(&guarded.guard).end),
            _ => None,
        };
        self.offer(GuardedCode { all: range(code), value: value(&code.body), condition });
        visit::visit_arm(self, code);
    }

    fn visit_field(&mut self, code: &'ast Field) {
        self.offer_element(code, range(&code.ty));
        visit::visit_field(self, code);
    }

    fn visit_field_value(&mut self, code: &'ast FieldValue) {
        self.offer_element(code, value(&code.expr));
        visit::visit_field_value(self, code);
    }

    fn visit_expr(&mut self, code: &'ast Expr) {
        self.offer_element(code, value(code));
        let rest = match code {
            Expr::MethodCall(call) => Some(range(&call.dot_token).start),
            Expr::Binary(code) => match &code.op {
                BinOp::And(sign) => Some(range(sign).start),
                BinOp::Or(sign) => Some(range(sign).start),
                _ => None,
            },
            _ => None,
        };
        if let Some(start) = rest {
            let rest = start..range(code).end;
            self.offer(GuardedCode { all: rest.clone(), value: rest, condition: None });
        }
        visit::visit_expr(self, code);
    }
}
