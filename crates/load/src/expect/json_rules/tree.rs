//! Merges the pointers of all rules into one tree of tokens. With it, a document is walked once.

/// The index of a node.
pub(super) type NodeId = usize;

/// The tree of all pointers.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<Child>,
    /// Whether a rule applies to the value here.
    has_rules: bool,
    /// Whether a rule needs the whole of an object or array here.
    wants_whole: bool,
}

#[derive(Debug, Clone)]
struct Child {
    token: Vec<u8>,
    /// The token as an array index, where it is one.
    index: Option<u64>,
    node: NodeId,
}

impl Tree {
    /// The node of the whole document.
    pub(super) const ROOT: NodeId = 0;

    pub(super) fn new() -> Self {
        Self {
            nodes: vec![Node::default()],
        }
    }

    /// Adds a pointer that has a rule, and returns its node.
    pub(super) fn add(&mut self, tokens: &[String], wants_whole: bool) -> NodeId {
        let mut node = Self::ROOT;
        for token in tokens {
            node = match self.child(node, token.as_bytes()) {
                Some(is_known_equal) => is_known_equal,
                None => self.grow(node, token),
            };
        }
        self.nodes[node].has_rules = true;
        self.nodes[node].wants_whole |= wants_whole;
        node
    }

    fn grow(&mut self, parent: NodeId, token: &str) -> NodeId {
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        // RFC 6901: an array index is digits without leading zeros.
        let is_index =
            token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
        self.nodes[parent].children.push(Child {
            token: token.as_bytes().to_vec(),
            index: token.parse().ok().filter(|_| is_index),
            node,
        });
        node
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a member.
    pub(super) fn child(&self, node: NodeId, name: &[u8]) -> Option<NodeId> {
        let mut children = self.nodes[node].children.iter();
        children.find(|child| child.token == name).map(|child| child.node)
    }

    /// The node of an array item.
    pub(super) fn item(&self, node: NodeId, index: u64) -> Option<NodeId> {
        let mut children = self.nodes[node].children.iter();
        children
            .find(|child| child.index == Some(index))
            .map(|child| child.node)
    }

    pub(super) fn has_children(&self, node: NodeId) -> bool {
        !self.nodes[node].children.is_empty()
    }

    pub(super) fn has_rules(&self, node: NodeId) -> bool {
        self.nodes[node].has_rules
    }

    pub(super) fn wants_whole(&self, node: NodeId) -> bool {
        self.nodes[node].wants_whole
    }
}
