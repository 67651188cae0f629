//! Circles in a graph of arrows.

use std::collections::{BTreeMap, BTreeSet};

use super::arrows::Arrow;

/// A set of nodes that reach each other.
pub(super) struct Circle<'a> {
    pub(super) n_nodes: usize,
    /// The first arrow of each pair of its nodes.
    pub(super) arrows: Vec<&'a Arrow>,
}

/// Returns the circles of the graph whose nodes `ends` takes from an arrow. An arrow without ends, or
/// with the same node at both, is left out.
pub(super) fn circles<'a, N: Ord + Copy>(
    arrows: &'a [Arrow],
    ends: impl Fn(&'a Arrow) -> Option<(N, N)>,
) -> Vec<Circle<'a>> {
    let mut graph: BTreeMap<N, BTreeMap<N, &Arrow>> = BTreeMap::new();
    for arrow in arrows {
        if let Some((from, to)) = ends(arrow)
            && from != to
        {
            graph.entry(from).or_default().entry(to).or_insert(arrow);
        }
    }
    let reach: BTreeMap<N, BTreeSet<N>> =
        graph.keys().map(|from| (*from, reached(&graph, *from))).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for (node, nodes) in &reach {
        let circle: BTreeSet<N> = nodes
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(node)))
            .collect();
        if circle.is_empty() || !seen.insert(*node) {
            continue;
        }
        seen.extend(circle.iter().copied());
        let arrows = circle.iter().flat_map(|from| {
            graph[from].iter().filter(|(to, _)| circle.contains(to)).map(|(_, arrow)| *arrow)
        });
        circles.push(Circle { n_nodes: circle.len(), arrows: arrows.collect() });
    }
    circles
}

/// Returns the nodes that one or more arrows lead to from `node`.
fn reached<N: Ord + Copy>(graph: &BTreeMap<N, BTreeMap<N, &Arrow>>, node: N) -> BTreeSet<N> {
    let mut reached = BTreeSet::new();
    let mut open = vec![node];
    while let Some(at) = open.pop() {
        let next = graph.get(&at).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.copied().filter(|to| reached.insert(*to)));
    }
    reached
}
