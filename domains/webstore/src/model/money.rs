//! Amounts of money: exact decimals with at most two places, computed in whole cents.
//!
//! In JSON an amount is a number. A reader of JSON, such as the store, may hold a number as a binary
//! number of 53 bits. That changes no amount: such a number tells apart all decimals of up to 15
//! digits, and its shortest text is the decimal that it was made from. So an amount has at most 15
//! digits, and it is whole cents again before any computation.

use std::{iter::Sum, ops::RangeInclusive};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Number;

use tributary_functions::values::Invalid;

/// The most digits that survive a binary number of 53 bits.
const MAX_DIGITS: usize = 15;

/// An amount of at most 9,999,999,999,999.99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Deserialize, JsonSchema)]
#[serde(try_from = "Number")]
#[schemars(with = "Number", inline, extend("minimum" = 0))]
pub struct Money {
    cents: u64,
}

/// A price: 0 to 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Money", into = "Money")]
#[schemars(example = 19.9, extend("maximum" = Price::MAX.cents / 100))]
pub struct Price(Money);

/// The number of pieces in a line of an order: 1 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Money", into = "Money")]
#[schemars(example = 2, extend(
    "type" = "integer", "minimum" = Quantity::RANGE.start(), "maximum" = Quantity::RANGE.end(),
))]
pub struct Quantity(u16);

impl Money {
    pub const MAX: Self = Self { cents: 10_u64.pow(15) - 1 };

    /// Returns the amount of so many cents, or [`Money::MAX`].
    pub fn from_cents(cents: u64) -> Self {
        Self { cents: cents.min(Self::MAX.cents) }
    }

    /// Reads a decimal number as JSON writes it: `19.9`, `1990e-2`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let rule = "must be a number from 0 with at most two decimals";
        cents(text).map(|cents| Self { cents }).ok_or_else(|| rule.into())
    }

    pub fn cents(self) -> u64 {
        self.cents
    }
}

/// Returns the cents of a decimal number; `None` if they are not a whole number, or too many.
fn cents(text: &str) -> Option<u64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    if unsigned.len() < mantissa.len() {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    let dropped = digits.len() - significant.len();
    // The number is `significant` times ten to the power of `exponent`.
    let exponent = exponent.parse::<i32>().ok()?;
    let exponent =
        i64::from(exponent) + i64::try_from(dropped).ok()? - i64::try_from(fraction.len()).ok()?;
    let zeros = usize::try_from(exponent + 2).ok()?;
    if significant.len().checked_add(zeros)? > MAX_DIGITS {
        return None;
    }
    let power = 10_u64.checked_pow(u32::try_from(zeros).ok()?)?;
    significant.parse::<u64>().ok()?.checked_mul(power)
}

/// Adds amounts, up to [`Money::MAX`]. No order comes near: 50 lines of 1,000 pieces at 1,000,000
/// are 50,000,000,000.
impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self::from_cents(amounts.fold(0, |sum: u64, amount| sum.saturating_add(amount.cents)))
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.cents.is_multiple_of(100) {
            return serializer.serialize_u64(self.cents / 100);
        }
        // The quotient of two exact numbers is the binary number nearest to the decimal.
        #[expect(clippy::cast_precision_loss, reason = "less than 2^53")]
        let cents = self.cents as f64;
        serializer.serialize_f64(cents / 100.0)
    }
}

/// The text of a binary number is the shortest one that means it.
impl TryFrom<Number> for Money {
    type Error = Invalid;

    fn try_from(number: Number) -> Result<Self, Invalid> {
        Self::parse(&number.to_string())
    }
}

impl Price {
    const MAX: Money = Money { cents: 100_000_000 };

    /// Reads a price as JSON writes it.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Money::parse(text).and_then(Self::try_from).map_err(|_| Self::rule())
    }

    pub fn times(self, quantity: Quantity) -> Money {
        Money { cents: self.0.cents * u64::from(quantity.0) }
    }

    fn rule() -> Invalid {
        "must be a number from 0 to 1000000 with at most two decimals".into()
    }
}

impl TryFrom<Money> for Price {
    type Error = Invalid;

    fn try_from(amount: Money) -> Result<Self, Invalid> {
        if amount <= Self::MAX { Ok(Self(amount)) } else { Err(Self::rule()) }
    }
}

impl From<Price> for Money {
    fn from(price: Price) -> Self {
        price.0
    }
}

impl Quantity {
    const RANGE: RangeInclusive<u16> = 1..=1_000;

    /// Reads a quantity as JSON writes it: `2`, `2.0`, `2e0`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Money::parse(text).map_err(|_| Self::rule()).and_then(Self::try_from)
    }

    fn rule() -> Invalid {
        let (min, max) = (Self::RANGE.start(), Self::RANGE.end());
        Invalid(format!("must be a whole number from {min} to {max}"))
    }
}

impl TryFrom<Money> for Quantity {
    type Error = Invalid;

    fn try_from(Money { cents }: Money) -> Result<Self, Invalid> {
        let whole = u16::try_from(cents / 100).ok().filter(|_| cents.is_multiple_of(100));
        whole.filter(|n| Self::RANGE.contains(n)).map(Self).ok_or_else(Self::rule)
    }
}

impl From<Quantity> for Money {
    fn from(Quantity(number): Quantity) -> Self {
        Self { cents: u64::from(number) * 100 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_price_is_a_decimal_with_at_most_two_places() {
        for (texts, cents) in [
            ("0 -0 0e999999999999", 0),
            ("0.01", 1),
            ("19.99 19.990 1999e-2 1.999E+1", 1_999),
            ("1e6 1000000.00", 100_000_000),
        ] {
            for text in texts.split(' ') {
                assert_eq!(Price::parse(text).map(|Price(money)| money.cents), Ok(cents), "{text}");
            }
        }
        for text in "-1 0.001 0.1000000000000000055 1000000.01 1e7 1e-3 1e99999999999 1e-2147483648 1e2147483647 .5 NaN inf 1.5.5 1e 0x10 ٣".split(' ').chain([""]) {
            assert!(Price::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_quantity_is_a_whole_number() {
        for text in ["1", "1.0", "10e-1", "1000", "1e3"] {
            assert!(Quantity::parse(text).is_ok(), "{text}");
        }
        for text in "0 1001 1001.0 -1 1.5 1.01 99999999999999999999 65537e2".split(' ') {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_amount_survives_json_and_binary_numbers(cents in 0..=Money::MAX.cents) {
            let money = Money { cents };
            let text = serde_json::to_string(&money).unwrap();
            prop_assert_eq!(Money::parse(&text).unwrap(), money);
            // Through a value of JSON, as the store returns it.
            let value: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::from_value::<Money>(value).unwrap(), money);
            // At most two places, and no exponent.
            let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
            prop_assert!(fraction.len() <= 2 && !text.contains('e'), "{}", text);
        }
    }
}
