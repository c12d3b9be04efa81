use serde::Serialize;

pub const LARGEST_ID: usize = 1_000_000;

const ADJECTIVES: [&str; 16] = [
    "amber", "brisk", "calm", "dusty", "eager", "faint", "gentle", "hollow", "ivory", "jolly", "keen",
    "lively", "mellow", "noble", "olive", "plain",
];
const NOUNS: [&str; 16] = [
    "anchor", "basket", "candle", "drum", "easel", "flask", "globe", "hammer", "inkwell", "jar", "kettle",
    "lantern", "mirror", "needle", "oar", "pillow",
];
const TAGS: [&str; 20] = [
    "attic", "bath", "cellar", "desk", "entry", "fire", "garden", "hall", "indoor", "junior", "kitchen",
    "lamp", "modern", "night", "office", "patio", "quiet", "rustic", "shelf", "travel",
];

/// An item of a shop, computed from its number.
#[derive(Serialize)]
pub struct Item {
    id: usize,
    pub name: String,
    pub price: usize,
    tags: [&'static str; 3],
}

impl Item {
    /// The item with a number from 1 to `LARGEST_ID`.
    pub fn find(id: usize) -> Option<Self> {
        (1..=LARGEST_ID).contains(&id).then(|| Self {
            id,
            name: format!("{} {} {id}", ADJECTIVES[id % 16], NOUNS[id / 16 % 16]),
            price: id * 37 % 9900 + 100,
            tags: [TAGS[id % 20], TAGS[(id + 7) % 20], TAGS[(id + 13) % 20]],
        })
    }
}
