//! The graph: compressed sparse rows in both directions.

use std::fmt;

/// A directed graph over the nodes `0..len`.
///
/// Each row keeps the order in which its edges were given, so two graphs from one definition
/// are equal to the last byte. Cycles and self edges can be held: it is [`Graph::order`] that
/// refuses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    up: Rows,
    down: Rows,
}

/// Why edges do not make a graph. Cycles are not among the reasons, see [`Graph::order`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// More nodes or edges than a `u32` can number.
    TooLarge,
    /// The edge at this position names a node that does not exist.
    NoSuchNode {
        /// Position of the edge.
        edge: u32,
        /// The node it names.
        node: u32,
    },
    /// Edges given more than once: all of them, in order of their second position.
    Duplicate(Vec<Duplicate>),
}

/// One edge that repeats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duplicate {
    /// Position of the repetition.
    pub again: u32,
    /// Position at which the edge stood first.
    pub first: u32,
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::TooLarge => write!(f, "the graph is too large"),
            GraphError::NoSuchNode { edge, node } => {
                write!(f, "edge {edge} names node {node}, which does not exist")
            }
            GraphError::Duplicate(all) => match all.first() {
                Some(d) => write!(f, "edge {} repeats edge {}", d.again, d.first),
                None => write!(f, "an edge is repeated"),
            },
        }
    }
}

impl std::error::Error for GraphError {}

impl Graph {
    /// A graph of `n` nodes and `(upstream, downstream)` edges; an edge's id is its position.
    pub fn new(n: usize, edges: &[(u32, u32)]) -> Result<Graph, GraphError> {
        let graph = Graph::unchecked(n, edges)?;
        let duplicates = graph.duplicates();
        if duplicates.is_empty() { Ok(graph) } else { Err(GraphError::Duplicate(duplicates)) }
    }

    /// The same with a payload per edge, such as its row in the definition, in place of the
    /// position. Duplicates are reported by position all the same; `ids` beyond the edges are
    /// ignored, and an edge without one keeps its position.
    pub fn with_ids(n: usize, edges: &[(u32, u32)], ids: &[u32]) -> Result<Graph, GraphError> {
        let mut graph = Graph::new(n, edges)?;
        for id in graph.up.ids.iter_mut().chain(&mut graph.down.ids) {
            *id = ids.get(*id as usize).copied().unwrap_or(*id);
        }
        Ok(graph)
    }

    /// The rows as given, repeated edges included.
    fn unchecked(n: usize, edges: &[(u32, u32)]) -> Result<Graph, GraphError> {
        // `u32::MAX` itself is left free: it means "none" on this floor.
        if n >= u32::MAX as usize || edges.len() >= u32::MAX as usize {
            return Err(GraphError::TooLarge);
        }
        let mut up = Rows::empty(n, edges.len());
        let mut down = Rows::empty(n, edges.len());
        for (edge, &(u, d)) in (0u32..).zip(edges) {
            for node in [u, d] {
                if node as usize >= n {
                    return Err(GraphError::NoSuchNode { edge, node });
                }
            }
            down.starts[u as usize + 1] += 1;
            up.starts[d as usize + 1] += 1;
        }
        down.fill(edges.iter().copied());
        up.fill(edges.iter().map(|&(u, d)| (d, u)));
        Ok(Graph { up, down })
    }

    /// Every edge that repeats an earlier one, by the ids of both.
    fn duplicates(&self) -> Vec<Duplicate> {
        // For each node where it was last seen as a target; only what lies in the present row
        // counts, so the marks need no clearing between rows.
        let mut seen = vec![u32::MAX; self.len()];
        let mut found = Vec::new();
        for row in self.down.starts.windows(2) {
            let (start, end) = (row[0], row[1]);
            for at in start..end {
                let mark = &mut seen[self.down.nodes[at as usize] as usize];
                if *mark >= start && *mark < at {
                    let (again, first) =
                        (self.down.ids[at as usize], self.down.ids[*mark as usize]);
                    found.push(Duplicate { again, first });
                } else {
                    *mark = at;
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        self.down.starts.len() - 1
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many edges.
    pub fn edge_count(&self) -> usize {
        self.down.nodes.len()
    }

    /// The nodes that `node` waits for, in the order of their edges; none for an unknown node.
    pub fn upstream(&self, node: u32) -> &[u32] {
        &self.up.nodes[self.up.row(node)]
    }

    /// The nodes that wait for `node`, in the order of their edges; none for an unknown node.
    pub fn downstream(&self, node: u32) -> &[u32] {
        &self.down.nodes[self.down.row(node)]
    }

    /// The ids of the edges beside [`Graph::upstream`].
    pub fn upstream_edges(&self, node: u32) -> &[u32] {
        &self.up.ids[self.up.row(node)]
    }

    /// The ids of the edges beside [`Graph::downstream`].
    pub fn downstream_edges(&self, node: u32) -> &[u32] {
        &self.down.ids[self.down.row(node)]
    }

    /// How many nodes `node` waits for.
    pub fn in_degree(&self, node: u32) -> usize {
        self.up.row(node).len()
    }

    /// How many nodes wait for `node`.
    pub fn out_degree(&self, node: u32) -> usize {
        self.down.row(node).len()
    }

    /// All nodes in order of their index.
    pub fn nodes(&self) -> std::ops::Range<u32> {
        // The constructor refuses what does not fit.
        0..self.len() as u32
    }

    /// The nodes that wait for nothing.
    pub fn roots(&self) -> Vec<u32> {
        self.nodes().filter(|&node| self.in_degree(node) == 0).collect()
    }

    /// The nodes that nothing waits for.
    pub fn leaves(&self) -> Vec<u32> {
        self.nodes().filter(|&node| self.out_degree(node) == 0).collect()
    }
}

/// One direction: row `i` is `nodes[starts[i]..starts[i + 1]]`, with the edge ids beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rows {
    starts: Vec<u32>,
    nodes: Vec<u32>,
    ids: Vec<u32>,
}

impl Rows {
    fn empty(nodes: usize, edges: usize) -> Rows {
        Rows { starts: vec![0; nodes + 1], nodes: vec![0; edges], ids: vec![0; edges] }
    }

    /// Sorts `(row, node)` pairs into the rows, whose lengths stand one place late in `starts`.
    fn fill(&mut self, pairs: impl Iterator<Item = (u32, u32)>) {
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        let mut next = self.starts.clone();
        for (id, (row, node)) in (0u32..).zip(pairs) {
            let at = &mut next[row as usize];
            self.nodes[*at as usize] = node;
            self.ids[*at as usize] = id;
            *at += 1;
        }
    }

    fn row(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(&start), Some(&end)) => start as usize..end as usize,
            _ => 0..0,
        }
    }
}
