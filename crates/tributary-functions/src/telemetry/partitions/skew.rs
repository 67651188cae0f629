//! The Gini coefficient of loads that are known in part.
//!
//! A sketch knows a lower bound of each of the largest loads, the sum of all, and how many there are.
//! [`gini`] takes the most even loads that agree with this. So its result is a lower bound:
//!
//! 1. Raising the smallest loads together, until the sum is reached, gives loads that every other
//!    choice majorizes (water-filling).
//! 2. The coefficient of loads is at most that of any loads that majorize them, with the same sum and
//!    number (it is Schur-convex).
//! 3. Where each load is known, there is nothing to raise, and the coefficient is exact.

/// Returns the Gini coefficient: 0 when all loads are the same, near 1 when one has all; `None` when
/// there is no load.
///
/// `known` are lower bounds of loads, `others` is the number of further loads, and `rest` is the sum of all
/// loads minus the sum of `known`.
pub(super) fn gini(known: &mut [f64], rest: f64, others: u64) -> Option<f64> {
    known.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "numbers of partitions are far below 2^53")]
    let (others, all) = (others as f64, (known.len() as u64 + others) as f64);
    let total = known.iter().sum::<f64>() + rest;
    if total <= 0.0 || all < 1.0 {
        return None;
    }
    // The loads that are raised, to the same level.
    let mut raised = others;
    let mut water = rest;
    let mut above = &*known;
    while let [next, larger @ ..] = above
        && *next * raised <= water
    {
        raised += 1.0;
        water += next;
        above = larger;
    }
    // Twice the area below the Lorenz curve, as trapezoids from the smallest load up.
    let mut below = raised * water;
    let mut sum = water;
    for load in above {
        below += 2.0 * sum + load;
        sum += load;
    }
    Some((1.0 - below / (all * total)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By the definition: the mean difference of all pairs, over twice the mean.
    fn by_pairs(loads: &[f64]) -> f64 {
        let sum: f64 = loads.iter().sum();
        let pairs =
            loads.iter().flat_map(|load| loads.iter().map(move |other| (load - other).abs()));
        let count = u32::try_from(loads.len()).map_or(f64::INFINITY, f64::from);
        pairs.sum::<f64>() / (2.0 * count * sum)
    }

    #[test]
    fn the_gini_coefficient_is_zero_for_even_loads_and_almost_one_for_a_single_load() {
        assert_eq!(gini(&mut [], 0.0, 0), None);
        assert_eq!(gini(&mut [], 5.0, 3), Some(0.0));
        assert!(gini(&mut [3.0; 10], 0.0, 0).unwrap() < 1e-9);
        let mut one_of_a_hundred = [0.0; 100];
        one_of_a_hundred[17] = 5.0;
        assert!((gini(&mut one_of_a_hundred, 0.0, 0).unwrap() - 0.99).abs() < 1e-9);
    }

    proptest! {

        #[test]
        fn unknown_loads_never_raise_the_gini_coefficient(
            loads in prop::collection::vec((0.1..1_000.0, 0.0..1.0), 1..40),
            forgotten in 0..10_usize,
        ) {
            let all: Vec<f64> = loads.iter().map(|(load, _)| *load).collect();
            let forgotten = forgotten.min(loads.len());
            let mut known: Vec<f64> = loads[forgotten..].iter().map(|(load, part)| load * part).collect();
            let rest = all.iter().sum::<f64>() - known.iter().sum::<f64>();
            let estimate = gini(&mut known, rest, forgotten as u64).unwrap();
            prop_assert!(estimate <= by_pairs(&all) + 1e-9);
        }
    }
}
